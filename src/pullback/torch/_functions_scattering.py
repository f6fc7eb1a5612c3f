"""Reductions into places: ``scatter_reduce``, ``index_reduce``, ``put``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops import inplace
from pullback.torch._dims import along_an_axis, axis_of
from pullback.torch._export import FUNCTIONS, METHODS, both, in_place, xp
from pullback.torch._functions_indexing import _grid, check_index, check_places

_KINDS = {
    "sum": "sum",
    "prod": "prod",
    "mean": "mean",
    "amax": "amax",
    "amin": "amin",
    "add": "sum",
    "multiply": "prod",
}


def _flat_places(shape: tuple[int, ...], grid: Any) -> Any:
    """The numbers, in C order, of the places that an index for every axis names."""
    if not shape:
        return np.zeros((), dtype=np.intp)
    return np.ravel_multi_index(tuple(np.broadcast_arrays(*grid)), shape, mode="wrap")


def _reduce_into(input: Any, places: Any, source: Any, kind: str, include_self: bool) -> Any:
    """`input`, flat, with the elements of `source` reduced into the numbered places; all in one axis."""
    n = input.shape[0]
    met = np.bincount(places, minlength=n)
    if kind in ("sum", "mean"):
        start = input if include_self else xp.where(met > 0, 0.0 if input.dtype.kind in "fc" else 0, input)
        total = inplace.index_add(start, (places,), source)
        if kind == "sum":
            return total
        count = np.maximum(met + (1 if include_self else 0), 1)
        count = np.where(met > 0, count, 1).astype(input.dtype)
        return (
            total / count
            if input.dtype.kind in "fc"
            else FUNCTIONS["div"](total, wrap(type(input), count), rounding_mode="floor")
        )
    groups = [np.flatnonzero(places == k) for k in np.flatnonzero(met)]
    longest = max(map(len, groups), default=0)
    if not longest:
        return input.clone()
    reduce = {"prod": xp.prod, "amax": xp.max, "amin": xp.min}[kind]
    neutral: Any = {"prod": 1, "amax": -math.inf, "amin": math.inf}[kind]
    if input.dtype.kind in "iu" and kind != "prod":
        limits = np.iinfo(input.dtype)
        neutral = limits.min if kind == "amax" else limits.max
    table = np.full((len(groups), longest), 0, dtype=np.intp)
    there = np.zeros(table.shape, dtype=bool)
    for row, group in enumerate(groups):
        table[row, : len(group)], there[row, : len(group)] = group, True
    rows = xp.where(there, source[table], neutral)
    targets = np.flatnonzero(met)
    if include_self:
        rows = xp.concat([xp.expand_dims(input[targets], axis=1), rows], axis=1)
    return inplace.index_put(input, (targets,), reduce(rows, axis=1))


@both("scatter_reduce")
@along_an_axis
def _scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """``out[index[i][j]][j]`` reduced with ``src[i][j]``, for ``dim = 0``, and so on; `reduce`: sum, prod, mean, amax, amin.

    Equal extremes share the gradient.
    """
    check_places("scatter_reduce", input, dim, index)
    kind = _kind("scatter_reduce", reduce)
    axis, shape = axis_of(input, dim), tuple(input.shape)
    places = _flat_places(shape, _grid(index, axis))
    given: Any = src
    source = (
        given[tuple([slice(0, n) for n in index.shape])]
        if isinstance(src, Base)
        else FUNCTIONS["full"](tuple(index.shape), src, dtype=input.dtype)
    )
    flat = xp.reshape(input, (-1,))
    return xp.reshape(_reduce_into(flat, places.ravel(), xp.reshape(source, (-1,)), kind, include_self), shape)


def _kind(name: str, reduce: str) -> str:
    if reduce not in _KINDS:
        raise lesson(RuntimeError, f"{name}: reduce argument must be one of sum, prod, mean, amax, amin, got {reduce}")
    return _KINDS[reduce]


@both("index_reduce")
@along_an_axis
def _index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """The slices of `source` reduced into those of `input` along `dim` that `index` names: prod, mean, amax, amin."""
    check_index("index_reduce", index)
    axis = axis_of(input, dim)
    shape = [1] * input.ndim
    shape[axis] = -1
    spread = np.broadcast_to(np.asarray(index._array).reshape(shape), tuple(source.shape))
    return _scatter_reduce(input, axis, wrap(type(index), spread), source, reduce, include_self=include_self)


@both("put", plain=True)
def _put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """The elements of the flattened Tensor that `index` names, replaced by `source` or (`accumulate`) added to."""
    check_index("put", index)
    flat, places = xp.reshape(input, (-1,)), (np.asarray(index._array).ravel(),)
    write = inplace.index_add if accumulate else inplace.index_put
    return xp.reshape(write(flat, places, xp.reshape(source, (-1,))), tuple(input.shape))


for _name in ("scatter_reduce", "index_reduce", "put"):
    METHODS[f"{_name}_"] = in_place(METHODS[_name], _name)
