"""Elementary functions under SciPy's own names: of angles in degrees, and powers."""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.elementary import log
from pullback.ops.families import ZERO
from pullback.ops.powers import pow_
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import pairs, singles
from pullback.ops.selection import where
from pullback.ops.special.family import special

DEGREE = math.pi / 180

sindg: Any = special(
    "sindg(x)", "The sine of an angle in degrees.  df/dx = π/180 cosdg(x)", singles(), x=lambda x: DEGREE * cosdg(x)
)
cosdg: Any = special(
    "cosdg(x)", "The cosine of an angle in degrees.  df/dx = -π/180 sindg(x)", singles(), x=lambda x: -DEGREE * sindg(x)
)
tandg: Any = special(
    "tandg(x)",
    "The tangent of an angle in degrees.  df/dx = π/180 (1 + f²)",
    singles(),
    x=lambda f: DEGREE * (1 + f * f),
)
cotdg: Any = special(
    "cotdg(x)",
    "The cotangent of an angle in degrees.  df/dx = -π/180 (1 + f²)",
    singles(20, 60),
    x=lambda f: -DEGREE * (1 + f * f),
)


def _angles(make: Make) -> Any:
    yield Sample((make(3, low=1, high=5), make(3, low=1, high=5), make(3, low=1, high=5)))
    yield Sample((make(2, 1, low=1, high=5), 3.0, make(3, low=1, high=5)))
    yield Sample((make(2, 0, low=1, high=5), make(), 1.0))


radian: Any = special(
    "radian(d, m, s)",
    "Degrees, minutes and seconds as an angle in radians.  df/dd = π/180, df/dm = π/10800, df/ds = π/648000",
    _angles,
    d=lambda d: 0 * d + DEGREE,
    m=lambda m: 0 * m + DEGREE / 60,
    s=lambda s: 0 * s + DEGREE / 3600,
)

exp2: Any = special("exp2(x)", "``2ˣ``.  df/dx = f log 2", singles(), x=lambda f: math.log(2) * f)
exp10: Any = special("exp10(x)", "``10ˣ``.  df/dx = f log 10", singles(-1, 1), x=lambda f: math.log(10) * f)
cbrt: Any = special("cbrt(x)", "The real cube root.  df/dx = 1 / (3 f²)", singles(), x=lambda f: 1 / (3 * f * f))
round_: Any = special("round(x)", "The nearest whole number.  df/dx = 0", singles(), x=ZERO)


def _log_of_base(x: Any, y: Any, f: Any) -> Any:
    """``(f + 1) log x``, and 0 at x = 0, as of a power."""
    zero = x == 0
    return where(zero, 0.0, (f + 1) * log(where(zero, 1.0, x)))


powm1: Any = special(
    "powm1(x, y)",
    "``xʸ - 1``, exact also where that is tiny.  df/dx = y xʸ⁻¹, df/dy = (f + 1) log x",
    pairs((0.4, 2), (-2, 2)),
    x=lambda x, y: y * pow_(x, y - 1),
    y=_log_of_base,
)
