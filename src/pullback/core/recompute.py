"""Running forward again, recorded, so that saved intermediates know how they depend on the inputs.

A value that ``forward`` saved and that is neither an input nor an output was computed while nothing was recorded.  For a first
derivative that does not matter.  When the backward pass is itself recorded, forward is run once more with recording on; the
intermediates of that run have the same values and a place in the graph.  Where the second run cannot vouch for a value (it came
out different, or something left the graph on the way), using it plants a delayed error instead of a wrong number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Number
from typing import Any

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.contents import CONTAINERS, assemble, parts
from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Node, reach
from pullback.core.refusal import THREE_REMEDIES, refused
from pullback.core.saved import pack, unpack
from pullback.core.tensor import Tensor, wrap

#: Multiples of it, modulo 1, are spread evenly and never repeat.
GOLDEN = 0.6180339887498949


class Watcher:
    """Hears of every recorded value that leaves the graph while a rule runs."""

    def __init__(self, sources: Iterable[Any] = ()) -> None:
        self.sources = {edge[0] for edge in sources if edge}
        self.cuts: list[str] = []
        self.once = False  # the rule is marked @once_differentiable

    def leaves(self, tensor: Any, how: str) -> None:
        """Note a cut."""
        if how not in self.cuts:
            self.cuts.append(how)

    def passes(self, roots: list[Node]) -> None:
        """A backward pass without ``create_graph`` starts: a cut, if it goes through what the rule was given."""
        order, leaves = reach(roots)
        if not self.sources.isdisjoint(order) or not self.sources.isdisjoint(leaves):
            self.leaves(None, "grad() or backward() without create_graph=True")


class Unvouched(Exception):
    """A second run of forward cannot vouch for a kept number."""


class Rerun:
    """The arguments of a call, kept so that its forward can run again.

    `impossible` is the reason why it cannot, if there is one (it wrote into its arguments); `written` are weak references to
    the memory into which it wrote, and which is its own if nobody keeps it.
    """

    __slots__ = ("_arguments", "_impossible", "_written", "call", "options")

    def __init__(
        self,
        args: Iterable[Any],
        edges: Iterable[Any],
        call: Callable[..., Any],
        options: Any = None,
        impossible: str = "",
        written: tuple[Any, ...] = (),
    ) -> None:
        self._arguments = [
            (True, pack(a, (a,), (edge,))) if isinstance(a, Tensor) else (False, a)
            for a, edge in zip(args, edges, strict=True)
        ]
        self.call = call  # takes the node as an argument: holding it here would make a cycle
        self.options = options
        self._impossible, self._written = impossible, written

    def why_not(self) -> str:
        """Why forward cannot run again; empty where it can."""
        if any(buffer() is not None for buffer in self._written):
            return "forward wrote into a Tensor that it did not make, so it cannot be run again."
        return self._impossible

    def arguments(self, node: Node) -> list[Any]:
        """The arguments, checked to be what they were."""
        found = [unpack(value, node, "an input") if packed else value for packed, value in self._arguments]
        return [dual.reopened(node, value, None) for value in found] if OPEN else found


class Recomputed:
    """Asks a second, recorded run of forward for the values that the first one saved."""

    def __init__(self, node: Any, rerun: Rerun) -> None:
        self.node = node
        self.trouble = rerun.why_not()
        self.watcher = Watcher(node._edges)
        self.ctx: Any = None
        self._rerun, self._elsewhere = rerun, None
        if not self.trouble:
            self._run(rerun)

    def _run(self, rerun: Rerun) -> None:
        settings = modes.current()._settings.replace(watcher=self.watcher)
        token = modes.enter(modes.plain(True, settings))
        try:
            self.ctx = rerun.call(self.node, rerun.arguments(self.node), rerun.options)
        except Exception as error:
            self.trouble = f"running forward again, with recording on, raised {type(error).__name__}: {error}"
        finally:
            modes.leave(token)

    def vouch(self, old: Tensor, new: Any, what: str, find: Callable[[Any], Any] | None = None) -> Any:
        """`new`, the second run's version of the saved value `old`, or a delayed error over the old one.

        `find` takes the value from the ctx of another run.
        """
        name = f"{self.node._operator.__name__}.forward saved {what}, which is neither an input nor an output"
        if self.trouble:
            return self._refuse(old, name, self.trouble)
        if not isinstance(new, Tensor):
            return self._refuse(old, name, "running forward again did not produce it.")
        if not _same(old._array, new._array):
            return self._refuse(
                old,
                name,
                "running forward again gave other values (it is random, or depends on something that changed), so its "
                "dependence on the inputs cannot be recovered.",
            )
        if self.watcher.cuts:
            if not new.requires_grad and new is not old and find is not None and self._stays(old, find):
                return wrap(
                    type(new), old._array, old._buffer
                )  # a mask, a scale: no function of the inputs around here
            return self._refuse(
                old,
                name,
                f"a value left the graph in forward by {', '.join(self.watcher.cuts)}, so its dependence on the inputs "
                "cannot be recovered.",
            )
        if new.requires_grad or (OPEN and dual_at(new._edge) is not None):
            return new
        if new is old and find is not None and not self._stays(old, find):
            return self._refuse(
                old,
                name,
                "it was computed once and kept outside of ctx, so the second run of forward did not compute it again.",
            )
        return wrap(type(new), old._array, old._buffer)

    def vouch_for(self, kind: Any, old: Any, new: Any, what: str) -> Any:
        """The same for what a Primitive kept: bare arrays, numbers, containers of them.

        Raises `Unvouched` for a number, which cannot carry a delayed error.
        """
        contents = parts(old)
        if contents is not None:
            others = parts(new)
            if others is None or len(others) != len(contents):
                raise Unvouched(f"running forward again did not produce {what}.")
            return assemble(old, [self.vouch_for(kind, a, b, what) for a, b in zip(contents, others, strict=True)])
        if arrays.is_array(old):
            return self.vouch(wrap(kind, old), new, what) if arrays.is_inexact(old.dtype) else old
        if self.trouble or self.watcher.cuts or not same_numbers(old, new):
            cut = (
                self.trouble or f"a value left the graph in forward by {', '.join(self.watcher.cuts) or 'another way'}."
            )
            raise Unvouched(f"{what} may hold something that depends on the inputs: {cut}")
        return new

    def is_constant(self, name: str, old: Any) -> bool:
        """True when ``ctx.name`` holds the same while the inputs change: then it is no function of them."""
        return self._stays(old, lambda ctx: getattr(ctx, name, None))

    def _stays(self, old: Any, find: Callable[[Any], Any]) -> bool:
        try:
            if self._elsewhere is None:
                token = modes.enter(modes.OFF)
                try:
                    moved = [_moved(value, k) for k, value in enumerate(self._rerun.arguments(self.node))]
                    self._elsewhere = self._rerun.call(self.node, moved, self._rerun.options)
                finally:
                    modes.leave(token)
            new = find(self._elsewhere)
            if isinstance(old, Tensor):
                return isinstance(new, Tensor) and _same(old._array, new._array)
            return holds_the_same(old, new)
        except Exception:  # forward cannot run there, or what it keeps cannot be compared
            return False

    def _refuse(self, old: Tensor, what: str, why: str) -> Any:
        if OPEN and dual.moves(self.node, ()):
            raise lesson(
                DerivativeRefused, f"the tangent of a derivative is refused: {what}", why=why, instead=THREE_REMEDIES
            )
        return refused(
            old,
            self.node._edges,
            self.node,
            f"{what}: the second derivative through it is refused",
            f"{why} It would be silently wrong.",
        )


def _same(a: Any, b: Any) -> bool:
    a, b = arrays.everything(a), arrays.everything(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _moved(value: Any, number: int) -> Any:
    """A differentiable argument at a point nearby: each entry by a step of its own, so that no ratio or difference stays."""
    if not isinstance(value, Tensor) or not arrays.is_inexact(value.dtype) or not value.requires_grad:
        return value
    steps = GOLDEN * (1 + number + np.arange(arrays.size(value._array))) % 1.0
    xp = arrays.namespace(value._array)
    steps = arrays.cast(arrays.asarray(steps.reshape(value.shape), xp), value.dtype, xp) * 2**-10 + 2**-11
    return wrap(type(value), value._array * (1 + steps) + steps)


def holds_the_same(old: Any, new: Any) -> bool:
    """True when two values are equal in all that they hold: numbers, arrays, text, containers of them."""
    pending = [(old, new)]
    while pending:
        old, new = pending.pop()
        if old is new or (isinstance(old, Tensor) and isinstance(new, Tensor)):  # Tensors are vouched for one by one
            continue
        if type(old) is not type(new):
            return False
        contents = parts(old)
        if arrays.is_array(old):
            if not _same(old, new):
                return False
        elif contents is not None and not isinstance(old, (set, frozenset)):
            others = parts(new)
            if len(contents) != len(others) or (isinstance(old, dict) and list(old) != list(new)):
                return False
            if isinstance(old, CONTAINERS) and getattr(old, "__dict__", None):
                return False
            pending.extend(zip(contents, others, strict=True))
        elif not _compares(old) or not (old == new or (old != old and new != new)):
            return False
    return True


def _compares(value: Any) -> bool:
    """True where ``==`` asks for more than whether two are the same object."""
    return getattr(type(value), "__eq__", None) is not object.__eq__


def same_numbers(old: Any, new: Any) -> bool:
    """True unless `old` is a number or a bare array and `new` differs from it."""
    return not (isinstance(old, Number) or arrays.is_array(old)) or holds_the_same(old, new)
