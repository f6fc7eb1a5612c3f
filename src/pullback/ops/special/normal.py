"""The normal distribution: its probabilities, their logarithms, and the inverses.  DLMF, chapter 7."""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.elementary import exp
from pullback.ops.samples import pairs, singles
from pullback.ops.selection import where
from pullback.ops.special.family import special
from pullback.ops.special.integrals import erf, erfcx

ROOT_TWO_PI = math.sqrt(2 * math.pi)


def _density(x: Any) -> Any:
    return exp(-x * x / 2) / ROOT_TWO_PI


def _mills(x: Any) -> Any:
    """``φ(x) / Φ(x)``, without 0 / 0 where both are tiny and without infinity where x is large."""
    left = x < 0
    return where(
        left,
        2 / ROOT_TWO_PI / erfcx(-where(left, x, 0.0) / math.sqrt(2)),
        _density(x) / ndtr(where(left, 0.0, x)),
    )


ndtr: Any = special(
    "ndtr(x)",
    "``Φ(x)``, the normal distribution function.  df/dx = φ(x) = exp(-x²/2) / √(2π)  (DLMF 7.20.1)",
    singles(),
    complex=True,
    x=lambda x: _density(x),
)
log_ndtr: Any = special(
    "log_ndtr(x)",
    "``log Φ(x)``, exact also where Φ is tiny.  df/dx = φ(x) / Φ(x)  (DLMF 7.8.1)",
    singles(),
    x=lambda x: _mills(x),
)
ndtri: Any = special(
    "ndtri(p)",
    "``Φ⁻¹(p)``, the inverse of `ndtr`.  df/dp = 1 / φ(f)  (DLMF 7.17.1)",
    singles(0.2, 0.8),
    p=lambda f: ROOT_TWO_PI * exp(f * f / 2),
)
ndtri_exp: Any = special(
    "ndtri_exp(y)",
    "``Φ⁻¹(exp y)``, the inverse of `log_ndtr`.  df/dy = Φ(f) / φ(f)  (DLMF 7.17.1)",
    singles(-2, -0.4),
    y=lambda f: 1 / _mills(f),
)
owens_t: Any = special(
    "owens_t(h, a)",
    "``1/2π ∫ exp(-h²(1 + t²)/2) / (1 + t²) dt`` from 0 to a.  df/dh = -φ(h) erf(ah/√2) / 2, "
    "dy/da = exp(-h²(1 + a²)/2) / (2π(1 + a²))  (D. B. Owen, 1956)",
    pairs(),
    h=lambda h, a: -_density(h) * erf(a * h / math.sqrt(2)) / 2,
    a=lambda h, a: exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
)
