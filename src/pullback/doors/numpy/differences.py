"""Differences, integrals and interpolation along a line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import along, arr, bare, floating, gather, offers, size, tensor, xp
from pullback.ops import ufuncs as more


@offers("diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """``np.diff``: differences of neighbours, `n` times."""
    ends = {"prepend": prepend, "append": append}
    given = {name: arr(value) for name, value in ends.items() if value is not np._NoValue}
    return xp.diff(arr(a), axis=axis, n=n, **given) if n else a


@offers("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """``np.ediff1d``: differences of neighbours in C order."""
    x = xp.reshape(arr(ary), (-1,))
    parts = [to_begin, along(x, 0, slice(1, None)) - along(x, 0, slice(None, -1)), to_end]
    flat = [xp.astype(xp.reshape(arr(p), (-1,)), x.dtype, copy=False) for p in parts if p is not None]
    return xp.concat(flat) if len(flat) > 1 else flat[0]


@offers("trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """``np.trapezoid``: the integral of a broken line."""
    y = arr(y)
    if x is None:
        step = dx
    else:
        x = arr(x)
        step = diff(x, axis=-1 if len(x.shape) == 1 else axis)
        if len(x.shape) == 1:
            step = xp.reshape(step, tuple([-1 if k == axis % len(y.shape) else 1 for k in range(len(y.shape))]))
    mean = (along(y, axis, slice(1, None)) + along(y, axis, slice(None, -1))) / 2.0
    return xp.sum(step * mean, axis=axis)


@offers("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """``np.gradient``: central differences inside, one-sided ones of order 1 or 2 at both ends."""
    x = floating(arr(f))
    ndim = len(x.shape)
    axes = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    steps = list(varargs) if len(varargs) == len(axes) else list(varargs or (1.0,)) * len(axes)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    found = [_gradient(x, _steps(h, x.shape[k]), k, edge_order) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _steps(h: Any, length: int) -> Any:
    """One step, or the steps between given coordinates."""
    if isinstance(h, (int, float)):
        return h
    h = arr(h)
    if not h.shape:
        return h
    if tuple(h.shape) != (length,):
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = along(floating(h), 0, slice(1, None)) - along(floating(h), 0, slice(None, -1))
    return steps if isinstance(h, Tensor) or np.ptp(steps) > 0 else steps[0]


def _gradient(x: Any, h: Any, axis: int, edge_order: int) -> Any:
    if x.shape[axis] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")

    def at(k: Any) -> Any:
        return along(x, axis, slice(k, k + 1 or None))

    before, middle, after = (along(x, axis, part) for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    if np.shape(h):
        wide = xp.reshape(h, tuple([-1 if k == axis else 1 for k in range(len(x.shape))]))
        left, right = along(wide, axis, slice(None, -1)), along(wide, axis, slice(1, None))
        inside = (
            -right / (left * (left + right)) * before
            + (right - left) / (left * right) * middle
            + left / (right * (left + right)) * after
        )
        ends = [along(wide, axis, slice(k, k + 1 or None)) for k in (0, 1 if wide.shape[axis] > 1 else 0, -2, -1)]
    else:
        inside = (after - before) / (2.0 * h)
        ends = [h] * 4
    if edge_order == 1:
        first, last = (at(1) - at(0)) / ends[0], (at(-1) - at(-2)) / ends[3]
    else:
        first = _one_sided(at(0), at(1), at(2), ends[0], ends[1])
        last = -_one_sided(at(-1), at(-2), at(-3), ends[3], ends[2])
    return xp.concat([xp.astype(part, x.dtype, copy=False) for part in (first, inside, last)], axis=axis)


def _one_sided(a: Any, b: Any, c: Any, h: Any, k: Any) -> Any:
    """The slope at a of the parabola through a, b (at distance h) and c (at distance h + k)."""
    return -(2.0 * h + k) / (h * (h + k)) * a + (h + k) / (h * k) * b - h / (k * (h + k)) * c


# --------------------------------------------------------------------------------------------------------- interpolation
@offers("interp")
def interp(x: Any, xp_: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """``np.interp``: a broken line through points; at a point itself the slope is that of the line to its right.

    Differentiable in the places, in the points and in the values; constant beyond the ends.
    """
    at, points, values = (
        xp.astype(v, np.result_type(v.dtype, np.float64), copy=False) for v in (tensor(x), arr(xp_), arr(fp))
    )
    if at.dtype.kind == "c" or points.dtype.kind == "c":
        raise TypeError("np.interp takes real places and points; only the values may be complex")
    if period is not None:
        return _periodic(at, points, values, abs(period))
    if not size(points):
        raise ValueError("array of sample points is empty")
    places, known = bare(at), bare(points)
    last = len(known) - 1
    start = np.clip(np.searchsorted(known, places, side="right") - 1, 0, max(last - 1, 0))
    stop = np.minimum(start + 1, last)
    before, after = places < known[0], places > known[-1]
    x0, x1, y0, y1 = gather(points, start), gather(points, stop), gather(values, start), gather(values, stop)
    width = x1 - x0
    slope = (y1 - y0) / xp.where(np.asarray(bare(width)) == 0, 1.0, width)
    inside = xp.where(places == known[-1], gather(values, np.full_like(start, last)), slope * (at - x0) + y0)
    low = along(values, 0, 0) if left is None else left
    high = along(values, 0, -1) if right is None else right
    return xp.where(before, low, xp.where(after, high, inside))


def _periodic(at: Any, points: Any, values: Any, period: Any) -> Any:
    """The same on a circle: the points are sorted, and one is added at each end."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    at, points = xp.remainder(at, period), xp.remainder(points, period)
    order = np.argsort(bare(points))
    points, values = gather(points, order), gather(values, order)
    around = np.concatenate(([len(order) - 1], np.arange(len(order)), [0]))
    turns = np.zeros(len(around))
    turns[0], turns[-1] = -1.0, 1.0
    return interp(at, gather(points, around) + turns * period, gather(values, around))


@offers("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """``np.unwrap``: whole periods are added where it jumps, which is piecewise constant."""
    x = floating(arr(p))
    turns = np.round((np.unwrap(bare(x), bare(discont), axis, period=bare(period)) - bare(x)) / bare(period))
    return x + np.asarray(turns, dtype=x.dtype) * period


@offers("sinc")
def sinc(x: Any) -> Any:
    """``np.sinc``: ``sin(πx) / (πx)``, with every derivative also at 0."""
    return more.sinc(floating(arr(x)))
