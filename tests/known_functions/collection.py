"""Functions whose faults are known, and Functions that have none: read, and loaded with torch or with pullback.torch.

A comment above a class, ``# expect: NAME ...``, names the findings of which one has to come first: a fault of `pullback check`, or a
rule of `pullback lint`.
"""

import importlib
import re
import sys
import types
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent


class Known(NamedTuple):
    """One class or function: its file, its line, and what is expected of it."""

    file: Path
    name: str
    line: int
    expected: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.file.stem}-{self.name}"


def known(kind: str) -> list[Known]:
    """The classes (and functions with an expectation) of ``bad`` or ``good``, by file and line."""
    found = []
    for file in sorted((FOLDER / kind).glob("*.py")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            expect = re.match(r"\s*# expect: (.+)", lines[number - 2]) if number > 1 else None
            match = re.match(r"\s*(?:class|def) (\w+)", line)
            if match and (expect or (kind == "good" and re.match(r"class \w+\(.*Function\)", line))):
                found.append(Known(file, match[1], number, tuple(expect[1].split()) if expect else ()))
    return found


@cache
def loaded(file: Path, library: str) -> types.ModuleType:
    """A file as a module, with torch's imports going to a library.

    The source is what stands in the file, so that line numbers and `inspect` agree; the names are looked up elsewhere.
    """
    module = types.ModuleType(f"known_{file.stem}_{library.replace('.', '_')}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    text = file.read_text(encoding="utf-8")
    if library != "torch":
        text = text.replace("import torch\n", f"import {library} as torch\n").replace("from torch.", f"from {library}.")
        importlib.import_module(library)
    exec(compile(text, str(file), "exec"), module.__dict__)
    return module
