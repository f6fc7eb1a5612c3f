"""What the standard asks about dtypes and shapes: promotion, casting, kinds, limits.  Nothing here looks at a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.ops.creation import no_samples
from pullback.ops.named import named
from pullback.ops.registry import register


@dataclass(frozen=True)
class FloatingLimits:
    """What `finfo` returns: Python numbers, and the dtype of the real numbers that they are about."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclass(frozen=True)
class IntegerLimits:
    """What `iinfo` returns: Python integers, and the dtype that they are about."""

    bits: int
    max: int
    min: int
    dtype: Any


def _dtype_of(value: Any) -> Any:
    """The dtype of an array or a Tensor; a dtype of any library in NumPy's words."""
    if isinstance(value, Tensor):
        return value.dtype
    if arrays.is_array(value):
        return arrays.dtype_of(value)
    try:
        return np.dtype(value)
    except TypeError:
        return arrays.to_numpy_dtype(value)


@named
def finfo(type: Any, /) -> FloatingLimits:
    """The limits of a floating-point dtype; of a complex one, those of its parts.

    Parameters
    ----------
    type
        A dtype, or an array or Tensor with that dtype.

    Raises
    ------
    ValueError
        For dtypes of integers and booleans.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.finfo(pb.float64).eps
    2.220446049250313e-16
    """
    dtype = _dtype_of(type)
    if not arrays.is_inexact(dtype):
        raise lesson(
            ValueError, f"finfo() tells of floating-point dtypes, and {dtype} is none", instead="pullback.iinfo."
        )
    found = np.finfo(dtype)
    eps, largest, smallest, normal = (float(n) for n in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatingLimits(int(found.bits), eps, largest, smallest, normal, np.dtype(found.dtype))


@named
def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype.

    Parameters
    ----------
    type
        A dtype, or an array or Tensor with that dtype.

    Raises
    ------
    ValueError
        For any other dtype.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.iinfo(pb.int8).max
    127
    """
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise lesson(ValueError, f"iinfo() tells of integer dtypes, and {dtype} is none", instead="pullback.finfo.")
    found = np.iinfo(dtype)
    return IntegerLimits(int(found.bits), int(found.max), int(found.min), dtype)


@named
def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype (or that of an array or Tensor) promotes to another without losing anything.

    >>> import pullback as pb
    >>> pb.can_cast(pb.float32, pb.float64), pb.can_cast(pb.float64, pb.int64)
    (True, False)
    """
    return bool(np.can_cast(_dtype_of(from_), _dtype_of(to)))


@named
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    kind
        A dtype, one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"``, ``"numeric"``, or a tuple of these, any of which will do.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.isdtype(pb.complex64, ("real floating", "complex floating"))
    True
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return bool(np.isdtype(_dtype_of(dtype), tuple([k if isinstance(k, str) else _dtype_of(k) for k in kinds])))


@named
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arrays, Tensors, dtypes and Python numbers have in common; the numbers give way to the others.

    >>> import pullback as pb
    >>> pb.result_type(pb.tensor([1.0], dtype=pb.float32), pb.int8, 2.0)
    dtype('float32')
    """
    given = [v if isinstance(v, (bool, int, float, complex)) else _dtype_of(v) for v in arrays_and_dtypes]
    return np.result_type(*given)


@named
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes have after broadcasting.

    Raises
    ------
    ValueError
        Where two lengths differ, and neither is 1.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*shapes)


for _function in (finfo, iinfo, can_cast, isdtype, result_type, broadcast_shapes):
    register(
        _function.__name__,
        None,
        no_samples,
        call=_function,
        differentiable=False,
        reason="tells of dtypes and shapes, not of values",
    )
