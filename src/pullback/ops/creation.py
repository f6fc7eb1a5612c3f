"""Making Tensors from data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.tensor import Tensor


def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A new Tensor with a copy of `data` (numbers, nested lists, arrays of any library).

    Parameters
    ----------
    data
        What to copy.
    dtype
        A NumPy dtype; that of the data when left out.
    requires_grad
        Ask for gradients; needs a floating-point or complex dtype.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    if isinstance(data, Tensor):
        data = data._array
    if arrays.is_array(data) and not isinstance(data, (np.ndarray, np.generic)):
        xp = arrays.namespace(data)
        array = xp.asarray(data, copy=True) if dtype is None else xp.astype(data, arrays.from_numpy_dtype(dtype, xp))
    else:
        array = np.array(data, dtype=dtype)
    return Tensor(array, requires_grad)
