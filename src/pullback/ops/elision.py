"""Reuse the memory of a temporary: ``2 * x * g`` needs one new array, not two.

NumPy does this for large arrays: the left operand of an operator that nobody else can see receives the result.  For Tensors the
same is found out here, in Python, by asking three questions that only a large array is worth:

* did an operator of the calling line bring us here (and not a call, which counts references differently)?
* is the operand referenced only by that operator?
* is its array referenced only by the operand, does it own its memory, and does nobody log writes to it?

How many references a temporary has differs between interpreters, so it is measured at import; where a temporary cannot be told
from a variable, nothing is ever reused.
"""

from __future__ import annotations

import dis
import sys
from typing import Any

import numpy as np

#: Elements from which an allocation costs more than the questions.
LARGE = 32_768
_BINARY_OP = dis.opmap.get("BINARY_OP", -1)


class _Probe:
    """Counts the references to itself as `reusable` would see them."""

    def __mul__(self, other: Any) -> int:
        return sys.getrefcount(self)


def _references_of_a_temporary() -> int:
    """The count for a temporary; 0 where a variable has no more."""
    variable = _Probe()
    temporary, named = _Probe() * 1, variable * 1
    return temporary if temporary < named else 0


_TEMPORARY = _references_of_a_temporary()


class _Holder:
    __slots__ = ("_array",)

    def __init__(self) -> None:
        self._array = np.empty(0)


def _references_of_a_private_array() -> int:
    holder = _Holder()
    array = holder._array
    return sys.getrefcount(array)


_PRIVATE = _references_of_a_private_array()


def reusable(references: int, tensor: Any, array: Any, other: Any) -> bool:
    """True when the result of ``tensor <op> other`` may be written into `array`, the array of `tensor`.

    `references` is ``sys.getrefcount(tensor)``, taken by the operator's own function, which also holds `array` in a variable.
    """
    if references != _TEMPORARY or not _TEMPORARY:
        return False
    if tensor._edge is not None or tensor._buffer is not None or not array.flags.owndata:
        return False
    # _PRIVATE counts the slot, one variable and the question; here the operator's variable is one more
    if sys.getrefcount(array) != _PRIVATE + 1:
        return False
    if isinstance(other, np.ndarray) and (other.shape not in ((), array.shape) or other.dtype != array.dtype):
        return False
    frame = sys._getframe(2)
    return frame.f_code.co_code[frame.f_lasti] == _BINARY_OP
