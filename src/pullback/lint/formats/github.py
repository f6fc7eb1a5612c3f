"""Findings as commands that GitHub Actions shows beside the lines of a change."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.lint.finding import Finding

_LEVEL = {"error": "error", "warning": "warning", "style": "notice"}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def as_github(findings: Sequence[Finding]) -> str:
    """One workflow command for each finding."""
    return "\n".join(
        f"::{_LEVEL[f.severity]} file={_property(f.path)},line={f.line},col={f.column},title={_property(f'{f.code} {f.name}')}"
        f"::{_escaped(f'{f.message}; instead: {f.instead}')}"
        for f in findings
    )
