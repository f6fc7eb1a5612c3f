"""Distributions with a scale, and inverses of distribution functions: gamma, normal, χ², F, Tukey's λ."""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.elementary import exp, log, log1p
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import pairs
from pullback.ops.selection import where
from pullback.ops.special.distributions import fisher_density
from pullback.ops.special.family import NO_CLOSED_FORM, last, special
from pullback.ops.special.hypergeometric import hyp1f1
from pullback.ops.special.incomplete import gamma_density
from pullback.ops.special.normal import ndtri


def _triples(first: Any, second: float, third: Any) -> Any:
    """First and last argument differentiated, the one between them a number."""

    def samples(make: Make) -> Any:
        for a, b in (((3,), (3,)), ((2, 1), (3,)), ((2, 0), (1,))):
            yield Sample((make(*a, low=first[0], high=first[1]), second, make(*b, low=third[0], high=third[1])))
        yield Sample((sum(first) / 2, second, make(low=third[0], high=third[1])))

    return samples


gdtr: Any = special(
    "gdtr(a, b, x)",
    "``P(b, a x)``: the gamma distribution of shape b and rate a.  df/dx = a p(ax), df/da = x p(ax), p the density of rate 1"
    "  (DLMF 8.8.13)",
    _triples((0.6, 2), 2.5, (0.6, 2)),
    a=lambda a, b, x: x * gamma_density(b, a * x),
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: a * gamma_density(b, a * x),
)
gdtrc: Any = special(
    "gdtrc(a, b, x)",
    "``Q(b, a x)``.  df/dx = -a p(ax), df/da = -x p(ax), p the density of rate 1  (DLMF 8.8.13)",
    _triples((0.6, 2), 2.5, (0.6, 2)),
    a=lambda a, b, x: -x * gamma_density(b, a * x),
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: -a * gamma_density(b, a * x),
)
gdtrix: Any = special(
    "gdtrix(a, b, p)",
    "The inverse of `gdtr` in x.  df/dp is 1 over the density, df/da = -f/a  (DLMF 8.8.13)",
    _triples((0.6, 2), 2.5, (0.3, 0.7)),
    a=lambda a, f: -f / a,
    b=NO_CLOSED_FORM,
    p=lambda a, b, f: 1 / (a * gamma_density(b, a * f)),
)
gdtria: Any = special(
    "gdtria(p, b, x)",
    "The inverse of `gdtr` in a.  df/dp = 1 / (x p(f x)), df/dx = -f/x  (DLMF 8.8.13)",
    _triples((0.3, 0.7), 2.5, (0.6, 2)),
    p=lambda b, x, f: 1 / (x * gamma_density(b, f * x)),
    b=NO_CLOSED_FORM,
    x=lambda x, f: -f / x,
)
chdtri: Any = special(
    "chdtri(v, p)",
    "The inverse of `chdtrc` in x.  df/dp is -1 over the density  (DLMF 8.8.13)",
    last([(3.5,), (2,), (5,)], 0.3, 0.7),
    v=NO_CLOSED_FORM,
    p=lambda v, f: -2 / gamma_density(v / 2, f / 2),
)
fdtri: Any = special(
    "fdtri(dfn, dfd, p)",
    "The inverse of `fdtr` in x.  df/dp is 1 over the density  (DLMF 8.17.2)",
    last([(3.5, 2.5), (2, 3), (4, 2)], 0.3, 0.7),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    p=lambda dfn, dfd, f: 1 / fisher_density(dfn, dfd, f),
)


# -------------------------------------------------------------------------------------------------------------- normal
def _slope_of_ndtri(p: Any) -> Any:
    q = ndtri(p)
    return math.sqrt(2 * math.pi) * exp(q * q / 2)


nrdtrimn: Any = special(
    "nrdtrimn(p, std, x)",
    "The mean for which a normal variable of deviation std is below x with probability p, ``x - std ndtri(p)``",
    _triples((0.2, 0.8), 1.5, (-1, 2)),
    p=lambda p, std: -std * _slope_of_ndtri(p),
    std=lambda p: -ndtri(p),
    x=lambda x: 0 * x + 1,
)
nrdtrisd: Any = special(
    "nrdtrisd(mn, p, x)",
    "The deviation for which a normal variable of mean mn is below x with probability p, ``(x - mn) / ndtri(p)``",
    _triples((-1, 1), 0.7, (1.2, 2)),
    mn=lambda p: -1 / ndtri(p),
    p=lambda p, f: -f * _slope_of_ndtri(p) / ndtri(p),
    x=lambda p: 1 / ndtri(p),
)


# --------------------------------------------------------------------------------------------------------------- Tukey
def _density(p: Any, lmbda: Any) -> Any:
    """``pᵏ⁻¹ + (1 - p)ᵏ⁻¹``, the slope of the inverse."""
    return exp((lmbda - 1) * log(p)) + exp((lmbda - 1) * log1p(-p))


def _in_lambda(p: Any, lmbda: Any) -> Any:
    """The inverse is ``(pᵏ - qᵏ)/k``; in k its slope is ``log²p g(k log p) - log²q g(k log q)``, ``g(u) = M(2, 3, u)/2``."""
    a, b = log(p), log1p(-p)
    bend = (a * a * hyp1f1(2.0, 3.0, lmbda * a) - b * b * hyp1f1(2.0, 3.0, lmbda * b)) / 2
    return -bend / _density(p, lmbda)


def _outside(f: Any, slope: Any) -> Any:
    """0 where the distribution has ended."""
    inside = (f > 0) & (f < 1)
    return where(inside, slope(where(inside, f, 0.5)), 0.0)


tklmbda: Any = special(
    "tklmbda(x, lmbda)",
    "Tukey's λ distribution, the p for which ``(pᵏ - (1 - p)ᵏ)/k = x``, k = lmbda.  df/dx = 1 / (pᵏ⁻¹ + (1 - p)ᵏ⁻¹)",
    pairs((-0.6, 0.6), (0.2, 1.2), (0.5, 0.4)),
    x=lambda lmbda, f: _outside(f, lambda p: 1 / _density(p, lmbda)),
    lmbda=lambda lmbda, f: _outside(f, lambda p: _in_lambda(p, lmbda)),
)
