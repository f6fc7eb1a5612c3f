"""Reading by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.doors.numpy.reductions import flattened
from pullback.doors.numpy.tools import arr, bare, into, offers, take_at, xp
from pullback.ops.indexing import take_along_axis as gather_lines


@offers("take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """``np.take``; `mode` says what happens to positions beyond the end."""
    x, axis = flattened(arr(a), axis)
    positions, length = np.asarray(bare(indices)), x.shape[axis]
    if mode == "wrap":
        positions = positions % length
    elif mode == "clip":
        positions = np.clip(positions, 0, length - 1)
    return into(out, xp.take(x, positions, axis=axis))


@offers("take_along_axis")
def take_along_axis(arr_: Any, indices: Any, axis: Any = -1) -> Any:
    """``np.take_along_axis``."""
    x, axis = flattened(arr(arr_), axis)
    positions = np.asarray(bare(indices))
    lines = [
        n if k == axis % len(x.shape) else m for k, (n, m) in enumerate(zip(positions.shape, x.shape, strict=True))
    ]
    return gather_lines(x, np.broadcast_to(positions, np.broadcast_shapes(positions.shape, tuple(lines))), axis=axis)


@offers("compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """``np.compress``."""
    x, axis = flattened(arr(a), axis)
    return into(out, xp.take(x, np.flatnonzero(bare(condition)), axis=axis))


@offers("extract")
def extract(condition: Any, arr_: Any) -> Any:
    """``np.extract``."""
    return xp.take(xp.reshape(arr(arr_), (-1,)), np.flatnonzero(bare(condition)), axis=0)


@offers("apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr_: Any, *args: Any, **kwargs: Any) -> Any:
    """``np.apply_along_axis``: `func1d` is given each line as a Tensor."""
    x = xp.moveaxis(arr(arr_), axis, -1)
    lead = tuple(x.shape[:-1])
    results = [arr(func1d(take_at(x, index), *args, **kwargs)) for index in np.ndindex(*lead)]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    inner = tuple(results[0].shape)
    whole = xp.reshape(xp.stack(results), lead + inner)
    if not inner:
        return whole
    place = axis % (len(lead) + 1)
    order = [*range(place), *range(len(lead), len(lead) + len(inner)), *range(place, len(lead))]
    return xp.permute_dims(whole, tuple(order))


@offers("apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """``np.apply_over_axes``."""
    x = arr(a)
    for axis in np.atleast_1d(bare(axes)).tolist():
        result = arr(func(x, axis))
        x = result if len(result.shape) == len(x.shape) else xp.expand_dims(result, axis)
    return x
