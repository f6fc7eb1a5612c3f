"""Reductions, running sums and sorting, with torch's ``dim``, ``keepdim`` and named results."""

from __future__ import annotations

import math
import operator
from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops.activations import log_softmax, softmax
from pullback.torch._dims import along_an_axis, axes_of, axis_of, length_of
from pullback.torch._dtypes import DTYPES, as_dtype
from pullback.torch._export import both, need_tensor, with_in_place, xp
from pullback.torch._promotion import as_dtype_of, as_float, category

ValuesAndIndices = namedtuple("ValuesAndIndices", ["values", "indices"])


def _cast(input: Any, dtype: Any) -> Any:
    return input if dtype is None else xp.astype(input, as_dtype(dtype))


def total_dtype(input: Any, dtype: Any = None) -> Any:
    """The dtype of a sum or product where it is not that of `input`: integers and booleans add up to int64."""
    return as_dtype(dtype) or (DTYPES["int64"] if category(input.dtype) < 2 else None)


# ------------------------------------------------------------------------------------------------- sums and means
@both("sum")
def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over `dim` (one, several or all axes)."""
    x = _cast(need_tensor(input, "sum"), dtype)
    return xp.sum(x, axis=axes_of(x, dim), dtype=total_dtype(x, dtype), keepdims=keepdim)


@both("nansum")
def _nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum, with NaN counted as zero."""
    x = _cast(input, dtype)
    return _sum(xp.where(xp.isnan(x), xp.zeros_like(x), x), dim, keepdim, dtype=dtype)


@both("mean")
def _mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over `dim`; floating-point and complex Tensors only."""
    x = _cast(need_tensor(input, "mean"), dtype)
    if category(x.dtype) < 2:
        raise lesson(
            RuntimeError,
            f"mean(): could not infer output dtype. Input dtype must be floating point or complex. Got: {x.dtype}",
            instead="x.float().mean(), or x.mean(dtype=torch.float64).",
        )
    return xp.mean(x, axis=axes_of(x, dim), keepdims=keepdim)


@both("prod")
def _prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over `dim`."""
    x = _cast(input, dtype)
    return xp.prod(x, axis=axes_of(x, dim), dtype=total_dtype(x, dtype), keepdims=keepdim)


def _correction(unbiased: bool, correction: Any) -> Any:
    return (1 if unbiased else 0) if correction is None else correction


@both("var")
def _var(
    input: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """The variance, divided by ``n - correction`` (1 unless told otherwise)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return xp.var(input, axis=axes_of(input, dim), correction=_correction(unbiased, correction), keepdims=keepdim)


@both("std")
def _std(
    input: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """The standard deviation, see `var`."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return xp.std(input, axis=axes_of(input, dim), correction=_correction(unbiased, correction), keepdims=keepdim)


@both("logsumexp")
def _logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """``log(sum(exp(input)))`` without overflow."""
    return xp.logsumexp(as_float(input), axis=axes_of(input, dim), keepdims=keepdim)


@both("softmax")
@along_an_axis
def _softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """``exp(input) / sum(exp(input))`` along `dim`."""
    return softmax(as_float(_cast(input, dtype)), dim)


@both("log_softmax")
@along_an_axis
def _log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return log_softmax(as_float(_cast(input, dtype)), dim)


# ------------------------------------------------------------------------------------------------- largest and smallest
@along_an_axis
def _picked(input: Any, pick: Any, dim: int, keepdim: bool) -> Any:
    """The values, and where they are, of what `pick` names along `dim`."""
    where = pick(input, axis=dim, keepdims=True)
    values = xp.take_along_axis(input, where, axis=dim)
    if not keepdim:
        values, where = xp.squeeze(values, axis=dim), xp.squeeze(where, axis=dim)
    return ValuesAndIndices(values, where)


def _extreme(name: str, elementwise: str) -> Any:
    pick = f"arg{name}"

    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Base):
            return getattr(xp, elementwise)(input, dim)
        if dim is None:
            return getattr(xp, name)(input)
        _need_entries(input, dim, name)
        return _picked(input, getattr(xp, pick), dim, keepdim)

    call.__doc__ = (
        f"The {name} of all elements; along `dim`, values and indices; with a Tensor as `dim`, `{elementwise}`."
    )
    return call


both("max")(_extreme("max", "maximum"))
both("min")(_extreme("min", "minimum"))


def _need_entries(input: Any, dim: Any, name: str) -> None:
    """Refuse the extreme of nothing, as torch does: there is an axis to choose another one."""
    if 0 not in input.shape:
        return
    axes = range(input.ndim) if dim in (None, (), []) else [dim] if isinstance(dim, int) else dim
    if dim is None or any(input.shape[axis_of(input, k)] == 0 for k in axes):
        raise lesson(
            IndexError,
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0, and to have non-zero size.",
            why="there is no element to choose.",
        )


@both("amax")
def _amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest elements along `dim`; equal ones share the gradient."""
    _need_entries(input, dim, "amax")
    return xp.max(input, axis=axes_of(input, dim), keepdims=keepdim)


@both("amin")
def _amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest elements along `dim`; equal ones share the gradient."""
    _need_entries(input, dim, "amin")
    return xp.min(input, axis=axes_of(input, dim), keepdims=keepdim)


@both("argmax")
def _argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Where the largest element is."""
    _need_entries(input, dim, "argmax")
    return xp.argmax(input, axis=axes_of(input, dim), keepdims=keepdim)


@both("argmin")
def _argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Where the smallest element is."""
    _need_entries(input, dim, "argmin")
    return xp.argmin(input, axis=axes_of(input, dim), keepdims=keepdim)


def _truth(name: str) -> None:
    def call(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        axis = () if dim in ((), []) else axes_of(input, dim)
        found = getattr(xp, name)(input, axis=axis, keepdims=keepdim)
        return as_dtype_of(found, input.dtype) if input.dtype == DTYPES["uint8"] else found

    call.__doc__ = f"Whether {name} of the elements are true: booleans, and uint8 of uint8."
    both(name)(call)


_truth("all")
_truth("any")


@both("count_nonzero")
def _count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return xp.count_nonzero(input, axis=axes_of(input, dim))


# ------------------------------------------------------------------------------------------------- running
@with_in_place("cumsum")
@along_an_axis
def _cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Running sums along `dim`."""
    return xp.cumulative_sum(_cast(input, dtype), axis=dim, dtype=total_dtype(input, dtype))


@with_in_place("cumprod")
@along_an_axis
def _cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Running products along `dim`."""
    return xp.cumulative_prod(_cast(input, dtype), axis=dim, dtype=total_dtype(input, dtype))


@both("diff")
def _diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along `dim`, `n` times; `prepend` and `append` stand before and after."""
    parts = [part for part in (prepend, input, append) if part is not None]
    x = xp.moveaxis(input if len(parts) == 1 else xp.concat(parts, axis=dim), dim, -1)
    subtract = operator.sub if category(x.dtype) else operator.xor
    for _ in range(n):
        x = subtract(x[..., 1:], x[..., :-1])
    return xp.moveaxis(x, -1, dim)


# ------------------------------------------------------------------------------------------------- sorting
@both("argsort")
@along_an_axis
def _argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices that sort along `dim`."""
    return xp.argsort(input, axis=dim, descending=descending)


@both("sort")
@along_an_axis
def _sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sorted values and the indices that sort, along `dim`."""
    indices = _argsort(input, dim, descending)
    return ValuesAndIndices(xp.take_along_axis(input, indices, axis=dim), indices)


def _contiguous(x: Any) -> Any:
    """A copy in C order."""
    return xp.astype(x, x.dtype)


@both("topk")
@along_an_axis
def _topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`, and their indices."""
    if not 0 <= k <= length_of(input, dim):
        raise lesson(RuntimeError, "selected index k out of range", instead=f"k <= {length_of(input, dim)}.")
    order = xp.moveaxis(_argsort(input, dim, descending=largest), dim, -1)[..., :k]
    indices = _contiguous(xp.moveaxis(order, -1, dim))
    return ValuesAndIndices(xp.take_along_axis(input, indices, axis=dim), indices)


@both("kthvalue")
@along_an_axis
def _kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim` (counted from 1), and its index."""
    n = length_of(input, dim)
    if n == 0:
        raise lesson(
            IndexError,
            f"kthvalue(): Expected reduction dim {axis_of(input, dim)} to have non-zero size.",
            why="there is no element to choose.",
        )
    if not 1 <= k <= n:
        raise lesson(RuntimeError, f"kthvalue(): selected number k out of range for dimension {axis_of(input, dim)}")
    return _picked(input, partial(_kth, k), dim, keepdim)


def _kth(k: int, input: Any, *, axis: int, keepdims: bool) -> Any:
    """Where the `k`-th smallest element is, with `axis` kept."""
    return wrap(type(input), np.take(_argsort(input, axis)._array, [k - 1], axis=axis))


@both("median")
@along_an_axis
def _median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower median; along `dim`, with its index.  Of no elements at all it is NaN."""
    if dim is not None:
        return _kthvalue(input, (length_of(input, dim) + 1) // 2, dim, keepdim)
    flat = xp.reshape(input, (-1,))
    if not flat.shape[0]:
        return xp.sum(flat) + math.nan
    return _kthvalue(flat, (flat.shape[0] + 1) // 2, 0).values


@both("unique")
def _unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different elements (slices along `dim`), in order; not differentiable."""
    numpys: Any = np.unique
    found = numpys(input._array, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if not (return_inverse or return_counts):
        return wrap(type(input), found)
    return tuple([wrap(type(input), part) for part in found])


# ------------------------------------------------------------------------------------------------- norms
@both("norm")
def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The vector norm of order `p` over `dim` (``"fro"``: 2)."""
    x = as_float(_cast(input, dtype)) if dtype is not None else input
    if p == "nuc":
        return xp.linalg.matrix_norm(x, ord="nuc", keepdims=keepdim)
    order = 2 if p in ("fro", None) else p
    return xp.linalg.vector_norm(x, axis=axes_of(input, dim), ord=order, keepdims=keepdim)


@both("dist")
def _dist(input: Any, other: Any, p: float = 2) -> Any:
    """The norm of the difference."""
    return _norm(input - other, p)
