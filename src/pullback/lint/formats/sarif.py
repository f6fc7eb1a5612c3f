"""Findings as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from pullback.lint.finding import Finding
from pullback.lint.rules import RULES

_LEVEL = {"error": "error", "warning": "warning", "style": "note"}


def as_sarif(findings: Sequence[Finding]) -> str:
    """One run with the rules that found something, and a result for each finding."""
    codes = sorted({finding.code for finding in findings})
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "pullback lint", "rules": [_rule(code) for code in codes]}},
                "results": [_result(finding, codes) for finding in findings],
            }
        ],
    }
    return json.dumps(document, indent=2)


def _rule(code: str) -> dict[str, Any]:
    rule = RULES.get(code)
    if rule is None:  # a file that could not be read
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.page},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
    }


def _result(finding: Finding, codes: list[str]) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVEL[finding.severity],
        "message": {"text": f"{finding.message}; instead: {finding.instead}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": PurePath(finding.path).as_posix()},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                },
                **({"logicalLocations": [{"fullyQualifiedName": finding.function}]} if finding.function else {}),
            }
        ],
    }
