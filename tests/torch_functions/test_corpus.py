"""Functions as people write them for torch give in ``pullback.torch`` what they give in torch, and what is right.

Values and first gradients equal torch's. Second derivatives are right: they equal torch's where those are right, and
otherwise they agree with differences of the first gradient, or are refused. Third derivatives are right or refused.

``records.json`` holds what torch gave (see ``record.py``); tests marked `torch` compare with the installed one.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import pullback.torch as library
from torch_functions import loading, measure
from torch_functions.case import Case
from torch_functions.record import RECORDS, flat, record, verdict

CASES = loading.cases("pullback")
TORCH = json.loads(RECORDS.read_text())

every_case = pytest.mark.parametrize("name", sorted(CASES))


def same(found: list[np.ndarray], recorded: list[float], case: Case) -> None:
    np.testing.assert_allclose(flat(found), recorded, rtol=max(case.loose, 1e-7), atol=max(case.loose, 1e-9))


def check_differences(point: measure.Point, found: list[np.ndarray], order: int) -> None:
    """The derivatives are those of the order below."""
    tolerance = 30 * point.case.loose or 3e-7
    scale = np.sqrt(sum(np.sum(np.abs(g) ** 2) for g in found))
    for attempt in range(1 if order == 3 else 2):
        along, slope = measure.by_differences(library, point, order, attempt)
        length = np.sqrt(sum(np.sum(np.abs(u) ** 2) for u in along))
        assert abs(measure.pairing(found, along) - slope) <= tolerance * (1 + scale * length)


@every_case
def test_values_and_first_gradients(name: str) -> None:
    case = CASES[name]
    with case.warned():
        if not case.stands(0):
            with pytest.raises(RuntimeError):
                measure.start(library, case)
            return
        point = measure.start(library, case)
        same(measure.values(library, point), TORCH[name]["values"], case)
        if not case.stands(1):
            with pytest.raises(RuntimeError):
                measure.derivatives(library, point, 1)
            return
        found = measure.derivatives(library, point, 1)
        same(found, TORCH[name]["first"], case)
        if case.exact:
            check_differences(point, found, 1)


@every_case
@pytest.mark.parametrize("order", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_higher_derivatives(name: str, order: int) -> None:
    case = CASES[name]
    if not case.stands(order - 1):
        return
    with case.warned():
        point = measure.start(library, case)
        if not case.stands(order):
            with pytest.raises((RuntimeError, ValueError), match=r"is refused|once_differentiable|read-only"):
                measure.derivatives(library, point, order)
            return
        found = measure.derivatives(library, point, order)
        if order == 2 and case.torch_second in {"right", "meant"}:
            same(found, TORCH[name]["second"], case)
        if case.torch_second != "meant" and (case.smooth or order == 2):
            check_differences(point, found, order)


def test_every_record_has_its_case() -> None:
    assert sorted(TORCH) == sorted(CASES)


@pytest.mark.torch
@every_case
def test_records_are_what_torch_gives(name: str) -> None:
    torch: Any = pytest.importorskip("torch")
    case = loading.cases("torch")[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = record(torch, case)
        for field in ("values", "first", "second"):
            np.testing.assert_allclose(
                found[field], TORCH[name][field], rtol=max(case.loose, 1e-6), atol=max(case.loose, 1e-8)
            )
        assert verdict(torch, case, 1) == ("right" if case.exact else "wrong")
        if case.torch_second != "meant":
            assert verdict(torch, case, 2) == case.torch_second
