"""What the source of a class says: the findings of `pullback lint`, for the class alone."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any


def findings_of(target: Any) -> list[Any]:
    """The findings of `pullback lint` in the class; none for what has no source."""
    from pullback.lint import lint_text

    if not isinstance(target, type):
        return []
    try:
        file = inspect.getsourcefile(target)
        lines, first = inspect.getsourcelines(target)
        text = Path(file or "").read_text(encoding="utf-8")
    except (TypeError, OSError, UnicodeDecodeError):
        return []
    last = first + len(lines)
    return [finding for finding in lint_text(text, file or "") if first <= finding.line < last]
