"""Order statistics, covariances and histograms.

A quantile stands at a position between two sorted entries that depends on their number only.  NumPy itself is asked for
that position, by giving it the ranks 0, 1, 2, … in the place of the entries; so every method of NumPy is known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor, wrap
from pullback.doors.numpy.creation import linspace
from pullback.doors.numpy.differences import diff
from pullback.doors.numpy.reductions import average
from pullback.doors.numpy.tools import (
    along,
    arr,
    bare,
    gather,
    holds_tensors,
    into,
    kind_of,
    offers,
    real_only,
    size,
    tensor,
    wrapped,
    xp,
)
from pullback.ops.axes import to_rows
from pullback.ops.indexing import take_along_axis
from pullback.ops.inplace import index_add, is_recorded

_NO = np._NoValue


# ----------------------------------------------------------------------------------------------------- order statistics
def quantile_of(
    a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, ignore: bool, scale: float = 1.0
) -> Any:
    """Quantiles of any method; those of NaN alone are NaN, and with `ignore` NaN counts as absent."""
    x = real_only(arr(a), "quantile")
    if is_recorded(q) or is_recorded(weights):
        raise lesson(
            NotImplementedError,
            "a quantile is differentiable in its data, not in its probability or weights",
            why="the weights move it in steps, and the probability along a broken line.",
            instead="q.detach(); np.interp(q, positions, np.sort(x)) for the broken line.",
        )
    if axis is not None:
        axis = normalize_axis_tuple(axis, len(x.shape))
    keepdims = keepdims is not _NO and bool(keepdims)
    probabilities = np.asarray(bare(q), dtype=float) / scale
    rows = to_rows(xp, x, axis)
    if not rows.shape[-1]:  # the quantile of nothing
        nothing = np.full((*rows.shape[:-1], 1), np.nan, dtype=x.dtype)
        rows = xp.concat([rows, nothing], axis=-1)
    values = bare(rows)
    order = np.argsort(values, axis=-1, kind="stable")  # NaN comes last
    ranks = np.argsort(order, axis=-1, kind="stable").astype(float)
    nan = np.isnan(values)
    ranks[nan] = np.nan
    if weights is not None:
        weights = to_rows(np, np.broadcast_to(np.asarray(bare(weights)), x.shape), axis)
    ask = np.nanquantile if ignore else np.quantile
    position = np.asarray(ask(ranks, probabilities, axis=-1, method=method, weights=weights))  # type: ignore[call-overload]
    missing = np.isnan(position)
    position = np.where(missing, 0.0, position)
    low = np.floor(position).astype(int)
    weak = isinstance(q, (int, float)) and not isinstance(q, np.generic)  # a Python number decides no precision
    part = np.asarray(position - low, dtype=x.dtype if weak else np.result_type(x.dtype, probabilities.dtype))
    high = low + (part > 0)  # the entry itself where it is met, whatever comes after it
    sorted_rows = take_along_axis(rows, order, axis=-1)
    below, above = _pick(sorted_rows, low), _pick(sorted_rows, high)
    step = xp.where(part > 0, above - below, 0.0)
    result = xp.where(part < 0.5, below + step * part, above - step * (1 - part))
    if missing.any():
        result = xp.where(missing, np.nan, result)
    if keepdims:
        gone = range(len(x.shape)) if axis is None else [k % len(x.shape) for k in np.atleast_1d(axis)]
        kept = tuple([1 if k in gone else n for k, n in enumerate(x.shape)])
        result = xp.reshape(result, probabilities.shape + kept)
    return into(out, result)


def _pick(rows: Any, positions: Any) -> Any:
    """Of each row, the entries at `positions`, whose leading axes are those of the probabilities."""
    lead = positions.ndim - len(rows.shape) + 1
    last = np.moveaxis(positions, tuple(range(lead)), tuple(range(-lead, 0))) if lead else positions[..., None]
    flat = last.reshape(*rows.shape[:-1], -1)
    found = xp.reshape(take_along_axis(rows, flat, axis=-1), last.shape if lead else positions.shape)
    return xp.moveaxis(found, tuple(range(-lead, 0)), tuple(range(lead))) if lead else found


def _offer_quantile(name: str, ignore: bool, scale: float) -> None:
    def rule(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = _NO,
        *,
        weights: Any = None,
    ) -> Any:
        return quantile_of(a, q, axis, out, method, keepdims, weights, ignore, scale)

    offers(name)(rule)


def _offer_median(name: str, ignore: bool) -> None:
    def rule(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = _NO) -> Any:
        return quantile_of(a, 0.5, axis, out, "linear", keepdims, None, ignore)

    offers(name)(rule)


for _prefix, _ignore in (("", False), ("nan", True)):
    _offer_quantile(f"{_prefix}quantile", _ignore, 1.0)
    _offer_quantile(f"{_prefix}percentile", _ignore, 100.0)
    _offer_median(f"{_prefix}median", _ignore)


@offers("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """``np.sort``; equal entries keep their order."""
    x = arr(a)
    return xp.sort(xp.reshape(x, (-1,)), axis=-1) if axis is None else xp.sort(x, axis=axis)


@offers("sort_complex")
def sort_complex(a: Any) -> Any:
    """``np.sort_complex``: sorted by real part, then by imaginary part."""
    x = arr(a)
    found = take_along_axis(x, np.argsort(bare(x), axis=-1, kind="stable"), axis=-1)
    kind = found.dtype if found.dtype.kind == "c" else np.complex64 if found.dtype.char in "bhBH" else np.complex128
    return xp.astype(found, kind, copy=False)


@offers("partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """``np.partition``: entry number `kth` where it would stand if all were sorted."""
    x = xp.reshape(arr(a), (-1,)) if axis is None else arr(a)
    axis = -1 if axis is None else axis
    return take_along_axis(x, np.argpartition(bare(x), kth, axis=axis), axis=axis)


# ----------------------------------------------------------------------------------------------------------- covariance
@offers("cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """``np.cov``: covariances of the rows (or columns)."""
    x = _observations(m, rowvar, dtype)
    if y is not None:
        x = xp.concat([x, _observations(y, rowvar, dtype)], axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None if fweights is None else arr(fweights)
    if aweights is not None:
        aweights = xp.astype(arr(aweights), np.float64, copy=False)
        w = aweights if w is None else w * aweights
    mean, total = average(x, axis=1, weights=w, returned=True)
    total = float(x.shape[1]) if w is None else along(total, 0, 0)
    if ddof == 0 or aweights is None:
        freedom = total - ddof
    else:
        freedom = total - ddof * xp.sum(w * aweights) / total
    freedom = xp.maximum(freedom, 0.0) if isinstance(freedom, Tensor) else max(freedom, 0.0)
    centred = x - xp.expand_dims(mean, 1)
    weighted = centred if w is None else centred * w
    product = xp.matmul(centred, xp.conj(xp.matrix_transpose(weighted))) / freedom
    return xp.squeeze(product)


def _observations(m: Any, rowvar: bool, dtype: Any) -> Any:
    x = arr(m)
    x = xp.astype(x, np.result_type(x.dtype, np.float64) if dtype is None else dtype, copy=False)
    if len(x.shape) > 2:
        raise ValueError("m has more than 2 dimensions")
    matrix = len(x.shape) == 2
    x = xp.reshape(x, (1, -1)) if not matrix else x
    return xp.matrix_transpose(x) if not rowvar and matrix and x.shape[0] != 1 else x


@offers("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """``np.corrcoef``: correlations of the rows (or columns)."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    deviation = xp.sqrt(xp.real(xp.diagonal(c)))
    c = c / xp.expand_dims(deviation, 1) / deviation
    if c.dtype.kind == "c":
        return xp.clip(xp.real(c), -1, 1) + 1j * xp.clip(xp.imag(c), -1, 1)
    return xp.clip(c, -1, 1)


# ----------------------------------------------------------------------------------------------------------- histograms
def _place(x: Any, edges: Any) -> Any:
    """The number of the bin of each entry, -1 outside; the last bin contains its right edge."""
    x, edges = np.asarray(x).ravel(), np.asarray(edges)
    number = np.searchsorted(edges, x, side="right") - 1
    number[x == edges[-1]] = len(edges) - 2
    number[(x < edges[0]) | (x > edges[-1]) | np.isnan(x)] = -1
    return number


def _edges(a: Any, bins: Any, limits: Any, found: Any) -> Any:
    """The edges of the bins: those that were given, or between the extrema of the data, which they depend on."""
    kind = kind_of([a, bins]) or Tensor
    if isinstance(bins, Tensor) and bins.shape:
        return bins
    if holds_tensors(limits):
        return linspace(*limits, len(found))
    if limits is not None or np.ndim(bare(bins)) or not isinstance(a, Tensor) or not size(a):
        return wrapped(kind, found)
    low, high = xp.min(a), xp.max(a)
    if bare(low) == bare(high):
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, len(found))


def _density(sums: Any, edges: list[Any]) -> Any:
    """Sums divided by the sizes of the bins, and by their total."""
    total = xp.sum(sums)
    for k, edge in enumerate(edges):
        width = xp.astype(diff(edge), np.float64, copy=False)
        sums = sums / xp.reshape(width, tuple([-1 if j == k else 1 for j in range(len(sums.shape))]))
    return sums / total


def _weigh(bins: list[Any], lengths: tuple[int, ...], weights: Any) -> Any:
    """The sums of the weights in each bin."""
    flat = xp.reshape(tensor(weights), (-1,))
    inside = np.logical_and.reduce([number >= 0 for number in bins])
    numbers = np.ravel_multi_index([number[inside] for number in bins], lengths)
    empty = wrap(type(flat), to_fill(np.zeros(math.prod(lengths), dtype=flat.dtype)))
    return xp.reshape(index_add(empty, numbers, gather(flat, np.flatnonzero(inside))), lengths)


@offers("histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """``np.histogram_bin_edges``: between the extrema of the data."""
    return _edges(a, bins, range, np.histogram_bin_edges(bare(a), bare(bins), bare(range), bare(weights)))


@offers("histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """``np.histogram``: differentiable in the weights; counts are constant."""
    found = np.histogram_bin_edges(bare(a), bare(bins), bare(range), bare(weights))
    edges = _edges(a, bins, range, found)
    number = _place(bare(a), found)
    if weights is None:
        weights = wrapped(kind_of([a, bins]) or Tensor, np.ones(number.shape, dtype=float if density else int))
    sums = _weigh([number], (len(found) - 1,), weights)
    return _density(sums, [edges]) if density else sums, edges


@offers("histogramdd")
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """``np.histogramdd``: differentiable in the weights."""
    kind = kind_of([sample, bins, weights]) or Tensor
    _, found = np.histogramdd(bare(sample), bare(bins), bare(range))
    columns = list(xp.unstack(xp.matrix_transpose(sample)) if hasattr(sample, "shape") else sample)
    given = [bins] * len(found) if np.ndim(bare(bins)) == 0 else bins
    ranges = [None] * len(found) if range is None else range
    edges = [_edges(*each) for each in zip(columns, given, ranges, found, strict=True)]
    numbers = [_place(bare(column), edge) for column, edge in zip(columns, found, strict=True)]
    if weights is None:
        weights = wrapped(kind, np.ones(numbers[0].shape))
    sums = _weigh(numbers, tuple([len(edge) - 1 for edge in found]), xp.astype(arr(weights), np.float64, copy=False))
    return _density(sums, edges) if density else sums, wrapped(kind, tuple(edges))


@offers("histogram2d")
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """``np.histogram2d``: differentiable in the weights."""
    if np.ndim(bins if isinstance(bins, list | tuple) else bare(bins)) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd([arr(x), arr(y)], bins, range, density, weights)
    return counts, *edges


@offers("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """``np.bincount``: differentiable in the weights."""
    numbers = np.asarray(bare(x))
    counts = np.bincount(numbers, minlength=minlength)
    if weights is None:
        return wrapped(kind_of([x]) or Tensor, counts)
    return _weigh([numbers], counts.shape, xp.astype(real_only(arr(weights), "bincount"), np.float64, copy=False))
