"""The modules of the corpus, loaded with torch or with ``pullback.torch`` in its place."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from torch_functions.case import Case

HERE = Path(__file__).parent
NOT_THEMES = {"case", "loading", "measure", "record", "test_corpus", "test_routes"}
THEMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_THEMES)

PLAIN = re.compile(r"^import torch$", re.MULTILINE)
INSIDE = re.compile(r"^import torch\.([\w.]+)( as \w+)?$", re.MULTILINE)
FROM = re.compile(r"^from torch\b", re.MULTILINE)


def in_pullback(source: str) -> str:
    """The same program with its imports changed, and nothing else."""
    source = PLAIN.sub("import pullback.torch as torch", source)
    source = FROM.sub("from pullback.torch", source)
    return INSIDE.sub(_inside, source)


def _inside(found: re.Match[str]) -> str:
    changed = f"import pullback.torch.{found[1]}{found[2] or ''}"
    return changed if found[2] else f"{changed}; import pullback.torch as torch"


@cache
def load(theme: str, library: str) -> ModuleType:
    """The module `theme`, with `library` ("torch" or "pullback") in it."""
    path = HERE / f"{theme}.py"
    source = path.read_text(encoding="utf-8")
    module = ModuleType(f"torch_functions_{library}_{theme}", source.partition("\n")[0])
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(in_pullback(source) if library == "pullback" else source, str(path), "exec"), module.__dict__)
    return module


@cache
def cases(library: str) -> dict[str, Case]:
    """All cases of all themes, by name."""
    found: dict[str, Case] = {}
    for theme in THEMES:
        for case in load(theme, library).CASES:
            assert case.name not in found, f"two cases are called {case.name}"
            found[case.name] = case
    return found
