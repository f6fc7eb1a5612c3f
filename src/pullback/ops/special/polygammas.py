"""The polygamma functions of complex numbers, which SciPy does not have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.special.scipys import scipys

#: B₂ₖ / (2k)!, the Bernoulli numbers of the asymptotic series.
_BERNOULLI = [
    b / math.factorial(2 * k + 2)
    for k, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798))
]
_FAR = 20.0  # where the series with these terms is exact to double precision, for the first few derivatives


def complex_polygamma(n: Any, z: Any) -> Any:
    """``ψ⁽ⁿ⁾(z)``: by the recurrence to where Re z is large (DLMF 5.15.5), there by the asymptotic series (5.15.9)."""
    n, z = np.broadcast_arrays(np.asarray(n), np.asarray(z, dtype=np.complex128))
    y = np.empty(z.shape, dtype=np.complex128)
    for order in np.unique(n):
        here = n == order
        y[here] = scipys("psi")(z[here]) if order == 0 else _of_order(int(order), z[here])
    return y


def _of_order(n: int, z: Any) -> Any:
    sign, total = (-1) ** (n + 1), np.zeros_like(z)
    far = _FAR + n
    while np.any(near := z.real < far):
        total[near] += math.factorial(n) * z[near] ** (-n - 1)
        z = np.where(near, z + 1, z)
    total += math.factorial(n - 1) * z**-n + math.factorial(n) / 2 * z ** (-n - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        total += b * math.factorial(2 * k + n - 1) * z ** (-2 * k - n)
    return sign * total
