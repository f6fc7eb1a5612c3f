"""Sums, products, extrema, and their running forms along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.core.primitive import Primitive
from pullback.ops.axes import Reduction, along, conj, count, from_rows, keep, mask_of, spread, to_rows
from pullback.ops.registry import COUNTS, TRUTHS, Make, Sample, register
from pullback.ops.shapes import reshape


def axis_samples(make: Make, **limits: Any) -> Any:
    """One argument, reduced in every way that the standard knows."""
    for shape, options in (
        ((2, 3), {}),
        ((2, 3), {"axis": 0}),
        ((2, 3), {"axis": -1, "keepdims": True}),
        ((2, 2, 3), {"axis": (0, -1)}),
        ((2, 3), {"axis": ()}),
        ((2,), {"keepdims": True}),
        ((), {}),
    ):
        yield Sample((make(*shape, **limits),), options)


def _with_empty(make: Make) -> Any:
    yield from axis_samples(make)
    yield Sample((make(2, 0),), {"axis": 1})


# ----------------------------------------------------------------------------------------------------- sum and product
class Sum(Reduction):
    """``Σ x``.  vjp: x̄ = ȳ, repeated (a view)"""

    linear = True
    node_name = "SumBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        ctx.form = (x.shape, axis, keepdims)
        return ctx.xp.sum(x, axis=axis, dtype=arrays.from_numpy_dtype(dtype, ctx.xp), keepdims=keepdims)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return spread(ctx.xp, ct, ctx.form)


class Prod(Reduction):
    """``Π x``.  vjp: x̄ᵢ = ȳ Π_{j≠i} xⱼ*, without a division, so that zeros are no special case at any order"""

    node_name = "ProdBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        ctx.form = (x.shape, axis, keepdims)
        ctx.save_for_backward(x)
        return ctx.xp.prod(x, axis=axis, dtype=arrays.from_numpy_dtype(dtype, ctx.xp), keepdims=keepdims)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        xp, (shape, axis, _) = ctx.xp, ctx.form
        others = from_rows(xp, _others(xp, to_rows(xp, x, axis)), shape, axis)
        return spread(xp, ct, ctx.form) * conj(xp, others)


def _others(xp: Any, x: Any) -> Any:
    """For each entry the product of all *other* entries of its row, by pairing: linear work, no division."""
    n = x.shape[-1]
    if n < 2:
        return xp.ones_like(x)
    half = n // 2
    left, right, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    outside = _others(xp, xp.concat([left * right, rest], axis=-1))
    of_pair = outside[..., :half]
    return xp.concat([of_pair * right, of_pair * left, outside[..., half:]], axis=-1)


def sum_(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum of the entries of `x` over `axis`.

    Parameters
    ----------
    x
        An array or Tensor.
    axis
        An axis, a tuple of axes, or ``None`` for all.
    dtype
        The dtype of the result; NumPy's rules when left out (small integers become the default integer).
    keepdims
        Keep the reduced axes, with length 1.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> pb.sum(x, axis=0)
    tensor([4., 6.], grad_fn=<SumBackward0>)
    """
    return Sum.apply(x, axis=axis, dtype=dtype, keepdims=keepdims)


def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product of the entries of `x` over `axis`; see `sum` for the parameters.

    Derivatives are right to any order also where entries are zero.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([2.0, 0.0, 5.0], requires_grad=True)
    >>> pb.prod(x).backward()
    >>> x.grad
    tensor([ 0., 10.,  0.])
    """
    return Prod.apply(x, axis=axis, dtype=dtype, keepdims=keepdims)


# ------------------------------------------------------------------------------------------------------------- extrema
def _extremum(name: str, node_name: str) -> type[Primitive]:
    """``max`` or ``min``, which differ in nothing but what the forward pass looks for."""

    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        ctx.form = (x.shape, axis, keepdims)
        y = arrays.asarray(getattr(ctx.xp, name)(x, axis=axis, keepdims=keepdims), ctx.xp)
        ctx.save_for_backward(x, y)
        return y

    def backward(ctx: Any, ct: Any) -> Any:
        x, y = ctx.saved_tensors
        xp, (_, axis, _) = ctx.xp, ctx.form
        chosen = xp.equal(x, keep(xp, y, ctx.form))
        if arrays.anywhere(xp.isnan(y)):  # the extremum of a row with NaN is NaN, and equal to nothing
            chosen = xp.logical_or(chosen, xp.isnan(x))
        ties = xp.sum(xp.astype(chosen, ct.dtype), axis=axis, keepdims=True)
        share = keep(xp, ct, ctx.form) / ties
        return Masked(xp.where(chosen, share, xp.zeros_like(share)), mask_of(chosen))

    space = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "node_name": node_name,
        "__doc__": f"``{name} x``.  vjp: x̄ = ȳ / n at each of the n entries that are the {name}imum, 0 elsewhere",
        "__module__": __name__,
    }
    return type(name.title(), (Reduction,), space)


Max = _extremum("max", "AmaxBackward0")
Min = _extremum("min", "AminBackward0")


def max_(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest entry of `x` over `axis`; see `sum` for the parameters.

    Where n entries tie, each gets 1/n of the cotangent: the shares sum to 1, and nothing depends on the order.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 3.0, 3.0], requires_grad=True)
    >>> pb.max(x).backward()
    >>> x.grad
    tensor([0. , 0.5, 0.5])
    """
    return Max.apply(x, axis=axis, keepdims=keepdims)


def min_(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The smallest entry of `x` over `axis`; see `max`.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.min(pb.tensor([[1.0, 3.0], [0.0, 4.0]]), axis=1)
    tensor([1., 0.])
    """
    return Min.apply(x, axis=axis, keepdims=keepdims)


# ----------------------------------------------------------------------------------------------------------- logsumexp
class Logsumexp(Reduction):
    """``log Σ exp(x)``, shifted by the maximum.  vjp: x̄ = ȳ exp(x - y)*; 0 in a row of -∞, 1/n at each of n entries of ∞"""

    node_name = "LogsumexpBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        xp = ctx.xp
        ctx.form = form = (x.shape, axis, keepdims)
        if count(x.shape, axis) == 0:
            return xp.sum(x, axis=axis, keepdims=keepdims) - xp.inf
        top = xp.max(xp.real(x) if arrays.is_complex(x.dtype) else x, axis=axis, keepdims=keepdims)
        shift = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
        total = xp.sum(xp.exp(x - keep(xp, shift, form)), axis=axis, keepdims=keepdims)
        nothing = total == 0  # a row of -inf
        y = arrays.asarray(xp.where(nothing, top, xp.log(xp.where(nothing, xp.ones_like(total), total)) + shift), xp)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        xp = ctx.xp
        if count(*ctx.form[:2]) == 0:
            return spread(xp, ct, ctx.form)
        x, y = ctx.saved_tensors
        endless = keep(xp, y == xp.inf, ctx.form)
        y = keep(xp, xp.where(xp.isinf(y), xp.zeros_like(y), y), ctx.form)
        if not arrays.anywhere(endless):
            return keep(xp, ct, ctx.form) * conj(xp, xp.exp(x - y))
        among = xp.astype(x == xp.inf, ct.dtype)
        among = among / xp.maximum(xp.sum(among, axis=ctx.form[1], keepdims=True), xp.ones_like(y))
        return keep(xp, ct, ctx.form) * xp.where(endless, among, conj(xp, xp.exp(xp.where(endless, y, x) - y)))


def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``log(sum(exp(x)))`` over `axis`, without overflow; see `sum` for the parameters.

    A row of -inf (and an empty one) gives -inf, with a derivative of 0; in a row with inf, its entries of inf share the
    cotangent.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1000.0, 1000.0], requires_grad=True)
    >>> y = pb.logsumexp(x)
    >>> y.backward()
    >>> x.grad
    tensor([0.5, 0.5])
    """
    return Logsumexp.apply(x, axis=axis, keepdims=keepdims)


# --------------------------------------------------------------------------------------------------------- running sums
def _with_axis(name: str, x: Any, axis: Any) -> tuple[Any, int]:
    """The argument and the axis of a running operation; the axis may be left out where there is only one."""
    if not x.shape:
        x = reshape(x, (1,))
    if axis is None and len(x.shape) > 1:
        raise ValueError(f"{name} of an array of {len(x.shape)} dimensions needs an axis")
    return x, 0 if axis is None else int(axis)


def _accumulate(xp: Any, name: str, old_name: str, x: Any, axis: int, dtype: Any) -> Any:
    """``cumulative_sum`` and its like, also where NumPy is too old to have it."""
    run = getattr(xp, name, None) or getattr(xp, old_name)
    return run(x, axis=axis, dtype=arrays.from_numpy_dtype(dtype, xp))


def _with_initial(xp: Any, y: Any, axis: int, start: Any) -> Any:
    """A running result with its starting value, ``xp.zeros`` or ``xp.ones``, put before it."""
    shape = tuple([1 if k == axis % len(y.shape) else n for k, n in enumerate(y.shape)])
    return xp.concat([start(shape, dtype=y.dtype), y], axis=axis)


class CumulativeSum(Primitive):
    """``yₖ = Σ_{j≤k} xⱼ``.  vjp: x̄ⱼ = Σ_{k≥j} ȳₖ"""

    linear = True
    node_name = "CumsumBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int, dtype: Any = None, include_initial: bool = False) -> Any:
        xp = ctx.xp
        ctx.axis, ctx.include_initial = axis, include_initial
        y = _accumulate(xp, "cumulative_sum", "cumsum", x, axis, dtype)
        return _with_initial(xp, y, axis, xp.zeros) if include_initial else y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        xp, axis = ctx.xp, ctx.axis
        if ctx.include_initial:
            ct = ct[along(len(ct.shape), axis, slice(1, None))]
        return xp.flip(cumulative_sum(xp.flip(ct, axis=axis), axis), axis=axis)


class CumulativeProd(Primitive):
    """``yₖ = Π_{j≤k} xⱼ``.  vjp: x̄ⱼ = Π_{i<j} xᵢ* · sⱼ with sⱼ = ȳⱼ + xⱼ₊₁* sⱼ₊₁, without a division"""

    node_name = "CumprodBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int, dtype: Any = None, include_initial: bool = False) -> Any:
        xp = ctx.xp
        ctx.axis, ctx.include_initial = axis, include_initial
        ctx.save_for_backward(x)
        y = _accumulate(xp, "cumulative_prod", "cumprod", x, axis, dtype)
        return _with_initial(xp, y, axis, xp.ones) if include_initial else y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        xp, axis = ctx.xp, ctx.axis
        if ctx.include_initial:
            ct = ct[along(len(ct.shape), axis, slice(1, None))]
        if x.shape[axis] == 0:
            return ct
        x, ct = conj(xp, xp.moveaxis(x, axis, -1)), xp.moveaxis(ct, axis, -1)
        before = CumulativeProd.apply(x[..., :-1], axis=-1, include_initial=True)
        return xp.moveaxis(before * _backward_recurrence(xp, ct, x[..., 1:]), -1, axis)


def _backward_recurrence(xp: Any, s: Any, a: Any) -> Any:
    """Solve sⱼ = sⱼ + aⱼ sⱼ₊₁ from the end by Hillis and Steele's scan: after k steps an entry knows its next 2ᵏ."""
    reach, n = 1, s.shape[-1]
    while reach < n:
        s = xp.concat([s[..., :-reach] + a * s[..., reach:], s[..., -reach:]], axis=-1)
        if 2 * reach < n:
            a = a[..., :-reach] * a[..., reach:]
        reach *= 2
    return s


def cumulative_sum(x: Any, /, axis: Any = None, *, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running sums of `x` along `axis`.

    Parameters
    ----------
    x
        An array or Tensor with at least one axis.
    axis
        May be left out where there is only one.
    dtype
        The dtype of the result.
    include_initial
        Start with 0, so that the result has one entry more.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.cumulative_sum(pb.tensor([1.0, 2.0, 3.0]), include_initial=True)
    tensor([0., 1., 3., 6.])
    """
    x, axis = _with_axis("cumulative_sum", x, axis)
    return CumulativeSum.apply(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(x: Any, /, axis: Any = None, *, dtype: Any = None, include_initial: bool = False) -> Any:
    """Running products of `x` along `axis`; see `cumulative_sum` for the parameters.

    Derivatives are right to any order also where entries are zero.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([2.0, 0.0, 4.0], requires_grad=True)
    >>> pb.cumulative_prod(x).sum().backward()
    >>> x.grad
    tensor([ 1., 10.,  0.])
    """
    x, axis = _with_axis("cumulative_prod", x, axis)
    return CumulativeProd.apply(x, axis=axis, dtype=dtype, include_initial=include_initial)


# ------------------------------------------------------------------------------------------------ without a derivative
class All(Primitive):
    """True where all entries are; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ctx.xp.all(x, axis=axis, keepdims=keepdims)


class Any_(Primitive):  # noqa: N801 - Any is taken
    """True where any entry is; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ctx.xp.any(x, axis=axis, keepdims=keepdims)


class CountNonzero(Primitive):
    """The number of entries that are not zero; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ctx.xp.count_nonzero(x, axis=axis, keepdims=keepdims)


def all_(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether all entries of `x` over `axis` are true (not zero).

    >>> import pullback as pb
    >>> pb.all(pb.tensor([[True, False], [True, True]]), axis=1)
    tensor([False,  True])
    """
    return All.apply(x, axis=axis, keepdims=keepdims)


def any_(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether any entry of `x` over `axis` is true (not zero).

    >>> import pullback as pb
    >>> pb.any(pb.tensor([[False, False], [False, True]]), axis=1)
    tensor([False,  True])
    """
    return Any_.apply(x, axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many entries of `x` over `axis` are not zero.

    >>> import pullback as pb
    >>> pb.count_nonzero(pb.tensor([0.0, 2.0, 0.0, 3.0]))
    tensor(2)
    """
    return CountNonzero.apply(x, axis=axis, keepdims=keepdims)


# ------------------------------------------------------------------------------------------------------------ registry
def _running(make: Make) -> Any:
    yield Sample((make(4),))
    yield Sample((make(3, 2),), {"axis": 0})
    yield Sample((make(2, 3),), {"axis": -1, "include_initial": True})
    yield Sample((make(1),))
    yield Sample((make(2, 0),), {"axis": 1})


def _flags(make: Make) -> Any:
    yield Sample((make(2, 3),), {"axis": 0})
    yield Sample((make(2, 3) > 0,), {"axis": -1, "keepdims": True})
    yield Sample((make(4),))


def _log_of_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _numpy_scan(name: str, start: float) -> Any:
    """NumPy's running sum or product with ``include_initial``, which its oldest versions lack."""

    def reference(x: Any, axis: int = 0, include_initial: bool = False) -> Any:
        y = getattr(np, name)(x, axis=axis)
        return np.insert(y, 0, start, axis=axis) if include_initial else y

    return reference


register("all", All, _flags, call=all_, reference=np.all, methods=("all",), differentiable=False, reason=TRUTHS)
register("any", Any_, _flags, call=any_, reference=np.any, methods=("any",), differentiable=False, reason=TRUTHS)
register(
    "count_nonzero",
    CountNonzero,
    _flags,
    call=count_nonzero,
    reference=np.count_nonzero,
    methods=("count_nonzero",),
    differentiable=False,
    reason=COUNTS,
)
register(
    "cumulative_prod",
    CumulativeProd,
    _running,
    call=cumulative_prod,
    reference=_numpy_scan("cumprod", 1),
    methods=("cumprod",),
)
register(
    "cumulative_sum",
    CumulativeSum,
    _running,
    call=cumulative_sum,
    reference=_numpy_scan("cumsum", 0),
    methods=("cumsum",),
)
register(
    "logsumexp",
    Logsumexp,
    axis_samples,
    call=logsumexp,
    reference=_log_of_sum,
    methods=("logsumexp",),
)
register("max", Max, axis_samples, call=max_, reference=np.max, methods=("max", "amax"), complex=False)
register("min", Min, axis_samples, call=min_, reference=np.min, methods=("min", "amin"), complex=False)
register("prod", Prod, _with_empty, call=prod, reference=np.prod, methods=("prod",))
register("sum", Sum, _with_empty, call=sum_, reference=np.sum, methods=("sum",))
