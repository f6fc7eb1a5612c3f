"""Dual numbers: making them, reading their tangents, and what becomes of a tangent when memory is written.

Tangents are values.  A write into a part of a Tensor makes a new tangent of the whole, so two Tensors may share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

import numpy as np

from pullback.core import arrays, batches, dual, modes, views
from pullback.core.batches import LIVE
from pullback.core.dual import OPEN, Dual, Level, dual_at, without
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.masked import unmask
from pullback.core.places import note
from pullback.core.recorded import Recorded
from pullback.core.tensor import Leaf, Tensor, wrap

_level: ContextVar[Level | None] = ContextVar("pullback dual level", default=None)


# ------------------------------------------------------------------------------------------------------------- the level
def current_level() -> Level | None:
    """The level that is open in this context."""
    return _level.get()


def enter() -> None:
    """Open a level.  There is one at a time."""
    if _level.get() is not None:
        raise lesson(
            RuntimeError,
            "Nested forward mode AD is not supported at the moment",
            why="there is one level of dual numbers; a tangent has no tangent.",
            instead="pullback.jvp for derivatives of derivatives, or grad inside the level: forward over reverse.",
        )
    level = Level()
    OPEN.append(level)
    _level.set(level)


def leave() -> None:
    """Close the level; every tangent of it is gone."""
    level = _level.get()
    if level is None:
        raise lesson(
            RuntimeError,
            "Trying to exit a forward AD level, but none is open.",
            instead="with dual_level(): ..., which enters and exits once.",
        )
    _level.set(None)
    level.close()


# ---------------------------------------------------------------------------------------------------------- dual numbers
def carries(x: Any) -> bool:
    """True for a Tensor that has a tangent now."""
    return bool(OPEN) and isinstance(x, Tensor) and dual_at(x._edge) is not None


def tangent_of(x: Tensor) -> Any:
    """The tangent of a Tensor, ``None`` if it has none; that of a view is the same part of its base's."""
    found = dual_at(x._edge)
    if found is None:
        return None
    if found is not x._edge:
        return views.replay(x._edge.steps, found.tangent)
    if x._view is not None and x._buffer.stale(x._array, found.version):  # type: ignore[union-attr]
        raise lesson(
            RuntimeError,
            "a view that a custom Function returned, or the Tensor that it is a view of, has been modified inplace",
            why="the tangent that the Function gave it is that of the old value.",
            instead="clone() the output of the custom Function, or write before calling it.",
        )
    return found.tangent


def make(x: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """A Tensor with the value of `x` and a tangent.

    It shares the memory of `x`, unless `x` is in a graph: then it has its own, so that no write to it escapes that graph.
    """
    if x.requires_grad:
        alias = Recorded.xp.asarray(x, copy=True)
    else:
        alias = wrap(type(x), x._array, x._shared_buffer())
    alias._edge = Dual(level, alias._resolved(), tangent)
    return alias


def primal(x: Tensor) -> Tensor:
    """`x` without its tangent: the same memory, and the same place in the graph."""
    return wrap(type(x), x._array, x._shared_buffer(), x._resolved()) if carries(x) else x


def bare(x: Tensor) -> Tensor:
    """`x` without tangent and without graph."""
    return wrap(type(x), x._array, x._buffer)


def settled(found: Any) -> Any:
    """A derivative that is not to be differentiated again: without graph, with its tangent."""
    found = unmask(found)
    tangent = tangent_of(found) if carries(found) else None
    if tangent is None:
        return bare(found)
    level = dual_at(found._edge).level  # type: ignore[union-attr]
    return wrap(type(found), found._array, found._buffer, Dual(level, None, bare(tangent)))


def at(place: Any, x: Tensor) -> Any:
    """`place`, with the tangent of `x`: where another Tensor with the value of `x` has to stand."""
    found = dual_at(x._edge) if OPEN else None
    return place if found is None else Dual(found.level, place, tangent_of(x))


def zeros_like(x: Tensor) -> Tensor:
    """Zeros in the kind of `x`."""
    return wrap(type(x), arrays.namespace(x._array).zeros_like(x._array))


def check_tangent(t: Tensor, y: Tensor, who: str) -> None:
    """Refuse what is no tangent for `y`."""
    if tuple(t.shape) != tuple(y.shape):
        raise lesson(
            RuntimeError,
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(y.shape)} while the given forward gradient is of size {list(t.shape)}.",
            why="a tangent has one number for each entry; nothing is broadcast here.",
            instead="a tangent of that size.",
        )
    if not arrays.is_inexact(t.dtype):
        raise lesson(RuntimeError, f"{who} a tangent of dtype {t.dtype}", instead="a floating-point Tensor.")
    if arrays.is_complex(t.dtype) and not arrays.is_complex(y.dtype):
        raise lesson(
            RuntimeError,
            f"{who} a tangent of dtype {t.dtype} for values of {y.dtype}",
            why="a real number moves along the real line.",
            instead="a real tangent, or complex values.",
        )
    if carries(t):
        raise lesson(
            RuntimeError,
            f"{who} a tangent that itself has a tangent, which is not supported",
            why="there is one level of dual numbers.",
            instead="unpack_dual(t).primal, where its own tangent is not meant.",
        )


# --------------------------------------------------------------------------------------------------------------- primals
class Primal(Node):
    """The place of an argument while its tangent is being pushed: the way to where it came from, and the tangent."""

    __slots__ = ("tangent",)

    def __init__(self, kind: Any, array: Any, edge: Any, level: Any = None) -> None:
        super().__init__((edge,) if edge else (), kind, array.shape, arrays.dtype_of(array))
        self.tangent: Any = None
        note(self)
        if level is not None:
            level.holders.add(self)

    def _name(self) -> str:
        return "PrimalBackward"

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        return cotangents


class Point(Primal):
    """The place of a variable that is a dual number, for who differentiates at one."""

    __slots__ = ()


def point(x: Tensor) -> Tensor:
    """A dual number with the value and tangent of `x`, at a place in the graph of its own."""
    return wrap(type(x), x._array, None, at((Point(type(x), x._array, None), 0), x))


class Argument:
    """A dual number among the arguments: the Tensor that stands in for it, and its tangent."""

    def __init__(self, source: Tensor) -> None:
        self.source = source
        self.level = dual_at(source._edge).level  # type: ignore[union-attr]
        self.differentiable = source.requires_grad
        node = Primal(type(source), source._array, source._resolved(), self.level)
        self.edge = (node, 0)
        self.primal: Any = wrap(type(source), source._array, source._shared_buffer(), self.edge)

    @cached_property
    def tangent(self) -> Any:
        """Found when it is asked for: a view operator does not need it, and the way to the base may be long."""
        tangent, dtype = tangent_of(self.source), self.source.dtype
        tangent = tangent if tangent.dtype == dtype else Recorded.xp.astype(tangent, dtype)
        self.edge[0].tangent = tangent
        return tangent

    def constant(self, value: Any) -> Any:
        """The stand-in as user code may see it: without a graph where the argument has none."""
        return bare(value) if value is self.primal and not self.differentiable else value


# ------------------------------------------------------------------------------------- linear or elementwise
def same_field(y: Tensor, args: Sequence[Any]) -> bool:
    """False where a complex argument has a real result: a partial derivative does not say everything then."""
    return arrays.is_complex(y.dtype) or not any(carries(x) and arrays.is_complex(x.dtype) for x in args)


def direct(operator: Any, xp: Any, args: Sequence[Any], tangents: Sequence[Any], options: Any, y: Any) -> Any:
    """The tangent of a linear or elementwise operator, ``None`` for zeros."""
    if not operator.linear:
        return operator.jvp(xp, args, tangents, y)
    directions = [_zero(x) if t is None else t for x, t in zip(args, tangents, strict=True)]
    return operator.apply(*directions, **options)


def _zero(value: Any) -> Any:
    """Zeros for an array that does not move; an index, a shape, a flag as it is."""
    if isinstance(value, Tensor):
        return zeros_like(value) if arrays.is_inexact(value.dtype) else value
    return (
        arrays.namespace(value).zeros_like(value)
        if arrays.is_array(value) and arrays.is_inexact(value.dtype)
        else value
    )


def outside_graphs(operator: Any, args: Sequence[Any], options: Any) -> Any:
    """The short path: the same where nothing belongs to a graph; ``None`` where something does."""
    tangents = [tangent_of(x) if carries(x) else None for x in args]
    if modes.current()._recording:
        for value in (*args, *tangents):
            if isinstance(value, Tensor) and value.requires_grad:
                return None
    y = operator.apply(*[bare(x) if isinstance(x, Tensor) else x for x in args], **options)
    if not arrays.is_inexact(y.dtype):
        return y
    if not (operator.linear or same_field(y, args)):
        return None
    xp = arrays.namespace(y._array)
    if LIVE:
        xp = batches.widest(xp, [t._array for t in tangents if t is not None])
    bare_args = [x._array if isinstance(x, Tensor) else x for x in args]
    directions = [
        None if t is None else t._array if t.dtype == x.dtype else arrays.cast(t._array, x.dtype, xp)
        for x, t in zip(args, tangents, strict=True)
    ]
    moved = direct(operator, xp, bare_args, directions, options, y._array)
    moved = xp.zeros_like(y._array) if moved is None else arrays.asarray(moved, xp)
    if moved.shape != y._array.shape:
        moved = xp.broadcast_to(moved, y._array.shape)
    if arrays.dtype_of(moved) != y.dtype:
        moved = arrays.cast(moved, y.dtype, xp)
    level = next(found.level for x in args if isinstance(x, Tensor) and (found := dual_at(x._edge)))
    y._edge = Dual(level, None, wrap(type(y), moved))
    return y


# ---------------------------------------------------------------------------------------------------------------- writes
def written(target: Tensor, tangent: Any) -> Any:
    """The tangent of the base of `target` once a value with this tangent (or none) is written into `target`."""
    view = target._view
    base = target if view is None else view.base
    old = tangent_of(base)
    if view is None or (old is None and tangent is None):
        return tangent
    layout = np.zeros_like(base._array) if isinstance(base._array, np.ndarray) else zeros_like(base)._array
    whole = wrap(type(base), layout)
    if old is not None:
        views.write(whole, old)
    part = views.replay(view.steps, whole)
    views.write(part, zeros_like(part) if tangent is None else tangent)
    return whole


def place(target: Tensor, whole: Any) -> None:
    """Give the base of `target` its new tangent."""
    view = target._view
    base = target if view is None else view.base
    inner = without(base._edge)
    if whole is None:
        if base._edge.__class__ is Dual:
            base._edge = inner
        return
    if inner.__class__ is Leaf:
        raise lesson(
            RuntimeError,
            "a dual number was written into a leaf that requires gradients",
            why="the leaf would be a variable and a function of another one.",
            instead="write into a clone(), or into leaf.detach().",
        )
    level = _level.get() or OPEN[-1]
    base._edge = Dual(level, inner, whole)


for _function in (tangent_of, at, written, place):
    setattr(dual, _function.__name__, _function)
