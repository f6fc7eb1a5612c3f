"""Every known fault is found by `pullback check`, by `pullback lint`, or by both, and the right finding comes first."""

import warnings

import pytest

from known_functions.collection import known, loaded
from pullback.check import check
from pullback.lint import Config, lint_file

BAD = known("bad")
SHOWN_BY_SOURCE = [k for k in BAD if any(name.startswith("PB") for name in k.expected)]
LIBRARIES = ["pullback.torch", pytest.param("torch", marks=pytest.mark.torch)]


def _lint(item):
    """The findings in a class, the graver first."""
    grade = {"error": 0, "warning": 1, "style": 2}
    lines = item.file.read_text(encoding="utf-8").splitlines()
    indent = len(lines[item.line - 1]) - len(lines[item.line - 1].lstrip())
    after = [
        n
        for n, text in enumerate(lines[item.line :], item.line + 1)
        if text.strip() and len(text) - len(text.lstrip()) <= indent
    ]
    end = after[0] if after else len(lines) + 1
    found = [f for f in lint_file(item.file, Config()) if item.line <= f.line < end]
    return sorted(found, key=lambda f: (grade[f.severity], f.line))


@pytest.mark.parametrize("item", SHOWN_BY_SOURCE, ids=lambda item: item.id)
def test_lint_finds_what_the_source_shows(item):
    assert any(f.code in item.expected for f in _lint(item)), [str(f) for f in _lint(item)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("item", [k for k in BAD if k.file.stem != "decorated"], ids=lambda item: item.id)
def test_the_right_finding_comes_first(item, library):
    target = getattr(loaded(item.file, library), item.name)
    source = [f.code for f in _lint(item)]
    names = []
    if isinstance(target, type):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = [fault.name for fault in check(target, library=library).faults]
    first = (names or source or ["nothing"])[0]
    assert first in item.expected or (source and source[0] in item.expected), f"check: {names}; lint: {source}"


def test_there_are_enough_and_two_of_each_kind():
    assert len(BAD) >= 80
    kinds = [item.expected[0] for item in BAD]
    assert {kind for kind in kinds if kinds.count(kind) == 1} <= ONCE, "a kind has a single example"


#: Kinds that have one example only.
ONCE = {
    "wrong-second-derivative",
    "kink",
    "broadcast-fails",
    "empty-fails",
    "jvp-disagrees",
    "undefined-cotangent",
    "not-repeatable",
    "overflow",
}
