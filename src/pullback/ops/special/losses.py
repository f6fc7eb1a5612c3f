"""Losses: a parabola near 0, straight lines far away."""

from __future__ import annotations

from typing import Any

from pullback.ops.activations import relu
from pullback.ops.complexes import abs_
from pullback.ops.elementary import sqrt
from pullback.ops.samples import pairs
from pullback.ops.selection import clip
from pullback.ops.special.family import special

huber: Any = special(
    "huber(delta, r)",
    "``r²/2`` where |r| <= δ, else ``δ (|r| - δ/2)``.  df/dr = clip(r, -δ, δ), df/dδ = max(|r| - δ, 0); at the border r "
    "counts as inside",
    pairs((0.6, 1.0), (-2, 2), (0.75, 1.5)),
    delta=lambda delta, r: relu(abs_(r) - delta),
    r=lambda delta, r: clip(r, -delta, delta),
)


def _root(delta: Any, r: Any) -> Any:
    return sqrt(1 + (r / delta) ** 2)


pseudo_huber: Any = special(
    "pseudo_huber(delta, r)",
    "``δ² (s - 1)`` with ``s = √(1 + (r/δ)²)``.  df/dr = r / s, df/dδ = 2 δ (s - 1) - r² / (δ s)",
    pairs((0.6, 2.0), (-2, 2), (0.75, 1.5)),
    delta=lambda delta, r: 2 * delta * (_root(delta, r) - 1) - r * r / (delta * _root(delta, r)),
    r=lambda delta, r: r / _root(delta, r),
)
