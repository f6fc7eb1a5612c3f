"""Sums, means, extrema and running forms, with all of NumPy's options."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pullback.doors.numpy import methods
from pullback.doors.numpy.tools import arr, bare, floating, into, offers, xp
from pullback.ops.axes import count


def axes_of(axis: Any) -> Any:
    """An axis, a tuple of axes or ``None``, as operators take it."""
    return tuple(axis) if isinstance(axis, (tuple, list)) else axis


def kept(keepdims: Any) -> bool:
    """NumPy's `keepdims`, which may be left out."""
    return keepdims is not np._NoValue and bool(keepdims)


@offers("sum")
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.sum``."""
    return methods.reduce(np.add, a, axes_of(axis), dtype, out, kept(keepdims), initial, where)


@offers("prod")
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.prod``."""
    return methods.reduce(np.multiply, a, axes_of(axis), dtype, out, kept(keepdims), initial, where)


@offers("max", "amax")
def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """``np.max``."""
    return methods.reduce(np.maximum, a, axes_of(axis), None, out, kept(keepdims), initial, where)


@offers("min", "amin")
def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    """``np.min``."""
    return methods.reduce(np.minimum, a, axes_of(axis), None, out, kept(keepdims), initial, where)


@offers("ptp")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """``np.ptp``: largest minus smallest."""
    options = {"axis": axes_of(axis), "keepdims": kept(keepdims)}
    return into(out, xp.max(arr(a), **options) - xp.min(arr(a), **options))


@offers("mean")
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """``np.mean``."""
    x, axis, keepdims = arr(a, dtype), axes_of(axis), kept(keepdims)
    if where is True:
        return into(out, xp.mean(x, axis=axis, keepdims=keepdims))
    x = floating(x)
    return into(out, xp.sum(xp.where(where, x, 0), axis=axis, keepdims=keepdims) / _counted(x, where, axis, keepdims))


def _counted(x: Any, where: Any, axis: Any, keepdims: bool) -> Any:
    """How many entries take part, in the dtype of `x`."""
    mask = np.broadcast_to(np.asarray(bare(where), dtype=bool), tuple(x.shape))
    return np.asarray(np.sum(mask, axis=axis, keepdims=keepdims), dtype=x.dtype)


def spread_as(name: str, compute: Any) -> Any:
    """NumPy's signature of the variances and deviations, around ``compute`` of its arguments in that order."""

    @offers(name)
    def spread(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = np._NoValue,
        *,
        where: Any = True,
        mean: Any = np._NoValue,
        correction: Any = np._NoValue,
    ) -> Any:
        return compute(a, axis, dtype, out, ddof, keepdims, where, mean, correction)

    spread.__name__, spread.__doc__ = name, f"``np.{name}``."
    return spread


def _spread(
    operator: Any,
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: Any,
    where: Any,
    centre: Any,
    correction: Any,
) -> Any:
    """The variance or deviation; written out where some entries are left out, or the mean is given."""
    x, axis, keepdims = arr(a, dtype), axes_of(axis), kept(keepdims)
    if correction is not np._NoValue:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if where is True and centre is np._NoValue:
        return into(out, operator(x, axis=axis, correction=ddof, keepdims=keepdims))
    x = floating(x)
    if centre is np._NoValue:
        centre = mean(x, axis, keepdims=True, where=where)
    squares = xp.where(where, xp.square(xp.abs(x - centre)), 0)
    freedom = np.maximum(_counted(x, where, axis, keepdims) - ddof, 0)
    variance = xp.sum(squares, axis=axis, keepdims=keepdims) / np.asarray(freedom, dtype=squares.dtype)
    return into(out, variance if operator is xp.var else xp.sqrt(variance))


var = spread_as("var", functools.partial(_spread, xp.var))
std = spread_as("std", functools.partial(_spread, xp.std))


@offers("average")
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """``np.average``: a mean with weights."""
    x, axis, keepdims = arr(a), axes_of(axis), kept(keepdims)
    if weights is None:
        result = xp.mean(x, axis=axis, keepdims=keepdims)
        total = xp.full_like(result, count(tuple(x.shape), axis))
    else:
        w = _placed(arr(weights), x, axis)
        total = xp.sum(xp.broadcast_to(w, tuple(x.shape)), axis=axis, keepdims=keepdims)
        if np.any(np.equal(bare(total), 0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = xp.sum(floating(x) * w, axis=axis, keepdims=keepdims) / total
        total = xp.astype(total, result.dtype, copy=False)
    return (result, total) if returned else result


def _placed(w: Any, x: Any, axis: Any) -> Any:
    """Weights of the averaged axes alone, with the axes that they lack."""
    if tuple(w.shape) == tuple(x.shape):
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = [k % len(x.shape) for k in (axis if isinstance(axis, tuple) else (axis,))]
    if tuple(w.shape) != tuple([x.shape[k] for k in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = xp.permute_dims(w, tuple(np.argsort(axes).tolist()))
    return xp.reshape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)]))


# ------------------------------------------------------------------------------------------------------------- running
@offers("cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``np.cumsum``, of all entries in C order where no axis is given."""
    x, axis = flattened(arr(a), axis)
    return into(out, xp.cumulative_sum(x, axis=axis, dtype=dtype))


@offers("cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """``np.cumprod``, of all entries in C order where no axis is given."""
    x, axis = flattened(arr(a), axis)
    return into(out, xp.cumulative_prod(x, axis=axis, dtype=dtype))


def flattened(x: Any, axis: Any) -> tuple[Any, Any]:
    """The array and an axis: all entries in C order where none is given."""
    return (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis)


@offers("cumulative_sum")
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """``np.cumulative_sum``."""
    return into(out, xp.cumulative_sum(arr(x), axis=axis, dtype=dtype, include_initial=include_initial))


@offers("cumulative_prod")
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """``np.cumulative_prod``."""
    return into(out, xp.cumulative_prod(arr(x), axis=axis, dtype=dtype, include_initial=include_initial))
