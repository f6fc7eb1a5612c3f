"""Vector norms: cones, whose tips are the zero vectors (see `pullback.ops.kinks`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.core.recorded import Recorded
from pullback.ops.axes import Reduction, keep, mask_of
from pullback.ops.kinks import exact_quotient, kink
from pullback.ops.reductions import axis_samples
from pullback.ops.registry import Make, Sample, register


def times_unit(ctx: Any, ct: Any, x: Any, y: Any, name: str) -> Any:
    """``ct x / y`` for ``y = c |x|`` reduced by ``ctx.form``: the vjp of a 2-norm, by rule 0 where y = 0."""
    xp, form = ctx.xp, ctx.form
    zero = y == 0
    quotient = exact_quotient(ct, ctx) if xp is Recorded.xp and arrays.anywhere(zero) else None
    if quotient is not None:
        return keep(xp, quotient, form) * x
    length, zero = keep(xp, y, form), keep(xp, zero, form)
    unit = x / xp.where(zero, xp.ones_like(length), length)
    return keep(xp, ct, form) * kink(unit, zero, name)


class VectorNorm(Reduction):
    """``(Σ |x|^p)^(1/p)``.  vjp: x̄ = ȳ sign(x) (|x| / y)^(p-1), by rule 0 where x = 0 or y = 0"""

    node_name = "LinalgVectorNormBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
        ctx.form, ctx.ord = (x.shape, axis, keepdims), ord
        y = arrays.asarray(ctx.xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord), ctx.xp)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, y = ctx.saved_tensors
        xp, p = ctx.xp, ctx.ord
        if p == 2:
            return times_unit(ctx, ct, x, y, "vector_norm")
        if p == 0:
            return xp.zeros_like(x)
        if abs(p) == np.inf:
            return _slope_of_extremum(ctx, ct, x, y)
        slope = xp.sign(x) if p == 1 else _slope_of_power(xp, x, keep(xp, y, ctx.form), p)
        special = keep(xp, y, ctx.form) == 0
        if p < 2 and p != 1:
            special = xp.logical_or(special, x == 0)
        return keep(xp, ct, ctx.form) * kink(slope, special, "vector_norm")


def _slope_of_power(xp: Any, x: Any, y: Any, p: float) -> Any:
    """``sign(x) (|x| / y)^(p-1)``, with 0 at the special points: zero rows, and zeros where the power is infinite."""
    zero = y == 0
    y = xp.where(zero, xp.ones_like(y), y)
    if p > 2 and p % 2 == 0 and not arrays.is_complex(x.dtype):
        return (x / y) ** (p - 1)  # a polynomial in x, smooth also at 0
    if p < 2:
        zero = xp.logical_or(zero, x == 0)
    size = xp.where(zero, xp.ones_like(y), xp.abs(x))
    return xp.where(zero, xp.zeros_like(x), xp.sign(x) * (size / y) ** (p - 1))


def _slope_of_extremum(ctx: Any, ct: Any, x: Any, y: Any) -> Any:
    """The vjp of ``max |x|`` and ``min |x|``: shared among those that attain it."""
    xp, form = ctx.xp, ctx.form
    length = keep(xp, y, form)
    chosen = xp.abs(x) == length
    share = keep(xp, ct, form) / xp.sum(xp.astype(chosen, ct.dtype), axis=form[1], keepdims=True)
    slope = kink(xp.sign(x), length == 0, "vector_norm")
    return Masked(xp.where(chosen, share * slope, xp.zeros_like(x)), mask_of(chosen))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm of the entries of `x` over `axis`, taken as one vector.

    Parameters
    ----------
    x
        An array or Tensor, real or complex.
    axis
        An axis, a tuple of axes, or ``None`` for all.
    keepdims
        Keep the reduced axes, with length 1.
    ord
        2 (Euclidean), 1, any other number, inf (largest magnitude), -inf (smallest), 0 (how many are not zero).

    Raises
    ------
    DerivativeRefused
        By a second derivative at the zero vector, where the norm has a kink (its first derivative there is 0 by
        rule).  Where the kink cancels, as in ``vector_norm(x)**2``, derivatives are right to any order.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> y = pb.vector_norm(x)
    >>> y.backward()
    >>> x.grad
    tensor([0.6, 0.8])
    """
    return VectorNorm.apply(x, axis=axis, keepdims=keepdims, ord=ord)


# ------------------------------------------------------------------------------------------------------------ registry
def _vectors(make: Make) -> Any:
    yield from axis_samples(make)
    for order in (0, 1, 3, 4, 1.5, np.inf, -np.inf):
        yield Sample((make(2, 3),), {"axis": 1, "ord": order})


register("vector_norm", VectorNorm, _vectors, call=vector_norm, reference=np.linalg.vector_norm)
