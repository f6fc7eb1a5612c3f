"""A report as plain text; the terminal's colours are put on by the command."""

from __future__ import annotations

from pullback.check.probing.faults import CATALOGUE
from pullback.check.probing.outcome import Fault, Outcome
from pullback.check.verdicts import Report

SIGNS = {"pass": "✓", "fault": "✗", "inconclusive": "?", "not applicable": "–"}


def as_text(report: Report) -> str:
    """The verdict of each probe, the faults with their lessons, and what a pass stands on."""
    lines = [f"{report.name}  ({report.world}){'  ' + report.where if report.where else ''}"]
    if report.inputs:
        lines.append(f"  inputs: {report.inputs}{'   (proposed; --inputs gives others)' if report.proposed else ''}")
    if report.error:
        return "\n".join([*lines, f"  not examined: {report.error}"])
    lines += [_outcome(outcome) for outcome in report.outcomes]
    for fault in report.faults:
        lines += ["", *_fault(report, fault)]
    for finding in report.grave:
        lines += [
            "",
            f"  {finding.code} {finding.name}: {finding.message}",
            f"    at {finding.path}:{finding.line}",
            f"    instead: {finding.instead}",
        ]
    lines += ["", *_stands_on(report)]
    return "\n".join(lines)


def _outcome(outcome: Outcome) -> str:
    said = "".join(f"  {note}" for note in ["; ".join(outcome.notes)] if note)
    return f"  {SIGNS[outcome.verdict]} {outcome.probe:10} {outcome.verdict:14} {outcome.seconds:5.2f} s{said}"


def _fault(report: Report, fault: Fault) -> list[str]:
    entry = CATALOGUE[fault.name]
    lines = [f"  ✗ {fault.name}: {entry.summary}", f"    {fault.message}"]
    if fault.found:
        lines.append(f"    found {fault.found}" + (f", expected {fault.expected}" if fault.expected else ""))
    if fault.pattern:
        lines.append(f"    looks like: {fault.pattern}")
    if fault.inputs:
        lines.append(f"    inputs: {fault.inputs}")
    source = report.source_of(fault)
    if source is not None:
        lines.append(f"    at {source.path}:{source.line}  ({source.code}: {source.message})")
    elif fault.where:
        lines.append(f"    at {fault.where}")
    return [*lines, f"    why it matters: {entry.why}", f"    instead: {entry.instead}"]


def _stands_on(report: Report) -> list[str]:
    tried = [
        f"{outcome.probe}: {', '.join(dict.fromkeys(outcome.tried))}" for outcome in report.outcomes if outcome.tried
    ]
    left = [
        f"{outcome.probe}: {', '.join(dict.fromkeys(outcome.left_out))}"
        for outcome in report.outcomes
        if outcome.left_out
    ]
    verdict = "no fault found" if report.ok else f"{len(report.faults) + len(report.grave)} fault(s)"
    lines = [f"  {verdict}; seed {report.seed}, orders up to {report.order}"]
    lines += [f"    tried     {text}" for text in tried]
    lines += [f"    not tried {text}" for text in left]
    return lines
