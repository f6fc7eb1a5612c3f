"""Products of vectors, matrices and more; convolutions."""

from __future__ import annotations

import functools
import string
from typing import Any

import numpy as np

from pullback.doors.numpy.tools import along, arr, into, offers, take_at, xp
from pullback.ops.convolution import convolve as full_convolution


@offers("dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """``np.dot``."""
    a, b = arr(a), arr(b)
    if not a.shape or not b.shape:
        return into(out, xp.multiply(a, b))
    if len(a.shape) <= 2 and len(b.shape) <= 2:
        return into(out, xp.matmul(a, b))
    return into(out, xp.tensordot(a, b, axes=((-1,), (-1 if len(b.shape) == 1 else -2,))))


@offers("inner")
def inner(a: Any, b: Any, /) -> Any:
    """``np.inner``: summed over the last axes."""
    a, b = arr(a), arr(b)
    return xp.multiply(a, b) if not a.shape or not b.shape else xp.tensordot(a, b, axes=((-1,), (-1,)))


@offers("vdot")
def vdot(a: Any, b: Any, /) -> Any:
    """``np.vdot``: of all entries, the first argument conjugated."""
    return xp.vecdot(xp.reshape(arr(a), (-1,)), xp.reshape(arr(b), (-1,)))


@offers("outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """``np.outer``."""
    return into(out, xp.outer(xp.reshape(arr(a), (-1,)), xp.reshape(arr(b), (-1,))))


@offers("kron")
def kron(a: Any, b: Any) -> Any:
    """``np.kron``."""
    return xp.kron(arr(a), arr(b))


@offers("tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """``np.tensordot``."""
    pairs = axes if isinstance(axes, (tuple, list)) else int(axes)
    return xp.tensordot(arr(a), arr(b), axes=pairs)


@offers("einsum")
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    """``np.einsum``, with names of axes in a string, or as lists of numbers after each operand."""
    if not isinstance(operands[0], str):
        operands = _from_lists(operands)
    subscripts, *values = operands
    arrays = [arr(x, options.get("dtype")) for x in values]
    return into(out, xp.einsum(subscripts, *arrays), options.get("casting", "safe") if out is not None else "unsafe")


def _from_lists(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """``(a, [0, 1], b, [1, 2], [0, 2])`` as ``("ab,bc->ac", a, b)``."""
    arrays, names = operands[0 : len(operands) // 2 * 2 : 2], operands[1::2]

    def letters(axes: Any) -> str:
        return "".join(["..." if k is Ellipsis else string.ascii_letters[k] for k in axes])

    subscripts = ",".join([letters(axes) for axes in names])
    return (f"{subscripts}->{letters(operands[-1])}" if len(operands) % 2 else subscripts, *arrays)


@offers("cross")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """``np.cross``, of vectors with two or three entries."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = xp.moveaxis(arr(a), axisa, -1), xp.moveaxis(arr(b), axisb, -1)
    lengths = {a.shape[-1], b.shape[-1]}
    if not lengths <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if lengths == {2}:
        return along(a, -1, 0) * along(b, -1, 1) - along(a, -1, 1) * along(b, -1, 0)
    return xp.moveaxis(xp.cross(_in_space(a), _in_space(b), axis=-1), -1, axisc)


def _in_space(x: Any) -> Any:
    """Vectors of the plane with a third entry, 0."""
    if x.shape[-1] == 3:
        return x
    return xp.concat([x, np.zeros((*x.shape[:-1], 1), dtype=x.dtype)], axis=-1)


@offers("linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """``np.linalg.cross``."""
    return xp.cross(arr(x1), arr(x2), axis=axis)


@offers("linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """``np.linalg.outer``."""
    return xp.outer(arr(x1), arr(x2))


@offers("linalg.tensordot")
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """``np.linalg.tensordot``."""
    return tensordot(x1, x2, axes)


@offers("linalg.matmul")
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    """``np.linalg.matmul``."""
    return xp.matmul(arr(x1), arr(x2))


@offers("linalg.vecdot")
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """``np.linalg.vecdot``."""
    return xp.vecdot(arr(x1), arr(x2), axis=axis)


@offers("linalg.multi_dot")
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """``np.linalg.multi_dot``: multiplied from the left to the right."""
    return into(out, functools.reduce(dot, [arr(x) for x in arrays]))


# ---------------------------------------------------------------------------------------------------------- convolutions
def _cut(full: Any, n: int, m: int, mode: Any, skip: int) -> Any:
    """The part of the full convolution of vectors of lengths n and m that `mode` asks for."""
    short, long = min(n, m), max(n, m)
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    if mode == "full":
        return full
    if mode == "same":
        return take_at(full, slice(skip, skip + long))
    if mode == "valid":
        return take_at(full, slice(short - 1, long))
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@offers("convolve")
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """``np.convolve``."""
    a, v = _vector(a, "a"), _vector(v, "v")
    n, m = a.shape[0], v.shape[0]
    return _cut(full_convolution(a, v), n, m, mode, (min(n, m) - 1) // 2)


@offers("correlate")
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """``np.correlate``: the convolution with the second vector reversed and conjugated."""
    a, v = _vector(a, "a"), _vector(v, "v")
    n, m = a.shape[0], v.shape[0]
    short = min(n, m)
    full = full_convolution(a, xp.flip(xp.conj(v), axis=0))
    return _cut(full, n, m, mode, (short - 1) // 2 if n >= m else short // 2)


def _vector(x: Any, name: str) -> Any:
    x = xp.reshape(arr(x), (-1,)) if len(arr(x).shape) == 0 else arr(x)
    if not x.shape[0]:
        raise ValueError(f"{name} cannot be empty")
    return x
