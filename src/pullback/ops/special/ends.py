"""Slopes of Bessel functions at both ends, where the difference of neighbours in the order cancels: far out, and at a pole.

Far out ``f(z) = c Σₖ sᵏ aₖ(v) z^(-k-1/2)`` with ``aₖ(v) = Π_{j≤k} (4v² - (2j-1)²) / (8ᵏ k!)`` (DLMF 10.17.5 and 10.40.1), and
its slope is the series of the slopes.  The terms fall below rounding before they grow again.
"""

from __future__ import annotations

from typing import Any

from pullback.core import arrays
from pullback.ops.families import without_graph
from pullback.ops.selection import where

_TERMS = 20


def far_slope(near: Any, v: Any, z: Any, factor: complex, sign: complex) -> Any:
    """The slope at `z`: that of the series where it holds to rounding, `near` elsewhere.

    Parameters
    ----------
    near
        The slope by the rule that holds everywhere.
    factor, sign
        c and s of the series.
    """
    bare_v, bare_z = without_graph(v), without_graph(z)
    size = arrays.namespace(bare_z).real(bare_z) if arrays.is_complex(bare_z.dtype) else bare_z
    far = size > 30 + bare_v * bare_v
    if not arrays.anywhere(far):
        return near
    return where(far, _series(v, where(far, z, bare_v * bare_v + 100.0), factor, sign), near)


def _series(v: Any, z: Any, factor: complex, sign: complex) -> Any:
    square = 4 * v * v
    term = z**-1.5 * factor
    total = -0.5 * term
    for k in range(1, _TERMS):
        term = term * (sign / (8 * k)) * (square - (2 * k - 1) ** 2) / z
        total = total - (k + 0.5) * term
    return total


def away_from_0(z: Any, value: Any, wanted: Any = True) -> Any:
    """A term of a slope, left out at the pole ``z = 0`` (where `wanted`): another one is infinite of a higher order there."""
    zero = (without_graph(z) == 0) & wanted
    return where(zero, 0.0, value) if arrays.anywhere(zero) else value
