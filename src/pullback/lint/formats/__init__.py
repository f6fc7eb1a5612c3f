"""How findings are written: for people, for programs, for code hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pullback.lint.finding import Finding
from pullback.lint.formats.github import as_github
from pullback.lint.formats.json import as_json
from pullback.lint.formats.sarif import as_sarif
from pullback.lint.formats.text import as_text

FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}

__all__ = ["FORMATS"]
