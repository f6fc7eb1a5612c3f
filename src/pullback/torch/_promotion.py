"""torch's promotion of dtypes, by casting operands before an operator sees them.

Operands come in three sorts: arrays with axes, 0-d arrays, numbers (NumPy's scalars are numbers).  A later sort only
decides the *category* (boolean, integer, floating point, complex) where it has a higher one, never the precision:
``float32 array * 0-d float64`` is float32.  An integer meets a float in the float's own precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.arrays import dtype_of
from pullback.core.tensor import Tensor as Base
from pullback.torch._dtypes import DTYPES, get_default_dtype, of_number
from pullback.torch._export import xp

_F4, _F8 = np.dtype(np.float32), np.dtype(np.float64)
_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}


def category(dtype: Any) -> int:
    """0 boolean, 1 integer, 2 floating point, 3 complex."""
    return _CATEGORY[dtype.kind]


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype in which two arrays with axes meet.

    >>> import pullback.torch as torch
    >>> torch.promote_types(torch.int64, torch.float32)
    dtype('float32')
    """
    if type1 == type2:
        return type1
    low, high = sorted((type1, type2), key=category)
    return high if category(low) < 2 <= category(high) else np.promote_types(type1, type2)


def _combine(higher: Any, lower: Any) -> Any:
    """The dtype of a higher sort of operands, given that of a lower sort."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if category(lower) <= category(higher):
        return higher
    if category(higher) == 2:
        return np.result_type(higher, np.complex64) if higher.kind == "f" else np.dtype(np.complex64)
    return promote_types(higher, lower)


def result_type(*operands: Any) -> Any:
    """The dtype of an operator's result, given its operands (Tensors, arrays, numbers).

    >>> import pullback.torch as torch
    >>> torch.result_type(torch.zeros(3), torch.tensor(2.0, dtype=torch.float64))
    dtype('float32')
    """
    sorts: list[Any] = [None, None, None]
    for operand in operands:
        if hasattr(operand, "dtype") and not isinstance(operand, np.generic):
            array = operand._array if isinstance(operand, Base) else operand
            sort, dtype = (0 if array.shape else 1), dtype_of(array)
        else:
            sort, dtype = 2, of_number(operand)
        sorts[sort] = dtype if sorts[sort] is None else promote_types(sorts[sort], dtype)
    return _combine(_combine(sorts[0], sorts[1]), sorts[2])


def as_dtype_of(operand: Any, dtype: Any) -> Any:
    """An operand in `dtype`; numbers become Python's, which are weak."""
    if isinstance(operand, np.generic):
        return operand.item()
    if not hasattr(operand, "dtype") or operand.dtype == dtype:
        return operand
    return xp.astype(operand, dtype) if isinstance(operand, Base) else np.asarray(operand, dtype=dtype)


def is_plain(dtype: Any, other: Any) -> bool:
    """True when NumPy's promotion is torch's: one floating-point dtype, or a number beside it."""
    if dtype is not _F8 and dtype is not _F4:
        return False
    return other._array.dtype is dtype if isinstance(other, Base) else other.__class__ in (float, int)


def together(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands, cast so that the operator gives torch's dtype."""
    if isinstance(a, Base) and is_plain(a._array.dtype, b):
        return a, b
    dtype = result_type(a, b)
    return as_dtype_of(a, dtype), as_dtype_of(b, dtype)


def for_division(a: Any, b: Any) -> tuple[Any, Any]:
    """The same for an operator whose result is never an integer, such as true division."""
    dtype = result_type(a, b)
    if category(dtype) < 2:
        dtype = get_default_dtype()
    return as_dtype_of(a, dtype), as_dtype_of(b, dtype)


def as_float(x: Any) -> Any:
    """An integer or boolean Tensor in the default dtype, anything else as it is: for functions such as ``exp``."""
    if x._array.dtype is _F8 or category(x.dtype) >= 2:
        return x
    return xp.astype(x, get_default_dtype())


def as_number(x: Any) -> Any:
    """A boolean Tensor as integers, anything else as it is."""
    return x if category(x.dtype) else xp.astype(x, DTYPES["int64"])


def can_cast(from_: Any, to: Any) -> bool:
    """True when values of dtype `from_` may be written into dtype `to`: never down a category."""
    return category(from_) <= category(to)
