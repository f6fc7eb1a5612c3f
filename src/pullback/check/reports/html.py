"""Reports as one page that needs nothing else: verdicts, faults with their lessons, curves, and what a pass stands on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pullback.check.probing import PROBES
from pullback.check.probing.faults import CATALOGUE
from pullback.check.probing.outcome import Fault, Outcome
from pullback.check.reports.plot import loglog
from pullback.check.reports.text import SIGNS
from pullback.check.verdicts import Report

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #ffffff; --soft: #6b6b6b; --line: #dddddd; --bad: #b3261e; --good: #1b7f4b; --unsure: #9a6700; --blue: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #17181a; --soft: #9aa0a6; --line: #34363a; --bad: #ff8a80; --good: #7bd8a4; --unsure: #f0c36a; --blue: #8ab4f8; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-top: 1px solid var(--line); padding-top: 1rem; }
code, pre, .mono { font-family: ui-monospace, monospace; font-size: .88em; } .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.pass { color: var(--good); } .fault { color: var(--bad); } .inconclusive { color: var(--unsure); } .not-applicable { color: var(--soft); }
section.fault-card { border-left: 4px solid var(--bad); padding: .2rem 1rem; margin: 1rem 0; color: var(--ink); } section.fault-card h3 { color: var(--bad); margin: .3rem 0; font-size: 1.05rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .title { font-size: 13px; fill: var(--ink); } svg .grid { stroke: var(--line); } svg .curve { fill: none; stroke-width: 1.5; }
svg .c0 { stroke: var(--blue); } svg .c1 { stroke: var(--soft); stroke-dasharray: 4 3; } svg .dot.c0 { fill: var(--blue); stroke: none; } svg .dot.c1 { display: none; } svg .label { stroke: none; fill: var(--ink); }
"""


def as_html(reports: Sequence[Report]) -> str:
    """The whole page."""
    bad = sum(not report.ok for report in reports)
    title = f"pullback check: {'no fault found' if not bad else f'{bad} of {len(reports)} with faults'}"
    body = "".join(_one(report) for report in reports)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _one(report: Report) -> str:
    parts = [f'<h2>{escape(report.name)} <span class="soft">{escape(report.world)}</span></h2>']
    if report.where:
        parts.append(f'<p class="mono soft">{escape(report.where)}</p>')
    if report.error:
        return "".join([*parts, f'<p class="fault">not examined: {escape(report.error)}</p>'])
    proposed = " (proposed)" if report.proposed else ""
    parts.append(
        f"<p>inputs{proposed}: <code>{escape(report.inputs)}</code>; seed {report.seed}; orders up to {report.order}</p>"
    )
    parts += [_fault(report, fault) for fault in report.faults]
    for finding in report.grave:
        rows = {"at": f"{finding.path}:{finding.line}", "instead": finding.instead}
        parts.append(_card(f"{finding.code} {finding.name}", finding.message, rows))
    parts.append("<table><tr><th></th><th>probe</th><th>verdict</th><th>what it tried</th></tr>")
    parts += [_row(outcome) for outcome in report.outcomes]
    parts.append("</table>")
    parts += [_curves(outcome) for outcome in report.outcomes if outcome.curves]
    return "".join(parts)


def _row(outcome: Outcome) -> str:
    kind = outcome.verdict.replace(" ", "-")
    summary = PROBES[outcome.probe].summary if outcome.probe in PROBES else ""
    tried = ", ".join(dict.fromkeys(outcome.tried))
    left = (
        f'<br><span class="soft">not tried: {escape(", ".join(dict.fromkeys(outcome.left_out)))}</span>'
        if outcome.left_out
        else ""
    )
    notes = f"<br>{escape('; '.join(outcome.notes))}" if outcome.notes else ""
    return (
        f'<tr><td class="{kind}">{SIGNS[outcome.verdict]}</td><td title="{escape(summary)}">{escape(outcome.probe)}<br>'
        f'<span class="soft">{outcome.seconds:.2f} s</span></td><td class="{kind}">{outcome.verdict}</td>'
        f"<td>{escape(tried)}{notes}{left}</td></tr>"
    )


def _fault(report: Report, fault: Fault) -> str:
    entry = CATALOGUE[fault.name]
    source = report.source_of(fault)
    where = f"{source.path}:{source.line} ({source.code}: {source.message})" if source is not None else fault.where
    rows = {
        "found": fault.found,
        "expected": fault.expected,
        "looks like": fault.pattern,
        "inputs": fault.inputs,
        "at": where,
        "why it matters": entry.why,
        "instead": entry.instead,
    }
    return _card(f"{fault.name}: {entry.summary}", fault.message, rows)


def _card(title: str, message: str, rows: dict[str, str]) -> str:
    items = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in rows.items() if value)
    return f'<section class="fault-card"><h3>{escape(title)}</h3><p>{escape(message)}</p><dl>{items}</dl></section>'


def _curves(outcome: Outcome) -> str:
    drawn = []
    if taylor := outcome.curves.get("taylor"):
        h, remainder = taylor["h"], taylor["remainder"]
        top = next((r / x**2 for x, r in zip(h, remainder, strict=True) if r > 0), 1.0)
        drawn.append(
            loglog(
                "Taylor remainder",
                "step h",
                "|f(x+hv) - f(x) - h J v|",
                [("remainder", h, remainder), ("h²", h, [top * x**2 for x in h])],
            )
        )
    if steps := outcome.curves.get("steps"):
        drawn.append(
            loglog(
                f"Central differences in {steps['entry']} against the rule",
                "step h",
                "|difference|",
                [("difference", steps["h"], steps["error"])],
            )
        )
    return "".join(drawn)
