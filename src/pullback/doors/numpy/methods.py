"""``np.add.reduce`` and the other methods of ufuncs, for every ufunc of two arguments that has an operator."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core.tensor import Tensor
from pullback.doors.numpy import UFUNCS
from pullback.doors.numpy.tools import along, arr, bare, into, refuse_array, size, tensor, xp
from pullback.doors.numpy.ufuncs import in_loop
from pullback.ops.indexing import Key, key_of, read_at
from pullback.ops.inplace import index_put, write_at

#: Ufuncs whose reduction is an operator of its own.
_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: xp.sum,
    np.multiply: xp.prod,
    np.maximum: xp.max,
    np.minimum: xp.min,
    np.logical_and: xp.all,
    np.logical_or: xp.any,
    np.logaddexp: xp.logsumexp,
}
_OF_TRUTHS = frozenset({np.logical_and, np.logical_or, np.logical_xor})
_ACCUMULATIONS: dict[Any, Callable[..., Any]] = {np.add: xp.cumulative_sum, np.multiply: xp.cumulative_prod}


def _chosen(ufunc: Any, x: Any, dtype: Any) -> Any:
    """The array in the dtype in which it is reduced."""
    x = arr(x)
    if dtype is None and x.dtype.kind in "biu" and ufunc not in _OF_TRUTHS:
        dtype = ufunc.reduce(np.ones((1,), x.dtype)).dtype  # small integers are summed in the default integer
    return x if dtype is None else in_loop(ufunc, [x, x], dtype)[0]


def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``ufunc.reduce``: the entries along `axis` combined, from the first to the last."""
    x = _chosen(ufunc, array, dtype)
    everything = axis is None or (not x.shape and axis in (0, -1))  # NumPy knows these axes of a number
    axes = tuple(range(len(x.shape))) if everything else normalize_axis_tuple(axis, len(x.shape))
    if len(axes) > 1 and ufunc.identity is None and ufunc not in _REDUCTIONS:
        raise ValueError(f"np.{ufunc.__name__} is not reorderable, so only one axis can be reduced")
    if where is not True:
        neutral = initial if ufunc.identity is None else ufunc.identity
        if neutral is None:
            raise ValueError(f"np.{ufunc.__name__} has no identity, so where= needs initial=")
        x = xp.where(where, x, neutral)
    whole = _REDUCTIONS.get(ufunc)
    if whole is not None:
        result = (
            whole(x, axis=axes, keepdims=keepdims)
            if size(x) or initial is None
            else xp.sum(x, axis=axes, keepdims=keepdims)
        )
    else:
        result = x
        for k in sorted(axes, reverse=True):
            result = functools.reduce(UFUNCS[ufunc], _parts(ufunc, result, k))
        if keepdims:
            result = xp.expand_dims(result, axis=axes)
    if initial is not None:
        result = UFUNCS[ufunc](initial, result) if size(x) or whole is None else xp.full_like(result, initial)
    return into(out, result)


def _parts(ufunc: Any, x: Any, axis: int) -> Any:
    """The entries along an axis, one after the other."""
    if x.shape[axis]:
        return xp.unstack(x, axis=axis)
    if ufunc.identity is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    return [xp.full_like(xp.sum(x, axis=axis), ufunc.identity)]


def accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.accumulate``: what ``reduce`` has combined after each entry."""
    x = _chosen(ufunc, array, dtype)
    if not x.shape:
        raise TypeError("cannot accumulate on a scalar")
    if not x.shape[axis]:
        return into(out, xp.astype(x, ufunc.accumulate(np.ones((1,), x.dtype)).dtype))
    if ufunc in _ACCUMULATIONS:
        return into(out, _ACCUMULATIONS[ufunc](x, axis=axis))
    steps = itertools.accumulate(xp.unstack(x, axis=axis), UFUNCS[ufunc])
    return into(out, xp.stack(list(steps), axis=normalize_axis_index(axis, len(x.shape))))


def reduceat(ufunc: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.reduceat``: slices of an axis, each reduced to one entry."""
    x, starts = arr(array), [int(k) for k in bare(indices)]
    stops = [*starts[1:], x.shape[axis]]
    parts = [
        reduce(ufunc, along(x, axis, slice(start, stop if stop > start else start + 1)), axis, dtype)
        for start, stop in zip(starts, stops, strict=True)
    ]
    return into(out, xp.stack(parts, axis=normalize_axis_index(axis, len(x.shape))))


def outer(ufunc: Any, a: Any, b: Any, /, *, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.outer``: every entry of `a` with every entry of `b`."""
    a, b = arr(a), arr(b)
    if dtype is not None:
        a, b = in_loop(ufunc, [a, b], dtype)
    return into(out, UFUNCS[ufunc](xp.reshape(a, tuple(a.shape) + (1,) * len(b.shape)), b))


def at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> None:
    """``ufunc.at``: in place, where what is met several times is changed several times."""
    values = [] if b is None else [arr(b)]
    if not isinstance(a, Tensor):
        refuse_array(b, f"the first argument of np.{ufunc.__name__}.at")
        ufunc.at(a, bare(indices), *[bare(value) for value in values])
        return
    met = np.arange(size(a)).reshape(tuple(a.shape))[key_of(indices).entries]
    flat = [xp.reshape(xp.broadcast_to(tensor(value), met.shape), (-1,)) for value in values]
    result = xp.reshape(a, (-1,))
    for turn in _turns(met.reshape(-1)):
        place = Key((met.reshape(-1)[turn],), False, True)
        old = read_at(result, place)
        new = UFUNCS[ufunc](old, *[read_at(value, Key((turn,), False, True)) for value in flat])
        result = index_put(result, place.entries, xp.astype(new, a.dtype))
    write_at(a, key_of(Ellipsis), xp.reshape(result, tuple(a.shape)))


def _turns(places: Any) -> Any:
    """Groups of positions in `places`: in each group every place occurs at most once, and they keep their order."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if places.size else ordered
    rank = np.empty(places.size, dtype=int)
    rank[order] = np.arange(places.size) - np.repeat(first, np.diff(np.append(first, places.size)))
    return [np.flatnonzero(rank == k) for k in range(int(rank.max(initial=-1)) + 1)]
