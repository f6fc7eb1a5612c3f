"""One target of the command line, in this process or spread over others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pullback.check.byhand import compare_by_hand
from pullback.check.probing import Outcome
from pullback.check.smallest import shrink
from pullback.check.targets import load
from pullback.check.verdicts import Report
from pullback.check.whole import chosen, prepare, remote, run_probes


def examine(
    text: str,
    target: Any,
    inputs: Any,
    *,
    order: int,
    only: Sequence[str],
    skip: Sequence[str],
    seed: int,
    library: str,
    expected: str | None,
    pool: Any,
    progress: Callable[[str], None],
) -> Report:
    """Examine a target that `load` found under a text; `pool` gets a task for each probe."""
    names = chosen(only, skip)
    report, specimen = prepare(target, inputs, order, seed, library)
    if specimen is None:
        return report
    submit = None if pool is None else partial(pool.submit, _elsewhere, text, inputs, order, seed, library)
    report.outcomes = run_probes(names, specimen, submit, progress)
    if expected:
        report.outcomes.append(compare_by_hand(specimen, expected))
    for outcome in report.outcomes:
        for fault in outcome.faults[:1]:
            if outcome.probe in {"values", "contract"}:
                fault.inputs = shrink(specimen, outcome.probe, fault) or fault.inputs
    return report


def _elsewhere(text: str, inputs: Any, order: int, seed: int, library: str, name: str) -> Outcome:
    """One probe in another process, which imports the target itself."""
    ((_, target),) = load(text)
    return remote(target, inputs, order, seed, library, name)
