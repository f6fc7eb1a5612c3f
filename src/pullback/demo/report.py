"""The report as styled lines.  Knows no terminal: a line is a list of ``(text, style)``, styles are names.

Columns are measured in characters, so that the same lines serve Rich, a plain terminal and a file.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from pullback.demo.course import Example
from pullback.demo.runner import Outcome, Row, is_numeric

Line = list[tuple[str, str]]

INDENT = 4
LEGEND = (
    "Every number beside a sign was computed just now and compared with the truth, found another way. "
    "✓ it is equal. ≠ it is wrong, shown on purpose beside the right one. Lines without a sign are remarks."
)


def opening(count: int, width: int, version: str, folder: Path) -> list[Line]:
    """The first lines."""
    left, right = "pullback demo", f"version {version}, {_count(count, 'program')}"
    head: Line = [(left, "title"), (right.rjust(width - len(left)), "dim")]
    notes = [LEGEND, f"The programs are in {folder}"]
    return [head, [], *[line for note in notes for line in _paragraph(note, width, 0, "dim")]]


def listing(examples: list[Example]) -> list[Line]:
    """Names and titles, under the headings of the course."""
    wide = max(len(example.name) for example in examples)
    lines: list[Line] = []
    for part in dict.fromkeys(example.part for example in examples):
        lines += [[], [(part, "part")]]
        for example in examples:
            if example.part == part:
                lines.append([(f"  {example.name.ljust(wide)}  ", "number"), (example.title, "text")])
    return lines[1:]


def part_heading(name: str, width: int) -> list[Line]:
    """The heading of a part of the course."""
    return [[], [(f"── {name} ".ljust(width, "─"), "part")]]


def heading(example: Example, width: int) -> list[Line]:
    """Number, title and file of a program, and what it teaches."""
    number, file = f"{example.number:02}".ljust(INDENT), example.path.name
    head: Line = [(number, "number"), (example.title, "title")]
    room = width - INDENT - len(example.title)
    if room >= len(file) + 2:
        head.append((file.rjust(room), "dim"))
    return [[], head, *_paragraph(example.text, width, INDENT, "text"), []]


def body(outcome: Outcome, width: int) -> list[Line]:
    """What the program showed, in columns, with its remarks between."""
    labels, values = _columns(outcome.checked)
    lines: list[Line] = []
    for row in outcome.rows:
        if row.right is None:
            lines += _paragraph(row.what, width, INDENT + 2, "remark")
        else:
            lines += _check(row, labels[row.what], next(values), width)
    if outcome.crash:
        lines.append([(" " * INDENT + "The program stopped with an error:", "bad")])
        lines += [[(" " * INDENT + text, "text")] for text in outcome.crash.rstrip().splitlines()]
    if outcome.files:
        lines += _paragraph(f"graph: {_files(outcome.files)}", width, INDENT + 2, "dim")
    return lines


def closing(outcomes: list[Outcome], seconds: float, width: int, page: Path | None = None) -> list[Line]:
    """The last lines: how much was checked, what failed, and where the pictures are."""
    rows = [row for outcome in outcomes for row in outcome.checked]
    damage = sum(row.relation == "instead of" for row in rows)
    lines: list[Line] = [[], [("─" * width, "part")]]
    count = f"{_count(len(outcomes), 'program')}, {_count(len(rows), 'check')} in {seconds:.1f} s:"
    if all(outcome.ok for outcome in outcomes):
        purpose = f" (≠: {_count(damage, 'number')} wrong on purpose)" if damage else ""
        return [*lines, *_paragraph(f"{count} all right{purpose}.", width, 0, "good"), *_pictures(page)]
    lines += _paragraph(f"{count} NOT all right.", width, 0, "bad")
    for outcome in outcomes:
        if not outcome.ok:
            lines.append([(" " * INDENT + f"{outcome.example.name}: {_why_not_ok(outcome)}", "bad")])
    return [*lines, *_pictures(page)]


def _pictures(page: Path | None) -> list[Line]:
    return [[(f"The graphs are in {page.parent}; {page} shows them in a browser.", "text")]] if page else []


def _why_not_ok(outcome: Outcome) -> str:
    if outcome.crash:
        return "stopped with an error"
    return f"{_count(len(outcome.wrong), 'check')} FAILED" if outcome.wrong else "nothing was checked"


def _check(row: Row, label: str, value: str, width: int) -> list[Line]:
    """One check: sign, label, value, and how far from the truth."""
    sign, style = _sign(row)
    head: Line = [(" " * INDENT, ""), (sign, style), (f" {label}", "text")]
    tail: Line = [(f"  {value}", style if sign != "✓" else "value")] if value.strip() else []
    if row.error is not None or row.relation == "instead of" or not row.right:
        tail.append((f"  {_compared(row)}", "dim" if row.right else "bad"))
    if sum(len(text) for text, _ in head + tail) <= width:
        return [head + tail]
    tail = [(text.strip() + "  ", style) for text, style in tail]
    return [head[:-1] + [(f" {row.what}", "text")], [(" " * (INDENT + 2), ""), *tail]]


def _sign(row: Row) -> tuple[str, str]:
    if not row.right:
        return "FAILED", "bad"
    return ("≠", "odd") if row.relation == "instead of" else ("✓", "good")


def _compared(row: Row) -> str:
    if row.relation == "fact":
        return "is not so"
    if row.relation == "instead of":
        return f"right: {_one(row.truth)}" if row.right else f"should differ from {_one(row.truth)}"
    if not row.right:
        return f"should be {_one(row.truth)}"
    return f"off by {row.error:.0e}" if row.error else "exact"


def _columns(rows: list[Row]) -> tuple[dict[str, str], Any]:
    """Labels and values of one program, padded so that they stand under each other."""
    wide = max((len(row.what) for row in rows), default=0)
    labels = {row.what: row.what.ljust(wide) for row in rows}
    values = ["" if row.relation == "fact" else _one(row.value) for row in rows]
    points = [_before_point(v) if _is_number(row.value) else 0 for row, v in zip(rows, values, strict=True)]
    shifted = [
        " " * (max(points) - point) + value if _is_number(row.value) else value
        for row, value, point in zip(rows, values, points, strict=True)
    ]
    column = max(map(len, shifted), default=0)
    return labels, iter([value.ljust(column) for value in shifted])


def _before_point(text: str) -> int:
    return len(text.partition(".")[0])


def _is_number(value: Any) -> bool:
    return is_numeric(value) and not isinstance(value, list)


def _one(value: Any) -> str:
    """A value in few characters: seven significant digits, whole numbers without a point."""
    if isinstance(value, list):
        return f"[{' '.join(_one(item) for item in value)}]"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e7 else f"{value:.7g}"
    return str(value)


def _files(files: list[str]) -> str:
    """``graphs/03_square.dot, .svg`` for files that differ in their ending only."""
    first, *rest = files
    return ", ".join([first, *[Path(file).suffix for file in rest]])


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _paragraph(text: str, width: int, indent: int, style: str) -> list[Line]:
    space = " " * indent
    wrapped = textwrap.wrap(text, width, initial_indent=space, subsequent_indent=space, break_long_words=False)
    return [[(line, style)] for line in wrapped]
