"""How a cotangent is pulled back through a `Primitive`.

The same rule runs on bare arrays, and on Tensors where the pass is itself recorded: then what was saved stands at its place in
the graph, intermediates come from a second run of forward, and a value that left the graph makes a delayed error.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any, ClassVar

import numpy as np

from pullback.core import arrays, batches, dual, modes, rules
from pullback.core.attributes import hand_out
from pullback.core.batches import LIVE, ReadOut
from pullback.core.contents import changes, may_carry, plain, snapshot
from pullback.core.dual import OPEN
from pullback.core.engine import Pass
from pullback.core.errors import lesson
from pullback.core.graph import Freed, Node
from pullback.core.lost import freed
from pullback.core.masked import Masked, unmask
from pullback.core.outside import LIMIT, why_refuse
from pullback.core.packing import Packed
from pullback.core.raw_saved import place_of, raw
from pullback.core.recompute import Recomputed, Unvouched, Watcher
from pullback.core.recorded import Recorded
from pullback.core.references import IN_A_LIST
from pullback.core.refusal import THREE_REMEDIES, TO_LOOK, refused
from pullback.core.saved import Saved, unpack
from pullback.core.tensor import Tensor, lent, wrap
from pullback.core.versions import BORROWED

ndarray = np.ndarray
_new = object.__new__


class PrimitiveNode(Node):
    """The ctx of a `Primitive`, and its node in the graph.

    Attributes
    ----------
    xp
        The namespace of the arrays at hand: NumPy, or the differentiable one while a backward pass is recorded.
    needs_input_grad
        Per argument, whether a gradient is wanted.
    saved_tensors
        In backward: what ``save_for_backward`` was given.
    """

    __slots__ = ("__dict__", "_beside", "_to_save", "needs_input_grad", "xp")

    _operator: ClassVar[Any]  # the Primitive
    needs_input_grad: tuple[bool, ...]
    _to_save: tuple[Any, ...] | None
    xp: Any

    def save_for_backward(self, *values: Any) -> None:
        """Keep arrays for backward."""
        self._to_save = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved: bare arrays, or Tensors while backward is recorded."""
        saved = self._saved
        if self.xp is Recorded.xp:
            return saved or ()
        if saved.__class__ is not tuple:
            saved = self._entries()
        elif len(saved) == 1:  # the most frequent case: one argument
            entry = saved[0]
            if isinstance(entry, Tensor) and entry._buffer is None:
                return (entry._array,)
        values = []
        for entry in saved:
            if entry.__class__ is SavedConstant:
                values.append(entry.array)
            elif entry is not None and entry.__class__ is not Intermediate and entry._buffer is None:
                values.append(entry._array)
            else:
                values.append(bare(entry, self))
        return tuple(values)

    def __call__(self, *cotangents: Any) -> Any:
        """Pull back through this node alone: Tensors, one per output, to Tensors, one per argument (``None`` without)."""
        if len(cotangents) != len(self._specs):
            raise lesson(
                TypeError,
                f"{self._name()} expected {len(self._specs)} arguments, got {len(cotangents)}",
                instead="one gradient per output of the operation.",
            )
        task = Pass(modes.is_grad_enabled(), True, None)
        given = [c if c is None or task.record else c._array for c in cotangents]
        grads = [unmask(grad) for grad in self._pull(given, task)]
        found = [g if g is None or isinstance(g, Tensor) else wrap(self._kind, g) for g in grads]
        return found[0] if len(found) == 1 else tuple(found)

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        edges = self._edges
        if task.record or cotangents[0].__class__ is not ndarray or len(cotangents) != 1 or len(edges) != 1:
            return self._pull_generally(cotangents, task)
        alone = getrefcount(cotangents[0]) == IN_A_LIST  # before there is a name for it
        cotangent = cotangents[0]
        if not alone or cotangent.base is not None:
            cotangent = cotangent.view()  # a rule that wrote into its cotangent would change those of others
            cotangent.setflags(write=False)
        grad = self._operator.backward(self, cotangent)
        if grad.__class__ is ndarray and edges[0]:
            producer, number = edges[0]
            shape, dtype = producer._specs[number]
            if grad.dtype is dtype and grad.shape == shape:
                return (grad,)
        return self._project(self, rules.as_sequence(self, grad), None, self.xp)

    def _pull_generally(self, cotangents: list[Any], task: Any) -> Any:
        """Any number of arguments and results, structural zeros, recording."""
        masked = None
        missing = True
        for cotangent in cotangents:
            if cotangent is not None:
                missing = False
                if cotangent.__class__ is Masked:
                    masked = cotangent
        if missing:
            return [None] * len(self._edges)
        xp = Recorded.xp if task.record else self.xp
        plain = [
            lent_to_rule(unmask(c)) if c is not None else self._zero(position, xp)
            for position, c in enumerate(cotangents)
        ]
        if task.record:
            return self._pull_recorded(plain, masked, task)
        ctx = self
        if len(self._edges) > 1 and task.running is not None:
            ctx = self._shadow()
            ctx.needs_input_grad = tuple([task.wants(edge) for edge in self._edges])
        if LIVE:
            xp = batches.widest(xp, plain)
            if xp is not self.xp:
                ctx = self._shadow() if ctx is self else ctx
                ctx.xp = xp
        try:
            grads = self._operator.backward(ctx, *plain)
        except ReadOut as error:
            grads = batches.rule_one_by_one(self, ctx, plain, False, error)
        return self._project(ctx, rules.as_sequence(self, grads), masked, xp)

    def _pull_recorded(self, cotangents: list[Any], masked: Masked | None, task: Any) -> Any:
        """The same rule on Tensors; a delayed error where a value left the graph on the way."""
        ctx, reason = self._recorded(task)
        ctx.needs_input_grad = tuple([task.wants(edge) for edge in self._edges])
        watcher = Watcher([*self._edges, *[c._resolved() for c in cotangents if isinstance(c, Tensor)]])
        token = modes.enter(modes.plain(True, modes.current()._settings.replace(watcher=watcher)))
        try:
            try:
                grads = self._operator.backward(ctx, *cotangents)
            except ReadOut as error:
                grads = batches.rule_one_by_one(self, ctx, cotangents, True, error)
            grads = rules.as_sequence(self, grads)
            grads = self._project(ctx, grads, masked, Recorded.xp)
        finally:
            modes.leave(token)
        outside = "" if task.linear else why_refuse(self._operator)
        reason = reason or (outside and f"{outside}.")
        if watcher.cuts or reason:
            edges = [*self._edges, *[c._resolved() for c in cotangents if isinstance(c, Tensor)]]
            why = reason or f"its backward took a value out of the graph by {', '.join(watcher.cuts)}."
            what = f"the second derivative of {self._operator.__name__} is refused"
            if OPEN and dual.moves(self, cotangents):
                raise rules.no_tangent(self, what, why)
            why += " It would be silently wrong."
            instead = THREE_REMEDIES if reason else f"{THREE_REMEDIES} {TO_LOOK}"
            grads = [g if g is None else refused(unmask(g), edges, self, what, why, instead) for g in grads]
        return grads

    def _project(self, ctx: Any, grads: list[Any], masked: Masked | None, xp: Any) -> list[Any]:
        """Every cotangent into the space of its argument."""
        mask_rule = self._operator.mask_rule if masked is not None else None
        for position, edge in enumerate(self._edges):
            grad = grads[position]
            if not edge or grad is None:
                grads[position] = None
                continue
            if not (grad.__class__ is ndarray or isinstance(grad, (Tensor, Masked)) or arrays.is_array(grad)):
                raise rules.not_a_gradient(self, position, grad)
            if xp is Recorded.xp or grad.__class__ is not ndarray:
                grad = for_the_walk(grad, self._kind if xp is Recorded.xp else None)
            if mask_rule is not None:
                grad = mask_rule(ctx, grad, masked, position, xp)
            producer, number = edge
            shape, dtype = producer._specs[number]
            plain = grad.value if grad.__class__ is Masked else grad
            if plain.shape != shape or (plain.dtype if plain.__class__ is ndarray else arrays.dtype_of(plain)) != dtype:
                grad = rules.fit(self, position, grad, xp)
            grads[position] = grad
        return grads

    def _zero(self, position: int, xp: Any) -> Any:
        spec = self._specs[position]
        if spec is None:
            return None
        zeros = arrays.zeros(spec[0], spec[1], self.xp)
        return wrap(self._kind, zeros) if xp is Recorded.xp else zeros

    def _shadow(self) -> Any:
        """A private copy of this ctx, for one call of the rule with other flags or values."""
        if self._saved.__class__ is Freed:
            raise freed(self)
        shadow: Any = _new(self._operator._node)
        for name in ("_edges", "_hooks", "_kind", "_number", "_saved", "_specs", "needs_input_grad", "_to_save", "xp"):
            setattr(shadow, name, getattr(self, name, None))
        if self.__dict__:
            shadow.__dict__.update(self.__dict__)
            if "_kept" in self.__dict__:
                hand_out(shadow)
        return shadow

    def _recorded(self, task: Any) -> tuple[Any, str]:
        """A ctx with the saved values as Tensors in the graph and the differentiable namespace; and why not, if not."""
        shadow = self._shadow()
        shadow.xp = Recorded.xp
        entries = self._entries()
        found = [connected(entry, self) for entry in entries]
        kept = {name: connected(entry, self) for name, (_, (entry,)) in self.__dict__.get("_kept", {}).items()}
        if OPEN:
            found = [dual.reopened(self, value, task) for value in found]
            kept = {name: dual.reopened(self, value, task) for name, value in kept.items()}
        shadow._saved = tuple(found)
        shadow.__dict__.update(kept)
        if self._saved.__class__ is Saved:
            reason = self._recompute(shadow, entries)
        else:
            reason = self._left_behind() if self.__dict__ else ""
        return shadow, "" if task.linear else reason

    def _left_behind(self) -> str:
        """Where forward itself left nothing that could depend on the inputs: why something there may do so now."""
        known = self.__dict__.get("_constants", ())
        for name, value in self.__dict__.items():
            if name not in OWN and not plain((value,), True) and may_carry(value, known, True):
                return (
                    f"ctx.{name} was set after forward, by a pass that was not recorded, and may depend on the inputs."
                )
        return ""

    def _entries(self) -> tuple[Any, ...]:
        saved = self._saved
        if saved.__class__ is Freed:
            raise freed(self)
        return saved.entries if saved.__class__ is Saved else saved or ()

    def _saved_entries(self) -> Any:
        kept = [entry for _, (entry,) in self.__dict__.get("_kept", {}).values()]
        return kept if self._saved.__class__ is Freed else (*self._entries(), *kept)

    def _recompute(self, shadow: Any, entries: tuple[Any, ...]) -> str:
        """Put recorded intermediates in the place of bare ones.  The reason where that is not possible."""
        rerun = self._saved.rerun
        before = snapshot(self.__dict__, LIMIT)
        second = Recomputed(self, rerun)
        if before is not None and changes(self.__dict__, before, LIMIT):
            return "forward changes what an earlier call left on ctx."
        known = [*rerun.options.values(), *[getattr(entry, "array", None) for entry in entries]]
        values = list(shadow._saved)
        try:
            for k, entry in enumerate(entries):
                if entry.__class__ is Intermediate:
                    again = second.ctx._to_save if second.ctx is not None else ()
                    new = again[k] if k < len(again) else None
                    values[k] = second.vouch_for(self._kind, entry.array, new, f"value {k} for backward")
            shadow._saved = tuple(values)
            for name, value in self.__dict__.items():
                if name not in OWN and may_carry(value, known, True):
                    if second.watcher.cuts and second.is_constant(name, value):
                        continue
                    new = getattr(second.ctx, name, None)
                    shadow.__dict__[name] = second.vouch_for(self._kind, value, new, f"ctx.{name}")
        except Unvouched as doubt:
            return str(doubt)
        except RecursionError:
            return "what it keeps is nested too deeply to be looked into."
        return ""

    def _kept_attribute(self, name: str) -> Any:
        """Arguments and results that were set as attributes in forward, see attributes.py."""
        kept = self.__dict__.get("_kept", {})
        if name not in kept:
            raise AttributeError(f"{type(self).__name__!r} object (the ctx) has no attribute {name!r}")
        return bare(kept[name][1][0], self)

    @property
    def _saved_self(self) -> Any:
        """The saved argument, as torch shows it; the left one of a binary operator."""
        return self._saved_value("self")

    @property
    def _saved_other(self) -> Any:
        """The saved right argument of a binary operator."""
        return self._saved_value("other")

    @property
    def _saved_result(self) -> Any:
        """The saved result."""
        return self._saved_value("result")

    def _saved_value(self, name: str) -> Any:
        entries = self._entries()
        place = place_of(entries, name)
        return None if place is None else connected(entries[place], self)

    @property
    def _raw_saved_self(self) -> Any:
        """The handle of `_saved_self`, to which hooks can be given."""
        return raw(self, "self")

    @property
    def _raw_saved_other(self) -> Any:
        """The handle of `_saved_other`."""
        return raw(self, "other")

    @property
    def _raw_saved_result(self) -> Any:
        """The handle of `_saved_result`."""
        return raw(self, "result")

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """One entry per argument; numbers count as Tensors without gradients."""
        return tuple(edge or (None, 0) for edge in self._edges)

    def _argument_names(self) -> list[str]:
        return rules.parameter_names(self._operator.forward, 1)


#: Attributes of ctx in which this module itself keeps things.
OWN = frozenset({"_aliased", "_constants", "_kept"})


class SavedConstant:
    """A saved array that is no Tensor: a mask, an index, a bare argument."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


class Intermediate(SavedConstant):
    """A saved array that is neither an input nor an output, and could carry a derivative."""

    __slots__ = ()


def bare(entry: Any, node: PrimitiveNode) -> Any:
    """The bare array behind a saved entry, checked."""
    if entry is None:
        return None
    if isinstance(entry, SavedConstant):
        return entry.array
    if isinstance(entry, Tensor):
        return entry._array if entry._buffer is None else unpack(entry, node, "an input")._array
    if entry.__class__ is Packed:
        return entry.unpack(node, "a value")._array
    entry._check(node, f"an {entry.origin}")
    return entry._array


def connected(entry: Any, node: PrimitiveNode) -> Any:
    """The Tensor behind a saved entry, at the place in the graph where it was saved."""
    return entry.array if isinstance(entry, SavedConstant) else unpack(entry, node, "a value")


def lent_to_rule(cotangent: Any) -> Any:
    """A cotangent as a rule gets it: a rule that wrote into its cotangent would change those of others."""
    if cotangent.__class__ is ndarray:
        return arrays.readonly(cotangent)
    return lent(cotangent) if isinstance(cotangent, Tensor) else cotangent


def for_the_walk(grad: Any, kind: Any) -> Any:
    """What a rule returned, in the form that the walk moves: a Tensor where a `kind` is given, otherwise a bare array.

    A rule may return a bare array also while it is recorded: a constant.
    """
    if grad.__class__ is Masked:
        value = for_the_walk(grad.value, kind)
        return grad if value is grad.value else Masked(value, lambda: grad.mask)
    if isinstance(grad, Tensor):
        return grad if kind is not None else grad._array
    return grad if kind is None else wrap(kind, arrays.asarray(grad, arrays.namespace(grad)), BORROWED)
