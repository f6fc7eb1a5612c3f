"""Elliptic integrals, with the parameter ``m = k²`` as in SciPy.  DLMF, chapter 19.

The complete ones are hypergeometric functions, whose slopes are of the same kind and exact also at m = 0.  In the
incomplete ones the formula for the slope in m is 0/0 at m = 0: near there a series takes its place.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import arrays
from pullback.ops.complexes import abs_
from pullback.ops.elementary import cos, sin, sqrt
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.carlson import elliprd
from pullback.ops.special.family import special
from pullback.ops.special.hypergeometric import hyp2f1

ellipk: Any = special(
    "ellipk(m)",
    "``K(m) = π/2 F(1/2, 1/2; 1; m)``.  df/dm = π/8 F(3/2, 3/2; 2; m)  (DLMF 19.5.1, 15.5.1)",
    singles(-0.7, 0.7),
    m=lambda m: math.pi / 8 * hyp2f1(1.5, 1.5, 2, m),
)
ellipkm1: Any = special(
    "ellipkm1(p)",
    "``K(1 - p)``, exact near p = 0.  df/dp = -π/(8p) F(1/2, 1/2; 2; 1 - p)  (DLMF 19.5.1, 15.8.1)",
    singles(0.4, 1.6),
    p=lambda p: -math.pi / 8 * hyp2f1(0.5, 0.5, 2, 1 - p) / p,
)
ellipe: Any = special(
    "ellipe(m)",
    "``E(m) = π/2 F(-1/2, 1/2; 1; m)``.  df/dm = -π/8 F(1/2, 3/2; 2; m)  (DLMF 19.5.2, 15.5.1)",
    singles(-0.7, 0.7),
    m=lambda m: -math.pi / 8 * hyp2f1(0.5, 1.5, 2, m),
)

_LAST = 0.95
_NEAR, _TERMS = 0.05, 16  # the series leaves out terms of order 0.05**16


def _by_series(phi: Any, m: Any, power: float) -> Any:
    """``d/dm ∫ (1 - m sin²)^power`` from 0 to phi, term by term."""
    s, c = sin(phi), cos(phi)
    integral, odd, factor, total = phi, s, 1.0, 0.0  # of sin^(2k), from k = 0 on; sin^(2k - 1)
    for k in range(1, _TERMS + 1):
        integral = ((2 * k - 1) * integral - odd * c) / (2 * k)
        odd = odd * s * s
        factor *= (k - 1 - power) / k
        total = total + k * factor * integral * m ** (k - 1)
    return total


def _in_m(phi: Any, m: Any, power: float, formula: Any) -> Any:
    near = abs_(m) < _NEAR
    return where(near, _by_series(phi, where(near, m, 0.0), power), formula(phi, where(near, 0.5, m)))


def _of_first_kind(phi: Any, m: Any) -> Any:
    """DLMF 19.4.5, with m for k²."""
    rest = sin(phi) * cos(phi) / (1 - m) / sqrt(1 - m * sin(phi) ** 2)
    return (ellipeinc(phi, m) / (m * (1 - m)) - ellipkinc(phi, m) / m - rest) / 2


def _of_second_kind(phi: Any, m: Any) -> Any:
    """DLMF 19.4.6, with m for k²."""
    return (ellipeinc(phi, m) - ellipkinc(phi, m)) / (2 * m)


def _samples(make: Make) -> Any:
    for a, b in (((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((2, 0), (1,))):
        yield Sample((make(*a, low=-1.2, high=1.2), make(*b, low=0.2, high=0.7)))
    yield Sample((make(2, low=-1.2, high=1.2), make(2, low=-0.7, high=-0.2)))
    yield Sample((make(2, low=-1.2, high=1.2), 0.0))
    yield Sample((1.0, make(2, low=0.2, high=0.7)))


def slope_of_first_kind(phi: Any, m: Any) -> Any:
    """``∂F/∂m``, also near m = 0; near m = 1 the formula cancels, and ``sin³φ R_D(cos²φ, 1, 1 - m sin²φ) / 6`` is it."""
    last = (m > _LAST) & (abs_(phi) < math.pi / 2)
    if not arrays.anywhere(last):
        return _in_m(phi, m, -0.5, _of_first_kind)
    s, c = sin(where(last, phi, 0.5)), cos(where(last, phi, 0.5))
    by_carlson = s**3 / 6 * elliprd(c * c, 1.0, 1 - where(last, m, 0.5) * s * s)
    return where(last, by_carlson, _in_m(where(last, 0.5, phi), where(last, 0.5, m), -0.5, _of_first_kind))


ellipkinc: Any = special(
    "ellipkinc(phi, m)",
    "``F(φ|m) = ∫ (1 - m sin²)^(-1/2)`` from 0 to φ.  df/dφ = (1 - m sin²φ)^(-1/2); df/dm by DLMF 19.4.5",
    _samples,
    phi=lambda phi, m: 1 / sqrt(1 - m * sin(phi) ** 2),
    m=slope_of_first_kind,
)
ellipeinc: Any = special(
    "ellipeinc(phi, m)",
    "``E(φ|m) = ∫ (1 - m sin²)^(1/2)`` from 0 to φ.  df/dφ = (1 - m sin²φ)^(1/2); df/dm by DLMF 19.4.6",
    _samples,
    phi=lambda phi, m: sqrt(1 - m * sin(phi) ** 2),
    m=lambda phi, m: _in_m(phi, m, 0.5, _of_second_kind),
)
