"""The sub-command ``pullback demo``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pullback.commands.words import complain

SUMMARY = "run a course of short programs and check every number they show"
DESCRIPTION = """\
Runs the programs of examples/, from a first sigmoid to compiled C code, and shows what each one teaches. Every number
is compared with the truth; the exit status is 0 only if all of them are right. The graph of each program is written
as .dot and .svg, and a page shows them all: index.html.
"""
EXAMPLES = """\
examples:
  pullback demo                        everything, a few seconds
  pullback demo --list                 what there is
  pullback demo square                 one program, by its name ...
  pullback demo 15 16                  ... or number, or several
  pullback demo --json > demo.json     the same facts for another program
  pullback demo --out /tmp/graphs      graphs somewhere else than ./pullback-demo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the sub-command understands."""
    add = parser.add_argument
    add("programs", nargs="*", metavar="PROGRAM", help="run these programs only: names, numbers or files")
    add("--list", action="store_true", help="name the programs and stop")
    add("--only", action="append", default=[], metavar="NAME", help="the same, said with an option; may be repeated")
    add("--out", type=Path, default=Path("pullback-demo"), metavar="DIR", help="folder for the graphs (%(default)s)")
    add("--no-files", action="store_true", help="draw nothing, write nothing")
    add("--json", action="store_true", help="write one JSON document instead of the report")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit status: 0 all right, 1 a number is wrong, 2 wrong usage."""
    from pullback.demo import course

    try:
        chosen = course.select(course.examples(), arguments.programs + arguments.only)
    except LookupError as error:
        word, near = error.args
        meant = f"there are {' and '.join(near)}" if near[1:] else f"there is {near[0]}" if near else ""
        return complain("demo", f"there is no program named {word!r}; {meant or 'pullback demo --list names them all'}")
    if arguments.list:
        return _list(chosen, arguments.json)
    out = None if arguments.no_files else arguments.out
    try:
        return _json(chosen, out) if arguments.json else _report(chosen, out)
    except PermissionError as error:
        return complain("demo", f"no right to write: {error}; --out names another folder, --no-files writes nothing")
    except (FileExistsError, NotADirectoryError) as error:
        return complain("demo", f"not a folder: {error}; --out names another folder, --no-files writes nothing")


def _outcome(example: Any, out: Path | None) -> Any:
    from pullback.demo import pictures, runner

    outcome = runner.run(example)
    if out is not None:
        pictures.write(outcome, out)
    return outcome


def _page(outcomes: list[Any], out: Path | None) -> Path | None:
    from pullback.demo import course, gallery

    drawn = out is not None and any(outcome.files for outcome in outcomes)
    return gallery.write(course.examples(), out) if drawn and out else None


def _report(chosen: list[Any], out: Path | None) -> int:
    import time

    from pullback import __version__
    from pullback.demo import report
    from pullback.demo.screen import screen

    terminal, outcomes, place = screen(), [], ""
    width, began = terminal.width, time.perf_counter()
    terminal.show(report.opening(len(chosen), width, __version__, chosen[0].path.parent))
    for example in chosen:
        if example.part != place:
            place = example.part
            terminal.show(report.part_heading(place, width))
        terminal.show(report.heading(example, width))
        with terminal.working(f"running {example.path.name} ..."):
            outcomes.append(_outcome(example, out))
        terminal.show(report.body(outcomes[-1], width))
    page = _page(outcomes, out)
    terminal.show(report.closing(outcomes, time.perf_counter() - began, width, page))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def _json(chosen: list[Any], out: Path | None) -> int:
    from pullback import __version__
    from pullback.demo import data

    outcomes = [_outcome(example, out) for example in chosen]
    document = data.document(outcomes, __version__, _page(outcomes, out))
    _write_json(document)
    return 0 if document["ok"] else 1


def _list(chosen: list[Any], as_json: bool) -> int:
    from pullback.demo import data, report
    from pullback.demo.screen import screen

    if as_json:
        _write_json(data.listing(chosen))
    else:
        screen().show(report.listing(chosen))
    return 0


def _write_json(document: Any) -> None:
    import json

    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")
