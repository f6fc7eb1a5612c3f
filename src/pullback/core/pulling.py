"""How a cotangent is pulled back through a user's `Function`.

A short path for the usual case (one output, bare NumPy cotangent, everything wanted); around it what a second derivative and a
partial request need: recomputed intermediates, narrowed flags, and delayed errors where backward left the graph.
"""

from __future__ import annotations

import dis
import inspect
from typing import Any

import numpy as np

from pullback.core import arrays, batches, dual, modes, rules
from pullback.core.batches import ReadOut
from pullback.core.contents import changes, may_carry, rebuild, snapshot, tensors_in
from pullback.core.ctx import CLEARED, Ctx, Pull, pulling, unpack_attribute
from pullback.core.dual import OPEN
from pullback.core.errors import lesson
from pullback.core.graph import NOT_A_TENSOR
from pullback.core.masked import unmask
from pullback.core.outside import LIMIT, why_refuse
from pullback.core.recompute import Recomputed, Watcher, same_numbers
from pullback.core.recorded import Recorded
from pullback.core.recycling import LARGE, watch
from pullback.core.refusal import TO_LOOK, refused
from pullback.core.saved import Saved, holds_own_graph, is_intermediate, unpack
from pullback.core.tensor import Tensor, lent, wrap
from pullback.core.versions import BORROWED

ndarray = np.ndarray
_new = object.__new__


class FunctionNode(Ctx):
    """The ctx as a node: see `Ctx` for what users see of it."""

    __slots__ = ()

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        if task.record or task.running is not None or (self._kept is not None and self._keeps_containers()):
            return self._pull_watched(cotangents, task)
        if cotangents[0].__class__ is not ndarray or len(cotangents) != 1:
            return self._fit(self._call_rule(self._incoming(cotangents, False)), False, task)
        cotangent = cotangents.pop()  # nobody else needs it: its memory may serve the next node
        edges = self._edges
        incoming = _new(self._kind)
        incoming._array = (
            cotangent if cotangent.flags.c_contiguous or self._operator.any_layout else arrays.contiguous(cotangent)
        )
        incoming._buffer = BORROWED
        incoming._edge = incoming._grad = None
        if cotangent.size > LARGE:
            watch(incoming, cotangent)
        operator = self._operator
        rule = operator.backward
        try:
            grads = (rule if rule is not no_backward else operator.vjp)(self, incoming)
        except ReadOut as error:
            grads = batches.function_rule_one_by_one(self, [incoming], error)
        if len(edges) == 1 and edges[0] and isinstance(grads, Tensor):
            producer, number = edges[0]
            shape, dtype = producer._specs[number]
            array = grads._array
            if array.__class__ is ndarray and array.dtype is dtype and array.shape == shape:
                return (array,)
        return self._fit(rules.as_sequence(self, grads), False, task)

    def _incoming(self, cotangents: list[Any], record: bool) -> list[Any]:
        """The cotangents as backward gets them: Tensors, contiguous, zeros where nothing came (if wanted)."""
        incoming = []
        kind = self._kind
        for position, cotangent in enumerate(cotangents):
            if cotangent is None:
                incoming.append(self._missing(position, cotangents))
                continue
            cotangent = unmask(cotangent)
            if record:
                array = cotangent._array
                incoming.append(lent(cotangent, array if self._operator.any_layout else arrays.contiguous(array)))
            else:
                if not self._operator.any_layout:
                    cotangent = arrays.contiguous(cotangent)
                incoming.append(wrap(kind, cotangent, BORROWED))
        return incoming

    def _missing(self, position: int, cotangents: list[Any]) -> Any:
        spec = self._specs[position]
        marks = self._marks
        if spec is None or (marks is not None and not marks.materialize):
            return None
        if not self._materialize_non_diff_grads and position in self._non_differentiable():
            return None
        example = next((unmask(c) for c in cotangents if c is not None), np.empty(0))
        xp = arrays.namespace(example._array if isinstance(example, Tensor) else example)
        return wrap(self._kind, arrays.zeros(spec[0], spec[1], xp))

    def _non_differentiable(self) -> Any:
        return self._marks.non_differentiable if self._marks is not None else ()

    def _call_rule(self, incoming: list[Any]) -> Any:
        rule = find_rule(self._operator)
        asked = any(cotangent is not None for cotangent in incoming)
        try:
            grads = rule(self, incoming) if self._operator.boxed_grads_call else rule(self, *incoming)
        except ReadOut as error:
            grads = batches.function_rule_one_by_one(self, incoming, error)
        return rules.as_sequence(self, grads, asked)

    def _fit(self, grads: list[Any], record: bool, task: Any) -> list[Any]:
        """Check what backward returned, and project it into the spaces of the arguments."""
        for position, (edge, grad) in enumerate(zip(self._edges, grads, strict=True)):
            if grad is None:
                continue
            if not isinstance(grad, Tensor):
                raise rules.not_a_gradient(self, position, grad)
            if not edge:
                if edge is NOT_A_TENSOR:
                    raise rules.not_an_input(self, position)
                grads[position] = grad if record else grad._array  # goes nowhere, but hooks see it
                continue
            if not task.wants(edge):
                grads[position] = None
                continue
            producer, number = edge
            shape, dtype = producer._specs[number]
            if not record:
                array = grad._array
                if (
                    array.shape != shape
                    or (array.dtype if array.__class__ is ndarray else arrays.dtype_of(array)) != dtype
                ):
                    array = rules.fit(self, position, array, arrays.namespace(array))
                grads[position] = array
            elif grad.shape != shape or grad.dtype != dtype:
                grads[position] = rules.fit(self, position, grad, Recorded.xp)
        return grads

    def _pull_watched(self, cotangents: list[Any], task: Any) -> Any:
        """The same step when the pass asks for some gradients only, or is itself recorded."""
        pull = Pull(
            self, tuple([task.wants(edge) and need for edge, need in zip(self._edges, self._needs, strict=True)])
        )
        outer = pulling.set(pull)
        try:
            if not task.record:
                return self._fit(self._call_rule(self._incoming(cotangents, False)), False, task)
            return self._pull_recorded(cotangents, pull, task)
        finally:
            pulling.reset(outer)

    def _pull_recorded(self, cotangents: list[Any], pull: Pull, task: Any) -> Any:
        doubt = ""
        if not task.linear:
            doubt = self._recompute(pull) or self._left_behind() or why_refuse(self._operator)
        if OPEN:
            self._reopen(pull, task)
        incoming = self._incoming(cotangents, True)
        watcher = Watcher([*self._edges, (self, 0), *[c._resolved() for c in incoming if isinstance(c, Tensor)]])
        settings = modes.current()._settings.replace(watcher=watcher)
        token = modes.enter(modes.plain(True, settings))
        try:
            grads = self._fit(self._call_rule(incoming), True, task)
        finally:
            modes.leave(token)
        reason = self._reason_to_refuse(watcher, doubt)
        if reason:
            if OPEN and dual.moves(self, incoming):
                raise rules.no_tangent(self, *reason[:2])
            edges = [*self._edges, *[c._resolved() for c in incoming if isinstance(c, Tensor)]]
            grads = [g if g is None else refused(g, edges, self, *reason) for g in grads]
        return grads

    def _reason_to_refuse(self, watcher: Watcher, doubt: str) -> Any:
        """Why the gradients just computed must not be differentiated again, if they must not."""
        name = self._operator.__name__
        if doubt:
            return (
                f"the second derivative of {name} is refused: {doubt}",
                "whether it depends on the inputs is unknown; as a constant it could make the derivative silently wrong.",
                "save inputs or outputs as Tensors with ctx.save_for_backward, and compute the rest from them in backward; or "
                "pass a constant to apply as an argument.",
            )
        if watcher.once:
            return (
                f"trying to differentiate twice a function that was marked with @once_differentiable: {name}",
                "its backward is not recorded, so the second derivative would be a wrong number.",
                "remove the decorator if backward uses Tensor operators only; otherwise write the backward as a Function of "
                "its own, with its own backward.",
                RuntimeError,  # as torch: no wrong number was at stake, the author said so
            )
        if watcher.cuts:
            return (
                f"the second derivative of {name} is refused: its backward took a value out of the graph by "
                f"{', '.join(watcher.cuts)}",
                "what was computed from that value counts as constant, and the derivative would be silently wrong.",
                "use Tensor operators in backward; or write the backward as a Function of its own, with its own backward. "
                + TO_LOOK,
            )
        return None

    def _recompute(self, pull: Pull) -> str:
        """Where forward saved intermediates: their versions from a second, recorded run of forward.

        Returns why the gradients that come of it must not be differentiated again, if they must not.
        """
        saved = self._saved
        if saved.__class__ is not Saved:
            return ""
        kept = self._kept or {}
        carriers = [kept[name][0] for name in self._opaque[0] if name in kept] if self._opaque else []
        before = snapshot(carriers, LIMIT)
        second = Recomputed(self, saved.rerun)
        doubt = ""
        if before is not None and changes(carriers, before, LIMIT):
            doubt = "forward changes what an earlier call left on ctx"
        fresh = getattr(second.ctx, "_to_save", None) or ()
        pull.entries = tuple(
            [
                second.vouch(
                    unpack(entry, self, "a value"),
                    fresh[k] if k < len(fresh) else None,
                    f"value {k} for backward",
                    _saved_at(k),
                )
                if is_intermediate(entry)
                else unpack(entry, self, "a value")
                for k, entry in enumerate(saved.entries)
            ]
        )
        for name, (structure, entries) in kept.items():
            if any(holds_own_graph(entry) for entry in entries):
                doubt = f"ctx.{name} holds a graph that was recorded inside forward, apart from the inputs"
            elif any(is_intermediate(entry) for entry in entries):
                new = tensors_in(getattr(second.ctx, name, None))
                if len(new) > len(entries):
                    doubt = f"ctx.{name} holds more Tensors when forward runs again"
                values = [
                    second.vouch(
                        unpack(entry, self, f"ctx.{name}"),
                        new[k] if k < len(new) else None,
                        f"the Tensor ctx.{name}",
                        _held_at(name, k),
                    )
                    if is_intermediate(entry)
                    else unpack_attribute(entry, self, f"ctx.{name}")
                    for k, entry in enumerate(entries)
                ]
                pull.attributes[name] = rebuild(structure, iter(values))
        return doubt or (self._recompute_carriers(pull, second) if self._opaque else "")

    def _reopen(self, pull: Pull, task: Any) -> None:
        """Saved values with their tangents, or as constants."""
        entries = super().saved_tensors if pull.entries is None else pull.entries
        pull.entries = tuple([dual.reopened(self, value, task) for value in entries])
        for name, (_, kept) in (self._kept or {}).items():
            if kept:
                value = self._kept_attribute(name)
                fresh = [dual.reopened(self, tensor, task) for tensor in tensors_in(value)]
                pull.attributes[name] = rebuild(value, iter(fresh))

    def _keeps_containers(self) -> bool:
        """True when an attribute is a container of Tensors, which has to be the same object during one call of backward."""
        return any(not isinstance(structure, Tensor) for structure, _ in (self._kept or {}).values())

    def _left_behind(self) -> str:
        """Values that an earlier backward left on ctx were computed without recording.

        What forward set is kept elsewhere, all but constant numbers, which no backward sets.
        """
        for name, value in self.__dict__.items():
            if any(arrays.is_inexact(t.dtype) and not t.requires_grad for t in tensors_in(value)) or (
                may_carry(value, (), True, hidden=True) and name in attributes_set_by(find_rule(self._operator))
            ):
                return f"ctx.{name} was set after forward, by a pass that was not recorded"
        return ""

    def _recompute_carriers(self, pull: Pull, second: Recomputed) -> str:
        """Closures, objects and bare numbers on ctx, from the second run."""
        names, _ = self._opaque
        for name in [name for name in names if name in (self._kept or ())]:  # a rule may have deleted others
            old, entries = self._kept[name]  # type: ignore[index]
            new = getattr(second.ctx, name, None)
            trouble = second.trouble
            if not trouble and second.watcher.cuts and not second.is_constant(name, old):
                trouble = f"forward took a value out of the graph by {', '.join(second.watcher.cuts)}"
            if not trouble and not (same_numbers(old, new) and (not entries or len(tensors_in(new)) == len(entries))):
                trouble = "running forward again gave another one"
            if trouble:
                return f"ctx.{name} may hold something that depends on the inputs, and {trouble}"
            pull.attributes[name] = rebuild(new, iter(tensors_in(getattr(self, name)))) if entries else new
        return ""

    def apply(self, *cotangents: Any) -> Any:
        """Call the rule of this node on cotangents."""
        return self._call_rule(list(cotangents))


def _saved_at(k: int) -> Any:
    """Finds a saved value on the ctx of another run of forward."""
    return lambda ctx: ctx._to_save[k]


def _held_at(name: str, k: int) -> Any:
    """The same for a Tensor in an attribute."""
    return lambda ctx: tensors_in(getattr(ctx, name))[k]


def no_backward(ctx: Any, *grad_outputs: Any) -> Any:
    """One gradient per argument of forward."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
    )


def no_vjp(ctx: Any, *grad_outputs: Any) -> Any:
    """Another name for ``backward``."""
    return no_backward(ctx, *grad_outputs)


def find_rule(operator: Any) -> Any:
    """``backward``, or its other name ``vjp``, whichever the user wrote."""
    return operator.backward if operator.backward is not no_backward else operator.vjp


def refuse_both(operator: Any) -> Any:
    """What takes the place of the rule where a class defines it under both names."""

    def ambiguous(ctx: Any, *grad_outputs: Any) -> Any:
        raise lesson(
            RuntimeError,
            f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {operator.__name__}",
            instead="one of them; they are two names of the same rule.",
        )

    return staticmethod(ambiguous)


def attributes_set_by(function: Any) -> set[str]:
    """The names in the statements of a function that set an attribute, of whatever object."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"} if code else set()


class ClearingNode(FunctionNode):
    """The ctx of a Function with ``clear_saved_tensors_on_access``: saved Tensors can be read once."""

    __slots__ = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._saved is CLEARED:
            self._entries()  # raises, also where a recorded pass has other values at hand
        values = super().saved_tensors
        self._saved = CLEARED
        return values
