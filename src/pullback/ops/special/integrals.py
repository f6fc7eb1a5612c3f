"""Integrals of elementary functions: the error functions, Dawson's, Fresnel's, exponential, sine and cosine integrals.

DLMF, chapters 6 and 7.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import arrays
from pullback.ops.elementary import cos, cosh, exp, sin
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.family import WHOLE, last, special
from pullback.ops.special.hypergeometric import hyp1f1, hyperu
from pullback.ops.special.scipys import scipys
from pullback.ops.special.spherical import spherical_in, spherical_jn

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_FAR = 10.0

erf: Any = special(
    "erf(z)",
    "``2/√π ∫₀ᶻ exp(-t²) dt``.  df/dz = 2/√π exp(-z²)  (DLMF 7.2.1)",
    singles(),
    complex=True,
    z=lambda z: TWO_OVER_ROOT_PI * exp(-z * z),
)
erfc: Any = special(
    "erfc(z)",
    "``1 - erf(z)``, exact also where that is tiny.  df/dz = -2/√π exp(-z²)  (DLMF 7.2.2)",
    singles(),
    complex=True,
    z=lambda z: -TWO_OVER_ROOT_PI * exp(-z * z),
)


def _erfcx_slope(z: Any, f: Any) -> Any:
    """``2 z f - 2/√π``; far to the right that is a difference of equal numbers, and ``-z U(3/2, 3/2, z²) / √π`` is it."""
    near = 2 * z * f - TWO_OVER_ROOT_PI
    if arrays.is_complex(z.dtype):
        return near
    far = z > _FAR
    square = where(far, z * z, _FAR**2)
    return where(far, -z * hyperu(1.5, 1.5, square) / math.sqrt(math.pi), near)


erfcx: Any = special(
    "erfcx(z)",
    "``exp(z²) erfc(z)``.  df/dz = 2 z f - 2/√π  (DLMF 7.2.2, 13.6.8)",
    singles(-1, 1),
    complex=True,
    z=_erfcx_slope,
)
erfi: Any = special(
    "erfi(z)",
    "``2/√π ∫₀ᶻ exp(t²) dt = -i erf(iz)``.  df/dz = 2/√π exp(z²)  (DLMF 7.2.1)",
    singles(-1, 1),
    complex=True,
    z=lambda z: TWO_OVER_ROOT_PI * exp(z * z),
)
erfinv: Any = special(
    "erfinv(y)",
    "The inverse of `erf`.  df/dy = √π/2 exp(f²)  (DLMF 7.17.1)",
    singles(-0.7, 0.7),
    y=lambda f: exp(f * f) / TWO_OVER_ROOT_PI,
)
erfcinv: Any = special(
    "erfcinv(y)",
    "The inverse of `erfc`.  df/dy = -√π/2 exp(f²)  (DLMF 7.17.1)",
    singles(0.4, 1.6),
    y=lambda f: -exp(f * f) / TWO_OVER_ROOT_PI,
)
wofz: Any = special(
    "wofz(z)",
    "``exp(-z²) erfc(-iz)``, the Faddeeva function; complex also of real numbers.  df/dz = 2i/√π - 2 z f  (DLMF 7.2.3, 7.10.2)",
    singles(-1, 1),
    complex=True,
    z=lambda z, f: 1j * TWO_OVER_ROOT_PI - 2 * z * f,
)


def _dawsn_slope(z: Any, f: Any) -> Any:
    """``1 - 2 z f``; of real numbers as ``M(1, 1/2, -z²)``, which does not cancel where z is large (DLMF 13.3.18)."""
    return 1 - 2 * z * f if arrays.is_complex(z.dtype) else hyp1f1(1, 0.5, -z * z)


dawsn: Any = special(
    "dawsn(z)",
    "``exp(-z²) ∫₀ᶻ exp(t²) dt``, Dawson's integral.  df/dz = 1 - 2 z f  (DLMF 7.2.5)",
    singles(),
    complex=True,
    z=_dawsn_slope,
)

fresnel_s: Any = special(
    "fresnel_s(z)",
    "``∫₀ᶻ sin(πt²/2) dt``, the first result of `fresnel`.  df/dz = sin(πz²/2)  (DLMF 7.2.8)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("fresnel")(z)[0],
    z=lambda z: sin(math.pi / 2 * z * z),
)
fresnel_c: Any = special(
    "fresnel_c(z)",
    "``∫₀ᶻ cos(πt²/2) dt``, the second result of `fresnel`.  df/dz = cos(πz²/2)  (DLMF 7.2.7)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("fresnel")(z)[1],
    z=lambda z: cos(math.pi / 2 * z * z),
)


def fresnel(z: Any, /) -> tuple[Any, Any]:
    """Fresnel's integrals ``(S, C)`` of ``sin(πt²/2)`` and ``cos(πt²/2)`` from 0 to `z`.

    >>> import pullback as pb
    >>> pb.special.fresnel(pb.tensor(1.0))
    (tensor(0.43825915), tensor(0.77989340))
    """
    return fresnel_s(z), fresnel_c(z)


# ------------------------------------------------------------------------------------------------ exponential integrals
expi: Any = special(
    "expi(x)",
    "``-∫ exp(-t)/t dt`` from -x on, the exponential integral Ei.  df/dx = exp(x) / x  (DLMF 6.2.5)",
    singles(0.4, 2),
    complex=True,
    x=lambda x: exp(x) / x,
)
exp1: Any = special(
    "exp1(z)",
    "``∫ exp(-t)/t dt`` from z on, the exponential integral E₁.  df/dz = -exp(-z) / z  (DLMF 6.2.1)",
    singles(0.4, 2),
    complex=True,
    z=lambda z: -exp(-z) / z,
)


def _expn_slope(n: Any, x: Any, f: Any) -> Any:
    """``-Eₙ₋₁(x)``; for n = 0 it has no name, but ``(exp(-x) + E₀) / x`` is it (DLMF 8.19.12)."""
    return where(n > 0, -expn(where(n > 0, n - 1, 0.0), x), -(exp(-x) + f) / x)


expn: Any = special(
    "expn(n, x)",
    "``∫ exp(-xt)/tⁿ dt`` from 1 on, the exponential integral Eₙ.  df/dx = -Eₙ₋₁(x)  (DLMF 8.19.13)",
    last([(1,), (0,), (3,)], 0.4, 2),
    n=WHOLE,
    x=_expn_slope,
)

sinint: Any = special(
    "sinint(x)",
    "``∫₀ˣ sin(t)/t dt``, the first result of `sici`.  df/dx = sin(x)/x, as j₀(x) exact at 0  (DLMF 6.2.9)",
    singles(),
    complex=True,
    scipy=lambda x: scipys("sici")(x)[0],
    x=lambda x: spherical_jn(0, x),
)
cosint: Any = special(
    "cosint(x)",
    "``γ + log x + ∫₀ˣ (cos t - 1)/t dt``, the second result of `sici`.  df/dx = cos(x)/x  (DLMF 6.2.13)",
    singles(0.4, 2),
    complex=True,
    scipy=lambda x: scipys("sici")(x)[1],
    x=lambda x: cos(x) / x,
)
sinhint: Any = special(
    "sinhint(x)",
    "``∫₀ˣ sinh(t)/t dt``, the first result of `shichi`.  df/dx = sinh(x)/x, as i₀(x) exact at 0  (DLMF 6.2.15)",
    singles(),
    complex=True,
    scipy=lambda x: scipys("shichi")(x)[0],
    x=lambda x: spherical_in(0, x),
)
coshint: Any = special(
    "coshint(x)",
    "``γ + log x + ∫₀ˣ (cosh t - 1)/t dt``, the second result of `shichi`.  df/dx = cosh(x)/x  (DLMF 6.2.16)",
    singles(0.4, 2),
    complex=True,
    scipy=lambda x: scipys("shichi")(x)[1],
    x=lambda x: cosh(x) / x,
)


def sici(x: Any, /) -> tuple[Any, Any]:
    """The sine and the cosine integral of `x`.

    >>> import pullback as pb
    >>> pb.special.sici(pb.tensor(1.0))
    (tensor(0.94608307), tensor(0.33740392))
    """
    return sinint(x), cosint(x)


def shichi(x: Any, /) -> tuple[Any, Any]:
    """The hyperbolic sine and cosine integral of `x`.

    >>> import pullback as pb
    >>> pb.special.shichi(pb.tensor(1.0))
    (tensor(1.05725088), tensor(0.83786694))
    """
    return sinhint(x), coshint(x)
