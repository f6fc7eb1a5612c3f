"""Forward mode: how an operator carries the tangents of its arguments over to its results.

An operator that meets a dual number calls `push`.  It is applied once, to *primals*: Tensors over the same memory whose place
is a node, `Primal`, on the way to where the argument came from.  The recorded call then tells the tangents:

* a linear operator is applied to them, an elementwise one multiplies them by its partial derivatives;
* a user's Function is asked for its ``jvp``;
* anything else is pulled back twice.  The rule maps cotangents to cotangents, ``u → Jᵀu``; that map is linear, and its own
  pullback is ``v → Jv``.

What is computed for a tangent sees primals only, so no tangent ever has a tangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pullback.core import arrays, batches, dual, modes, views
from pullback.core.batches import LIVE, ReadOut
from pullback.core.contents import rebuild, tensors_in
from pullback.core.ctx import Pull, pulling
from pullback.core.dual import OPEN, Dual
from pullback.core.engine import Pass, run
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.function import Function
from pullback.core.graph import Node, reach
from pullback.core.masked import unmask
from pullback.core.outside import why_refuse
from pullback.core.primitive import Primitive
from pullback.core.pulling import find_rule, no_vjp
from pullback.core.recorded import Recorded
from pullback.core.refusal import refused
from pullback.core.tangents import (
    Argument,
    Primal,
    bare,
    carries,
    check_tangent,
    current_level,
    direct,
    outside_graphs,
    same_field,
    settled,
    zeros_like,
)
from pullback.core.tensor import Tensor, wrap
from pullback.core.versions import Buffer
from pullback.core.views import View
from pullback.core.wrapping import hold_another_array


# ------------------------------------------------------------------------------------------------------------ the call
class Call:
    """An operator, applied to primals, with recording on."""

    def __init__(self, operator: Any, args: Sequence[Any], options: dict[str, Any]) -> None:
        mode = modes.current()
        self.operator = operator
        self.recording = mode._recording
        self.given: dict[int, Argument] = {}  # a Tensor given twice is one argument
        for x in args:
            if carries(x) and id(x) not in self.given:
                self.given[id(x)] = Argument(x)
        self.arguments = list(self.given.values())
        self.level = self.arguments[0].level
        self.args = [self.given[id(x)].primal if id(x) in self.given else x for x in args]
        self.options = options
        #: whether the results belong to a graph
        self.recorded = self.recording and any(isinstance(x, Tensor) and x.requires_grad for x in args)
        settings = mode._settings.replace(function=None) if self.recorded else modes.PLAIN
        token = modes.enter(modes.plain(True, settings))
        try:
            self.answer = operator.apply(*self.args, **options)
        finally:
            modes.leave(token)
        self.single = not isinstance(self.answer, tuple)
        self.outputs: list[Any] = [self.answer] if self.single else list(self.answer)
        self.node = next((y._resolved()[0] for y in self.outputs if isinstance(y, Tensor) and y.requires_grad), None)
        self.live = [k for k, y in enumerate(self.outputs) if isinstance(y, Tensor) and y.requires_grad]

    @cached_property
    def connected(self) -> bool:
        """Whether the tangents belong to a graph."""
        return self.recorded or (self.recording and any(a.tangent.requires_grad for a in self.arguments))

    def finish(self, tangents: dict[int, Any]) -> Any:
        """The results, at their places, with their tangents."""
        places = {k: self.outputs[k]._resolved() for k in self.live}
        fitted = {k: self._fitted(self.outputs[k], t) for k, t in tangents.items()}
        for k, edge in places.items():
            self.outputs[k] = self._placed(self.outputs[k], edge if self.recorded else None, fitted.get(k))
        if self.recorded and self.node is not None:
            self.level.results[self.node] = {places[k][1]: t for k, t in fitted.items()}
        return self.outputs[0] if self.single else tuple(self.outputs)

    def _fitted(self, output: Tensor, tangent: Tensor) -> Tensor:
        """A tangent of the shape and dtype of its result, in a graph only if it depends on one."""
        xp = Recorded.xp
        if not self.connected and tangent.requires_grad:
            tangent = bare(tangent)
        if tuple(tangent.shape) != tuple(output.shape):
            tangent = xp.broadcast_to(tangent, tuple(output.shape))
        return tangent if tangent.dtype == output.dtype else xp.astype(tangent, output.dtype)

    def _placed(self, output: Any, edge: Any, tangent: Any) -> Any:
        """An output where it belongs: in the graph or not, over the real arguments in the place of the primals."""
        for a in self.arguments:
            if output is a.primal:
                return self._written(a, edge, tangent)
        view = output._view
        if view is None:
            output._edge = Dual(self.level, edge, tangent)
            return output
        source = next((a.source for a in self.arguments if view.base is a.primal), view.base)
        parent = source._view
        base, steps = (source, view.steps) if parent is None else (parent.base, parent.steps + view.steps)
        forbidden = view.forbidden
        if not self.recording and source.requires_grad:
            forbidden = forbidden or "A view was created in no_grad mode"
        place = View(base, steps, edge, forbidden)
        output._buffer = base._shared_buffer()
        own = tangent is not None and issubclass(self.operator, Function)
        output._edge = Dual(self.level, place, tangent, output._version) if own else place
        return output

    def _written(self, argument: Argument, edge: Any, tangent: Any) -> Tensor:
        """The very Tensor that a Function wrote into and marked dirty."""
        target = argument.source
        if target._array is not argument.primal._array:
            hold_another_array(target, argument.primal._array)
        whole = dual.written(target, tangent)
        if self.recorded:
            views.rebase(target, edge)
        dual.place(target, whole)
        return target

    # ------------------------------------------------------------------------------------------------------ tangents
    def told(self) -> dict[int, Any]:
        """What the operator says itself: it is linear, or its partial derivatives are known."""
        y = self.outputs[0]
        stand_in = wrap(type(y), y._array, y._buffer, y._resolved())
        tangents = [self._tangent_for(x) for x in self.args]
        total = direct(self.operator, Recorded.xp, self.args, tangents, self.options, stand_in)
        return {0: zeros_like(y) if total is None else total}

    def _tangent_for(self, value: Any) -> Any:
        return next((a.tangent for a in self.arguments if value is a.primal), None)

    def derived(self) -> dict[int, Any]:
        """Pull back twice.

        A rule that can be differentiated in its cotangent, but not in what it saved, gives tangents that cannot be
        differentiated themselves.
        """
        reason = ""
        if self.connected:
            try:
                return self._pulled_twice(True)
            except RuntimeError as error:
                if not _is_refusal(error):
                    raise
                reason = str(error)
        try:
            tangents = self._pulled_twice(False)
        except RuntimeError as error:
            if not getattr(error, "_pullback_refusal", False):
                raise
            raise _no_jvp(self.operator, error) from error
        if not reason:
            return tangents
        edges = [*[a.edge for a in self.arguments], *[a.tangent._resolved() for a in self.arguments]]
        what = f"the derivative of the tangent of {self.operator.__name__} is refused"
        why = f"the tangent was derived from backward, and {reason}."
        return {k: refused(t, edges, self.node, what, why) for k, t in tangents.items()}  # type: ignore[arg-type]

    def _pulled_twice(self, connected: bool) -> dict[int, Any]:
        node: Any = self.node
        saved = node._saved
        seeds = {}
        for k in self.live:
            y = self.outputs[k]
            xp = arrays.namespace(y._array)
            seed = _uneven(y._array, xp)
            seeds[k] = wrap(type(y), seed, None, (Primal(type(y), seed, None), 0))
        first = Pass(True, True, [a.edge for a in self.arguments])
        first.probing, first.linear = True, not connected
        try:
            with np.errstate(all="ignore"):  # the values do not matter, and neither do their infinities
                run([((node, self._position(k)), seed) for k, seed in seeds.items()], first)
        finally:
            node._saved = saved
        pairs = [(unmask(first.captured.get(a.edge)), a.tangent) for a in self.arguments]
        roots = [(g._resolved(), t if connected else t._array) for g, t in pairs if g is not None and g.requires_grad]
        targets = {k: seed._edge for k, seed in seeds.items()}
        second = Pass(connected, True, list(targets.values()))
        if roots:
            run(roots, second)
        tangents = {}
        for k, edge in targets.items():
            found = unmask(second.captured.get(edge))
            y = self.outputs[k]
            tangents[k] = zeros_like(y) if found is None else found if connected else wrap(type(y), found)
        if not issubclass(self.operator, Primitive):
            self._check_linear(pairs, [(seeds[k], tangents[k]) for k in targets])
        return tangents

    def _check_linear(self, back: Any, ahead: Any) -> None:
        """Both sides of ⟨Jᵀu, t⟩ = ⟨u, Jt⟩: a rule that is not linear in its cotangent tells of no tangent."""
        sides = [_pairing(back), _pairing(ahead)]
        if None in sides:
            return
        (a, size), (b, other) = sides  # type: ignore[misc]
        if np.isfinite(a) and np.isfinite(b) and abs(a - b) > 1e-3 * (size + other):
            name = self.operator.__name__
            raise lesson(
                DerivativeRefused,
                f"{name} has no forward mode: it wrote no jvp, and its backward is not linear in its cotangent",
                why="without jvp, backward is differentiated in its cotangent; that tells the tangent only where the gradient is "
                "the cotangent times something. A rule that clips or normalises, say, is no derivative of forward.",
                instead=f"write {name}.jvp(ctx, *tangents).",
            )

    def _position(self, k: int) -> int:
        return self.outputs[k]._resolved()[1]

    def asked(self) -> dict[int, Any]:
        """What the user's ``jvp`` says."""
        ctx: Any = self.node
        cls = self.operator
        pull = Pull(ctx, ctx._needs)
        saved = ctx._saved
        token = pulling.set(pull)
        try:
            doubt = ctx._recompute(pull) or why_refuse(cls) if self.connected else ""
            pull.entries = tuple([self._kept_for_forward(t) for t in ctx._marked().save_for_forward])
            for name, (_, entries) in (ctx._kept or {}).items():
                if entries and name not in pull.attributes:
                    value = ctx._kept_attribute(name)
                    pull.attributes[name] = rebuild(value, iter([self._seen(t) for t in tensors_in(value)]))
            found = cls.jvp(ctx, *[self._lent(x) for x in self.args])
        finally:
            pulling.reset(token)
            ctx._saved = saved  # backward may read it once more
            ctx._marked().save_for_forward = ()
        tangents = self._checked(found)
        if doubt:
            edges = [a.edge for a in self.arguments]
            what = f"the derivative of the tangent of {cls.__name__} is refused: {doubt}"
            tangents = {k: refused(t, edges, ctx, what, "it could be silently wrong.") for k, t in tangents.items()}
        return tangents

    def _seen(self, value: Any) -> Any:
        for a in self.arguments:
            value = a.constant(value)
        return value

    def _kept_for_forward(self, value: Any) -> Any:
        """A Tensor of ``save_for_forward``: an argument, a result at its place, or what stays a constant."""
        for k in self.live:
            if value is not None and self.outputs[k]._array is value._array and self.outputs[k] is not value:
                return wrap(type(value), value._array, value._buffer, self.outputs[k]._resolved())
        known = value is None or any(value is x for x in self.args) or not arrays.is_inexact(value.dtype)
        if known or not self.connected:
            return self._seen(value)
        return refused(
            value,
            [a.edge for a in self.arguments],
            self.node,  # type: ignore[arg-type]
            f"{self.operator.__name__} saved for its jvp a value that is neither an input nor an output",
            "how it depends on the inputs is unknown, so the derivative of the tangent would be silently wrong.",
            "save inputs or outputs, and compute the rest in jvp.",
        )

    def _lent(self, value: Any) -> Any:
        """The tangent of an argument as jvp gets it: zeros where there is none, and copied before it is written."""
        if not isinstance(value, Tensor):
            return None
        tangent = self._tangent_for(value)
        if tangent is not None:
            return wrap(type(tangent), tangent._array, Buffer(borrowed=True), tangent._resolved())
        return zeros_like(value) if self.node.materialize_grads else None  # type: ignore[union-attr]

    def _checked(self, found: Any) -> dict[int, Any]:
        """What jvp returned, one tangent per output."""
        name, count = self.operator.__name__, len(self.outputs)
        values = found if isinstance(found, tuple) else (found,)
        if len(values) != count:
            raise lesson(
                RuntimeError,
                f"Function's jvp returned an invalid number of forward gradients (expected {count} but got {len(values)}): "
                f"{name}",
                instead="one tangent for each output of forward, None for one without derivative.",
            )
        for k, (y, t) in enumerate(zip(self.outputs, values, strict=True)):
            if t is not None and not isinstance(t, Tensor):
                raise lesson(
                    RuntimeError,
                    f"{name}.jvp returned a {type(t).__name__} as the tangent of output {k}, expected a Tensor or None",
                    instead="compute it from the tangents with Tensor operators.",
                )
            if t is not None and k in self.live:
                check_tangent(t, y, f"{name}.jvp returned")
                self._check_view(y, t)
        return {k: values[k] if values[k] is not None else zeros_like(self.outputs[k]) for k in self.live}

    def _check_view(self, y: Tensor, t: Tensor) -> None:
        source = next((a for a in self.arguments if y._view is not None and y._view.base is a.primal), None)
        if source is not None and not arrays.shares_memory(t._array, source.tangent._array):
            raise lesson(
                RuntimeError,
                "A custom Function is returning a view but the jvp is not returning a view of the given grad input.",
                why="a write into the view reaches the input, and has to reach the input's tangent too.",
                instead="the same view in jvp as in forward; or a clone() in both.",
            )


def _uneven(array: Any, xp: Any) -> Any:
    """Cotangents to start from; of a size and unlike each other, so that a rule that is not linear shows it."""
    steps = 0.6180339887498949 * (1 + np.arange(arrays.size(array))) % 1.0
    uneven = xp.asarray((0.5 + steps).reshape(array.shape).astype(arrays.dtype_of(array)))
    return xp.ones(array.shape, dtype=array.dtype) * uneven  # within a batch, each entry has ones of its own


def _pairing(pairs: Any) -> tuple[float, float] | None:
    """The sum of products of two lists of Tensors, and that of their sizes; ``None`` where no number can be told."""
    total = size = 0.0
    for a, b in pairs:
        if a is None:
            continue
        if not isinstance(a._array, np.ndarray) or not isinstance(b._array, np.ndarray):
            return None
        with np.errstate(all="ignore"):
            products = (a._array.conj() * b._array).real
            total, size = total + float(products.sum()), size + float(np.abs(products).sum())
    return total, size


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, DerivativeRefused) or getattr(error, "_pullback_refusal", False)


def _no_jvp(operator: Any, error: RuntimeError) -> RuntimeError:
    name = operator.__name__
    return lesson(
        type(error),
        f"{name} has no forward mode: it wrote no jvp, and its backward does not tell one ({error})",
        why="without jvp, backward is differentiated in its cotangent; here that derivative would be silently wrong.",
        instead=f"write {name}.jvp(ctx, *tangents), or let backward use Tensor operators on the cotangent.",
    )


def push(operator: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply an operator to arguments of which some have tangents."""
    if LIVE:  # before there are primals: what is saved has to be an argument, which has a tangent
        args = batches.shared_arguments(args, options)
    try:
        return _push(operator, args, options)
    except ReadOut as error:
        return batches.one_by_one(operator, args, options, error)


def _push(operator: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    if modes.current()._settings.inference:
        return operator.apply(*[bare(x) if carries(x) else x for x in args], **options)
    told = issubclass(operator, Primitive) and (operator.linear or operator.jvp is not None)
    if told:
        found = outside_graphs(operator, args, options)
        if found is not None:
            return found
    call = Call(operator, args, options)
    if not call.live:
        return call.answer
    if issubclass(operator, Function):
        if operator.jvp is not Function.jvp:
            return call.finish(call.asked())
        if find_rule(operator) is no_vjp:
            operator.jvp(call.node)  # raises
        return call.finish(call.derived())
    if all(call.outputs[k]._view is not None for k in call.live):
        return call.finish({})
    told = told and (operator.linear or same_field(call.outputs[0], args))
    return call.finish(call.told() if told else call.derived())


# -------------------------------------------------------------------------------------------------- forward over reverse
def reopened(node: Node, value: Any, task: Any) -> Any:
    """A saved value as a recorded rule has to see it: a constant, or with its tangent where its operation had them."""
    if not isinstance(value, Tensor):
        return value
    if task is not None and task.linear:
        return bare(value)
    edge = value._edge
    if edge.__class__ is not tuple or not remembers(node):
        return value
    producer, position = edge
    tangent = producer.tangent if producer.__class__ is Primal else None
    if producer is node:
        tangent = next(level.results[node] for level in OPEN if node in level.results).get(position)
    if tangent is None:
        return value
    return wrap(type(value), value._array, value._buffer, Dual(current_level() or OPEN[-1], edge, tangent))


def remembers(node: Node) -> bool:
    """True for the node of an operation whose arguments had tangents."""
    return any(node in level.results for level in OPEN)


def moves(node: Node, cotangents: Sequence[Any]) -> bool:
    """True where what a rule computes has a tangent: it gets one as a cotangent, or among what was saved."""
    return remembers(node) or any(carries(c) for c in cotangents)


def settle(roots: Sequence[Any], seeds: Sequence[Any]) -> Any:
    """Forward over reverse: a pass through values that have tangents is recorded, so that its results get theirs.

    Returns what drops the graph of a result, ``None`` for a pass that has nothing to do with tangents.
    """
    if any(carries(seed) for seed in seeds):
        return settled
    order, _ = reach([edge[0] for edge in roots])
    return settled if any(remembers(node) for node in order) else None


for _function in (push, reopened, moves, settle):
    setattr(dual, _function.__name__, _function)
