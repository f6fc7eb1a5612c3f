"""Hypergeometric functions and what is one: ``(exp(x) - 1)/x``, Spence's function.  Their slopes are of the same kind.

DLMF, chapters 13 and 15.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.elementary import exp, sin
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import singles
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, last, special

hyp0f1: Any = special(
    "hyp0f1(v, z)",
    "``₀F₁(; v; z)``.  df/dz = ₀F₁(; v + 1; z) / v  (DLMF 16.3.1)",
    last([(1,), (2.5,), (2,)], 0.5, 2),
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: hyp0f1(v + 1, z) / v,
)
hyp1f1: Any = special(
    "hyp1f1(a, b, x)",
    "``M(a, b, x) = ₁F₁(a; b; x)``.  df/dx = a/b M(a + 1, b + 1, x)  (DLMF 13.3.15)",
    last([(1, 2.5), (0.5, 1.5), (2, 3)], -2, 2),
    complex=True,
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: a / b * hyp1f1(a + 1, b + 1, x),
)
hyp2f1: Any = special(
    "hyp2f1(a, b, c, z)",
    "``F(a, b; c; z) = ₂F₁(a, b; c; z)``.  df/dz = ab/c F(a + 1, b + 1; c + 1; z)  (DLMF 15.5.1)",
    last([(1, 0.5, 2.5), (0.5, 1.5, 2), (2, 1, 3.5)], -0.4, 0.4),
    complex=True,
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    c=NO_CLOSED_FORM,
    z=lambda a, b, c, z: a * b / c * hyp2f1(a + 1, b + 1, c + 1, z),
)
hyperu: Any = special(
    "hyperu(a, b, x)",
    "``U(a, b, x)``.  df/dx = -a U(a + 1, b + 1, x)  (DLMF 13.3.22)",
    last([(1, 0.5), (0.5, 1.5), (2, 1)], 0.6, 3),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: -a * hyperu(a + 1, b + 1, x),
)
exprel: Any = special(
    "exprel(x)",
    "``(exp(x) - 1) / x = M(1, 2, x)``, and 1 at 0.  df/dx = M(2, 3, x) / 2, exact at 0  (DLMF 13.6.2)",
    singles(),
    x=lambda x: hyp1f1(2, 3, x) / 2,
)
cosm1: Any = special("cosm1(x)", "``cos(x) - 1``, exact near 0.  df/dx = -sin(x)", singles(), x=lambda x: -sin(x))
spence: Any = special(
    "spence(z)",
    "``∫ log(t)/(1 - t) dt`` from 1 to z.  df/dz = log(z)/(1 - z) = -F(1, 1; 2; 1 - z), exact at 1  (DLMF 15.4.1)",
    singles(0.4, 2),
    complex=True,
    z=lambda z: -hyp2f1(1, 1, 2, 1 - z),
)


# ------------------------------------------------------------------------------------------------------------ Lambert
def _branches(make: Make) -> Any:
    for shape in ((3,), (), (2, 0)):
        yield Sample((make(*shape, low=0.5, high=2), 0))
    yield Sample((make(3, low=0.5, high=2), 1))
    yield Sample((make(3, low=0.5, high=2), -1))


lambertw: Any = special(
    "lambertw(z, k=0)",
    "Branch k of the solution of ``f exp(f) = z``; complex also of real numbers.  df/dz = exp(-f) / (1 + f)  (DLMF 4.13.4)",
    _branches,
    complex=True,
    k=WHOLE,
    z=lambda f: exp(-f) / (1 + f),
)
