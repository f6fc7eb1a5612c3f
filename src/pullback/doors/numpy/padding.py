"""``np.pad``, in all its modes: axis by axis a slab before and a slab after."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.doors.numpy.statistics import quantile_of
from pullback.doors.numpy.tools import along, arr, bare, moved, offers, tensor, xp

#: Modes that only repeat entries.
_MOVING = {"edge", "wrap", "symmetric", "reflect", "empty"}


@offers("pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """``np.pad``."""
    x = tensor(array)
    if callable(mode):
        raise lesson(
            NotImplementedError,
            "np.pad of Tensors takes no function as its mode",
            why="it would write into bare arrays, and its gradient would be lost.",
            instead="np.concatenate([before, x, after], axis=...).",
        )
    if not x.shape:
        return xp.astype(x, x.dtype)
    widths = _pairs(_by_axis(bare(pad_width), len(x.shape)), len(x.shape))
    odd = mode in ("reflect", "symmetric") and kwargs.get("reflect_type", "even") == "odd"
    if mode in _MOVING and not odd:
        kwargs.pop("reflect_type", None)
        return moved(np.pad, x, widths, "edge" if mode == "empty" else mode)
    np.pad(np.empty((1,) * len(x.shape)), 0, mode, **bare(kwargs))  # NumPy checks the options
    for n, (before, after) in zip(x.shape, widths, strict=True):
        if n == 0 and mode != "constant" and (before or after):
            raise ValueError(f"can't extend empty axis {n} using modes other than 'constant' or 'empty'")
    option = {"constant": "constant_values", "linear_ramp": "end_values"}.get(mode, "stat_length")
    chosen = kwargs.get(option, None if option == "stat_length" else 0)
    options = (
        _pairs(chosen, len(x.shape)) if option != "stat_length" or chosen is not None else [(None, None)] * len(widths)
    )
    for axis, ((before, after), (first, second)) in enumerate(zip(widths, options, strict=True)):
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if odd:
            x = _mirrored(x, axis, before, after, mode)
            continue
        parts = [_slab(x, axis, before, mode, first, 0), x, _slab(x, axis, after, mode, second, -1)]
        x = xp.concat([xp.astype(part, x.dtype, copy=False) for part in parts], axis=axis)
    return x


def _by_axis(widths: Any, ndim: int) -> Any:
    """Widths given for some axes in a dict, as pairs for all."""
    if not isinstance(widths, dict):
        return widths
    pairs: list[Any] = [(0, 0)] * ndim
    for axis, width in widths.items():
        pairs[axis] = (width, width) if np.ndim(width) == 0 else tuple(width)
    return pairs


def _pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """One value, a pair, or a pair for each axis: as pairs.  The values may be Tensors."""
    given = given if isinstance(given, (list, tuple)) else arr(given)
    shape = np.shape(bare(given))
    places = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), (ndim, 2))
    flat: list[Any] = []

    def flatten(value: Any) -> None:
        if isinstance(value, (list, tuple)) or bool(getattr(value, "shape", None)):
            for item in value:
                flatten(item)
        else:
            flat.append(value if hasattr(value, "requires_grad") else np.asarray(value).item())

    flatten(given)
    return [(flat[a], flat[b]) for a, b in places.tolist()]


def _slab(x: Any, axis: int, width: int, mode: str, option: Any, end: int) -> Any:
    """What stands before (`end` 0) or after (-1) the entries of an axis."""
    shape = tuple([width if k == axis else n for k, n in enumerate(x.shape)])
    if mode == "constant":
        return xp.broadcast_to(xp.astype(tensor(option), x.dtype, copy=False), shape)
    edge = along(x, axis, slice(0, 1) if end == 0 else slice(-1, None))
    if mode == "linear_ramp":
        part = np.arange(1, width + 1) / max(width, 1)
        part = (part[::-1] if end == 0 else part).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        value = edge + (option - edge) * np.asarray(part, dtype=edge.dtype if edge.dtype.kind in "fc" else float)
        return value if x.dtype.kind in "fc" else xp.astype(xp.trunc(value), x.dtype)
    length = x.shape[axis] if option is None else min(int(option), x.shape[axis])
    region = along(x, axis, slice(0, length) if end == 0 else slice(x.shape[axis] - length, None))
    if mode == "median":
        value = quantile_of(region, 0.5, axis, None, "linear", True, None, False)
    else:
        value = {"mean": xp.mean, "maximum": xp.max, "minimum": xp.min}[mode](region, axis=axis, keepdims=True)
    if x.dtype.kind not in "fc" and mode in ("mean", "median"):
        value = xp.round(value)
    return xp.broadcast_to(value, shape)


def _mirrored(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """The odd mirror image: twice the edge less what stands on the other side, as often as it takes."""
    skip = int(mode == "reflect")
    period = x.shape[axis] - skip
    if period == 0:  # one entry alone: itself, as in the even image
        return moved(np.pad, x, [(before, after) if k == axis else (0, 0) for k in range(len(x.shape))], "edge")
    while before or after:
        low, high = min(before, period), min(after, period)
        n = x.shape[axis]
        first, last = along(x, axis, slice(0, 1)), along(x, axis, slice(n - 1, n))
        head = 2 * first - xp.flip(along(x, axis, slice(skip, skip + low)), axis=axis)
        tail = 2 * last - xp.flip(along(x, axis, slice(n - skip - high, n - skip)), axis=axis)
        x = xp.concat([head, x, tail], axis=axis)
        before, after, period = before - low, after - high, x.shape[axis] - skip
    return x
