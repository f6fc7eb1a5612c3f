"""Where the lines of the report go: a terminal with Rich, or plain text anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pullback.demo.report import Line

#: Lines longer than this are hard to read, however wide the window is.
WIDEST, NARROWEST = 110, 60

STYLES = {
    "title": "bold",
    "number": "bold cyan",
    "part": "cyan",
    "good": "green",
    "bad": "bold red",
    "odd": "yellow",
    "value": "bold",
    "remark": "italic",
    "dim": "dim",
}
#: What stands for a sign in an encoding that does not have it.
PLAIN_SIGNS = {"✓": "ok", "≠": "!=", "─": "-", "²": "^2", "³": "^3", "⁵": "^5", "ⁿ": "^n", "·": "*", "−": "-"}


class Plain:
    """Writes the text and nothing else: for files, pipes, and where Rich is missing."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.width = min(max(shutil.get_terminal_size((80, 24)).columns, NARROWEST), WIDEST) if stream.isatty() else 80

    def show(self, lines: list[Line]) -> None:
        """Write lines."""
        for line in lines:
            text = "".join(text for text, _ in line).rstrip()
            self.stream.write(self._in_encoding(text) + "\n")
        self.stream.flush()

    def _in_encoding(self, text: str) -> str:
        encoding = self.stream.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            for sign, plain in PLAIN_SIGNS.items():
                text = text.replace(sign, plain)
            return text.encode(encoding, errors="replace").decode(encoding)
        return text

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """While something takes time: nothing to be seen in a file."""
        yield


class Colourful(Plain):
    """Writes to a terminal through Rich."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        from rich.console import Console

        self.console: Any = Console(file=stream, highlight=False)

    def show(self, lines: list[Line]) -> None:
        from rich.text import Text

        for line in lines:
            text = Text.assemble(*[(self._in_encoding(text), STYLES.get(style, "")) for text, style in line])
            self.console.print(text, soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        with self.console.status(f"[dim]{what}[/dim]", spinner="dots"):
            yield


def screen(stream: TextIO | None = None) -> Plain:
    """The right one for `stream` (standard output)."""
    stream = stream or sys.stdout
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        try:
            return Colourful(stream)
        except ImportError:
            return Plain(stream)
    return Plain(stream)
