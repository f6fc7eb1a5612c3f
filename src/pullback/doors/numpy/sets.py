"""Sets of values: which entries they are has no derivative, the entries themselves do."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import arr, bare, find, gather, kind_of, offers, wrapped, xp


@offers("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """``np.unique``: of equal entries the first one gets the gradient."""
    x = arr(ar)
    values_of: Any = np.unique
    found = values_of(bare(x), True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    _, first, *rest = found
    values = gather(x, first) if axis is None else xp.take(x, first, axis=axis)
    if not (return_index or rest):
        return values
    others = wrapped(kind_of([x]) or Tensor, [first, *rest] if return_index else rest)
    return (values, *others)


def _unique_with(name: str, index: bool, inverse: bool, counts: bool) -> None:
    def rule(x: Any, /) -> Any:
        result = type(find(name)(np.zeros(1)))  # the tuple with names
        return result(*unique(x, index, inverse, counts, equal_nan=False))

    offers(name)(rule)


_unique_with("unique_all", True, True, True)
_unique_with("unique_counts", False, False, True)
_unique_with("unique_inverse", False, True, False)


@offers("unique_values")
def unique_values(x: Any, /) -> Any:
    """``np.unique_values``."""
    x = arr(x)
    values = bare(x).ravel()
    wanted = np.unique_values(values)  # in whatever order this version of NumPy gives them
    order = np.argsort(values, kind="stable")
    places = order[np.minimum(np.searchsorted(values[order], wanted), values.size - 1)] if values.size else order
    nan: Any = np.flatnonzero(np.isnan(values)) if values.dtype.kind in "fc" else []
    places[np.flatnonzero(wanted != wanted)] = nan
    return gather(x, places)


def _joined(ar1: Any, ar2: Any, choose: Any) -> Any:
    """Entries of two arrays one after the other, chosen by what NumPy makes of their values."""
    both = xp.concat([xp.reshape(arr(ar1), (-1,)), xp.reshape(arr(ar2), (-1,))])
    values = bare(both)
    order = np.argsort(values, kind="stable")
    wanted = choose(bare(arr(ar1)), bare(arr(ar2)))
    return gather(both, order[np.searchsorted(values[order], wanted)])


@offers("union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    """``np.union1d``."""
    return _joined(ar1, ar2, np.union1d)


@offers("intersect1d")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """``np.intersect1d``: the entries of the first array."""
    found = np.intersect1d(bare(arr(ar1)), bare(arr(ar2)), assume_unique, return_indices=True)
    values = gather(arr(ar1), found[1])
    return (values, *wrapped(kind_of([ar1, ar2]) or Tensor, found[1:])) if return_indices else values


@offers("setdiff1d")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """``np.setdiff1d``."""
    return _joined(ar1, ar2, lambda a, b: np.setdiff1d(a, b, assume_unique))


@offers("setxor1d")
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """``np.setxor1d``."""
    return _joined(ar1, ar2, lambda a, b: np.setxor1d(a, b, assume_unique))
