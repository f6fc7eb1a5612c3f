"""The distributions of Kolmogorov and Smirnov, and their inverses.

Kolmogorov's is a theta function: for large arguments ``2 Σ (-1)ᵏ⁻¹ exp(-2k²y²)``, for small ones
``1 - √(2π)/y Σ exp(-(2k-1)²π²/(8y²))`` (DLMF 20.7.32).  Smirnov's is a sum of polynomials, with kinks in higher
derivatives at whole multiples of 1/n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.elementary import exp
from pullback.ops.families import without_graph
from pullback.ops.powers import pow_
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.family import WHOLE, last, special
from pullback.ops.special.gammas import binom

_SPLIT, _TERMS = 0.9, 5


def _of_large(y: Any) -> Any:
    return sum([(-1) ** k * 8 * k * k * y * exp(-2 * k * k * y * y) for k in range(1, _TERMS + 1)])


def _of_small(y: Any) -> Any:
    inverse = 1 / (y * y)
    total: Any = 0.0
    for k in range(1, _TERMS):
        rate = (2 * k - 1) ** 2 * math.pi**2 / 8
        total = total + (inverse - 2 * rate * inverse * inverse) * exp(-rate * inverse)
    return math.sqrt(2 * math.pi) * total


def _slope(y: Any) -> Any:
    small = y < _SPLIT
    tiny = y < 0.05  # all derivatives are less than 1e-200 there
    below = _of_small(where(small & ~tiny, y, _SPLIT))
    return where(tiny, 0.0, where(small, below, _of_large(where(small, 1.0, y))))


kolmogorov: Any = special(
    "kolmogorov(y)",
    "``2 Σ (-1)ᵏ⁻¹ exp(-2k²y²)``: the probability that √n times the largest deviation exceeds y.  df/dy term by term"
    "  (DLMF 20.2.4)",
    singles(0.4, 1.4),
    y=lambda y: _slope(y),
)
kolmogi: Any = special(
    "kolmogi(p)",
    "The inverse of `kolmogorov`.  df/dp is 1 over its slope",
    singles(0.1, 0.9),
    p=lambda f: 1 / _slope(f),
)


def _smirnov_slope(n: Any, d: Any) -> Any:
    """The terms of ``d Σ (n over k) (d + k/n)ᵏ⁻¹ (1 - d - k/n)ⁿ⁻ᵏ`` that are there, each differentiated."""
    largest = int(np.max(np.asarray(without_graph(n)), initial=1))
    total: Any = -n * pow_(1 - d, n - 1)  # of the first term, ``(1 - d)ⁿ``
    for k in range(1, largest + 1):
        rest = 1 - d - k / n
        there = (rest > 0) & (k <= n)
        rest, base = where(there, rest, 1.0), where(there, d + k / n, 1.0)
        power, left = k - 1, where(k <= n, n - k, 0.0)
        term = binom(where(k <= n, n, float(k)), float(k)) * base ** (power - 1) * rest ** (left - 1)
        slope = term * (base * rest + d * (power * rest - left * base))
        total = total + where(there, slope, 0.0)
    return total


smirnov: Any = special(
    "smirnov(n, d)",
    "The probability that the largest one-sided deviation of n samples exceeds d.  df/dd term by term  (Smirnov 1944)",
    last([(4,), (2,), (1,)], 0.28, 0.45),
    n=WHOLE,
    d=lambda n, d: _smirnov_slope(n, d),
)
smirnovi: Any = special(
    "smirnovi(n, p)",
    "The inverse of `smirnov` in d.  df/dp is 1 over its slope",
    last([(4,), (2,), (1,)], 0.25, 0.35),
    n=WHOLE,
    p=lambda n, f: 1 / _smirnov_slope(n, f),
)
