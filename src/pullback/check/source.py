"""What the source of a class says: the findings of `pullback lint`, for the class alone."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from pullback.lint import lint_text
from pullback.lint.analysis import Analysis
from pullback.lint.operators import operators
from pullback.lint.source import Source, Unreadable


def findings_of(target: Any) -> list[Any]:
    """The findings of `pullback lint` in the class; none for what has no source."""
    found = _source(target)
    if found is None:
        return []
    file, text, first, last = found
    return [finding for finding in lint_text(text, file) if first <= finding.line < last]


def differentiated(target: Any) -> frozenset[str]:
    """The arguments of forward to which backward plainly gives gradients, as the source says."""
    found = _source(target)
    if found is None:
        return frozenset()
    file, text, first, last = found
    try:
        every = operators(Source(file, text))
    except Unreadable:
        return frozenset()
    return next(
        (Analysis(op).differentiated for op in every if first <= op.node.lineno < last and op.name == target.__name__),
        frozenset(),
    )


def _source(target: Any) -> tuple[str, str, int, int] | None:
    """File, its text, and the lines of a class."""
    if not isinstance(target, type):
        return None
    try:
        file = inspect.getsourcefile(target) or ""
        lines, first = inspect.getsourcelines(target)
        return file, Path(file).read_text(encoding="utf-8"), first, first + len(lines)
    except (TypeError, OSError, UnicodeDecodeError):
        return None
