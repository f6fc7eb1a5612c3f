"""The graph of a program as files: DOT for Graphviz, SVG for a browser."""

from __future__ import annotations

from pathlib import Path

from pullback.demo.runner import Outcome

FORMATS = ("dot", "svg")


def write(outcome: Outcome, out: Path) -> None:
    """Draw the Tensors that the program returned into `out`, and note the files in the outcome."""
    if not outcome.drawable:
        return
    from pullback.draw import Picture

    out.mkdir(parents=True, exist_ok=True)
    picture = Picture(tuple(outcome.drawable.values()), outcome.drawable)
    outcome.files = [str(picture.save(out / f"{outcome.example.name}.{ending}")) for ending in FORMATS]
