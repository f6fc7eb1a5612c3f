"""Findings for another program."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pullback.lint.finding import Finding


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects: path, line, column, code, name, severity, function, message, instead."""
    return json.dumps([finding.as_dict() for finding in findings], indent=2)
