"""Losses: a parabola near 0, straight lines far away."""

from __future__ import annotations

from typing import Any

from pullback.ops.activations import relu
from pullback.ops.complexes import abs_
from pullback.ops.elementary import hypot
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


pseudo_huber: Any = special(
    "pseudo_huber(delta, r)",
    "``δ² (√(1 + (r/δ)²) - 1) = δ (h - δ)`` with ``h = hypot(δ, r)``.  df/dr = δ r / h, df/dδ = (h - δ)² / h",
    pairs((0.6, 2.0), (-2, 2), (0.75, 1.5)),
    delta=lambda delta, r: (r * r / (hypot(delta, r) + delta)) ** 2 / hypot(delta, r),  # h - δ, without cancellation
    r=lambda delta, r: delta * r / hypot(delta, r),
)
