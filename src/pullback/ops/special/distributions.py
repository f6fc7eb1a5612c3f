"""Distribution functions that are no more than incomplete gamma and beta functions: χ², Student's t."""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.elementary import exp, log1p
from pullback.ops.special.family import NO_CLOSED_FORM, last, special
from pullback.ops.special.gammas import gammaln
from pullback.ops.special.incomplete import gamma_density

_degrees = [(3.5,), (2,), (5,)]
chdtr: Any = special(
    "chdtr(v, x)",
    "``P(v/2, x/2)``: the probability that χ² with v degrees of freedom is below x.  df/dx is the density  (DLMF 8.8.13)",
    last(_degrees, 0.6, 3),
    v=NO_CLOSED_FORM,
    x=lambda v, x: gamma_density(v / 2, x / 2) / 2,
)
chdtrc: Any = special(
    "chdtrc(v, x)",
    "``Q(v/2, x/2)``: the probability that χ² with v degrees of freedom is above x.  df/dx is -1 times the density  "
    "(DLMF 8.8.14)",
    last(_degrees, 0.6, 3),
    v=NO_CLOSED_FORM,
    x=lambda v, x: -gamma_density(v / 2, x / 2) / 2,
)


def _student(df: Any, t: Any) -> Any:
    """``(1 + t²/df)^(-(df + 1)/2) / (√df B(df/2, 1/2))``."""
    level = gammaln((df + 1) / 2) - gammaln(df / 2)
    return exp(level - (df + 1) / 2 * log1p(t * t / df)) / (math.pi * df) ** 0.5


stdtr: Any = special(
    "stdtr(df, t)",
    "The probability that Student's t with df degrees of freedom is below t.  df/dt is the density  (DLMF 8.17.2)",
    last(_degrees, -2, 2),
    df=NO_CLOSED_FORM,
    t=lambda df, t: _student(df, t),
)
stdtrit: Any = special(
    "stdtrit(df, p)",
    "The inverse of `stdtr` in t.  dt/dp is 1 over the density  (DLMF 8.17.2)",
    last(_degrees, 0.3, 0.7),
    df=NO_CLOSED_FORM,
    p=lambda df, f: 1 / _student(df, f),
)
