"""Findings for a person who reads them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.lint.finding import Finding


def as_text(findings: Sequence[Finding]) -> str:
    """A line for each place and fault, and below it what to write instead."""
    lines = []
    for finding in findings:
        lines.append(f"{finding}  ({finding.name})")
        lines.append(f"    instead: {finding.instead}")
    return "\n".join(lines)
