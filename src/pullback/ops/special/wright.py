"""Wright's functions, Voigt's profile, Legendre functions of any degree, the arithmetic-geometric mean, ``ζ - 1``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.complexes import imag, real
from pullback.ops.elementary import exp
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import pairs, singles
from pullback.ops.selection import where
from pullback.ops.special.elliptic import ellipk
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, last, special
from pullback.ops.special.hypergeometric import hyp2f1
from pullback.ops.special.integrals import wofz

wright_bessel: Any = special(
    "wright_bessel(a, b, x)",
    "``Φ(a, b; x) = Σ xᵏ / (k! Γ(ak + b))``.  df/dx = Φ(a, a + b; x)  (DLMF 10.46.1)",
    last([(1.5, 1.2), (0.5, 2.0)], 0.4, 2),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: wright_bessel(a, a + b, x),
)
log_wright_bessel: Any = special(
    "log_wright_bessel(a, b, x)",
    "``log Φ(a, b; x)``, also where Φ is too large.  df/dx = Φ(a, a + b; x) / Φ(a, b; x)  (DLMF 10.46.1)",
    last([(1.5, 1.2), (0.5, 2.0)], 0.4, 2),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x, f: exp(log_wright_bessel(a, a + b, x) - f),
)
wrightomega: Any = special(
    "wrightomega(z)",
    "The ω for which ``ω + log ω = z``.  df/dz = f / (1 + f)  (Corless and Jeffrey 2002)",
    singles(),
    complex=True,
    z=lambda f: f / (1 + f),
)
zetac: Any = special("zetac(x)", "``ζ(x) - 1``.", lambda make: [Sample((np.asarray([2, 3]),))], x=NO_CLOSED_FORM)


# --------------------------------------------------------------------------------------------------------------- Voigt
def _of_voigt(x: Any, sigma: Any, gamma: Any, order: int) -> Any:
    """A derivative of ``w(z)/(σ√(2π))`` in x, for ``z = (x + iγ)/(σ√2)``: Voigt's profile is its real part.

    Where σ = 0 it is that of ``i / (π (x + iγ))``, Lorentz's profile.
    """
    narrow = sigma == 0
    s = where(narrow, 1.0, sigma) * math.sqrt(2)
    z = (x + 1j * gamma) / s
    w = wofz(z)
    first = 2j / math.sqrt(math.pi) - 2 * z * w
    wide = (first if order == 1 else -2 * w - 2 * z * first) / s**order / (s * math.sqrt(math.pi))
    pole = where(narrow, x + 1j * gamma, 1.0)
    lorentz = (-1j if order == 1 else 2j / pole) / (math.pi * pole * pole)
    return where(narrow, lorentz, wide)


def _peaks(make: Make) -> Any:
    for shapes in (((3,), (3,), (3,)), ((2, 1), (3,), ()), ((2, 0), (1,), ())):
        a, b, c = shapes
        yield Sample((make(*a), make(*b, low=0.5, high=1.5), make(*c, low=0.4, high=1.5)))
    yield Sample((make(3), 0.0, make(3, low=0.5, high=1.5)))


voigt_profile: Any = special(
    "voigt_profile(x, sigma, gamma)",
    "``Re w((x + iγ)/(σ√2)) / (σ√(2π))``.  df/dx and df/dγ from w', and ``df/dσ = σ d²f/dx²``  (DLMF 7.19.1)",
    _peaks,
    x=lambda x, sigma, gamma: real(_of_voigt(x, sigma, gamma, 1)),
    sigma=lambda x, sigma, gamma: sigma * real(_of_voigt(x, sigma, gamma, 2)),
    gamma=lambda x, sigma, gamma: -imag(_of_voigt(x, sigma, gamma, 1)),
)


# ------------------------------------------------------------------------------------------------------------ Legendre
def _legendre_slope(m: Any, v: Any, x: Any, f: Any) -> Any:
    """By the recurrence in v, 0/0 at the ends; of m = 0 by ``Pᵥ = F(-v, v + 1; 1; (1 - x)/2)``, which is exact at 1."""
    plain = m == 0
    series = v * (v + 1) / 2 * hyp2f1(1 - v, v + 2, 2.0, (1 - x) / 2)
    inside = where(plain, 0.5, x)
    return where(plain, series, (v * inside * f - (v + m) * lpmv(m, v - 1, inside)) / (inside * inside - 1))


lpmv: Any = special(
    "lpmv(m, v, x)",
    "``Pᵥᵐ(x)``, between -1 and 1.  df/dx = (v x f - (v + m) Pᵥ₋₁ᵐ(x)) / (x² - 1)  (DLMF 14.10.5)",
    last([(1, 2.0), (0, 1.5), (2, 3.0)], -0.7, 0.7),
    m=WHOLE,
    v=NO_CLOSED_FORM,
    x=_legendre_slope,
)


# ------------------------------------------------------------------------------------------------------------- a mean
def _slope_of_mean(a: Any, b: Any, f: Any, other: Any, sign: float) -> Any:
    """Of ``π/4 (a + b) / K(m)`` with ``m = ((a - b)/(a + b))²``; where one is 0 the mean is 0, and its slope in it infinite."""
    edge = a * b == 0
    own = where(edge & (other != 0), a if sign > 0 else b, 1.0)
    infinite = where(other == 0, 0.0, 1 / own)  # in the argument that is 0
    a, b, f = where(edge, 1.0, a), where(edge, 1.0, b), where(edge, 1.0, f)
    other = where(edge, 1.0, other)
    s, d = a + b, a - b
    m = (d / s) * (d / s)
    in_m = math.pi / 8 * hyp2f1(1.5, 1.5, 2.0, m)
    return where(edge, infinite, f / s - f / ellipk(m) * in_m * sign * 4 * other * d / (s * s * s))


agm: Any = special(
    "agm(a, b)",
    "The arithmetic-geometric mean, ``π/4 (a + b) / K(((a - b)/(a + b))²)``, and its slopes from that of K  (DLMF 19.8.5)",
    pairs((0.6, 2), (0.6, 2)),
    a=lambda a, b, f: _slope_of_mean(a, b, f, b, 1.0),
    b=lambda a, b, f: _slope_of_mean(a, b, f, a, -1.0),
)
