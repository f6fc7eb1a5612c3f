"""Linting files: find the Functions, ask each rule, leave out what is excused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from pullback.lint.analysis import Analysis
from pullback.lint.config import Config
from pullback.lint.finding import Finding
from pullback.lint.operators import operators
from pullback.lint.rule import Hit, Rule
from pullback.lint.rules import RULES
from pullback.lint.source import Source, Unreadable, read

_CLASS = re.compile(r"\bclass\s+\w+\s*\([^)]*(?:Function|Primitive)\b")

UNREADABLE = "PB001"
UNFINISHED = "PB002"


def files(paths: Iterable[Path], exclude: Iterable[str] = ()) -> Iterator[Path]:
    """The Python files under some paths, in order, without hidden folders, environments and what is excluded."""
    patterns = tuple(exclude)
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, subfolders, names in os.walk(path):
            subfolders[:] = sorted(d for d in subfolders if not _skipped(folder, d, patterns))
            for name in sorted(names):
                file = Path(folder, name)
                if name.endswith((".py", ".pyi")) and not _excluded(file, patterns):
                    yield file


def _skipped(folder: str, name: str, patterns: tuple[str, ...]) -> bool:
    if name.startswith(".") or name in {"__pycache__", "node_modules"}:
        return True
    inside = Path(folder, name)
    return (inside / "pyvenv.cfg").exists() or _excluded(inside, patterns)


def _excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    text = path.as_posix()
    return any(
        fnmatch(text, pattern) or fnmatch(path.name, pattern) or fnmatch(text, f"*/{pattern.strip('/')}")
        for pattern in patterns
    )


def lint_file(path: Path, config: Config) -> list[Finding]:
    """The findings in one file.  A file that cannot be read is one finding, never an exception."""
    try:
        text = read(path)
    except Unreadable as error:
        return [_unreadable(str(path), error)]
    return lint_text(text, str(path), config)


def lint_text(text: str, path: str = "<text>", config: Config | None = None) -> list[Finding]:
    """The findings in source text.

    >>> from pullback.lint.pages import PREAMBLE, page
    >>> [finding.code for finding in lint_text(PREAMBLE + page(RULES["PB301"]).example)]
    ['PB301']
    """
    config = config or Config()
    if _CLASS.search(text) is None:
        return []  # nothing that a rule speaks about: most files of most projects
    try:
        source = Source(path, text)
        found = operators(source)
    except Unreadable as error:
        return [_unreadable(path, error)]
    except RecursionError:
        return [_unreadable(path, Unreadable("nested too deeply to be followed"))]
    if not found:
        return []
    analyses = [Analysis(operator) for operator in found]
    findings: set[Finding] = set()
    for rule in RULES.values():
        if config.wants(rule.code, path):
            findings.update(_ask(rule, source, analyses))
    kept = [finding for finding in findings if not source.excuses(finding.line, finding.code)]
    return sorted(kept)


def _ask(rule: Rule, source: Source, analyses: list[Analysis]) -> Iterator[Finding]:
    if rule.whole_file:
        yield from _guarded(rule, source, None, partial(rule.find, source, analyses))
        return
    for analysis in analyses:
        yield from _guarded(rule, source, analysis, partial(rule.find, analysis))


def _guarded(
    rule: Rule, source: Source, analysis: Analysis | None, find: Callable[[], Iterator[Hit]]
) -> Iterator[Finding]:
    """A rule that trips over a file says so, and takes nothing else with it."""
    try:
        for hit in find():
            yield _finding(rule, source, analysis, hit)
    except Exception as error:  # any: the file is somebody else's, and may be like nothing we thought of
        name = analysis.operator.name if analysis else ""
        line = analysis.operator.node.lineno if analysis else 1
        said = f"rule {rule.code} could not follow this code ({type(error).__name__}: {error})"
        yield Finding(
            source.path, line, 1, UNFINISHED, "rule-unfinished", "warning", name, said, "please report this file"
        )


def _finding(rule: Rule, source: Source, analysis: Analysis | None, hit: Hit) -> Finding:
    line, column = getattr(hit.node, "lineno", 1), getattr(hit.node, "col_offset", 0) + 1
    severity = hit.severity or rule.severity
    return Finding(
        source.path, line, column, rule.code, rule.name, severity, _where(analysis, line), hit.message, hit.instead
    )


def _where(analysis: Analysis | None, line: int) -> str:
    if analysis is None:
        return ""
    for method in analysis.operator.methods.values():
        if method.node.lineno <= line <= (method.node.end_lineno or line):
            return f"{analysis.operator.name}.{method.name}"
    return analysis.operator.name


def _unreadable(path: str, error: Unreadable) -> Finding:
    return Finding(
        path, error.line, 1, UNREADABLE, "unreadable", "warning", "", str(error), "a file that Python can read"
    )
