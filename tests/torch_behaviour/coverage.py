#!/usr/bin/env python3
"""Which entries of `entries/` the tests of this folder cover: ``python tests/torch_behaviour/coverage.py [--open]``."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
CODES = "PAVF"


@dataclass
class Entry:
    """One entry, with the tests that cover it."""

    section: str
    code: str
    name: str
    reason: str = ""  # why nothing covers it
    tests: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)  # what those tests assert instead of what torch does

    @property
    def state(self) -> str:
        """``"as torch"``, ``"differs"``, or ``"open"``."""
        return "open" if not self.tests else "differs" if self.differs else "as torch"


def listed() -> dict[tuple[str, str], Entry]:
    """The entries of all lists."""
    found: dict[tuple[str, str], Entry] = {}
    for file in sorted((FOLDER / "entries").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                words, _, reason = line.partition(" - ")
                code, name = words.split()
                assert code in CODES, line
                assert (file.stem, name) not in found, f"{name} is listed twice in {file.name}"
                found[file.stem, name] = Entry(file.stem, code, name, reason.strip())
    return found


def marked() -> Iterator[tuple[str, str, str, str]]:
    """Section, name, test and `differs` of every ``@entry(...)`` in this folder."""
    for file in sorted(FOLDER.glob("test_*.py")):
        for test in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(test, ast.FunctionDef):
                for call in test.decorator_list:
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "entry":
                        section, *names = [ast.literal_eval(value) for value in call.args]
                        differs = next((ast.literal_eval(word.value) for word in call.keywords), "")
                        for name in names:
                            yield section, name, f"{file.name}::{test.name}", differs


def covered() -> dict[tuple[str, str], Entry]:
    """The entries with the tests that cover them; a KeyError for a test of an entry that no list has."""
    entries = listed()
    for section, name, test, differs in marked():
        found = entries[section, name]
        found.tests.append(test)
        if differs:
            found.differs.append(differs)
    return entries


def table(entries: dict[tuple[str, str], Entry]) -> str:
    """Sections and codes: covered as torch, plus those that differ on purpose, of how many."""
    total = Counter((entry.section, entry.code) for entry in entries.values())
    count = Counter((entry.section, entry.code, entry.state) for entry in entries.values())
    sections = sorted({entry.section for entry in entries.values()})
    lines = ["section  " + "".join(f"{code:>14}" for code in CODES)]
    for section in [*sections, ""]:
        inside = sections if section == "" else [section]
        cells = []
        for code in CODES:
            same, differs = (sum(count[s, code, state] for s in inside) for state in ("as torch", "differs"))
            cells.append(f"{same}+{differs}/{sum(total[s, code] for s in inside)}".rjust(14))
        lines.append(f"{section or 'all':9}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    entries = covered()
    print(table(entries))
    if "--open" in sys.argv:
        for entry in entries.values():
            if entry.state == "open":
                print(entry.section, entry.code, entry.name, "-", entry.reason or "?")


if __name__ == "__main__":
    main()
