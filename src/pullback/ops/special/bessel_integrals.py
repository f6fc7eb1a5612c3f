"""Integrals of Bessel, Airy and Struve functions, and of Fresnel's kind.  DLMF 10.22, 9.10, 11.7, 7.2.

Their slopes are the integrands.  ``(I₀(x) - 1)/x`` and ``(1 - J₀(x))/x`` are 0/0 at 0: near there a series takes their
place.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.ops.complexes import abs_
from pullback.ops.elementary import cos, sin
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.airy import airy_ai, airy_bi
from pullback.ops.special.bessel import i0, j0, k0, modstruve, struve, y0
from pullback.ops.special.family import NO_CLOSED_FORM, special
from pullback.ops.special.scipys import scipys

_NODES, _SERIES = 60, 9.25
_TERMS = 12  # of a series in (x/2)²: exact to double precision for |x| < 1


def _part(name: str, k: int) -> Callable[[Any], Any]:
    """Result number `k` of a function with several."""
    return lambda x: scipys(name)(x)[k]


def _airy_integral(k: int, sign: int) -> Callable[[Any], Any]:
    """The integral of result `k` of `airy` by Gauss's rule: SciPy's series is exact to five digits for |x| < 9.25."""

    def integral(x: Any) -> Any:
        x = np.asarray(x, dtype=float)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        near = np.where(abs(x) < _SERIES, x, 0.0)[..., None] / 2
        by_rule = np.squeeze(near, -1) * (scipys("airy")(sign * near * (nodes + 1))[k] @ weights)
        return np.where(abs(x) < _SERIES, by_rule, scipys("itairy")(x)[k // 2 + (0 if sign > 0 else 2)])

    return integral


def _without_one(x: Any, sign: float, function: Any) -> Any:
    """``(f(x) - 1) / x`` for ``f = Σ (sign x²/4)ᵏ / k!²``."""
    near = abs_(x) < 1
    small = where(near, x, 0.0)
    quarter = sign * small * small / 4
    term, total = sign * small / 4, 0.0
    for k in range(2, _TERMS + 2):
        total = total + term
        term = term * quarter / (k * k)
    large = where(near, 1.0, x)
    return where(near, total, (function(large) - 1) / large)


iti0k0_i: Any = special(
    "iti0k0_i(x)",
    "``∫₀ˣ I₀(t) dt``, the first result of `iti0k0`.  df/dx = I₀(x)",
    singles(0.4, 3),
    scipy=_part("iti0k0", 0),
    x=lambda x: i0(x),
)
iti0k0_k: Any = special(
    "iti0k0_k(x)",
    "``∫₀ˣ K₀(t) dt``, the second result of `iti0k0`.  df/dx = K₀(x)",
    singles(0.4, 3),
    scipy=_part("iti0k0", 1),
    x=lambda x: k0(x),
)
itj0y0_j: Any = special(
    "itj0y0_j(x)",
    "``∫₀ˣ J₀(t) dt``, the first result of `itj0y0`.  df/dx = J₀(x)",
    singles(0.4, 3),
    scipy=_part("itj0y0", 0),
    x=lambda x: j0(x),
)
itj0y0_y: Any = special(
    "itj0y0_y(x)",
    "``∫₀ˣ Y₀(t) dt``, the second result of `itj0y0`.  df/dx = Y₀(x)",
    singles(0.4, 3),
    scipy=_part("itj0y0", 1),
    x=lambda x: y0(x),
)
it2i0k0_i: Any = special(
    "it2i0k0_i(x)",
    "``∫₀ˣ (I₀(t) - 1)/t dt``, the first result of `it2i0k0`.  df/dx = (I₀(x) - 1)/x",
    singles(0.4, 3),
    scipy=_part("it2i0k0", 0),
    x=lambda x: _without_one(x, 1.0, i0),
)
it2i0k0_k: Any = special(
    "it2i0k0_k(x)",
    "``∫ K₀(t)/t dt`` from x on, the second result of `it2i0k0`.  df/dx = -K₀(x)/x",
    singles(0.4, 3),
    scipy=_part("it2i0k0", 1),
    x=lambda x: -k0(x) / x,
)
it2j0y0_j: Any = special(
    "it2j0y0_j(x)",
    "``∫₀ˣ (1 - J₀(t))/t dt``, the first result of `it2j0y0`.  df/dx = (1 - J₀(x))/x",
    singles(0.4, 3),
    scipy=_part("it2j0y0", 0),
    x=lambda x: -_without_one(x, -1.0, j0),
)
it2j0y0_y: Any = special(
    "it2j0y0_y(x)",
    "``∫ Y₀(t)/t dt`` from x on, the second result of `it2j0y0`.  df/dx = -Y₀(x)/x",
    singles(0.4, 3),
    scipy=_part("it2j0y0", 1),
    x=lambda x: -y0(x) / x,
)
itstruve0: Any = special(
    "itstruve0(x)", "``∫₀ˣ H₀(t) dt``.  df/dx = H₀(x)", singles(0.4, 3), x=lambda x: struve(0.0, x)
)
it2struve0: Any = special(
    "it2struve0(x)", "``∫ H₀(t)/t dt`` from x on.  df/dx = -H₀(x)/x", singles(0.4, 3), x=lambda x: -struve(0.0, x) / x
)
itmodstruve0: Any = special(
    "itmodstruve0(x)", "``∫₀ˣ L₀(t) dt``.  df/dx = L₀(x)", singles(0.4, 3), x=lambda x: modstruve(0.0, x)
)

itairy_ai: Any = special(
    "itairy_ai(x)",
    "``∫₀ˣ Ai(t) dt``, the first result of `itairy`.  df/dx = Ai(x)",
    singles(),
    scipy=_airy_integral(0, 1),
    x=lambda x: airy_ai(x),
)
itairy_bi: Any = special(
    "itairy_bi(x)",
    "``∫₀ˣ Bi(t) dt``, the second result of `itairy`.  df/dx = Bi(x)",
    singles(),
    scipy=_airy_integral(2, 1),
    x=lambda x: airy_bi(x),
)
itairy_nai: Any = special(
    "itairy_nai(x)",
    "``∫₀ˣ Ai(-t) dt``, the third result of `itairy`.  df/dx = Ai(-x)",
    singles(),
    scipy=_airy_integral(0, -1),
    x=lambda x: airy_ai(-x),
)
itairy_nbi: Any = special(
    "itairy_nbi(x)",
    "``∫₀ˣ Bi(-t) dt``, the fourth result of `itairy`.  df/dx = Bi(-x)",
    singles(),
    scipy=_airy_integral(2, -1),
    x=lambda x: airy_bi(-x),
)


def _polynomial_weights(make: Make) -> Any:
    for power, order in ((1.0, 1.0), (0.5, 2.0), (2.0, 0.0)):
        yield Sample((make(2, low=0.6, high=2), power, order))
    yield Sample((make(low=0.6, high=2), 1.0, 1.0))
    yield Sample((make(2, 0), 1.0, 1.0))


besselpoly: Any = special(
    "besselpoly(a, lmb, nu)",
    "``∫₀¹ tˡ Jᵥ(2at) dt``, for l = lmb and v = nu.  df/da = f(a, l + 1, v - 1) - f(a, l + 1, v + 1)  (DLMF 10.6.1)",
    _polynomial_weights,
    a=lambda a, lmb, nu: besselpoly(a, lmb + 1, nu - 1) - besselpoly(a, lmb + 1, nu + 1),
    lmb=NO_CLOSED_FORM,
    nu=NO_CLOSED_FORM,
)


# ------------------------------------------------------------------------------------------------------------- Fresnel
def _phase(sign: int, x: Any) -> Any:
    """``exp(±ix²)``."""
    return cos(x * x) + sign * 1j * sin(x * x)


def _modified_values(sign: int, name: str, k: int) -> Callable[[Any], Any]:
    """Both functions by that of ``|x|``: SciPy's have a wrong imaginary part to the left of 0."""

    def values(x: Any) -> Any:
        x = np.asarray(x)
        f = scipys(name)(abs(x))[0]
        f = np.where(x < 0, math.sqrt(math.pi) * cmath.exp(sign * 0.25j * math.pi) - f, f)
        return f if k == 0 else np.exp(-sign * 1j * (x * x + math.pi / 4)) * f / math.sqrt(math.pi)

    return values


def _modified(sign: int, name: str) -> tuple[Any, Any]:
    upper, lower = ("+", "-") if sign > 0 else ("-", "+")
    constant = cmath.exp(-sign * 0.25j * math.pi) / math.sqrt(math.pi)
    f = special(
        f"{name}_f(x)",
        f"``∫ exp({upper}it²) dt`` from x on, the first result of `{name}`.  df/dx = -exp({upper}ix²)",
        singles(),
        holomorphic=True,
        scipy=_modified_values(sign, name, 0),
        x=lambda x: -_phase(sign, x),
    )
    k: Any = special(
        f"{name}_k(x)",
        f"``π^(-1/2) exp({lower}i(x² + π/4)) F(x)``, the second result of `{name}`.  "
        f"df/dx = {lower}2ix f - π^(-1/2) exp({lower}iπ/4)",
        singles(),
        holomorphic=True,
        scipy=_modified_values(sign, name, 1),
        x=lambda x, f: -sign * 2j * x * f - constant,
    )
    return f, k


modfresnelp_f, modfresnelp_k = _modified(1, "modfresnelp")
modfresnelm_f, modfresnelm_k = _modified(-1, "modfresnelm")


# ------------------------------------------------------------------------------------------------------------- SciPy's
def iti0k0(x: Any, /) -> tuple[Any, Any]:
    """Integrals of I₀ and K₀ from 0 to `x`."""
    return iti0k0_i(x), iti0k0_k(x)


def itj0y0(x: Any, /) -> tuple[Any, Any]:
    """Integrals of J₀ and Y₀ from 0 to `x`."""
    return itj0y0_j(x), itj0y0_y(x)


def it2i0k0(x: Any, /) -> tuple[Any, Any]:
    """Integrals of ``(I₀(t) - 1)/t`` from 0 to `x`, and of ``K₀(t)/t`` from `x` on."""
    return it2i0k0_i(x), it2i0k0_k(x)


def it2j0y0(x: Any, /) -> tuple[Any, Any]:
    """Integrals of ``(1 - J₀(t))/t`` from 0 to `x`, and of ``Y₀(t)/t`` from `x` on."""
    return it2j0y0_j(x), it2j0y0_y(x)


def itairy(x: Any, /) -> tuple[Any, Any, Any, Any]:
    """Integrals of Ai(t), Bi(t), Ai(-t), Bi(-t) from 0 to `x`."""
    return itairy_ai(x), itairy_bi(x), itairy_nai(x), itairy_nbi(x)


def modfresnelp(x: Any, /) -> tuple[Any, Any]:
    """The modified Fresnel integrals ``F₊`` and ``K₊``, complex also of real numbers."""
    return modfresnelp_f(x), modfresnelp_k(x)


def modfresnelm(x: Any, /) -> tuple[Any, Any]:
    """The modified Fresnel integrals ``F₋`` and ``K₋``, complex also of real numbers."""
    return modfresnelm_f(x), modfresnelm_k(x)
