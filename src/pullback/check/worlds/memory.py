"""Copies of arrays that lie in memory as the original does."""

from __future__ import annotations

import numpy as np


def is_expanded(array: np.ndarray) -> bool:
    """Whether several elements share one place in memory."""
    return bool(array.size) and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def unexpanded(array: np.ndarray) -> np.ndarray:
    """The elements that an expanded array repeats."""
    return np.array(array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)])


def same_layout(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, gaps included; gaps hold NaN, so that reading them shows."""
    if array.flags.c_contiguous or array.size == 0 or any(s < 0 for s in array.strides):
        return np.array(array, order="C")
    length = 1 + sum((n - 1) * s // array.itemsize for n, s in zip(array.shape, array.strides, strict=True))
    memory = np.full(length, np.nan if array.dtype.kind in "fc" else 0, array.dtype)
    laid = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
    laid[...] = array
    return laid
