"""Noncentral distributions: χ², F and Student's t.

Their densities are hypergeometric functions, and so is the slope in the noncentrality: that of χ² is the density with two
more degrees of freedom (Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions, chapters 29 to 31).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.elementary import exp, log, sqrt
from pullback.ops.families import nary
from pullback.ops.powers import pow_
from pullback.ops.registry import Make, Sample
from pullback.ops.selection import where
from pullback.ops.special.bessel import ive
from pullback.ops.special.family import NO_CLOSED_FORM, special
from pullback.ops.special.gammas import gammaln
from pullback.ops.special.hypergeometric import hyp0f1, hyp1f1
from pullback.ops.special.incomplete import beta_density
from pullback.ops.special.scipys import evaluate, scipys


def _of_three(first: Any, second: Any, third: Any, number: int) -> Any:
    """Samples of three arguments, of which that at place `number` is a plain number."""

    def samples(make: Make) -> Any:
        ranges = [first, second, third]
        for shapes in (((3,), (3,)), ((2, 1), (3,)), ((2, 0), (1,)), ((), (2,))):
            rest = iter(shapes)
            yield Sample(
                tuple([r if k == number else make(*next(rest), low=r[0], high=r[1]) for k, r in enumerate(ranges)])
            )

    return samples


# ------------------------------------------------------------------------------------------------------------------ χ²
_FAR = 100.0  # beyond that 0F1 may overflow before its factor makes it small


def chi_square_density(x: Any, df: Any, nc: Any) -> Any:
    """``1/2 exp(-(x + nc)/2) (x/2)^(df/2 - 1) / Γ(df/2) 0F1(df/2; nc x/4)``; far out by Bessel's function of that."""
    product = nc * x
    far = product > _FAR
    x_near, nc_near = where(far, 1.0, x), where(far, 1.0, nc)
    power = where(df == 2, 1.0, pow_(x_near / 2, df / 2 - 1))
    near = exp(-(x_near + nc_near) / 2 - gammaln(df / 2)) * power * hyp0f1(df / 2, nc_near * x_near / 4) / 2
    x_far, nc_far = where(far, x, _FAR), where(far, nc, 1.0)
    shift = sqrt(x_far) - sqrt(nc_far)
    scale = exp((df / 4 - 0.5) * (log(x_far) - log(nc_far)) - shift * shift / 2) / 2
    return where(far, scale * ive(df / 2 - 1, sqrt(x_far * nc_far)), near)


chndtr: Any = special(
    "chndtr(x, df, nc)",
    "The noncentral χ² distribution.  df/dx is the density, df/dnc = -1 times the density with two more degrees of freedom",
    _of_three((0.6, 4), 3.5, (0.4, 3), 1),
    x=lambda x, df, nc: chi_square_density(x, df, nc),
    df=NO_CLOSED_FORM,
    nc=lambda x, df, nc: -chi_square_density(x, df + 2, nc),
)
chndtrix: Any = special(
    "chndtrix(p, df, nc)",
    "The inverse of `chndtr` in x.  df/dp is 1 over the density, df/dnc the ratio of the slopes of `chndtr`",
    _of_three((0.2, 0.8), 3.5, (0.4, 3), 1),
    p=lambda df, nc, f: 1 / chi_square_density(f, df, nc),
    df=NO_CLOSED_FORM,
    nc=lambda df, nc, f: chi_square_density(f, df + 2, nc) / chi_square_density(f, df, nc),
)
chndtrinc: Any = special(
    "chndtrinc(x, df, p)",
    "The inverse of `chndtr` in nc.  df/dx is the ratio of the slopes of `chndtr`, df/dp is 1 over that in nc",
    _of_three((4.0, 6.0), 3.5, (0.3, 0.5), 1),
    x=lambda x, df, f: chi_square_density(x, df, f) / chi_square_density(x, df + 2, f),
    df=NO_CLOSED_FORM,
    p=lambda x, df, f: -1 / chi_square_density(x, df + 2, f),
)


# ------------------------------------------------------------------------------------------------------------------- F
def _beta_of(dfn: Any, dfd: Any, x: Any) -> Any:
    return dfn * x / (dfd + dfn * x)


def _in_f(dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    """``exp(-nc/2) β(w) M((dfn + dfd)/2, dfn/2, nc w/2) dw/dx``, w the variable of the beta distribution."""
    w, scale = _beta_of(dfn, dfd, x), dfd + dfn * x
    series = hyp1f1((dfn + dfd) / 2, dfn / 2, nc * w / 2)
    return exp(-nc / 2) * beta_density(dfn / 2, dfd / 2, w) * series * dfn * dfd / scale / scale


def _in_noncentrality(dfn: Any, dfd: Any, nc: Any, x: Any) -> Any:
    """``-exp(-nc/2) w^(dfn/2) (1 - w)^(dfd/2) / (dfn B) M((dfn + dfd)/2, dfn/2 + 1, nc w/2)``, summed by parts."""
    w = _beta_of(dfn, dfd, x)
    series = hyp1f1((dfn + dfd) / 2, dfn / 2 + 1, nc * w / 2)
    return -exp(-nc / 2) * beta_density(dfn / 2, dfd / 2, w) * w * (1 - w) * series / dfn


def _quadruples(third: Any, fourth: Any) -> Any:
    def samples(make: Make) -> Any:
        for a, b in (((3,), (3,)), ((2, 1), (3,)), ((2, 0), (1,))):
            yield Sample((3.5, 4.5, make(*a, low=third[0], high=third[1]), make(*b, low=fourth[0], high=fourth[1])))

    return samples


ncfdtr: Any = special(
    "ncfdtr(dfn, dfd, nc, f_)",
    "The noncentral F distribution.  Its slopes in the argument and in nc are confluent hypergeometric functions",
    _quadruples((0.4, 3), (0.4, 2)),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    nc=lambda dfn, dfd, nc, f_: _in_noncentrality(dfn, dfd, nc, f_),
    f_=lambda dfn, dfd, nc, f_: _in_f(dfn, dfd, nc, f_),
)
ncfdtri: Any = special(
    "ncfdtri(dfn, dfd, nc, p)",
    "The inverse of `ncfdtr` in its argument, by the slopes of `ncfdtr`",
    _quadruples((0.4, 3), (0.3, 0.7)),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    nc=lambda dfn, dfd, nc, f: -_in_noncentrality(dfn, dfd, nc, f) / _in_f(dfn, dfd, nc, f),
    p=lambda dfn, dfd, nc, f: 1 / _in_f(dfn, dfd, nc, f),
)


def _polished(name: str, miss: Any, slope: Any) -> Any:
    """SciPy's value is exact to four digits or more; two steps of Newton's method make it exact."""

    def value(*args: Any) -> Any:
        nc = scipys(name)(*args)
        with np.errstate(invalid="ignore", divide="ignore"):
            for _ in range(2):
                step = miss(nc, *args) / slope(nc, *args)
                nc = nc - np.where(np.isfinite(step) & (abs(step) < 0.1), step, 0.0)
        return nc

    return value


ncfdtrinc: Any = special(
    "ncfdtrinc(dfn, dfd, p, f_)",
    "The inverse of `ncfdtr` in nc, by the slopes of `ncfdtr`",
    _quadruples((0.2, 0.4), (1.6, 2.2)),
    scipy=_polished(
        "ncfdtrinc",
        lambda nc, dfn, dfd, p, f: scipys("ncfdtr")(dfn, dfd, nc, f) - p,
        lambda nc, dfn, dfd, p, f: _in_noncentrality(dfn, dfd, nc, f),
    ),
    dfn=NO_CLOSED_FORM,
    dfd=NO_CLOSED_FORM,
    p=lambda dfn, dfd, f_, f: 1 / _in_noncentrality(dfn, dfd, f, f_),
    f_=lambda dfn, dfd, f_, f: -_in_f(dfn, dfd, f, f_) / _in_noncentrality(dfn, dfd, f, f_),
)


# ------------------------------------------------------------------------------------------------------------------- t
def _moment(k: Any, z: Any) -> Any:
    """``∫ uᵏ exp(-u²/2 + z u) du`` over the positive numbers: parabolic cylinder functions (DLMF 12.5.1, 12.7.14)."""
    k, z = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(z, dtype=float))
    special_ = {name: scipys(name) for name in ("gamma", "hyp1f1", "hyperu")}
    gamma, hyp1f1_, hyperu = special_["gamma"], special_["hyp1f1"], special_["hyperu"]
    square = z * z / 2
    right = 2 ** ((k - 1) / 2) * (
        gamma((k + 1) / 2) * hyp1f1_((k + 1) / 2, 0.5, square)
        + math.sqrt(2) * z * gamma(k / 2 + 1) * hyp1f1_(k / 2 + 1, 1.5, square)
    )
    left = gamma(k + 1) * 2 ** (-(k + 1) / 2) * hyperu((k + 1) / 2, 0.5, np.where(z < -1, square, 1.0))
    return np.where(z < -1, left, right)


moment: Any = nary(
    "half_normal_moment",
    lambda xp, k, z: evaluate("half_normal_moment", _moment, xp, (k, z)),
    {"k": NO_CLOSED_FORM, "z": lambda k, z: moment(k + 1, z)},
    "``∫ uᵏ exp(-u²/2 + z u) du`` over the positive numbers.  df/dz is that of k + 1.",
).apply


def _student(df: Any, nc: Any, t: Any, power: Any) -> Any:
    """``E s^power φ(t s - nc)`` for ``s = χ/√df``: the density for power 1, and minus the slope in nc for power 0."""
    r = sqrt(df + t * t)
    k = df - 1 + power
    level = df / 2 * log(df) - (df / 2 - 1) * math.log(2) - gammaln(df / 2) - nc * nc / 2 - (k + 1) * log(r)
    return exp(level) * moment(k, t * nc / r) / math.sqrt(2 * math.pi)


nctdtr: Any = special(
    "nctdtr(df, nc, t)",
    "The noncentral t distribution.  Its slopes in t and nc are parabolic cylinder functions",
    _of_three(4.5, (-1, 2), (-1, 2), 0),
    df=NO_CLOSED_FORM,
    nc=lambda df, nc, t: -_student(df, nc, t, 0),
    t=lambda df, nc, t: _student(df, nc, t, 1),
)
nctdtrit: Any = special(
    "nctdtrit(df, nc, p)",
    "The inverse of `nctdtr` in t, by the slopes of `nctdtr`",
    _of_three(4.5, (-1, 2), (0.3, 0.7), 0),
    df=NO_CLOSED_FORM,
    nc=lambda df, nc, f: _student(df, nc, f, 0) / _student(df, nc, f, 1),
    p=lambda df, nc, f: 1 / _student(df, nc, f, 1),
)
nctdtrinc: Any = special(
    "nctdtrinc(df, p, t)",
    "The inverse of `nctdtr` in nc, by the slopes of `nctdtr`",
    _of_three(4.5, (0.3, 0.7), (-1, 2), 0),
    scipy=_polished(
        "nctdtrinc",
        lambda nc, df, p, t: scipys("nctdtr")(df, nc, t) - p,
        lambda nc, df, p, t: -_student(df, nc, t, 0),
    ),
    df=NO_CLOSED_FORM,
    p=lambda df, t, f: -1 / _student(df, f, t, 0),
    t=lambda df, t, f: _student(df, f, t, 1) / _student(df, f, t, 0),
)
