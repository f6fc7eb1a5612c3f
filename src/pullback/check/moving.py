"""Moving the values of an input and putting them back exactly.

NumPy arrays are written in place, behind the graph's back and without a new version: the function is called with the
same Tensor objects, so closures, views and aliases see the moved values too.  Where memory cannot be written (another
library, a read-only array, elements that overlap), the Tensor holds a moved copy of its array for the time of the call.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pullback.check.numeric import DOUBLE, Line
from pullback.core import arrays
from pullback.core.tensor import Tensor
from pullback.core.wrapping import hold_another_array


def host(array: Any) -> np.ndarray:
    """An array of any library as NumPy's."""
    return np.asarray(array)


def like(values: np.ndarray, array: Any) -> Any:
    """NumPy values as an array of the library and dtype of `array`."""
    values = np.asarray(values, dtype=arrays.dtype_of(array))
    xp = arrays.namespace(array)
    return values if xp is np else xp.asarray(values, dtype=array.dtype)


def unit_of(dtype: Any) -> float:
    """Spacing at 1 of the numbers of a floating or complex dtype.

    >>> unit_of(np.dtype(np.complex64))
    1.1920928955078125e-07
    """
    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    import ml_dtypes  # bfloat16 and its relatives

    return float(ml_dtypes.finfo(dtype).eps)


def is_double(dtype: Any) -> bool:
    """True for float64, complex128 and anything more precise."""
    return unit_of(dtype) <= DOUBLE


def overlaps_itself(array: Any) -> bool:
    """True when two elements of a NumPy array may share memory, as in sliding windows."""
    if not isinstance(array, np.ndarray) or array.size < 2:
        return False
    reach = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


@contextlib.contextmanager
def holding(tensor: Tensor, array: Any) -> Iterator[None]:
    """Let `tensor` hold another array inside the block."""
    own = tensor._array
    hold_another_array(tensor, array)
    try:
        yield
    finally:
        hold_another_array(tensor, own)


@contextlib.contextmanager
def in_double(tensors: Iterable[Tensor]) -> Iterator[None]:
    """Let Tensors of low precision hold float64 (or complex128) copies inside the block."""
    with contextlib.ExitStack() as stack:
        for tensor in tensors:
            array = tensor._array
            wide = np.complex128 if arrays.is_complex(tensor.dtype) else np.float64
            xp = arrays.namespace(array)
            values = host(array).astype(wide)
            if xp is np:
                stack.enter_context(holding(tensor, values))
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # JAX says so when it has no float64; the caller looks at the dtype
                stack.enter_context(holding(tensor, xp.asarray(values)))
        yield


class Movable:
    """The values of one input: makes `Line` s through them.

    Parameters
    ----------
    tensor
        The input.
    observe
        Runs the function and gives its values as a flat real array.
    private
        Work on a copy of the array: it shares memory with something that must stay.
    """

    def __init__(self, tensor: Tensor, observe: Callable[[], np.ndarray], private: bool = False) -> None:
        self.tensor = tensor
        self.observe = observe
        array = tensor._array
        self._in_place = isinstance(array, np.ndarray)
        self._private = private or (
            isinstance(array, np.ndarray) and (not array.flags.writeable or overlaps_itself(array))
        )

    def line(self, where: Any, direction: Any) -> Line:
        """The function along `direction` (a number, or an array of them) at the elements `where` (an index)."""

        def values(t: Any) -> np.ndarray:
            if t == 0:
                return self.observe()
            with self._moved(where, direction, t), np.errstate(all="ignore"):
                return self.observe()

        return values

    @contextlib.contextmanager
    def _moved(self, where: Any, direction: Any, t: float) -> Iterator[None]:
        tensor = self.tensor
        if not self._in_place:
            moved = np.array(host(tensor._array))
            moved[where] += direction * t
            with holding(tensor, like(moved, tensor._array)):
                yield
            return
        with holding(tensor, np.array(tensor._array)) if self._private else contextlib.nullcontext():
            array = tensor._array
            old = np.array(array[where])
            array[where] = old + direction * t
            try:
                yield
            finally:
                array[where] = old
