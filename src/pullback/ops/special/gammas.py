"""The gamma function and what is made of it.  DLMF, chapter 5.

At the poles (0, -1, -2 …) gamma and its logarithm are infinite.  The reciprocal `rgamma` is smooth there, and its
derivatives are exact to any order; so are those of `beta`, `binom` and `poch` where only a denominator has a pole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.complexes import abs_, real
from pullback.ops.elementary import cos, sin
from pullback.ops.families import ZERO
from pullback.ops.registry import Make, Sample
from pullback.ops.rounding import floor
from pullback.ops.samples import pairs, singles
from pullback.ops.selection import where
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, last, special
from pullback.ops.special.polygammas import complex_polygamma
from pullback.ops.special.scipys import scipys

gamma: Any = special(
    "gamma(z)",
    "``Γ(z)``.  df/dz = f ψ(z)  (DLMF 5.2.2)",
    singles(0.6, 3),
    complex=True,
    z=lambda z, f: f * psi(z),
)
gammaln: Any = special(
    "gammaln(x)", "``log |Γ(x)|`` of real numbers.  df/dx = ψ(x)  (DLMF 5.2.2)", singles(0.6, 3), x=lambda x: psi(x)
)
loggamma: Any = special(
    "loggamma(z)",
    "``log Γ(z)``, the branch that is analytic off the negative axis.  df/dz = ψ(z)  (DLMF 5.2.2)",
    singles(0.6, 3),
    complex=True,
    z=lambda z: psi(z),
)
gammasgn: Any = special("gammasgn(x)", "The sign of ``Γ(x)``, piecewise constant.  df/dx = 0", singles(0.6, 3), x=ZERO)
psi: Any = special(
    "psi(z)",
    "``ψ(z) = Γ'(z) / Γ(z)``, the digamma function.  df/dz = ψ'(z)  (DLMF 5.15)",
    singles(0.6, 3),
    complex=True,
    z=lambda z: polygamma(1, z),
)


def _polygamma(n: Any, x: Any) -> Any:
    return complex_polygamma(n, x) if np.asarray(x).dtype.kind == "c" else scipys("polygamma")(n, x)


polygamma: Any = special(
    "polygamma(n, x)",
    "``ψ⁽ⁿ⁾(x)``, the n-th derivative of the digamma function.  df/dx = ψ⁽ⁿ⁺¹⁾(x)  (DLMF 5.15)",
    last([(1,), (2,), (0,)], 0.6, 3),
    complex=True,
    scipy=_polygamma,
    n=WHOLE,
    x=lambda n, x: polygamma(n + 1, x),
)


def _rgamma_slope(z: Any, f: Any) -> Any:
    """``-ψ(z) / Γ(z)``; by the negative axis from the reflection ``Γ(1 - z) sin(πz) / π``, which has no poles there."""
    left = (real(z) < 0.5) & (abs_(z - real(z)) < 1)
    mirrored = where(left, 1 - z, 1.0)
    reflected = gamma(mirrored) * (cos(math.pi * z) - psi(mirrored) * sin(math.pi * z) / math.pi)
    return where(left, reflected, -psi(where(left, 1.0, z)) * f)


rgamma: Any = special(
    "rgamma(z)",
    "``1 / Γ(z)``, an entire function.  df/dz = -ψ(z) f, and its limit at the poles of Γ  (DLMF 5.2.2, 5.5.3)",
    singles(0.6, 3),
    complex=True,
    z=_rgamma_slope,
)


# --------------------------------------------------------------------------------------------------- quotients of gammas
def _is_pole(w: Any) -> Any:
    return (w <= 0) & (w == floor(w))


def _below(w: Any, f: Any, rest: Callable[[], Any]) -> Any:
    """``-ψ(w) f``, where f has ``Γ(w)`` in its denominator; at the poles the limit, from ``f = rest / Γ(w)``."""
    pole = _is_pole(w)
    if not arrays.anywhere(pole):
        return -psi(w) * f
    return where(pole, rest() * _rgamma_slope(w, rgamma(w)), -psi(where(pole, 1.0, w)) * f)


beta: Any = special(
    "beta(a, b)",
    "``B(a, b) = Γ(a) Γ(b) / Γ(a + b)``.  df/da = f (ψ(a) - ψ(a + b)), and so in b  (DLMF 5.12)",
    pairs((0.6, 2), (0.6, 2)),
    a=lambda a, b, f: psi(a) * f + _below(a + b, f, lambda: gamma(a) * gamma(b)),
    b=lambda a, b, f: psi(b) * f + _below(a + b, f, lambda: gamma(a) * gamma(b)),
)
betaln: Any = special(
    "betaln(a, b)",
    "``log |B(a, b)|``.  df/da = ψ(a) - ψ(a + b), and so in b  (DLMF 5.12)",
    pairs((0.6, 2), (0.6, 2)),
    a=lambda a, b: psi(a) - psi(a + b),
    b=lambda a, b: psi(b) - psi(a + b),
)
binom: Any = special(
    "binom(n, k)",
    "``Γ(n + 1) / (Γ(k + 1) Γ(n - k + 1))``.  df/dn = f (ψ(n + 1) - ψ(n - k + 1)), df/dk = f (ψ(n - k + 1) - ψ(k + 1))"
    "  (DLMF 1.2.6)",
    pairs((2.5, 4), (0.6, 2), (3.5, 1.5)),
    n=lambda n, k, f: psi(n + 1) * f + _below(n - k + 1, f, lambda: gamma(n + 1) * rgamma(k + 1)),
    k=lambda n, k, f: (
        _below(k + 1, f, lambda: gamma(n + 1) * rgamma(n - k + 1))
        - _below(n - k + 1, f, lambda: gamma(n + 1) * rgamma(k + 1))
    ),
)


def _poch_slope(z: Any, m: Any, f: Any) -> Any:
    """In z; where numerator and denominator have a pole, of the same function mirrored: ``(-1)ᵐ Γ(1 - z) / Γ(1 - z - m)``."""
    both = _is_pole(z) & _is_pole(z + m)
    if not arrays.anywhere(both):
        return psi(z + m) * f + _below(z, f, lambda: gamma(z + m))
    a, n = where(both, 1 - z - m, 1.0), where(both, m, 1.0)
    mirrored = (2 * (n % 2) - 1) * poch(a, n) * (psi(a + n) - psi(a))
    one, whole = where(both, 1.0, z), where(both, poch(1.0, m), f)
    return where(both, mirrored, psi(one + m) * whole + _below(one, whole, lambda: gamma(one + m)))


poch: Any = special(
    "poch(z, m)",
    "``Γ(z + m) / Γ(z)``.  df/dz = f (ψ(z + m) - ψ(z)), df/dm = f ψ(z + m)  (DLMF 5.2.5)",
    pairs((0.6, 2), (0.6, 2)),
    z=_poch_slope,
    m=lambda z, m, f: psi(z + m) * f,
)


def _zetas(make: Make) -> Any:
    for shape in ((3,), (), (2, 0)):
        yield Sample((1.5, make(*shape, low=0.6, high=2)))
    yield Sample((np.asarray([[2], [4]]), make(3, low=0.6, high=2)))


zeta: Any = special(
    "zeta(x, q=None)",
    "``Σ (k + q)⁻ˣ`` over k = 0, 1, 2 …, the Hurwitz zeta function; Riemann's without q.  "
    "df/dq = -x ζ(x + 1, q)  (DLMF 25.11.17)",
    _zetas,
    x=NO_CLOSED_FORM,
    q=lambda x, q: -x * zeta(x + 1, q),
)
