"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions: one line each.

Functions of one argument are holomorphic, so one derivative serves real and complex arguments.  At a pole or branch
point the rules give what the formula gives (1/0 is infinite, and NumPy warns); only `hypot` and `atan2` have a rule for
a point without derivative.
Source of the derivatives: Abramowitz and Stegun, §§4.1-4.6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.tensor import Tensor
from pullback.ops.activations import Sigmoid
from pullback.ops.families import Elementwise, as_arrays, binary, function_of, unary
from pullback.ops.kinks import QUOTIENTS, exact_quotient, kink, operand
from pullback.ops.registry import register
from pullback.ops.samples import pairs, singles

LOG_2, LOG_10 = math.log(2), math.log(10)

Exp = unary("exp", None, lambda y: y, doc="``exp(x)``.  vjp: x̄ = ȳ y*")
Expm1 = unary("expm1", None, lambda xp, x: xp.exp(x), doc="``exp(x) - 1``, exact near 0.  vjp: x̄ = ȳ exp(x)*")
Log = unary("log", None, lambda x: 1 / x, doc="Natural logarithm.  vjp: x̄ = ȳ / x*")
Log1p = unary("log1p", None, lambda x: 1 / (1 + x), doc="``log(1 + x)``, exact near 0.  vjp: x̄ = ȳ / (1 + x)*")
Log2 = unary("log2", None, lambda x: 1 / (x * LOG_2), doc="Logarithm to base 2.  vjp: x̄ = ȳ / (x log 2)*")
Log10 = unary("log10", None, lambda x: 1 / (x * LOG_10), doc="Logarithm to base 10.  vjp: x̄ = ȳ / (x log 10)*")
Sqrt = unary("sqrt", None, lambda y: 0.5 / y, doc="Square root.  vjp: x̄ = ȳ / (2 y)*, infinite at 0")
Square = unary("square", None, lambda x: 2 * x, node_name="PowBackward0", doc="``x * x``.  vjp: x̄ = 2 ȳ x*")
Reciprocal = unary("reciprocal", None, lambda y: -y * y, doc="``1 / x``.  vjp: x̄ = -ȳ (y²)*")

Sin = unary("sin", None, lambda xp, x: xp.cos(x), doc="Sine.  vjp: x̄ = ȳ cos(x)*")
Cos = unary("cos", None, lambda xp, x: -xp.sin(x), doc="Cosine.  vjp: x̄ = -ȳ sin(x)*")
Tan = unary("tan", None, lambda y: 1 + y * y, doc="Tangent.  vjp: x̄ = ȳ (1 + y²)*")
Asin = unary("asin", None, lambda xp, x: 1 / xp.sqrt(1 - x * x), doc="Inverse sine.  vjp: x̄ = ȳ / √(1 - x²)*")
Acos = unary("acos", None, lambda xp, x: -1 / xp.sqrt(1 - x * x), doc="Inverse cosine.  vjp: x̄ = -ȳ / √(1 - x²)*")
Atan = unary("atan", None, lambda x: 1 / (1 + x * x), doc="Inverse tangent.  vjp: x̄ = ȳ / (1 + x²)*")

Sinh = unary("sinh", None, lambda xp, x: xp.cosh(x), doc="Hyperbolic sine.  vjp: x̄ = ȳ cosh(x)*")
Cosh = unary("cosh", None, lambda xp, x: xp.sinh(x), doc="Hyperbolic cosine.  vjp: x̄ = ȳ sinh(x)*")
Tanh = unary("tanh", None, lambda y: 1 - y * y, doc="Hyperbolic tangent.  vjp: x̄ = ȳ (1 - y²)*")
Asinh = unary(
    "asinh", None, lambda xp, x: 1 / xp.sqrt(1 + x * x), doc="Inverse hyperbolic sine.  vjp: x̄ = ȳ / √(1 + x²)*"
)
Acosh = unary(
    "acosh",
    None,
    lambda xp, x: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1)),  # two roots: the branch cut of acosh, not that of √(x² - 1)
    doc="Inverse hyperbolic cosine.  vjp: x̄ = ȳ / (√(x - 1) √(x + 1))*",
)
Atanh = unary("atanh", None, lambda x: 1 / (1 - x * x), doc="Inverse hyperbolic tangent.  vjp: x̄ = ȳ / (1 - x²)*")


def _of_square(node: Any, part: Any) -> Any:
    found = part(0)
    return None if found is None else found * operand(node, 0)


QUOTIENTS[Square] = _of_square  # the square of a cone is smooth: see `pullback.ops.kinks`


def _fraction(xp: Any, a: Any, b: Any, name: str) -> Any:
    """``a / b``, and by rule 0 where b is 0, as it is only at the origin of the plane."""
    origin = b == 0
    return kink(xp.where(origin, 0.0, a / xp.where(origin, 1.0, b)), origin, name)


Atan2 = binary(
    "atan2",
    lambda xp, a, b: _fraction(xp, b, a * a + b * b, "atan2"),
    lambda xp, a, b: _fraction(xp, -a, a * a + b * b, "atan2"),
    doc="Angle of the point (b, a).  vjp: ā = ȳ b / (a² + b²), b̄ = -ȳ a / (a² + b²); both 0 at the origin",
)


class Hypot(Elementwise):
    """``√(a² + b²)`` without overflow.  vjp: ā = ȳ a / y, b̄ = ȳ b / y; both 0 at the origin, the tip of the cone"""

    node_name = "HypotBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        y = arrays.asarray(ctx.xp.hypot(a, b), ctx.xp)
        ctx.save_for_backward(a, b, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b, y = ctx.saved_tensors
        recorded = isinstance(y, Tensor)
        quotient = exact_quotient(ct, ctx) if recorded and arrays.anywhere(y == 0) else None
        return tuple(
            [
                None if not need else ct * _fraction(ctx.xp, x, y, "hypot") if quotient is None else quotient * x
                for need, x in zip(ctx.needs_input_grad, (a, b), strict=True)
            ]
        )


def _share(xp: Any, a: Any, b: Any) -> Any:
    """What a has of ``exp(a) + exp(b)``; one half where both are the same infinity."""
    a, b = as_arrays(xp, a, b)
    same = (a == b) & xp.isinf(a)
    return Sigmoid.apply(xp.where(same, 0.0, a) - xp.where(same, 0.0, b))


Logaddexp = binary(
    "logaddexp",
    _share,
    lambda xp, a, b: _share(xp, b, a),
    doc="``log(exp(a) + exp(b))`` without overflow.  vjp: ā = ȳ σ(a - b), b̄ = ȳ σ(b - a), with σ the sigmoid; one half "
    "each where both are the same infinity",
)

exp = register("exp", Exp, singles(), reference=np.exp, elementwise=True)
expm1 = register("expm1", Expm1, singles(), reference=np.expm1, elementwise=True)
log = register("log", Log, singles(0.4, 2), reference=np.log, elementwise=True)
log1p = register("log1p", Log1p, singles(-0.6, 2), reference=np.log1p, elementwise=True)
log2 = register("log2", Log2, singles(0.4, 2), reference=np.log2, elementwise=True)
log10 = register("log10", Log10, singles(0.4, 2), reference=np.log10, elementwise=True)
sqrt = register("sqrt", Sqrt, singles(0.4, 2), reference=np.sqrt, elementwise=True)
square = register("square", Square, singles(), reference=np.square, elementwise=True)
reciprocal = register("reciprocal", Reciprocal, singles(0.4, 2), reference=np.reciprocal, elementwise=True)
sin = register("sin", Sin, singles(), reference=np.sin, elementwise=True)
cos = register("cos", Cos, singles(), reference=np.cos, elementwise=True)
tan = register("tan", Tan, singles(-1, 1), reference=np.tan, elementwise=True)
asin = register("asin", Asin, singles(-0.7, 0.7), reference=np.arcsin, elementwise=True)
acos = register("acos", Acos, singles(-0.7, 0.7), reference=np.arccos, elementwise=True)
atan = register("atan", Atan, singles(-0.9, 0.9), reference=np.arctan, elementwise=True)
sinh = register("sinh", Sinh, singles(), reference=np.sinh, elementwise=True)
cosh = register("cosh", Cosh, singles(), reference=np.cosh, elementwise=True)
tanh = register("tanh", Tanh, singles(-1, 1), reference=np.tanh, elementwise=True)
asinh = register("asinh", Asinh, singles(-0.9, 0.9), reference=np.arcsinh, elementwise=True)
acosh = register("acosh", Acosh, singles(1.4, 3), reference=np.arccosh, elementwise=True)
atanh = register("atanh", Atanh, singles(-0.7, 0.7), reference=np.arctanh, elementwise=True)
atan2 = register("atan2", Atan2, pairs(), reference=np.arctan2, elementwise=True, complex=False)
hypot = register(
    "hypot",
    Hypot,
    pairs(),
    call=function_of(Hypot, "hypot", "a", "b"),
    reference=np.hypot,
    elementwise=True,
    complex=False,
)
logaddexp = register("logaddexp", Logaddexp, pairs(), reference=np.logaddexp, elementwise=True, complex=False)
