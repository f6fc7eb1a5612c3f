"""Elementwise functions that NumPy has and the Array API standard has not; imported when NumPy's door is first used."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.activations import Sigmoid
from pullback.ops.families import ONE, ZERO, Elementwise, as_arrays, binary, unary
from pullback.ops.registry import Make, Sample, register
from pullback.ops.samples import pairs, singles

LOG_2 = math.log(2)


def _logaddexp2(xp: Any, a: Any, b: Any) -> Any:
    if xp is np:
        return np.logaddexp2(a, b)
    a, b = as_arrays(xp, a, b)
    return xp.logaddexp(a * LOG_2, b * LOG_2) / LOG_2


def _share(xp: Any, a: Any, b: Any) -> Any:
    """What a has of ``2**a + 2**b``; one half where both are the same infinity."""
    a, b = as_arrays(xp, a, b)
    same = (a == b) & xp.isinf(a)
    return Sigmoid.apply((xp.where(same, 0.0, a) - xp.where(same, 0.0, b)) * LOG_2)


def _heaviside(xp: Any, a: Any, b: Any) -> Any:
    if xp is np:
        return np.heaviside(a, b)
    a, b = as_arrays(xp, a, b)
    return xp.where(a == 0, b, xp.where(a > 0, xp.ones_like(b), 0.0))


def _at_jump(xp: Any, a: Any, b: Any) -> Any:
    a, b = as_arrays(xp, a, b)
    return xp.where(a == 0, xp.ones_like(b), 0.0)


Cbrt = unary(
    "cbrt",
    lambda xp, x: np.cbrt(x) if xp is np else xp.sign(x) * xp.abs(x) ** (1 / 3),
    lambda y: 1 / (3 * y * y),
    doc="The real cube root.  vjp: x̄ = ȳ / (3 y²), infinite at 0",
)
Exp2 = unary(
    "exp2",
    lambda xp, x: np.exp2(x) if xp is np else xp.exp(x * LOG_2),
    lambda y: y * LOG_2,
    doc="``2**x``.  vjp: x̄ = ȳ y log 2",
)
Fmod = binary(
    "fmod",
    ONE,
    lambda xp, a, b: -xp.trunc(a / b),
    forward=lambda xp, a, b: np.fmod(a, b) if xp is np else a - xp.trunc(a / b) * b,
    doc="``a - trunc(a / b) b``, which has the sign of a.  vjp: ā = ȳ, b̄ = -ȳ trunc(a / b); one-sided where it jumps",
)
Heaviside = binary(
    "heaviside",
    ZERO,
    _at_jump,
    forward=_heaviside,
    doc="0 for negative a, 1 for positive a, b where a = 0.  vjp: ā = 0, also at the jump; b̄ = ȳ where a = 0",
)
Logaddexp2 = binary(
    "logaddexp2",
    _share,
    lambda xp, a, b: _share(xp, b, a),
    forward=_logaddexp2,
    doc="``log2(2**a + 2**b)`` without overflow.  vjp: ā = ȳ σ((a - b) log 2), b̄ = ȳ σ((b - a) log 2)",
)


class Ldexp(Elementwise):
    """``x 2ⁿ`` for whole n.  vjp: x̄ = ȳ 2ⁿ"""

    @staticmethod
    def forward(ctx: Any, x: Any, n: Any) -> Any:
        ctx.save_for_backward(n)
        return np.ldexp(x, n) if ctx.xp is np else x * 2.0 ** arrays.cast(n, arrays.dtype_of(x), ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return Ldexp.apply(ct, ctx.saved_tensors[0]), None


# ------------------------------------------------------------------------------------------------------------------ sinc
#: Points and weights of Gauss and Legendre on (0, 1): exact to rounding for the few oscillations near 0.
_NODES = 20


@functools.cache
def _rule() -> tuple[tuple[float, float], ...]:
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return tuple(zip(((points + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


@functools.cache
def _sinc(n: int) -> Any:
    """Derivative number n of ``sin(πx) / (πx)``, which is ``∫₀¹ (πt)ⁿ cos(πxt + nπ/2) dt``."""
    return unary(
        f"sinc_{n}",
        lambda xp, x: np.sinc(x) if xp is np and n == 0 else _derivative(xp, x, n),
        lambda x: _sinc(n + 1).apply(x),
        node_name="SincBackward0",
        doc="``sin(πx) / (πx)``, 1 at 0, and its derivatives.  vjp: x̄ = ȳ times the next derivative, also at 0",
    )


def _derivative(xp: Any, x: Any, n: int) -> Any:
    """By quadrature near 0, where the quotient cancels; by ``x sₙ + n sₙ₋₁ = πⁿ⁻¹ sin(πx + nπ/2)`` elsewhere."""
    near = xp.abs(x) < n + 1
    inner, outer = xp.where(near, x, 0.0), xp.where(near, 1.0, x)
    close = sum(w * (math.pi * t) ** n * _turned_cos(xp, inner * (math.pi * t), n) for t, w in _rule())
    far = xp.sin(math.pi * outer) / (math.pi * outer)
    for k in range(1, n + 1):
        far = (math.pi ** (k - 1) * _turned_cos(xp, math.pi * outer, k - 1) - k * far) / outer
    return xp.where(near, close, far)


def _turned_cos(xp: Any, x: Any, n: int) -> Any:
    """``cos(x + nπ/2)``, exact where x is 0."""
    found = xp.sin(x) if n % 2 else xp.cos(x)
    return -found if n % 4 in (1, 2) else found


# -------------------------------------------------------------------------------------------------------------- registry
def _scaled(make: Make) -> Any:
    yield Sample((make(3), make.integers(3)))
    yield Sample((make(), make.integers(2)))
    yield Sample((make(2, 0), make.integers(1)))


def _around(make: Make) -> Any:
    yield from singles(-1.5, 1.5)(make)
    yield Sample((make(5) * 4,))


def _register(name: str, operator: Any, samples: Any, reference: Any, **facts: Any) -> Any:
    return register(
        name, operator, samples, reference=reference, elementwise=True, public=False, **{"complex": False, **facts}
    )


_quotients = pairs(second=(0.5, 2.0), numbers=(2.0, 1.5))

cbrt = _register("cbrt", Cbrt, singles(0.4, 2), np.cbrt)
exp2 = _register("exp2", Exp2, singles(), np.exp2)
fmod = _register("fmod", Fmod, _quotients, np.fmod)
heaviside = _register("heaviside", Heaviside, pairs(), np.heaviside)
ldexp = _register("ldexp", Ldexp, _scaled, np.ldexp)
logaddexp2 = _register("logaddexp2", Logaddexp2, pairs(), np.logaddexp2)
sinc = _register("sinc", _sinc(0), _around, np.sinc, complex=True)
