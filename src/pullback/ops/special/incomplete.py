"""Incomplete gamma and beta functions, and their inverses.  DLMF, chapter 8.

Derivatives in the last argument are densities; those in the parameters have no closed form.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.elementary import exp
from pullback.ops.powers import pow_
from pullback.ops.selection import where
from pullback.ops.special.entropy import xlog1py, xlogy
from pullback.ops.special.family import NO_CLOSED_FORM, last, special
from pullback.ops.special.gammas import beta, betaln, gammaln, rgamma


def gamma_density(a: Any, x: Any) -> Any:
    """``xᵃ⁻¹ exp(-x) / Γ(a)``: by logarithms, which do not overflow, and at 0 by powers, whose derivatives are exact."""
    end = x == 0
    inside = where(end, 1.0, x)
    at_end = where(end, x, 1.0)
    return where(
        end,
        pow_(at_end, a - 1) * rgamma(a) * exp(-at_end),
        exp(xlogy(a - 1, inside) - inside - gammaln(a)),
    )


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """``xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)``, in the same way at 0 and 1."""
    end = (x == 0) | (x == 1)
    inside = where(end, 0.5, x)
    at_end = where(end, x, 0.5)
    return where(
        end,
        pow_(at_end, a - 1) * pow_(1 - at_end, b - 1) / beta(a, b),
        exp(xlogy(a - 1, inside) + xlog1py(b - 1, -inside) - betaln(a, b)),
    )


_shapes = [(1.5,), (2,), (0.7,), (1,)]
gammainc: Any = special(
    "gammainc(a, x)",
    "``P(a, x) = 1/Γ(a) ∫₀ˣ tᵃ⁻¹ exp(-t) dt``.  df/dx = xᵃ⁻¹ exp(-x) / Γ(a)  (DLMF 8.8.13)",
    last(_shapes, 0.6, 3),
    a=NO_CLOSED_FORM,
    x=lambda a, x: gamma_density(a, x),
)
gammaincc: Any = special(
    "gammaincc(a, x)",
    "``Q(a, x) = 1 - P(a, x)``.  df/dx = -xᵃ⁻¹ exp(-x) / Γ(a)  (DLMF 8.8.13)",
    last(_shapes, 0.6, 3),
    a=NO_CLOSED_FORM,
    x=lambda a, x: -gamma_density(a, x),
)
gammaincinv: Any = special(
    "gammaincinv(a, y)",
    "The x for which ``P(a, x) = y``.  df/dy = Γ(a) f¹⁻ᵃ exp(f)  (DLMF 8.8.13)",
    last(_shapes, 0.3, 0.8),
    a=NO_CLOSED_FORM,
    y=lambda a, f: 1 / gamma_density(a, f),
)
gammainccinv: Any = special(
    "gammainccinv(a, y)",
    "The x for which ``Q(a, x) = y``.  df/dy = -Γ(a) f¹⁻ᵃ exp(f)  (DLMF 8.8.13)",
    last(_shapes, 0.3, 0.8),
    a=NO_CLOSED_FORM,
    y=lambda a, f: -1 / gamma_density(a, f),
)

_pairs = [(1.5, 2.5), (2, 1.5), (0.7, 0.6), (1, 2)]
betainc: Any = special(
    "betainc(a, b, x)",
    "``Iₓ(a, b) = 1/B(a, b) ∫₀ˣ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt``.  df/dx = xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)  (DLMF 8.17.2)",
    last(_pairs, 0.3, 0.7),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: beta_density(a, b, x),
)
betaincc: Any = special(
    "betaincc(a, b, x)",
    "``1 - Iₓ(a, b)``.  df/dx = -xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)  (DLMF 8.17.2)",
    last(_pairs, 0.3, 0.7),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    x=lambda a, b, x: -beta_density(a, b, x),
)
betaincinv: Any = special(
    "betaincinv(a, b, y)",
    "The x for which ``Iₓ(a, b) = y``.  df/dy = B(a, b) f¹⁻ᵃ (1 - f)¹⁻ᵇ  (DLMF 8.17.2)",
    last(_pairs, 0.3, 0.7),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    y=lambda a, b, f: 1 / beta_density(a, b, f),
)
betainccinv: Any = special(
    "betainccinv(a, b, y)",
    "The x for which ``1 - Iₓ(a, b) = y``.  df/dy = -B(a, b) f¹⁻ᵃ (1 - f)¹⁻ᵇ  (DLMF 8.17.2)",
    last(_pairs, 0.3, 0.7),
    a=NO_CLOSED_FORM,
    b=NO_CLOSED_FORM,
    y=lambda a, b, f: -1 / beta_density(a, b, f),
)
