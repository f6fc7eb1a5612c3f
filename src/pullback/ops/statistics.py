"""Mean, variance, standard deviation."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.axes import Reduction, count, keep, reduced_axes, spread
from pullback.ops.norms import times_unit
from pullback.ops.reductions import axis_samples
from pullback.ops.registry import Make, Sample, register


class Mean(Reduction):
    """``Σ x / n``.  vjp: x̄ = ȳ / n, repeated (a view)"""

    linear = True
    node_name = "MeanBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        ctx.form = (x.shape, axis, keepdims)
        return ctx.xp.mean(x, axis=axis, keepdims=keepdims)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        shape, axis, _ = ctx.form
        return spread(ctx.xp, ct / max(count(shape, axis), 1), ctx.form)


def _freedom(ctx: Any) -> float:
    """How many degrees of freedom the variance divides by; NaN where there are none, as the result is."""
    shape, axis, _ = ctx.form
    freedom = float(count(shape, axis) - ctx.correction)
    return freedom if freedom > 0 else float("nan")


class Var(Reduction):
    """``Σ |x - mean(x)|² / (n - correction)``.  vjp: x̄ = ȳ 2 (x - mean(x)) / (n - correction)"""

    node_name = "VarBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        ctx.form, ctx.correction = (x.shape, axis, keepdims), correction
        ctx.save_for_backward(x)
        parts = (ctx.xp.real(x), ctx.xp.imag(x)) if arrays.is_complex(x.dtype) else (x,)
        return sum([ctx.xp.var(part, axis=axis, correction=correction, keepdims=keepdims) for part in parts])

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        return keep(ctx.xp, ct * (2 / _freedom(ctx)), ctx.form) * _deviation(ctx, x)


class Std(Reduction):
    """``√var(x)``.  vjp: x̄ = ȳ (x - mean(x)) / ((n - correction) y); 0 where all entries are equal, a kink"""

    node_name = "StdBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        ctx.form, ctx.correction = (x.shape, axis, keepdims), correction
        xp = ctx.xp
        if not arrays.is_inexact(x.dtype):
            return xp.std(x, axis=axis, correction=correction, keepdims=keepdims)
        squares = xp.sum(_squared_size(xp, _centered(ctx, x)), axis=axis, keepdims=keepdims)
        y = arrays.asarray(xp.sqrt(squares / _freedom(ctx)), xp)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, y = ctx.saved_tensors
        return times_unit(ctx, ct, _centered(ctx, x), y, "std") / _freedom(ctx)


def _deviation(ctx: Any, x: Any) -> Any:
    return x - ctx.xp.mean(x, axis=ctx.form[1], keepdims=True)


def _centered(ctx: Any, x: Any) -> Any:
    """The deviation from the mean, exactly 0 for equal entries (the rounded mean of equal numbers may be another)."""
    gone = reduced_axes(len(x.shape), ctx.form[1])
    if 0 in x.shape:
        return x
    return _deviation(ctx, x - x[tuple([slice(0, 1) if k in gone else slice(None) for k in range(len(x.shape))])])


def _squared_size(xp: Any, x: Any) -> Any:
    return xp.real(x) ** 2 + xp.imag(x) ** 2 if arrays.is_complex(x.dtype) else x * x


def mean(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean of the entries of `x` over `axis`.

    Parameters
    ----------
    x
        An array or Tensor; integers give a floating-point mean.
    axis
        An axis, a tuple of axes, or ``None`` for all.
    keepdims
        Keep the reduced axes, with length 1.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    >>> pb.mean(x).backward()
    >>> x.grad
    tensor([0.25, 0.25, 0.25, 0.25])
    """
    return Mean.apply(x, axis=axis, keepdims=keepdims)


def var(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance of the entries of `x` over `axis`; see `mean` for the other parameters.

    Parameters
    ----------
    correction
        Divide by ``n - correction``: 0 for the variance of a population, 1 for the unbiased estimate from a sample.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.var(pb.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """
    return Var.apply(x, axis=axis, correction=correction, keepdims=keepdims)


def std(x: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation of the entries of `x` over `axis`; see `var` for the parameters.

    Where all entries are equal it has a kink.  Its derivative there is 0 by rule (a subgradient), and its second
    derivative is refused, except where the kink cancels, as in ``std(x)**2``.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.std(pb.tensor([1.0, 2.0, 3.0]), correction=1)
    tensor(1.)
    """
    return Std.apply(x, axis=axis, correction=correction, keepdims=keepdims)


def _spreads(make: Make) -> Any:
    yield Sample((make(2, 3),), {})
    yield Sample((make(2, 3),), {"axis": 0})
    yield Sample((make(2, 3),), {"axis": -1, "correction": 1.0, "keepdims": True})
    yield Sample((make(2, 2, 3),), {"axis": (0, -1), "correction": 0.5})


def _numpy_spread(name: str) -> Any:
    def reference(x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        return getattr(np, name)(x, axis=axis, ddof=correction, keepdims=keepdims)

    return reference


register("mean", Mean, axis_samples, call=mean, reference=np.mean, methods=("mean",))
register("std", Std, _spreads, call=std, reference=_numpy_spread("std"), methods=("std",))
register("var", Var, _spreads, call=var, reference=_numpy_spread("var"), methods=("var",))
