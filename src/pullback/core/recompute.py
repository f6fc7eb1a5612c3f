"""Running forward again, recorded, so that saved intermediates know how they depend on the inputs.

A value that ``forward`` saved and that is neither an input nor an output was computed while nothing was recorded.  For a first
derivative that does not matter.  When the backward pass is itself recorded, forward is run once more with recording on; the
intermediates of that run have the same values and a place in the graph.  Where the second run cannot vouch for a value (it came
out different, or something left the graph on the way), using it plants a delayed error instead of a wrong number.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Node, reach
from pullback.core.refusal import THREE_REMEDIES, refused
from pullback.core.saved import pack, unpack
from pullback.core.tensor import Tensor, wrap


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

    ``impossible`` is the reason why it cannot, if there is one (it wrote into its arguments).
    """

    __slots__ = ("_arguments", "call", "impossible", "options")

    def __init__(
        self,
        args: Iterable[Any],
        edges: Iterable[Any],
        call: Callable[..., Any],
        options: Any = None,
        impossible: str = "",
    ) -> None:
        self._arguments = [
            (True, pack(a, (a,), (edge,))) if isinstance(a, Tensor) else (False, a)
            for a, edge in zip(args, edges, strict=True)
        ]
        self.call = call  # takes the node as an argument: holding it here would make a cycle
        self.options = options
        self.impossible = impossible

    def arguments(self, node: Node) -> list[Any]:
        """The arguments, checked to be what they were."""
        found = [unpack(value, node, "an input") if packed else value for packed, value in self._arguments]
        return [dual.reopened(node, value, None) for value in found] if OPEN else found


class Recomputed:
    """Asks a second, recorded run of forward for the values that the first one saved."""

    def __init__(self, node: Any, rerun: Rerun) -> None:
        self.node = node
        self.trouble = rerun.impossible
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

    def vouch(self, old: Tensor, new: Any, what: str) -> Any:
        """`new`, the second run's version of the saved value `old`, or a delayed error over the old one."""
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
            return self._refuse(
                old,
                name,
                f"a value left the graph in forward by {', '.join(self.watcher.cuts)}, so its dependence on the inputs "
                "cannot be recovered.",
            )
        return new if new.requires_grad or (OPEN and dual_at(new._edge)) else wrap(type(new), old._array, old._buffer)

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
        """True when the number ``ctx.name`` stays what it is while the inputs change: then it is no function of them."""
        if not is_number(old):
            return False
        if self._elsewhere is None:
            token = modes.enter(modes.OFF)
            try:
                moved = [_moved(value) for value in self._rerun.arguments(self.node)]
                self._elsewhere = self._rerun.call(self.node, moved, self._rerun.options)
            except Exception:
                return False
            finally:
                modes.leave(token)
        return same_numbers(old, getattr(self._elsewhere, name, None))

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
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _moved(value: Any) -> Any:
    """A differentiable argument at a point nearby."""
    if not isinstance(value, Tensor) or not arrays.is_inexact(value.dtype) or not value.requires_grad:
        return value
    return wrap(type(value), value._array * (1 + 2**-10) + 2**-10)


def is_number(value: Any) -> bool:
    """True for a floating-point number or a bare array."""
    return isinstance(value, (float, complex)) or arrays.is_array(value)


def same_numbers(old: Any, new: Any) -> bool:
    """True unless `old` is a number or a bare array and `new` differs from it."""
    if isinstance(old, (float, complex)):
        return old == new or (old != old and new != new)
    if arrays.is_array(old):
        return arrays.is_array(new) and _same(old, new)
    return True


def parts(value: Any) -> Any:
    """The contents of a container, ``None`` for anything else.  Records (dataclasses) count; other objects do not."""
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        return value
    if isinstance(value, dict):
        return value.values()
    record = dataclasses.is_dataclass(value) and not isinstance(value, type)
    if record or isinstance(value, types.SimpleNamespace):
        return vars(value).values()
    return None


#: Kinds of value that hold no Tensor and cannot carry a derivative.
HARMLESS = frozenset(
    {int, bool, str, bytes, type(None), slice, type, np.dtype(float).__class__, type(Ellipsis), range, types.ModuleType}
)
_PLAIN = HARMLESS | {float, complex}


def tensors_in(value: Any, seen: set[int] | None = None) -> list[Tensor]:
    """The Tensors in a value: itself, or the contents of containers, at any depth; a shared container counts once."""
    if isinstance(value, Tensor):
        return [value]
    if value.__class__ in _PLAIN:
        return []
    contents = parts(value)
    if contents is None or _PLAIN.issuperset(map(type, contents)):
        return []
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    return [t for item in contents for t in tensors_in(item, seen)]


def is_tree(value: Any, seen: set[int] | None = None) -> bool:
    """False for containers that hold themselves, or one container twice: they cannot be taken apart and rebuilt."""
    contents = parts(value)
    if contents is None or _PLAIN.issuperset(map(type, contents)):
        return True
    seen = set() if seen is None else seen
    if id(value) in seen:
        return False
    seen.add(id(value))
    return all(is_tree(item, seen) for item in contents)


def rebuild(value: Any, tensors: Any) -> Any:
    """A tree with its Tensors replaced, in the order of `tensors_in`, by those of an iterator."""
    if isinstance(value, Tensor):
        return next(tensors)
    contents = parts(value)
    return value if contents is None else assemble(value, [rebuild(item, tensors) for item in contents])


def assemble(value: Any, fresh: list[Any]) -> Any:
    """A container like `value` with other contents."""
    if isinstance(value, tuple):
        return type(value)(*fresh) if hasattr(value, "_fields") else type(value)(fresh)
    if isinstance(value, (list, set, frozenset)):
        return type(value)(fresh)
    twin = copy.copy(value)
    if isinstance(value, collections.deque):
        twin.clear()
        twin.extend(fresh)
    elif isinstance(value, dict):
        twin.update(zip(value, fresh, strict=True))
    else:
        vars(twin).update(zip(vars(value), fresh, strict=True))
    return twin
