"""The Box-Cox transformation.  Its derivatives in λ are exact also at λ = 0, where it is a logarithm.

With ``(eᵘ - 1)/u = M(1, 2, u)`` (DLMF 13.6.2) it is ``L M(1, 2, λL)``, with L the logarithm; with ``log(1 + u)/u =
F(1, 1; 2; -u)`` (DLMF 15.4.1) its inverse is ``exp(y F(1, 1; 2; -λy))``.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.elementary import exp, log, log1p
from pullback.ops.powers import pow_
from pullback.ops.samples import pairs
from pullback.ops.special.family import special
from pullback.ops.special.hypergeometric import hyp1f1, hyp2f1


def _in_power(logarithm: Any, lmbda: Any) -> Any:
    return logarithm * logarithm * hyp1f1(2, 3, lmbda * logarithm) / 2


def _in_root(y: Any, lmbda: Any) -> Any:
    return -y * y * hyp2f1(2, 2, 3, -lmbda * y) / 2


boxcox: Any = special(
    "boxcox(x, lmbda)",
    "``(x^λ - 1) / λ``, and ``log x`` where λ = 0.  df/dx = x^(λ - 1), df/dλ = L² M(2, 3, λL) / 2 with L = log x",
    pairs((0.4, 2)),
    x=lambda x, lmbda: pow_(x, lmbda - 1),
    lmbda=lambda x, lmbda: _in_power(log(x), lmbda),
)
boxcox1p: Any = special(
    "boxcox1p(x, lmbda)",
    "``((1 + x)^λ - 1) / λ``, and ``log(1 + x)`` where λ = 0.  df/dx = (1 + x)^(λ - 1), df/dλ = L² M(2, 3, λL) / 2 with "
    "L = log(1 + x)",
    pairs((-0.6, 2)),
    x=lambda x, lmbda: exp((lmbda - 1) * log1p(x)),
    lmbda=lambda x, lmbda: _in_power(log1p(x), lmbda),
)
inv_boxcox: Any = special(
    "inv_boxcox(y, lmbda)",
    "``(λy + 1)^(1/λ)``, and ``exp y`` where λ = 0.  df/dy = f^(1 - λ), df/dλ = -f y² F(2, 2; 3; -λy) / 2",
    pairs((-0.4, 0.8), (-0.8, 0.8), (0.5, 0.75)),
    y=lambda lmbda, f: pow_(f, 1 - lmbda),
    lmbda=lambda y, lmbda, f: f * _in_root(y, lmbda),
)
inv_boxcox1p: Any = special(
    "inv_boxcox1p(y, lmbda)",
    "``(λy + 1)^(1/λ) - 1``, and ``exp(y) - 1`` where λ = 0.  df/dy = (f + 1)^(1 - λ), df/dλ = -(f + 1) y² F(2, 2; 3; -λy) / 2",
    pairs((-0.4, 0.8), (-0.8, 0.8), (0.5, 0.75)),
    y=lambda lmbda, f: pow_(f + 1, 1 - lmbda),
    lmbda=lambda y, lmbda, f: (f + 1) * _in_root(y, lmbda),
)
