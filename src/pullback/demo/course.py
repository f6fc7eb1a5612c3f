"""The programs of ``examples/``: where they are, what each is called, what it teaches."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

#: The parts of the course, by the number of their first program.
PARTS = {
    1: "A Function and its ctx",
    10: "Where constants and resources go",
    14: "Gradients of gradients",
    21: "Checking, arrays, pictures",
    24: "Solvers inside",
}


@dataclass(frozen=True)
class Example:
    """One program: ``name`` is its file name without ending, ``text`` what its docstring says under the title."""

    number: int
    name: str
    title: str
    text: str
    path: Path

    @property
    def part(self) -> str:
        """The heading under which the program stands."""
        return PARTS[max(first for first in PARTS if first <= self.number)]

    def answers_to(self, word: str) -> bool:
        """True for ``03_square``, ``square``, ``3``, ``03`` and ``examples/03_square.py``."""
        word = Path(word).name.removesuffix(".py").lower()
        if word.isdecimal():
            return int(word) == self.number
        return word in (self.name, self.name.partition("_")[2])


def folder() -> Path:
    """Where the programs are: inside the installed package, or beside ``src`` in a checkout."""
    candidates = (PACKAGE / "examples", PACKAGE.parent.parent / "examples")
    for candidate in candidates:
        if (candidate / "01_sigmoid.py").is_file():
            return candidate
    raise FileNotFoundError(f"the programs of the demo are missing; looked in {' and '.join(map(str, candidates))}")


def examples(where: Path | None = None) -> list[Example]:
    """All programs, in the order of the course."""
    return [_read(path) for path in sorted((where or folder()).glob("[0-9][0-9]_*.py"))]


def select(among: list[Example], words: list[str]) -> list[Example]:
    """Those that `words` name, in the order of the course; all of them without words.

    Raises
    ------
    LookupError
        If a word names no program; with the word, and the programs that it may be a part of.
    """
    for word in words:
        if not any(example.answers_to(word) for example in among):
            raise LookupError(word, [example.name for example in among if word.lower() in example.name])
    return [e for e in among if not words or any(e.answers_to(word) for word in words)]


def _read(path: Path) -> Example:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    title, _, text = docstring.partition("\n")
    return Example(int(path.stem[:2]), path.stem, title.rstrip("."), " ".join(text.split()), path)
