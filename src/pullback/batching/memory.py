"""Large values that nobody needs any more give their memory to the next ones, while batches are alive.

Allocating megabytes costs more than filling them (see `pullback.core.recycling`), and a pass over a batch makes many arrays
of a few shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core import recycling
from pullback.core.recycling import LARGE

ndarray = np.ndarray
#: How many arrays of one shape and dtype wait, and of how many shapes.
KEPT, SHAPES = 6, 8
#: How many bytes wait at most when no batch is alive.
AFTERWARDS = 2**24
_waiting: dict[tuple[Any, Any], list[Any]] = {}
_NUMBERS = frozenset({float, int})

_ARITHMETIC = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.neg: np.negative,
}
#: Functions whose results have the dtype of their floating-point arguments, and how NumPy computes them.
INTO: dict[Any, Any] = {
    **_ARITHMETIC,
    **{ufunc: ufunc for ufunc in _ARITHMETIC.values()},
    **{
        ufunc: ufunc
        for ufunc in (
            np.sin,
            np.cos,
            np.exp,
            np.tanh,
            np.sqrt,
            np.log,
            np.maximum,
            np.minimum,
            np.square,
            np.reciprocal,
        )
    },
}


def compute(function: Callable[..., Any], values: Any) -> Any:
    """``function(*values)``, into memory that waits where some of the right shape does."""
    ufunc = INTO.get(function)
    if ufunc is None:
        return function(*values)
    like: Any = None
    for value in values:
        if value.__class__ is ndarray:
            if like is None or value.size > like.size:
                like = value
        elif value.__class__ not in _NUMBERS:
            return function(*values)
    if like is None or like.size <= LARGE or like.dtype.kind != "f" or not like.flags.c_contiguous:
        return function(*values)
    for value in values:
        if value.__class__ is ndarray and value is not like and not (value.dtype == like.dtype and _fits(value, like)):
            return function(*values)
    return ufunc(*values, out=take(like.shape, like.dtype))


def large(values: Any) -> bool:
    """Whether there are large arrays of NumPy's among the values, and nothing else but numbers."""
    found = False
    for value in values:
        if value.__class__ is ndarray:
            found = found or value.size > LARGE
        elif value.__class__ not in _NUMBERS:
            return False
    return found


def _fits(value: Any, like: Any) -> bool:
    """Whether an array is broadcast to the shape of another one."""
    if value.shape == like.shape:
        return True
    extra = like.ndim - value.ndim
    return extra >= 0 and all(a in (1, b) for a, b in zip(value.shape, like.shape[extra:], strict=True))


def take(shape: tuple[int, ...], dtype: Any) -> Any:
    """Memory for a large array."""
    waiting = _waiting.get((shape, dtype))
    return waiting.pop() if waiting else np.empty(shape, dtype)


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    """A large array of zeros."""
    waiting = _waiting.get((shape, dtype))
    if not waiting:
        return np.zeros(shape, dtype)
    found = waiting.pop()
    found.fill(0)
    return found


def release(value: Any) -> None:
    """Let the memory of a batched value wait, now that the `Batched` around it is gone; if nothing else refers to it."""
    if getrefcount(value) > _ALONE or value.base is not None or recycling.collecting():
        return
    flags = value.flags
    if not (flags.owndata and flags.writeable and flags.c_contiguous):
        return
    key = value.shape, value.dtype
    waiting = _waiting.get(key)
    if waiting is None:
        if len(_waiting) >= SHAPES:
            del _waiting[next(iter(_waiting))]
        waiting = _waiting[key] = []
    if len(waiting) < KEPT:
        waiting.append(value)


def trim() -> None:
    """Keep but little, now that nothing is alive that needs the memory: the next Hessian begins with it."""
    kept = 0
    for waiting in list(_waiting.values()):
        while waiting and kept + len(waiting) * waiting[0].nbytes > AFTERWARDS:
            waiting.pop()
        kept += sum([value.nbytes for value in waiting])


class _Holder:
    """Stands for a `Batched` in `_references_while_dying`."""

    __slots__ = ("value",)
    value: Any

    def __del__(self) -> None:
        _count(self.value)


_counted: list[int] = []


def _count(value: Any) -> None:
    _counted.append(getrefcount(value))


def _references_while_dying() -> int:
    """What `sys.getrefcount` says in `release` of an array that only the dying `Batched` holds."""
    holder = _Holder()
    holder.value = np.empty(1)
    del holder
    return _counted.pop() if _counted else 0


_ALONE = _references_while_dying()
