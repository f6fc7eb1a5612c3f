"""The sub-command ``pullback lint``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pullback.commands.words import complain, separated

if TYPE_CHECKING:
    from pullback.lint.config import Config
    from pullback.lint.finding import Finding

SUMMARY = "find faults in the source of custom autograd Functions, without running it"
DESCRIPTION = """\
Reads Python files and says what is wrong with the classes that derive from torch.autograd.Function, pullback.Function and
pullback.Primitive: saved intermediates, wrong numbers of gradients, values that leave the graph, state that calls share ...
Nothing is imported or run. The exit status is 0 without findings, 1 with some, 2 for wrong usage.
"""
EXAMPLES = """\
examples:
  pullback lint src                        every Python file under src
  pullback lint ops.py --select PB2        only the rules about what is saved
  pullback lint src --ignore PB1,PB407     without some
  pullback lint --explain PB201            what a rule looks for, why, and what to write instead
  pullback lint --rules                    all rules, a line each
  pullback lint src --fix                  repair what can be repaired without changing any meaning
  pullback lint src --format sarif         for code hosts; also json and github

A line is excused by a comment:  x.mul_(2)  # noqa: PB401
A project is configured in pyproject.toml:
  [tool.pullback.lint]
  ignore = ["PB1"]
  exclude = ["tests/data/*"]
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the sub-command understands."""
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="files and folders (default: this folder); - reads standard input",
    )
    add(
        "--select",
        action="append",
        default=[],
        metavar="CODES",
        help="ask these rules only: codes or their beginnings, with commas",
    )
    add("--ignore", action="append", default=[], metavar="CODES", help="do not ask these rules")
    add("--exclude", action="append", default=[], metavar="PATTERN", help="leave these files or folders out")
    add(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="how findings are written (%(default)s)",
    )
    add("--fix", action="store_true", help="repair what can be repaired without changing any meaning")
    add("--exit-zero", action="store_true", help="exit with 0 even with findings")
    add("--explain", metavar="CODE", help="print the page of a rule and stop")
    add("--rules", action="store_true", help="name all rules and stop")
    add("--isolated", action="store_true", help="do not read pyproject.toml")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit status: 0 nothing found, 1 findings, 2 wrong usage."""
    from pullback.lint.config import BadConfig, Config, load
    from pullback.lint.rules import RULES

    if arguments.explain or arguments.rules:
        return _tell(arguments.explain)
    select, ignore = ([code.upper() for code in separated(given)] for given in (arguments.select, arguments.ignore))
    for code in [*select, *ignore]:
        if not any(known.startswith(code) for known in RULES):
            return complain("lint", f"there is no rule {code}; --rules names them all")
    paths = arguments.paths or [Path()]
    missing = [path for path in paths if str(path) != "-" and not path.exists()]
    if missing:
        return complain("lint", f"there is no file or folder {missing[0]}")
    try:
        config = Config() if arguments.isolated else load(_start(paths))
    except BadConfig as error:
        return complain("lint", str(error))
    return _lint(paths, config.with_options(select, ignore, arguments.exclude), arguments)


def _lint(paths: Sequence[Path], config: Config, arguments: argparse.Namespace) -> int:
    from pullback.lint.formats import FORMATS
    from pullback.lint.run import UNREADABLE, lint_file, lint_text

    findings: list[Finding] = []
    count = repaired = 0
    for path in _progress(paths, config):
        count += 1
        if str(path) == "-":
            findings += lint_text(sys.stdin.read(), "<stdin>", config)
            continue
        found = lint_file(path, config)
        if arguments.fix and any(finding.code != UNREADABLE for finding in found):
            try:
                repaired += _fix(path, found)
            except ImportError as error:
                return complain("lint", str(error))
            found = lint_file(path, config)
        findings += found
    text = FORMATS[arguments.format](findings)
    if text:
        print(text)
    if arguments.format == "text":
        print(_closing(findings, count, repaired))
    return 1 if findings and not arguments.exit_zero else 0


def _progress(paths: Sequence[Path], config: Config) -> Iterator[Path]:
    """The files; with a bar where a person watches and there are many."""
    from pullback.lint.run import files

    every = list(files(paths, config.exclude))
    if len(every) < 200 or not sys.stderr.isatty():
        yield from every
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(every, description="reading", console=Console(stderr=True), transient=True)


def _fix(path: Path, findings: Sequence[Finding]) -> int:
    """Repair a file; how many findings are gone."""
    import tokenize

    from pullback.lint.fix import FIXABLE, fixed
    from pullback.lint.source import read

    before = read(path)
    after = fixed(before, findings)
    if after == before:
        return 0
    with tokenize.open(path) as file:
        encoding = file.encoding
    path.write_text(after, encoding=encoding)
    return sum(finding.code in FIXABLE for finding in findings)


def _closing(findings: Sequence[Finding], count: int, repaired: int) -> str:
    from pullback.lint.finding import SEVERITIES

    grades = Counter(finding.severity for finding in findings)
    parts = [
        f"{grades[grade]} {grade}{'s' if grades[grade] != 1 and grade != 'style' else ''}"
        for grade in SEVERITIES
        if grades[grade]
    ]
    said = ", ".join(parts) if parts else "nothing found"
    return f"{said} in {count} file{'s' if count != 1 else ''}" + (f"; {repaired} repaired" if repaired else "")


def _tell(code: str | None) -> int:
    from pullback.lint import pages
    from pullback.lint.rules import RULES

    if code is None:
        for known in sorted(RULES):
            print(f"{known}  {RULES[known].name:28} {RULES[known].severity:8} {RULES[known].summary}")
        return 0
    rule = RULES.get(code.upper()) or next((r for r in RULES.values() if r.name == code.lower()), None)
    if rule is None:
        return complain("lint", f"there is no rule {code}; --rules names them all")
    print(pages.as_text(rule))
    return 0


def _start(paths: Sequence[Path]) -> Path:
    first = Path() if str(paths[0]) == "-" else paths[0]
    resolved = first.resolve()
    return resolved if resolved.is_dir() else resolved.parent
