"""Joining arrays and taking them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.doors.numpy.shapes import atleast_1d, atleast_2d, atleast_3d
from pullback.doors.numpy.tools import arr, bare, gather, into, offers, size, xp
from pullback.ops.joining import split as split_in_parts


def _many(arrays: Any, at_least: Any = arr) -> list[Any]:
    """The arrays of a list, or the parts of one array along its first axis."""
    return [at_least(x) for x in (xp.unstack(arrays) if isinstance(arrays, Tensor) else arrays)]


def _promoted(arrays: list[Any], dtype: Any, casting: str) -> list[Any]:
    """All in the dtype asked for, or in the one that they have in common."""
    target = np.result_type(*[x.dtype for x in arrays]) if dtype is None else np.dtype(dtype)
    for x in arrays:
        if dtype is not None and not np.can_cast(x.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule {casting!r}")
    return [x if x.dtype == target else xp.astype(x, target) for x in arrays]


@offers("concatenate", "concat")
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """``np.concatenate``."""
    return into(out, xp.concat(_promoted(_many(arrays), dtype, casting), axis=axis))


@offers("stack")
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """``np.stack``."""
    return into(out, xp.stack(_promoted(_many(arrays), dtype, casting), axis=axis))


@offers("unstack")
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """``np.unstack``."""
    return xp.unstack(arr(x), axis=axis)


@offers("vstack", "row_stack")
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """``np.vstack``."""
    return concatenate(_many(tup, atleast_2d), 0, dtype=dtype, casting=casting)


@offers("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """``np.hstack``."""
    parts = _many(tup, atleast_1d)
    return concatenate(parts, 0 if len(parts[0].shape) == 1 else 1, dtype=dtype, casting=casting)


@offers("dstack")
def dstack(tup: Any) -> Any:
    """``np.dstack``."""
    return concatenate(_many(tup, atleast_3d), 2)


@offers("column_stack")
def column_stack(tup: Any) -> Any:
    """``np.column_stack``."""
    parts = _many(tup)
    return concatenate([xp.reshape(x, (-1, 1)) if len(x.shape) < 2 else x for x in parts], 1)


@offers("block")
def block(arrays: Any) -> Any:
    """``np.block``: NumPy moves the numbers of the entries, and tells which stand where."""
    leaves: list[Any] = []
    start = 0

    def numbered(value: Any) -> Any:
        nonlocal start
        if isinstance(value, list):
            return [numbered(item) for item in value]
        x = arr(value)
        leaves.append(xp.reshape(x, (-1,)))
        start += size(x)
        return np.arange(start - size(x), start).reshape(tuple(x.shape))

    positions = np.block(numbered(arrays))
    return gather(concatenate(leaves), positions)


# --------------------------------------------------------------------------------------------------------- taking apart
def _split(x: Any, sections: Any, axis: int, equal: bool) -> list[Any]:
    axis %= len(x.shape)
    length = x.shape[axis]
    if np.ndim(bare(sections)) == 0:
        n = int(sections)
        if n <= 0:
            raise ValueError("number sections must be larger than 0.")
        if equal and length % n:
            raise ValueError("array split does not result in an equal division")
        sizes = [length // n + (k < length % n) for k in range(n)]
    else:
        parts = np.array_split(np.arange(length), bare(sections))
        starts = [0, *[int(k) for k in bare(sections)]]
        if starts != sorted(starts) or starts[-1] > length or min(starts) < 0:
            return [xp.take(x, part, axis=axis) for part in parts]
        sizes = [len(part) for part in parts]
    return list(split_in_parts(x, sizes, axis=axis))


@offers("split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.split``."""
    return _split(arr(ary), indices_or_sections, axis, True)


@offers("array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """``np.array_split``."""
    return _split(arr(ary), indices_or_sections, axis, False)


@offers("hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``np.hsplit``."""
    return _split(arr(ary), indices_or_sections, 0 if len(arr(ary).shape) == 1 else 1, True)


@offers("vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``np.vsplit``."""
    return _split(arr(ary), indices_or_sections, 0, True)


@offers("dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """``np.dsplit``."""
    return _split(arr(ary), indices_or_sections, 2, True)


# ------------------------------------------------------------------------------------------- inserting, deleting entries
@offers("append")
def append(arr_: Any, values: Any, axis: Any = None) -> Any:
    """``np.append``."""
    parts = [arr(arr_), arr(values)]
    if axis is None:
        return concatenate([xp.reshape(x, (-1,)) for x in parts])
    return concatenate(parts, axis)


@offers("delete")
def delete(arr_: Any, obj: Any, axis: Any = None) -> Any:
    """``np.delete``."""
    x = arr(arr_)
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    return xp.take(x, np.delete(np.arange(x.shape[axis]), bare(obj)), axis=axis)


@offers("insert")
def insert(arr_: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """``np.insert``: NumPy moves the numbers of the entries, and tells which stand where."""
    x = arr(arr_)
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    new = xp.astype(arr(values), x.dtype, copy=False)
    old_numbers = np.arange(size(x)).reshape(tuple(x.shape))
    new_numbers = np.arange(size(x), size(x) + size(new)).reshape(tuple(new.shape))
    positions = np.insert(old_numbers, bare(obj), new_numbers, axis=axis)
    return gather(concatenate([xp.reshape(x, (-1,)), xp.reshape(new, (-1,))]), positions)
