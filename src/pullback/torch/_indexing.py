"""``x[index]`` as torch reads it: integers select first, and what is left is an index of lists, Tensors and slices.

For NumPy an integer beside a list is an index array too, which decides where the list's axes stand in the result:
``x[0, :, [0, 1]]`` of shape (2, 3, 4) has the shape (2, 3) there, and (3, 2) here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.arrays import dtype_of, is_mutable
from pullback.ops import indexing, inplace
from pullback.ops.indexing import Key, key_of


def getitem(x: Any, index: Any) -> Any:
    """``x[index]``: a view for integers, slices, None and Ellipsis, a copy where lists or Tensors are among them."""
    if index.__class__ is int:
        return indexing.getitem(x, index)
    for key in _steps(index, x.ndim):
        x = indexing.read_at(x, key)
    return x


def setitem(x: Any, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    *first, last = steps = _steps(index, x.ndim)
    if first and not is_mutable(x._array):  # nothing can be written through a view
        first, last = [], _in_one(steps, tuple(x.shape))
    for key in first:
        x = indexing.read_at(x, key)
    inplace.write_at(x, last, value)


def _steps(index: Any, ndim: int) -> list[Key]:
    """An index as one that NumPy reads in the same way, or as two: the basic part, then arrays and whole slices."""
    key = key_of(index)
    if key.basic:
        return [key]
    entries = _without_ellipsis([_masked(entry) for entry in key.entries], ndim)
    if not any(entry.__class__ is int for entry in entries):
        return [key_of(tuple(entries))]
    basic: list[Any] = []
    rest: list[Any] = []
    for entry in entries:
        array = _is_array(entry)
        basic += [slice(None)] * _axes(entry) if array else [entry]
        if entry.__class__ is not int:
            rest.append(entry if array else slice(None))
    return [key_of(tuple(basic)), key_of(tuple(rest))]


def _in_one(steps: list[Key], shape: tuple[int, ...]) -> Key:
    """What several indices come to, one after the other."""
    numbers = np.arange(math.prod(shape)).reshape(shape)
    for key in steps:
        numbers = key.read(numbers)
    return key_of(np.unravel_index(numbers, shape))


def _masked(entry: Any) -> Any:
    """An entry, where numbers of dtype uint8 are a mask."""
    return entry != 0 if hasattr(entry, "dtype") and dtype_of(entry) == "uint8" else entry


def _without_ellipsis(entries: list[Any], ndim: int) -> list[Any]:
    """The slices that an Ellipsis stands for in its place: between two arrays, none at all does not separate them."""
    if not any(entry is Ellipsis for entry in entries):
        return entries
    place = [entry is Ellipsis for entry in entries].index(True)
    left = ndim - sum(map(_axes, entries))
    return [*entries[:place], *[slice(None)] * left, *entries[place + 1 :]]


def _is_array(entry: Any) -> bool:
    return entry.__class__ is bool or hasattr(entry, "dtype")


def _axes(entry: Any) -> int:
    """How many axes of the Tensor an entry stands for."""
    if entry is None or entry is Ellipsis or entry.__class__ is bool:
        return 0
    return entry.ndim if hasattr(entry, "dtype") and dtype_of(entry).kind == "b" else 1
