"""Reductions that leave NaN out: ``nansum`` and its like.  What is left out gets no gradient."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from pullback.doors.numpy import methods, reductions
from pullback.doors.numpy.tools import arr, bare, into, offers, xp

_NO = np._NoValue


def _is_nan(x: Any) -> Any:
    """A bare array: where `x` is NaN."""
    values = bare(x)
    return np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, dtype=bool)


def without_nan(x: Any, other: Any) -> Any:
    """`x` with `other` in the place of NaN."""
    nan = _is_nan(x)
    return xp.where(nan, other, x) if nan.any() else x


@offers("nansum")
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _NO,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.nansum``."""
    return reductions.sum_(without_nan(arr(a), 0), axis, dtype, out, keepdims, initial, where)


@offers("nanprod")
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _NO,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.nanprod``."""
    return reductions.prod(without_nan(arr(a), 1), axis, dtype, out, keepdims, initial, where)


@offers("nancumsum")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``np.nancumsum``."""
    return reductions.cumsum(without_nan(arr(a), 0), axis, dtype, out)


@offers("nancumprod")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``np.nancumprod``."""
    return reductions.cumprod(without_nan(arr(a), 1), axis, dtype, out)


@offers("nanmax")
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO, initial: Any = None, where: Any = True
) -> Any:
    """``np.nanmax``."""
    return _extremum(np.maximum, -np.inf, a, axis, out, keepdims, initial, where)


@offers("nanmin")
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO, initial: Any = None, where: Any = True
) -> Any:
    """``np.nanmin``."""
    return _extremum(np.minimum, np.inf, a, axis, out, keepdims, initial, where)


def _extremum(ufunc: Any, worst: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x, axes, kept = arr(a), reductions.axes_of(axis), reductions.kept(keepdims)
    nan = _is_nan(x)
    result = methods.reduce(ufunc, without_nan(x, worst), axes, None, None, kept, initial, where)
    nothing = np.all(nan, axis=axes, keepdims=kept) if nan.any() else np.False_
    if np.any(nothing):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
        result = xp.where(nothing, np.nan, result)
    return into(out, result)


@offers("nanmean")
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO, *, where: Any = True
) -> Any:
    """``np.nanmean``."""
    x = arr(a, dtype)
    return reductions.mean(without_nan(x, 0), axis, None, out, keepdims, where=_present(x, where))


def _present(x: Any, where: Any) -> Any:
    """The mask of the entries that take part."""
    nan = _is_nan(x)
    return where if not nan.any() else ~nan if where is True else ~nan & np.asarray(bare(where), dtype=bool)


def _spread(
    compute: Any,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    mean: Any,
    correction: Any,
) -> Any:
    x = arr(a, dtype)
    options = {"where": _present(x, where), "mean": mean, "correction": correction}
    return compute(without_nan(x, 0), axis, None, out, ddof, keepdims, **options)


nanvar = reductions.spread_as("nanvar", functools.partial(_spread, reductions.var))
nanstd = reductions.spread_as("nanstd", functools.partial(_spread, reductions.std))
