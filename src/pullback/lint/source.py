"""A file of Python source: its tree, what its imported names stand for, and which lines say ``# noqa``.

Nothing is imported and nothing runs: a file is text, and stays text.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from functools import cached_property
from pathlib import Path

_NOQA = re.compile(r"#\s*noqa(?P<codes>\s*:\s*[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)?", re.IGNORECASE)


class Unreadable(Exception):
    """A file that is not Python source, in one sentence; ``line`` where that is known."""

    def __init__(self, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = line


class Source:
    """One file, parsed."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as an invalid escape: somebody else's rule
                self.tree = ast.parse(text)
        except SyntaxError as error:
            raise Unreadable(f"not Python that this Python can read: {error.msg}", error.lineno or 1) from None
        except (
            ValueError,
            RecursionError,
            MemoryError,
        ) as error:  # null bytes; an expression nested beyond all measure
            raise Unreadable(f"not Python that can be read: {error or type(error).__name__}") from None

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name in this file → dotted name it stands for: ``{"np": "numpy", "Function": "torch.autograd.Function"}``."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                for alias in node.names:
                    if alias.name != "*":
                        found[alias.asname or alias.name] = f"{base}.{alias.name}"
        return found

    def dotted(self, node: ast.AST | None) -> str:
        """The full dotted name that an expression spells, with imports looked through; "" for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.imports.get(node.id, node.id))
        return ".".join(reversed(parts))

    @cached_property
    def noqa(self) -> dict[int, frozenset[str]]:
        """Line → the codes it excuses; an empty set excuses all."""
        if "noqa" not in self.text.lower():
            return {}
        found: dict[int, frozenset[str]] = {}
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT and (match := _NOQA.search(token.string)):
                    codes = re.findall(r"[A-Z]+[0-9]+", (match["codes"] or "").upper())
                    found[token.start[0]] = frozenset(codes)
        except (tokenize.TokenError, SyntaxError):  # what the parser took, it may still trip over
            pass
        return found

    def excuses(self, line: int, code: str) -> bool:
        """Whether a ``# noqa`` on that line covers the code."""
        codes = self.noqa.get(line)
        return codes is not None and (not codes or code in codes)


def read(path: Path) -> str:
    """The text of a file, in the encoding that it declares."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"not text in the encoding it declares: {error}") from None
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror or error}") from None
