"""The report as data: what ``--json`` prints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from pullback.demo.course import Example
from pullback.demo.runner import Outcome, Row


def document(outcomes: list[Outcome], version: str, page: Path | None) -> dict[str, Any]:
    """Everything that was run, for another program; `page` shows the pictures."""
    ok, programs = all(outcome.ok for outcome in outcomes), [_program(outcome) for outcome in outcomes]
    return {"pullback": version, "ok": ok, "programs": programs, "page": page and str(page)}


def listing(examples: list[Example]) -> list[dict[str, str]]:
    """Names and titles."""
    return [{"name": example.name, "part": example.part, "title": example.title} for example in examples]


def _program(outcome: Outcome) -> dict[str, Any]:
    (names,) = listing([outcome.example])
    return {
        **names,
        "text": outcome.example.text,
        "ok": outcome.ok,
        "seconds": round(outcome.seconds, 4),
        "rows": [_row(row) for row in outcome.rows],
        "files": outcome.files,
        "error": outcome.crash or None,
    }


def _row(row: Row) -> dict[str, Any]:
    if row.right is None:
        return {"kind": "remark", "what": row.what}
    if row.relation == "fact":
        return {"kind": "fact", "what": row.what, "right": row.right}
    facts = {"value": row.value, "relation": row.relation, "truth": row.truth, "error": row.error}
    return {
        "kind": "value",
        "what": row.what,
        **{name: _finite(fact) for name, fact in facts.items()},
        "right": row.right,
    }


def _finite(value: Any) -> Any:
    """JSON has no nan and no infinity: they become the strings ``"nan"`` and ``"inf"``."""
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
