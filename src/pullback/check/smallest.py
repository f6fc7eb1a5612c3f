"""The smallest inputs that still show a fault: Hypothesis proposes simpler arrays, and shrinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.probing import PROBES, Fault, Outcome, Specimen

_SIMPLE = [0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 1.5, -2.0]


def shrink(specimen: Specimen, probe: str, fault: Fault, tries: int = 60) -> str:
    """Inputs, as a person would write them, that show the fault of the same name and are as simple as could be found.

    Returns an empty text where Hypothesis is not installed or nothing simpler shows the fault.
    """
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError:
        return ""
    sizes = sorted({n for a in specimen.arguments if isinstance(a, np.ndarray) for n in a.shape})
    numbers = sum(a.size for a in specimen.arguments if isinstance(a, np.ndarray))
    if numbers > 200:
        return ""

    @st.composite
    def points(draw: Any) -> list[Any]:
        lengths = {n: draw(st.integers(min(n, 1), n)) for n in sizes}
        return [
            _drawn(draw, st, a, lengths) if k in specimen.wanted else _cut(a, lengths)
            for k, a in enumerate(specimen.arguments)
        ]

    def shows(arguments: list[Any]) -> bool:
        outcome = Outcome(probe)
        try:
            with np.errstate(all="ignore"):
                PROBES[probe].look(specimen.with_arguments(arguments), outcome)
        except Exception:
            return False
        return any(found.name == fault.name for found in outcome.faults)

    settings = hypothesis.settings(
        max_examples=tries,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        found = hypothesis.find(points(), shows, settings=settings)
    except (hypothesis.errors.NoSuchExample, hypothesis.errors.HypothesisException):
        return ""
    return specimen.shown(found)


def _cut(value: Any, lengths: dict[int, int]) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(0, lengths[n]) for n in value.shape)]


def _drawn(draw: Any, st: Any, value: np.ndarray, lengths: dict[int, int]) -> np.ndarray:
    shape = tuple(lengths[n] for n in value.shape)
    numbers = draw(st.lists(st.sampled_from(_SIMPLE), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return np.array(numbers, float).reshape(shape).astype(value.dtype)
