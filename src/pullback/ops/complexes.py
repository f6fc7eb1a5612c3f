"""Operators that look at the parts of complex numbers: not holomorphic, so each writes its own rule.

The convention for every complex gradient is that of steepest ascent: for a real L and z = x + iy it is
``∂L/∂x + i ∂L/∂y``.  A holomorphic f then has the vjp ``z̄ = ȳ conj(f'(z))``.  (Source: K. Kreutz-Delgado, "The Complex
Gradient Operator and the CR-Calculus", 2009.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.tensor import Tensor
from pullback.ops.families import Elementwise, carry, function_of, unary
from pullback.ops.kinks import exact_quotient, kink
from pullback.ops.registry import ATTRIBUTES, register
from pullback.ops.samples import singles


def _pull_abs(ctx: Any, ct: Any) -> Any:
    """``ct sign(x)``, with a second thought where it is recorded: ``abs(x)**2`` is smooth at 0 (see `pullback.ops.kinks`)."""
    (x,) = ctx.saved_tensors
    slope = ctx.xp.sign(x)
    recorded = isinstance(x, Tensor)
    if not (recorded and arrays.anywhere(x == 0)):
        return ct * slope
    quotient = exact_quotient(ct, ctx)
    if quotient is not None:
        return quotient * x
    return ct * (kink(slope, x == 0, "abs of a complex number") if arrays.is_complex(x.dtype) else slope)


Abs = unary(
    "abs",
    None,
    lambda xp, x: xp.sign(x),
    backward=_pull_abs,
    doc="Absolute value.  vjp: x̄ = ȳ sign(x), with sign(z) = z / |z|; 0 at 0, the kink",
)


class Sign(Elementwise):
    """``x / |x|``, and 0 at 0.  vjp: 0 for real x; z̄ = (ȳ - y Re(y* ȳ)) / |z|, and 0 at 0"""

    node_name = "SgnBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if arrays.is_complex(x.dtype):
            ctx.save_for_backward(x)
        return ctx.xp.sign(x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        xp = ctx.xp
        if not ctx.saved_tensors:
            return xp.zeros_like(ct)
        (x,) = ctx.saved_tensors
        zero = x == 0
        safe = xp.where(zero, 1.0, x)
        length = xp.abs(safe)
        y = safe / length
        return xp.where(zero, 0.0, (ct - y * xp.real(xp.conj(y) * ct)) / length)


class Conj(Elementwise):
    """Complex conjugate.  vjp: z̄ = ȳ*"""

    linear = True
    mask_rule = staticmethod(carry)
    node_name = "ConjBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return ctx.xp.conj(x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.conj(ct)


class Real(Elementwise):
    """The real part, a view; `x` itself where it is real.  vjp: z̄ = ȳ + 0i"""

    mask_rule = staticmethod(carry)
    node_name = "RealBackward0"
    view = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return ctx.xp.real(x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct


class Imag(Elementwise):
    """The imaginary part, a view; zeros where `x` is real.  vjp: z̄ = 0 + iȳ"""

    mask_rule = staticmethod(carry)
    node_name = "ImagBackward0"
    view = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if not hasattr(x, "dtype"):  # a number of Python's
            return x.imag
        if not arrays.is_complex(x.dtype):
            return ctx.xp.zeros_like(x)
        return ctx.xp.imag(x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        producer, number = ctx.edges[0]
        return ct * 1j if arrays.is_complex(producer.specs[number][1]) else ctx.xp.zeros_like(ct)


class Angle(Elementwise):
    """Argument of a complex number; 0 or π for a real one.  vjp: z̄ = ȳ i z / |z|², and 0 at 0; 0 for real x"""

    node_name = "AngleBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        xp = ctx.xp
        ctx.save_for_backward(x)
        if not arrays.is_complex(x.dtype):
            return xp.atan2(xp.zeros_like(x), x)
        return xp.atan2(xp.imag(x), xp.real(x))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        xp = ctx.xp
        if not ctx.saved_tensors:
            return xp.zeros_like(ct)
        (x,) = ctx.saved_tensors
        zero = x == 0
        slope = xp.where(zero, 0.0, 1j / xp.conj(xp.where(zero, 1.0, x)))  # z / |z|² = 1 / z*
        return ct * kink(slope, zero, "angle")


abs_ = register("abs", Abs, singles(), reference=np.abs, dunder="abs", elementwise=True)
sign = register("sign", Sign, singles(), call=function_of(Sign, "sign", "x"), reference=np.sign, elementwise=True)
conj = register("conj", Conj, singles(), call=function_of(Conj, "conj", "x"), reference=np.conj, elementwise=True)
real = register("real", Real, singles(), call=function_of(Real, "real", "x"), reference=np.real, elementwise=True)
imag = register("imag", Imag, singles(), call=function_of(Imag, "imag", "x"), reference=np.imag, elementwise=True)
angle = register("angle", Angle, singles(), call=function_of(Angle, "angle", "x"), reference=np.angle, elementwise=True)


def _part(view: Any, doc: str) -> property:
    """An attribute of Tensor that can be written to, because it is a view."""

    def write(self: Any, value: Any) -> None:
        view(self)[...] = value

    return property(view, write, doc=doc)


ATTRIBUTES["real"] = _part(real, "The real part: a view of a complex Tensor, the Tensor itself when it is real.")
ATTRIBUTES["imag"] = _part(imag, "The imaginary part: a view of a complex Tensor, zeros for a real one.")
