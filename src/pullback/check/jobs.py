"""One target of the command line, in this process or spread over others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.check.byhand import compare_by_hand
from pullback.check.probing import Outcome
from pullback.check.smallest import shrink
from pullback.check.targets import load
from pullback.check.verdicts import Report
from pullback.check.whole import chosen, prepare, run_probe


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
    if pool is not None:
        tasks = [pool.submit(_elsewhere, text, inputs, order, seed, library, name) for name in names]
        for name, task in zip(names, tasks, strict=True):
            report.outcomes.append(task.result())
            progress(name)
    else:
        for name in names:
            progress(name)
            report.outcomes.append(run_probe(name, specimen))
            if report.outcomes[-1].ends_it:
                break
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
    _, specimen = prepare(target, inputs, order, seed, library)
    return run_probe(name, specimen) if specimen is not None else Outcome(name, "inconclusive")
