"""Reports for another program."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from pullback.check.verdicts import Report


def as_json(reports: Sequence[Report]) -> str:
    """A list of reports; numbers that JSON does not have are texts."""
    return json.dumps([_plain(report.as_dict()) for report in reports], indent=2)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
