"""Distribution functions of counts: Poisson, binomial and negative binomial.

They are incomplete gamma and beta functions, continuous in the rate or the probability.  DLMF 8.4.10, 8.17.5.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.rounding import floor
from pullback.ops.special.family import WHOLE, last, special
from pullback.ops.special.incomplete import beta_density, gamma_density

_counts = [(2,), (0,), (3,)]
pdtr: Any = special(
    "pdtr(k, m)",
    "The probability that a Poisson variable of mean m is at most k.  df/dm = -exp(-m) mᵏ/k!  (DLMF 8.4.10)",
    last(_counts, 0.6, 3),
    k=WHOLE,
    m=lambda k, m: -gamma_density(floor(k) + 1, m),
)
pdtrc: Any = special(
    "pdtrc(k, m)",
    "The probability that a Poisson variable of mean m exceeds k.  df/dm = exp(-m) mᵏ/k!  (DLMF 8.4.10)",
    last(_counts, 0.6, 3),
    k=WHOLE,
    m=lambda k, m: gamma_density(floor(k) + 1, m),
)
pdtri: Any = special(
    "pdtri(k, y)",
    "The inverse of `pdtr` in m.  df/dy = -exp(f) k!/fᵏ  (DLMF 8.4.10)",
    last(_counts, 0.3, 0.7),
    k=WHOLE,
    y=lambda k, f: -1 / gamma_density(floor(k) + 1, f),
)


def _binomial(k: Any, n: Any, p: Any) -> Any:
    return beta_density(floor(k) + 1, n - floor(k), p)


_trials = [(2, 5), (0, 4), (3, 6)]
bdtr: Any = special(
    "bdtr(k, n, p)",
    "The probability of at most k successes in n trials.  df/dp = -(n - k) (n over k) pᵏ (1 - p)ⁿ⁻ᵏ⁻¹  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    p=lambda k, n, p: -_binomial(k, n, p),
)
bdtrc: Any = special(
    "bdtrc(k, n, p)",
    "The probability of more than k successes in n trials.  df/dp = (n - k) (n over k) pᵏ (1 - p)ⁿ⁻ᵏ⁻¹  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    p=lambda k, n, p: _binomial(k, n, p),
)
bdtri: Any = special(
    "bdtri(k, n, y)",
    "The inverse of `bdtr` in p.  df/dy is 1 over the slope of `bdtr`  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    y=lambda k, n, f: -1 / _binomial(k, n, f),
)
nbdtr: Any = special(
    "nbdtr(k, n, p)",
    "The probability of at most k failures before success n.  df/dp = pⁿ⁻¹ (1 - p)ᵏ / B(n, k + 1)  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    p=lambda k, n, p: beta_density(n, k + 1, p),
)
nbdtrc: Any = special(
    "nbdtrc(k, n, p)",
    "The probability of more than k failures before success n.  df/dp = -pⁿ⁻¹ (1 - p)ᵏ / B(n, k + 1)  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    p=lambda k, n, p: -beta_density(n, k + 1, p),
)
nbdtri: Any = special(
    "nbdtri(k, n, y)",
    "The inverse of `nbdtr` in p.  df/dy is 1 over the slope of `nbdtr`  (DLMF 8.17.5)",
    last(_trials, 0.3, 0.7),
    k=WHOLE,
    n=WHOLE,
    y=lambda k, n, f: 1 / beta_density(n, k + 1, f),
)
