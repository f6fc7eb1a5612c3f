"""Spherical Bessel functions, and `sinc`, which is one.  DLMF 10.47-10.51.

Their recurrences have no division by the argument, so derivatives are exact also at 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.ends import away_from_0
from pullback.ops.special.family import WHOLE, last, special


def _slope(f: Any, below: int, above: int, n: Any, z: Any) -> Any:
    """``(below n f(n - 1, z) + above (n + 1) f(n + 1, z)) / (2n + 1)``; there is no f(-1, z) to multiply by 0."""
    fall = where(n > 0, n * f(where(n > 0, n - 1, 0.0), z), 0.0)
    if f is spherical_yn:
        fall = away_from_0(z, fall)
    return (below * fall + above * (n + 1) * f(n + 1, z)) / (2 * n + 1)


_orders = last([(1,), (0,), (2,)], 0.5, 3)

spherical_jn: Any = special(
    "spherical_jn(n, z)",
    "``jₙ(z) = √(π/2z) Jₙ₊₁⸝₂(z)``.  df/dz = (n jₙ₋₁ - (n + 1) jₙ₊₁) / (2n + 1)  (DLMF 10.51.1)",
    _orders,
    complex=True,
    n=WHOLE,
    z=lambda n, z: _slope(spherical_jn, 1, -1, n, z),
)
spherical_yn: Any = special(
    "spherical_yn(n, z)",
    "``yₙ(z) = √(π/2z) Yₙ₊₁⸝₂(z)``.  df/dz = (n yₙ₋₁ - (n + 1) yₙ₊₁) / (2n + 1)  (DLMF 10.51.1)",
    _orders,
    complex=True,
    n=WHOLE,
    z=lambda n, z: _slope(spherical_yn, 1, -1, n, z),
)
spherical_in: Any = special(
    "spherical_in(n, z)",
    "``iₙ(z) = √(π/2z) Iₙ₊₁⸝₂(z)``.  df/dz = (n iₙ₋₁ + (n + 1) iₙ₊₁) / (2n + 1)  (DLMF 10.51.4)",
    _orders,
    complex=True,
    n=WHOLE,
    z=lambda n, z: _slope(spherical_in, 1, 1, n, z),
)
spherical_kn: Any = special(
    "spherical_kn(n, z)",
    "``kₙ(z) = √(π/2z) Kₙ₊₁⸝₂(z)``.  df/dz = -(n kₙ₋₁ + (n + 1) kₙ₊₁) / (2n + 1)  (DLMF 10.51.4)",
    _orders,
    complex=True,
    n=WHOLE,
    z=lambda n, z: _slope(spherical_kn, -1, -1, n, z),
)


sinc: Any = special(
    "sinc(x)",
    "``sin(πx) / (πx)``, and 1 at 0.  df/dx = -π j₁(πx), exact at 0  (DLMF 10.49.3)",
    singles(),
    complex=True,
    scipy=np.sinc,
    x=lambda x: -math.pi * spherical_jn(1, math.pi * x),
)
