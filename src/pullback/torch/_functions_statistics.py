"""Order statistics, running extremes, histograms and covariances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops.computed import computed
from pullback.ops.scans import logcumsumexp
from pullback.torch._dims import along_an_axis, axes_of, axis_of, length_of
from pullback.torch._export import FUNCTIONS, both, function, with_in_place, xp
from pullback.torch._functions_reductions import ValuesAndIndices
from pullback.torch._promotion import as_dtype_of, as_float, category
from pullback.torch._results import named

MinMax = named("aminmax", "min max")
Histogram = named("histogram", "hist bin_edges")


def _scalars(kind: Any, array: Any) -> Any:
    return wrap(kind, np.asarray(array))


# ------------------------------------------------------------------------------------------------- two at once
def _with_mean(name: str) -> None:
    one = FUNCTIONS[name]

    def call(
        input: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
    ) -> tuple[Any, Any]:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return one(input, dim, unbiased, keepdim, correction=correction), FUNCTIONS["mean"](input, dim, keepdim)

    call.__doc__ = f"`{name}` and `mean`."
    function(f"{name}_mean")(call)


_with_mean("std")
_with_mean("var")


@both("aminmax")
def _aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest entries."""
    axes = () if dim is None else dim
    return MinMax(FUNCTIONS["amin"](input, axes, keepdim), FUNCTIONS["amax"](input, axes, keepdim))


# ------------------------------------------------------------------------------------------------- means and quantiles
@both("nanmean")
def _nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the entries that are not NaN."""
    if category(input.dtype) < 2:
        raise lesson(
            RuntimeError, f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype}"
        )
    count = xp.sum(xp.logical_not(xp.isnan(input)), axis=axes_of(input, dim), keepdims=keepdim)
    return FUNCTIONS["nansum"](input, dim, keepdim, dtype=dtype) / as_dtype_of(count, input.dtype)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_of(name: str, ignore: bool) -> None:
    def call(input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
        if category(input.dtype) != 2:
            raise lesson(RuntimeError, f"{name}() input tensor must be either float or double dtype")
        if interpolation not in _INTERPOLATIONS:
            raise lesson(
                RuntimeError,
                f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}",
            )
        chances = np.asarray(q._array if isinstance(q, Base) else q, dtype=float)
        if isinstance(q, Base) and q.dtype != input.dtype:
            raise lesson(RuntimeError, f"{name}() q tensor must be same dtype as the input tensor")
        if chances.ndim > 1 or (chances.size and not (chances.min() >= 0 and chances.max() <= 1)):
            raise lesson(RuntimeError, f"{name}() q values must be in the range [0, 1], in one axis at most")
        x, axis = (xp.reshape(input, (-1,)), 0) if dim is None or not input.ndim else (input, axis_of(input, dim))
        if not x.shape[axis]:
            raise lesson(RuntimeError, f"{name}() input tensor must be non-empty")
        found = _between(x, chances, axis, interpolation, ignore)
        if keepdim:
            kept = [1] * input.ndim if dim is None else [1 if k == axis else n for k, n in enumerate(input.shape)]
            found = xp.reshape(found, (*chances.shape, *(kept if input.ndim else [])))
        return found

    call.__doc__ = f"The values below which a part `q` of the entries lies{', NaN left out' if ignore else ''}."
    both(name)(call)


def _between(x: Any, chances: Any, axis: int, interpolation: str, ignore: bool) -> Any:
    """Quantiles along `axis`, those of several chances in a new first axis."""
    rows = xp.moveaxis(x, axis, -1)

    def find(array: Any) -> Any:
        """The order of the rows, the places between which quantiles lie, and where there are none."""
        nan = np.isnan(array)
        last = (~nan).sum(axis=-1) - 1 if ignore else np.full(nan.shape[:-1], array.shape[-1] - 1)
        place = np.multiply.outer(chances, np.maximum(last, 0))  # (*chances, *rows)
        place = np.rint(place) if interpolation == "nearest" else place
        low = np.ceil(place) if interpolation == "higher" else np.floor(place)
        high = low if interpolation in ("lower", "higher", "nearest") else np.ceil(place)
        lost = np.broadcast_to(last < 0 if ignore else nan.any(axis=-1), place.shape)
        order = np.argsort(array, axis=-1, kind="stable")  # NaN comes last
        return order, np.asarray(low).astype(int), np.asarray(high).astype(int), np.array(lost)

    order, low, high, lost = computed(find, rows)
    ordered = xp.take_along_axis(rows, order, axis=-1)
    below, above = _pick(ordered, low), _pick(ordered, high)
    part: Any = 0.5
    if interpolation != "midpoint":
        last = xp.sum(xp.logical_not(xp.isnan(rows)), axis=-1) - 1 if ignore else rows.shape[-1] - 1
        spread = chances.reshape(-1, *[1] * (rows.ndim - 1)).astype(x.dtype) if chances.ndim else float(chances)
        part = (as_dtype_of(last, x.dtype) if ignore else last) * spread - as_dtype_of(low, x.dtype)
    found = xp.where(high > low, below + (above - below) * part, below)
    return xp.where(lost, math.nan, found)


def _pick(rows: Any, places: Any) -> Any:
    """Of each row the entries at `places`, whose first axis (if any) is that of the chances."""
    if places.ndim == rows.ndim - 1:
        return xp.squeeze(xp.take_along_axis(rows, xp.expand_dims(places, axis=-1), axis=-1), axis=-1)
    return xp.moveaxis(xp.take_along_axis(rows, xp.moveaxis(places, 0, -1), axis=-1), -1, 0)


_quantile_of("quantile", ignore=False)
_quantile_of("nanquantile", ignore=True)


@both("nanmedian")
@along_an_axis
def _nanmedian(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median of the entries that are not NaN; along `dim`, with its index."""
    if dim is None:
        return _nanmedian(xp.reshape(input, (-1,)), 0)[0]
    axis = axis_of(input, dim)

    def find(array: Any) -> Any:
        order = np.argsort(array, axis=axis, kind="stable")
        counted = (~np.isnan(array)).sum(axis=axis, keepdims=True)
        return np.take_along_axis(order, np.maximum(counted - 1, 0) // 2, axis)

    return _at(input, computed(find, input), axis, keepdim)


def _at(input: Any, where: Any, axis: int, keepdim: bool) -> Any:
    """The values at these indices along an axis, and the indices."""
    values, indices = xp.take_along_axis(input, where, axis=axis), where
    if not keepdim:
        values, indices = xp.squeeze(values, axis=axis), xp.squeeze(indices, axis=axis)
    return ValuesAndIndices(values, indices)


@both("mode")
@along_an_axis
def _mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along `dim` (the smallest of several), and the index of its last occurrence."""
    axis = axis_of(input, dim)

    def find(array: Any) -> Any:
        rows = np.moveaxis(array, axis, -1)
        found = np.zeros(rows.shape[:-1], dtype=np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            values, counts = np.unique(rows[place], return_counts=True)
            found[place] = np.flatnonzero(rows[place] == values[counts.argmax()])[-1]
        return np.expand_dims(found, axis)

    return _at(input, computed(find, input), axis, keepdim)


@both("msort")
def _msort(input: Any) -> Any:
    """Sorted along the first axis."""
    return FUNCTIONS["sort"](input, 0)[0]


# ------------------------------------------------------------------------------------------------- running
def _running_extreme(name: str, better: Any) -> None:
    def find(rows: Any) -> Any:
        """The places of the extremes so far, along the first axis."""
        found = np.zeros(rows.shape, dtype=np.int64)
        if len(rows):
            best = rows[0].copy()
            for k in range(1, len(rows)):
                won = better(rows[k], best) | np.isnan(rows[k]) if rows.dtype.kind == "f" else better(rows[k], best)
                found[k] = np.where(won, k, found[k - 1])
                best = np.where(won, rows[k], best)
        return found

    @along_an_axis
    def call(input: Any, dim: int) -> Any:
        axis = axis_of(input, dim)
        where = computed(lambda x: np.array(np.moveaxis(find(np.moveaxis(x, axis, 0)), 0, axis)), input)
        return ValuesAndIndices(xp.take_along_axis(input, where, axis=axis), where)

    call.__doc__ = f"The {name[3:]}imum so far along `dim`, and where it is (the last of equal ones)."
    both(name)(call)


_running_extreme("cummax", np.greater_equal)
_running_extreme("cummin", np.less_equal)


@both("logcumsumexp")
@along_an_axis
def _logcumsumexp(input: Any, dim: int) -> Any:
    """``log(cumsum(exp(input)))`` along `dim`, without overflow."""
    return logcumsumexp(as_float(input), axis=axis_of(input, dim))


@function("cumulative_trapezoid")
def _cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """Running integrals by the trapezoidal rule along `dim`."""
    y = xp.moveaxis(y, dim, -1)
    middle = (y[..., 1:] + y[..., :-1]) / 2
    if x is None:
        steps = dx
    else:
        x = xp.moveaxis(x, dim, -1) if x.ndim > 1 else x
        steps = x[..., 1:] - x[..., :-1]
    return xp.moveaxis(xp.cumulative_sum(middle * steps, axis=-1), -1, dim)


@with_in_place("renorm")
def _renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Every slice along `dim` scaled down to the norm `maxnorm` where it is longer."""
    axis = axis_of(input, dim)
    others = tuple([k for k in range(input.ndim) if k != axis])
    length = xp.linalg.vector_norm(input, axis=others, ord=p, keepdims=True)
    return xp.where(length > maxnorm, input * (maxnorm / (length + 1e-7)), input)


# ------------------------------------------------------------------------------------------------- counting
@both("histc")
def _histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many entries fall into each of `bins` intervals between `min` and `max` (of the entries, if both are 0)."""
    array = np.asarray(input._array).ravel()
    low, high = (array.min(), array.max()) if min == max == 0 and array.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    if low > high:
        raise lesson(RuntimeError, "torch.histc: max must be larger than min")
    counts, _ = np.histogram(array, bins, (float(low), float(high)))
    return _scalars(type(input), counts.astype(input.dtype))


@both("histogram")
def _histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """Counts, or sums of weights, of the entries in intervals; and the edges of these."""
    edges = bins._array if isinstance(bins, Base) else int(bins)
    weights = None if weight is None else np.asarray(weight._array).ravel()
    counts, found = np.histogram(np.asarray(input._array).ravel(), edges, range, weights=weights, density=density)
    return Histogram(*[_scalars(type(input), part.astype(input.dtype)) for part in (counts, found)])


@both("unique_consecutive")
def _unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """Without what repeats its neighbour before."""
    kind = type(input)
    array = np.asarray(input._array).ravel() if dim is None else np.moveaxis(np.asarray(input._array), dim, 0)
    changed = np.ones(len(array), dtype=bool)
    changed[1:] = (array[1:] != array[:-1]).reshape(max(len(array) - 1, 0), -1).any(axis=1)
    starts = np.flatnonzero(changed)
    found = [array[starts] if dim is None else np.moveaxis(array[starts], 0, dim)]
    inverse = np.cumsum(changed) - 1
    found += [inverse.reshape(tuple(input.shape)) if dim is None else inverse] if return_inverse else []
    found += [np.diff(np.append(starts, len(array)))] if return_counts else []
    parts = tuple([_scalars(kind, part) for part in found])
    return parts if len(parts) > 1 else parts[0]


# ------------------------------------------------------------------------------------------------- covariance
@both("cov")
def _cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of the rows, each observed once per column."""
    if input.ndim > 2:
        raise lesson(RuntimeError, f"cov(): expected input to have two or fewer dimensions but got {input.ndim}")
    rows = xp.reshape(input, (1, -1)) if input.ndim < 2 else input
    rows = as_float(rows)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = as_dtype_of(given, rows.dtype) if given.dtype != rows.dtype else given
            weights = given if weights is None else weights * given
    n = rows.shape[1]
    total: Any = n if weights is None else xp.sum(weights)
    mean = (
        xp.mean(rows, axis=1, keepdims=True)
        if weights is None
        else xp.sum(rows * weights, axis=1, keepdims=True) / total
    )
    centred = rows - mean
    lost: Any = correction
    if weights is not None and aweights is not None and correction:
        lost = correction * xp.sum(weights * as_dtype_of(aweights, rows.dtype)) / total
    freedom = xp.clip(total - lost, 0.0, None) if weights is not None else float(max(n - correction, 0))
    weighted = centred if weights is None else centred * weights
    product = xp.matmul(centred, xp.matrix_transpose(xp.conj(weighted) if category(rows.dtype) == 3 else weighted))
    return FUNCTIONS["squeeze"](product / freedom)


@both("corrcoef")
def _corrcoef(input: Any) -> Any:
    """Correlations of the rows."""
    if input.ndim > 2:
        raise lesson(RuntimeError, f"corrcoef(): expected input to have two or fewer dimensions but got {input.ndim}")
    c = _cov(input)
    if c.ndim == 0:
        return c / c
    deviation = xp.sqrt(xp.real(xp.diagonal(c)) if category(c.dtype) == 3 else xp.diagonal(c))
    c = c / xp.expand_dims(deviation, axis=1) / deviation
    if category(c.dtype) == 3:
        return FUNCTIONS["complex"](xp.clip(xp.real(c), -1.0, 1.0), xp.clip(xp.imag(c), -1.0, 1.0))
    return xp.clip(c, -1.0, 1.0)


# ------------------------------------------------------------------------------------------------- slopes
@function("gradient")
def _gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Slopes between the neighbours of each entry, along every axis or those of `dim`."""
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [axis_of(input, k) for k in dims]
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != len(axes):
            raise lesson(RuntimeError, f"gradient expected spacing to be a number or one entry per axis, not {spacing}")
        spaces = list(spacing)
    else:
        spaces = [spacing] * len(axes)
    return tuple([_slopes(input, axis, space, edge_order) for axis, space in zip(axes, spaces, strict=True)])


def _slopes(input: Any, axis: int, space: Any, edge_order: int) -> Any:
    if length_of(input, axis) < edge_order + 1:
        raise lesson(RuntimeError, "torch.gradient expected each dimension size to be at least edge_order+1")
    x = xp.moveaxis(as_float(input), axis, -1)
    n = x.shape[-1]
    if isinstance(space, Base) and space.ndim:
        places: Any = space
        h = places[1:] - places[:-1]
        h1, h2 = h[:-1], h[1:]
        low, high = -h2 / (h1 * (h1 + h2)), h1 / (h2 * (h1 + h2))
        inner = low * x[..., :-2] + (h2 - h1) / (h1 * h2) * x[..., 1:-1] + high * x[..., 2:]
    else:
        h = [space] * (n - 1)
        inner = (x[..., 2:] - x[..., :-2]) / (2 * space)
    if edge_order == 1:
        first, last = (x[..., 1:2] - x[..., :1]) / h[0], (x[..., -1:] - x[..., -2:-1]) / h[-1]
    else:
        first = _edge(x[..., 0:1], x[..., 1:2], x[..., 2:3], h[0], h[1])
        last = -_edge(x[..., -1:], x[..., -2:-1], x[..., -3:-2], h[-1], h[-2])
    return xp.moveaxis(xp.concat([first, inner, last], axis=-1), -1, axis)


def _edge(a: Any, b: Any, c: Any, h1: Any, h2: Any) -> Any:
    """The slope at `a` of the parabola through three entries."""
    return -(2 * h1 + h2) / (h1 * (h1 + h2)) * a + (h1 + h2) / (h1 * h2) * b - h1 / (h2 * (h1 + h2)) * c
