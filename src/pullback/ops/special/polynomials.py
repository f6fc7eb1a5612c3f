"""Orthogonal polynomials: the derivative of one family is another, of one degree less.  DLMF 18.9.

The degree may be any real number in SciPy, but a polynomial has whole ones; and so only derivatives in x are given.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.selection import where
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, last, special

_degrees = last([(2,), (0,), (3,), (1,)], -0.9, 0.9)
_inside = last([(2,), (0,), (3,), (1,)], 0.1, 0.9)


def _lower(factor: Any, f: Any, n: Any, x: Any, *parameters: Any) -> Any:
    """``factor f(n - 1, ..., x)``, and 0 for degree 0: there is no f(-1, ..., x) to multiply by 0."""
    return where(n > 0, factor * f(where(n > 0, n - 1, 0.0), *parameters, x), 0.0)


eval_jacobi: Any = special(
    "eval_jacobi(n, alpha, beta, x)",
    "``Pₙ⁽ᵅᐟᵝ⁾(x)``, a Jacobi polynomial.  df/dx = (n + α + β + 1)/2 Pₙ₋₁⁽ᵅ⁺¹ᐟᵝ⁺¹⁾(x)  (DLMF 18.9.15)",
    last([(2, 0.5, 1.5), (0, 0.5, 1.5), (3, 1, 0.5)], -0.9, 0.9),
    complex=True,
    n=WHOLE,
    alpha=NO_CLOSED_FORM,
    beta=NO_CLOSED_FORM,
    x=lambda n, alpha, beta, x: _lower((n + alpha + beta + 1) / 2, eval_jacobi, n, x, alpha + 1, beta + 1),
)
eval_sh_jacobi: Any = special(
    "eval_sh_jacobi(n, p, q, x)",
    "``Gₙ(p, q, x)``, a shifted Jacobi polynomial.  df/dx = n Gₙ₋₁(p + 2, q + 1, x)  (DLMF 18.1.2, 18.9.15)",
    last([(2, 2.5, 1.5), (0, 2.5, 1.5), (3, 2, 0.5)], 0.1, 0.9),
    complex=True,
    n=WHOLE,
    p=NO_CLOSED_FORM,
    q=NO_CLOSED_FORM,
    x=lambda n, p, q, x: _lower(n, eval_sh_jacobi, n, x, p + 2, q + 1),
)
eval_gegenbauer: Any = special(
    "eval_gegenbauer(n, alpha, x)",
    "``Cₙ⁽ᵅ⁾(x)``, a Gegenbauer polynomial.  df/dx = 2α Cₙ₋₁⁽ᵅ⁺¹⁾(x)  (DLMF 18.9.19)",
    last([(2, 0.5), (0, 0.5), (3, 1.5)], -0.9, 0.9),
    complex=True,
    n=WHOLE,
    alpha=NO_CLOSED_FORM,
    x=lambda n, alpha, x: _lower(2 * alpha, eval_gegenbauer, n, x, alpha + 1),
)
eval_legendre: Any = special(
    "eval_legendre(n, x)",
    "``Pₙ(x)``, a Legendre polynomial.  df/dx = (n + 1)/2 Pₙ₋₁⁽¹ᐟ¹⁾(x), a Jacobi polynomial  (DLMF 18.7.9, 18.9.15)",
    _degrees,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower((n + 1) / 2, eval_jacobi, n, x, 1, 1),
)
eval_sh_legendre: Any = special(
    "eval_sh_legendre(n, x)",
    "``Pₙ(2x - 1)``, a shifted Legendre polynomial.  df/dx = (n + 1) Pₙ₋₁⁽¹ᐟ¹⁾(2x - 1)  (DLMF 18.7.10, 18.9.15)",
    _inside,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(n + 1, eval_jacobi, n, 2 * x - 1, 1, 1),
)
eval_chebyt: Any = special(
    "eval_chebyt(n, x)",
    "``Tₙ(x)``, a Chebyshev polynomial of the first kind.  df/dx = n Uₙ₋₁(x)  (DLMF 18.9.21)",
    _degrees,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(n, eval_chebyu, n, x),
)
eval_chebyu: Any = special(
    "eval_chebyu(n, x)",
    "``Uₙ(x)``, a Chebyshev polynomial of the second kind.  df/dx = 2 Cₙ₋₁⁽²⁾(x)  (DLMF 18.7.4, 18.9.19)",
    _degrees,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(2.0, eval_gegenbauer, n, x, 2),
)
eval_chebyc: Any = special(
    "eval_chebyc(n, x)",
    "``2 Tₙ(x/2)``, a Chebyshev polynomial on [-2, 2].  df/dx = n Uₙ₋₁(x/2)  (DLMF 18.1.3, 18.9.21)",
    _degrees,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(n, eval_chebyu, n, x / 2),
)
eval_chebys: Any = special(
    "eval_chebys(n, x)",
    "``Uₙ(x/2)``, a Chebyshev polynomial on [-2, 2].  df/dx = Cₙ₋₁⁽²⁾(x/2)  (DLMF 18.1.3, 18.9.19)",
    _degrees,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(1.0, eval_gegenbauer, n, x / 2, 2),
)
eval_sh_chebyt: Any = special(
    "eval_sh_chebyt(n, x)",
    "``Tₙ(2x - 1)``, a shifted Chebyshev polynomial.  df/dx = 2n Uₙ₋₁(2x - 1)  (DLMF 18.7.7, 18.9.21)",
    _inside,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(2 * n, eval_chebyu, n, 2 * x - 1),
)
eval_sh_chebyu: Any = special(
    "eval_sh_chebyu(n, x)",
    "``Uₙ(2x - 1)``, a shifted Chebyshev polynomial.  df/dx = 4 Cₙ₋₁⁽²⁾(2x - 1)  (DLMF 18.7.8, 18.9.19)",
    _inside,
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(4.0, eval_gegenbauer, n, 2 * x - 1, 2),
)
eval_hermite: Any = special(
    "eval_hermite(n, x)",
    "``Hₙ(x)``, a Hermite polynomial.  df/dx = 2n Hₙ₋₁(x)  (DLMF 18.9.25)",
    _degrees,
    n=WHOLE,
    x=lambda n, x: _lower(2 * n, eval_hermite, n, x),
)
eval_hermitenorm: Any = special(
    "eval_hermitenorm(n, x)",
    "``Heₙ(x)``, a Hermite polynomial of the weight exp(-x²/2).  df/dx = n Heₙ₋₁(x)  (DLMF 18.9.27)",
    _degrees,
    n=WHOLE,
    x=lambda n, x: _lower(n, eval_hermitenorm, n, x),
)
eval_genlaguerre: Any = special(
    "eval_genlaguerre(n, alpha, x)",
    "``Lₙ⁽ᵅ⁾(x)``, a Laguerre polynomial.  df/dx = -Lₙ₋₁⁽ᵅ⁺¹⁾(x)  (DLMF 18.9.23)",
    last([(2, 0.5), (0, 0.5), (3, 1.5)], 0.1, 2),
    complex=True,
    n=WHOLE,
    alpha=NO_CLOSED_FORM,
    x=lambda n, alpha, x: _lower(-1.0, eval_genlaguerre, n, x, alpha + 1),
)
eval_laguerre: Any = special(
    "eval_laguerre(n, x)",
    "``Lₙ(x)``, a Laguerre polynomial.  df/dx = -Lₙ₋₁⁽¹⁾(x)  (DLMF 18.9.23)",
    last([(2,), (0,), (3,), (1,)], 0.1, 2),
    complex=True,
    n=WHOLE,
    x=lambda n, x: _lower(-1.0, eval_genlaguerre, n, x, 1),
)
