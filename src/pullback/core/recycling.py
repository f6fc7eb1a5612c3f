"""Large results that nobody needs any more give their memory to the next ones.

Allocating megabytes costs more than filling them: the system has to find and clear the pages.  NumPy avoids it for temporaries
(``2 * x * g`` needs one new array); a Tensor that was the result of an unrecorded operator hands its array on when it dies, if
nothing else refers to that array: no view, no alias, no saved value, nobody's ``numpy()``.
"""

from __future__ import annotations

import gc
import weakref
from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core.wrapping import before_replacing

#: Elements from which an allocation costs more than keeping watch.
LARGE = 32_768
#: How many arrays wait to be used again, over all shapes.
KEPT = 2

_waiting: list[Any] = []
_watched: dict[int, tuple[Any, Any]] = {}


def compute(ufunc: Any, a: Any, b: Any) -> Any:
    """``ufunc(a, b)`` for large operands, into waiting memory where some of the right shape and dtype is there."""
    like = a if b.ndim == 0 else b
    if a.dtype == b.dtype and a.dtype.kind in "fc" and (a.ndim == 0 or b.ndim == 0 or alike(a, b)):
        for position in range(len(_waiting) - 1, -1, -1):
            array = _waiting[position]
            if array.dtype == a.dtype and alike(array, like):
                try:
                    memory = _waiting.pop(position)
                except IndexError:  # another thread was faster
                    break
                if memory is array:
                    return ufunc(a, b, out=memory)
                _waiting.append(memory)
                break
    return ufunc(a, b)


def alike(a: Any, b: Any) -> bool:
    """The same shape, and the same order in memory: a result looks as NumPy would have made it."""
    return bool(a.shape == b.shape and a.strides == b.strides)


def watch(tensor: Any, array: Any) -> None:
    """Take over the memory of `array`, the result `tensor`, when the Tensor dies."""
    key = id(tensor)
    _watched[key] = (weakref.ref(tensor, lambda _: _release(key)), array)


def forget(tensor: Any) -> None:
    """Keep out of it: the Tensor will hold another array."""
    _watched.pop(id(tensor), None)


before_replacing.append(forget)


def is_watched(tensor: Any) -> bool:
    """Whether its memory will be taken over: it holds the fresh result of an unrecorded operator."""
    return id(tensor) in _watched


def _release(key: int) -> None:
    _, array = _watched.pop(key)
    if _collecting:
        return
    if getrefcount(array) <= _ALONE and array.base is None and array.flags.owndata and array.flags.writeable:
        _keep(array)


def _keep(array: Any) -> None:
    """Let the array wait.  Memory that was used a moment ago is the fastest, so a newcomer replaces only other kinds."""
    if len(_waiting) < KEPT:
        _waiting.append(array)
        return
    for position, old in enumerate(_waiting):
        if old.dtype != array.dtype or not alike(old, array):
            _waiting[position : position + 1] = [array]
            return


_collecting = False


def collecting() -> bool:
    """Whether the garbage collector runs."""
    return _collecting


def _note_collection(phase: str, _: Any) -> None:
    """The garbage collector tells of a death before the finalizers ran, and those may still use the Tensor."""
    global _collecting
    _collecting = phase == "start"


gc.callbacks.append(_note_collection)


class _Holder:
    """Stands for a Tensor in `_references_while_dying`."""

    __slots__ = ("__weakref__", "_array")
    _array: Any


def _references_while_dying() -> int:
    """Count as `_release` does: the dying Tensor still holds its array when it is told of."""
    found: list[int] = []

    def release(key: int) -> None:
        _, array = watched.pop(key)
        found.append(getrefcount(array))

    holder = _Holder()
    holder._array = np.empty(1)
    watched = {0: (weakref.ref(holder, lambda _: release(0)), holder._array)}
    del holder
    return found[0] if found else 0


#: What `sys.getrefcount` says in `_release` of an array that only the dying Tensor holds; 0 where Tensors do not die at once.
_ALONE = _references_while_dying()
