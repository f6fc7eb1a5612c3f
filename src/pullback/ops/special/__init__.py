"""Special functions, under the names and with the argument order of `scipy.special`.

SciPy computes the values (it is imported when one of these operators is first used), and the derivatives are written
with other operators of the registry, so that they are right to any order.  Formulas are those of the NIST Digital
Library of Mathematical Functions, https://dlmf.nist.gov, and are quoted by their numbers.
"""

from pullback.ops.special import (
    airy,
    bessel,
    boxcox,
    distributions,
    elliptic,
    entropy,
    gammas,
    hypergeometric,
    incomplete,
    integrals,
    logistic,
    losses,
    normal,
    polynomials,
    spherical,
    sums,
)

__all__ = [
    "airy",
    "bessel",
    "boxcox",
    "distributions",
    "elliptic",
    "entropy",
    "gammas",
    "hypergeometric",
    "incomplete",
    "integrals",
    "logistic",
    "losses",
    "normal",
    "polynomials",
    "spherical",
    "sums",
]
