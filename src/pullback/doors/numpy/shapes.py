"""Shapes, order of axes and of entries.  What is a view in NumPy is a view of the Tensor, and can be written through."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import along, arr, bare, kind_of, moved, offers, size, take_at, wrapped, xp
from pullback.ops.indexing import diagonal_key, embed
from pullback.ops.shapes import clone


# ------------------------------------------------------------------------------------------------------------- reshaping
@offers("reshape")
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """``np.reshape``, in C or Fortran order."""
    x = arr(a)
    if order is None or _is_c(x, order):
        return xp.reshape(x, shape, copy=copy)
    new = (operator.index(shape),) if np.ndim(bare(shape)) == 0 else tuple(shape)
    if -1 in new:
        known = math.prod([n for n in new if n != -1])
        new = tuple([size(x) // max(known, 1) if n == -1 else n for n in new])
    return _turned(xp.reshape(_turned(x), new[::-1], copy=copy))


def _is_c(x: Any, order: str) -> bool:
    """Whether entries are read in C order: "A" and "K" look at the memory of the array."""
    flags = getattr(bare(x), "flags", None)
    fortran = flags is not None and flags.f_contiguous and not flags.c_contiguous
    return order == "C" or (order in ("A", "K") and not fortran)


def _turned(x: Any) -> Any:
    return xp.permute_dims(x, tuple(range(len(x.shape)))[::-1])


@offers("ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """``np.ravel``."""
    return reshape(a, (-1,), order)


@offers("resize")
def resize(a: Any, new_shape: Any) -> Any:
    """``np.resize``: the entries repeated as often as needed."""
    x = arr(a)
    return moved(np.resize, x, new_shape) if size(x) else xp.zeros(new_shape, dtype=x.dtype)


@offers("expand_dims")
def expand_dims(a: Any, axis: Any) -> Any:
    """``np.expand_dims``."""
    return xp.expand_dims(arr(a), axis=axis)


@offers("squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """``np.squeeze``."""
    return xp.squeeze(arr(a), axis)


def _at_least(rank: int) -> Any:
    def rule(*arys: Any) -> Any:
        found = []
        for value in arys:
            x = arr(value)
            shape = tuple(x.shape)
            if len(shape) < rank:
                padded = {1: (1,), 2: (1, *(shape or (1,)))}.get(rank) or _third(shape)
                x = xp.reshape(x, padded)
            found.append(x)
        return found[0] if len(found) == 1 else tuple(found)

    return rule


def _third(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of at least three axes: a vector becomes a row of columns."""
    return {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)
for _name, _rule in (("atleast_1d", atleast_1d), ("atleast_2d", atleast_2d), ("atleast_3d", atleast_3d)):
    offers(_name)(_rule)


# --------------------------------------------------------------------------------------------------------- order of axes
@offers("transpose", "permute_dims")
def transpose(a: Any, axes: Any = None) -> Any:
    """``np.transpose``."""
    x = arr(a)
    return _turned(x) if axes is None else xp.permute_dims(x, tuple(axes))


@offers("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: Any, /) -> Any:
    """``np.matrix_transpose``."""
    return xp.matrix_transpose(arr(x))


@offers("swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """``np.swapaxes``."""
    ndim = len(arr(a).shape)
    axes = list(range(ndim))
    i, j = normalize_axis_index(axis1, ndim), normalize_axis_index(axis2, ndim)
    axes[i], axes[j] = j, i
    return xp.permute_dims(arr(a), tuple(axes))


@offers("moveaxis")
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """``np.moveaxis``."""
    return xp.moveaxis(arr(a), source, destination)


@offers("rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """``np.rollaxis``."""
    x = arr(a)
    order = np.rollaxis(np.empty(tuple(range(len(x.shape)))), axis, start).shape
    return xp.permute_dims(x, order)


# ------------------------------------------------------------------------------------------------------ order of entries
@offers("flip")
def flip(m: Any, axis: Any = None) -> Any:
    """``np.flip``."""
    return xp.flip(arr(m), axis=axis)


@offers("flipud")
def flipud(m: Any) -> Any:
    """``np.flipud``."""
    return xp.flip(arr(m), axis=0)


@offers("fliplr")
def fliplr(m: Any) -> Any:
    """``np.fliplr``."""
    return xp.flip(arr(m), axis=1)


@offers("rot90")
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """``np.rot90``."""
    x, (first, second) = arr(m), normalize_axis_tuple(axes, len(arr(m).shape))
    k %= 4
    if k == 1:
        x = xp.flip(x, axis=second)
    if k == 2:
        x = xp.flip(x, axis=(first, second))
    if k % 2:
        x = swapaxes(x, first, second)
    return xp.flip(x, axis=second) if k == 3 else x


@offers("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """``np.roll``."""
    if np.ndim(bare(shift)) and axis is not None:
        pairs = np.broadcast(bare(shift), axis)
        total: dict[int, int] = {}
        for step, k in pairs:
            total[int(k) % len(arr(a).shape)] = total.get(int(k) % len(arr(a).shape), 0) + int(step)
        return xp.roll(arr(a), tuple(total.values()), axis=tuple(total))
    if isinstance(axis, (tuple, list)):
        return xp.roll(arr(a), (int(shift),) * len(axis), axis=tuple(axis))
    return xp.roll(arr(a), int(np.sum(bare(shift))), axis=axis)


# ---------------------------------------------------------------------------------------------------------- broadcasting
@offers("broadcast_to")
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """``np.broadcast_to``."""
    return xp.broadcast_to(arr(array), shape)


@offers("broadcast_arrays")
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """``np.broadcast_arrays``."""
    return xp.broadcast_arrays(*[arr(x) for x in args])


@offers("repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """``np.repeat``."""
    x = arr(a)
    counts = np.asarray(bare(repeats))
    return xp.repeat(xp.reshape(x, (-1,)) if axis is None else x, counts, axis=0 if axis is None else axis)


@offers("tile")
def tile(A: Any, reps: Any) -> Any:
    """``np.tile``."""
    counts = bare(reps)
    return xp.tile(arr(A), (int(counts),) if np.ndim(counts) == 0 else tuple([int(n) for n in counts]))


@offers("meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """``np.meshgrid``."""
    flat = [xp.reshape(arr(x), (-1,)) for x in xi]
    if not sparse:
        return tuple(xp.meshgrid(*flat, indexing=indexing))
    shapes = [g.shape for g in np.meshgrid(*[np.empty(x.shape) for x in flat], sparse=True, indexing=indexing)]  # type: ignore[call-overload]
    return tuple([xp.reshape(x, shape) for x, shape in zip(flat, shapes, strict=True)])


@offers("lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """``np.lib.stride_tricks.sliding_window_view``, as a copy."""
    return moved(np.lib.stride_tricks.sliding_window_view, x, window_shape, axis)


# ---------------------------------------------------------------------------------------------- diagonals and triangles
@offers("diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """``np.diagonal``."""
    return xp.diagonal(arr(a), offset, axis1, axis2)


@offers("linalg.diagonal")
def last_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """``np.linalg.diagonal``."""
    return xp.diagonal(arr(x), offset, -2, -1)


@offers("diag")
def diag(v: Any, k: int = 0) -> Any:
    """``np.diag``: the diagonal of a matrix, or the matrix of a diagonal."""
    x = arr(v)
    if len(x.shape) == 2:
        return xp.diagonal(x, k)
    if len(x.shape) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.shape[0] + abs(k)
    return embed(x, (n, n), diagonal_key((n, n), k))


@offers("diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    """``np.diagflat``."""
    return diag(xp.reshape(arr(v), (-1,)), k)


def _triangle(name: str) -> None:
    def rule(m: Any, k: int = 0) -> Any:
        x = arr(m)
        if len(x.shape) == 1:
            x = xp.broadcast_to(x, (x.shape[0], x.shape[0]))
        return getattr(xp, name)(x, k=k)

    offers(name)(rule)


_triangle("tril")
_triangle("triu")


@offers("trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """``np.trace``."""
    from_diagonal = xp.sum(xp.diagonal(arr(a), offset, axis1, axis2), axis=-1, dtype=dtype)
    if out is None:
        return from_diagonal
    return np.add(from_diagonal, 0, out=out)


# -------------------------------------------------------------------------------------------------------- copies, casts
@offers("copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """``np.copy``, with its gradient."""
    return clone(arr(a))


@offers("astype")
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """``np.astype``."""
    return xp.astype(arr(x), dtype, copy=copy)


@offers("trim_zeros")
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """``np.trim_zeros``: without zeros at the ends, which depends on the values and has no derivative itself."""
    x = arr(filt)
    nonzero = np.argwhere(bare(x))
    if not len(nonzero):
        return take_at(x, (slice(0, 0),) * len(x.shape))
    axes = range(len(x.shape)) if axis is None else normalize_axis_tuple(axis, len(x.shape))
    for k in axes:
        start = nonzero[:, k].min() if "f" in trim.lower() else None
        stop = nonzero[:, k].max() + 1 if "b" in trim.lower() else None
        x = along(x, k, slice(start, stop))
    return x


@offers("ix_")
def ix_(*args: Any) -> Any:
    """``np.ix_``: each argument along an axis of its own, booleans as positions."""
    kind = kind_of(args) or Tensor
    lines = [wrapped(kind, np.flatnonzero(bare(a))) if arr(a).dtype.kind == "b" else arr(a) for a in args]
    found = np.ix_(*[bare(line) for line in lines])
    return tuple([xp.reshape(line, f.shape) for line, f in zip(lines, found, strict=True)])
