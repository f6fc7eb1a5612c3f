"""Writes ``records.json``: what torch gives for each case, and whether its derivatives are right.

Run it where torch is installed, after a case was added or changed; with names, or for what has no record yet::

    PYTHONPATH=src:tests python tests/torch_functions/record.py [--new | name ...]
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from torch_functions import loading, measure

RECORDS = Path(__file__).with_name("records.json")
FIELDS = ("values", "first", "second")


def flat(arrays: list[np.ndarray]) -> list[float]:
    """All numbers of all arrays in one list; a complex number is two."""
    parts = [a.ravel().view(a.real.dtype) if a.dtype.kind == "c" else a.ravel() for a in map(np.asarray, arrays)]
    return [float(f"{x:.12g}") for part in parts for x in part.astype(np.float64)]


def record(torch: Any, case: Any) -> dict[str, Any]:
    """What torch gives."""
    point = measure.start(torch, case)
    found = {"values": flat(measure.values(torch, point)), "first": flat(measure.derivatives(torch, point, 1))}
    try:
        found["second"] = flat(measure.derivatives(torch, point, 2))
    except RuntimeError as error:
        found["second"] = []
        found["raises"] = str(error).split("\n")[0][:80]
    return found


def verdict(torch: Any, case: Any, order: int) -> str:
    """Whether torch's derivatives of this order are those of the order below: "right", "wrong" or "raises"."""
    point = measure.start(torch, case)
    try:
        found = measure.derivatives(torch, point, order)
    except RuntimeError:
        return "raises"
    return "right" if all(agrees(torch, point, found, order, attempt) for attempt in range(2)) else "wrong"


def agrees(torch: Any, point: measure.Point, found: list[Any], order: int, attempt: int) -> bool:
    """Whether derivatives agree with differences along one direction."""
    along, slope = measure.by_differences(torch, point, order, attempt)
    scale = float(np.sqrt(sum(np.sum(np.abs(g) ** 2) for g in found) * sum(np.sum(np.abs(u) ** 2) for u in along)))
    tolerance = point.case.loose * 30 if point.case.loose else 1e-7
    return abs(measure.pairing(found, along) - slope) <= tolerance * (1 + scale)


def main(names: list[str]) -> None:
    """Measure, judge, write."""
    import torch

    warnings.simplefilter("ignore")
    cases = loading.cases("torch")
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    if names == ["--new"]:
        names = [name for name in cases if name not in records]
    for name in names or list(cases):
        case = cases[name]
        try:
            records[name] = record(torch, case)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        for order, expected in ((1, "right" if case.exact else "wrong"), (2, case.torch_second)):
            got = verdict(torch, case, order)
            if got != expected != "meant":
                print(f"{name}: order {order} is {got}, expected {expected}")
    lines = [f"{json.dumps(name)}: {json.dumps(records[name])}" for name in sorted(cases) if name in records]
    RECORDS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
