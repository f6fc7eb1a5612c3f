"""A report in a terminal: the text with colours where there are colours."""

from __future__ import annotations

import re
import sys

from pullback.check.reports.text import as_text
from pullback.check.verdicts import Report

_COLOURS = (
    (re.compile(r"^(\s*)(✓.*)$"), "green"),
    (re.compile(r"^(\s*)(✗.*)$"), "bold red"),
    (re.compile(r"^(\s*)(\?.*)$"), "yellow"),
    (re.compile(r"^(\s*)(–.*)$"), "dim"),
    (re.compile(r"^(\s*)(tried .*|not tried .*)$"), "dim"),
)


def show(report: Report) -> None:
    """Print a report."""
    text = as_text(report)
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in text.splitlines():
        style = next((colour for pattern, colour in _COLOURS if pattern.match(line)), "")
        console.print(Text(line, style=style))
