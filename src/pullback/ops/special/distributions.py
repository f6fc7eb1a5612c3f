"""Distribution functions that are no more than incomplete gamma and beta functions: χ², Student's t, F."""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.elementary import exp, log1p
from pullback.ops.special.family import NO_CLOSED_FORM, last, special
from pullback.ops.special.gammas import gammaln
from pullback.ops.special.incomplete import beta_density, gamma_density

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
    "(DLMF 8.8.13)",
    last(_degrees, 0.6, 3),
    v=NO_CLOSED_FORM,
    x=lambda v, x: -gamma_density(v / 2, x / 2) / 2,
)


def student_density(df: Any, t: Any) -> Any:
    """``(1 + t²/df)^(-(df + 1)/2) / (√df B(df/2, 1/2))``."""
    level = gammaln((df + 1) / 2) - gammaln(df / 2)
    return exp(level - (df + 1) / 2 * log1p(t * t / df)) / (math.pi * df) ** 0.5


stdtr: Any = special(
    "stdtr(df, t)",
    "The probability that Student's t with df degrees of freedom is below t.  df/dt is the density  (DLMF 8.17.2)",
    last(_degrees, -2, 2),
    df=NO_CLOSED_FORM,
    t=lambda df, t: student_density(df, t),
)
stdtrit: Any = special(
    "stdtrit(df, p)",
    "The inverse of `stdtr` in t.  df/dp is 1 over the density  (DLMF 8.17.2)",
    last(_degrees, 0.3, 0.7),
    df=NO_CLOSED_FORM,
    p=lambda df, f: 1 / student_density(df, f),
)


def fisher_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """The density of F, from that of ``w = dfn x / (dfd + dfn x)``, which has a beta distribution."""
    scale = dfd + dfn * x
    return beta_density(dfn / 2, dfd / 2, dfn * x / scale) * dfn * dfd / scale / scale


fdtr: Any = special(
    "fdtr(dfn, dfd, x)",
    "The probability that F with dfn and dfd degrees of freedom is below x.  df/dx is the density  (DLMF 8.17.2)",
    last([(3.5, 2.5), (2, 3), (4, 2)], 0.4, 2),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    x=lambda dfn, dfd, x: fisher_density(dfn, dfd, x),
)
fdtrc: Any = special(
    "fdtrc(dfn, dfd, x)",
    "The probability that F with dfn and dfd degrees of freedom is above x.  df/dx is -1 times the density  (DLMF 8.17.2)",
    last([(3.5, 2.5), (2, 3), (4, 2)], 0.4, 2),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    x=lambda dfn, dfd, x: -fisher_density(dfn, dfd, x),
)
