"""Neither tool finds a fault in Functions that have none."""

import inspect
import warnings

import pytest

import pullback
import pullback.ops.all
from known_functions.collection import FOLDER, known, loaded
from pullback.check import check
from pullback.lint import Config, files, lint_file

GOOD = known("good")
LIBRARIES = ["pullback.torch", pytest.param("torch", marks=pytest.mark.torch)]
PROGRAMS = FOLDER.parent / "seed_programs"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("item", GOOD, ids=lambda item: item.id)
def test_check_finds_nothing(item, library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check(getattr(loaded(item.file, library), item.name), library=library)
    assert report.ok, str(report)
    tried = [outcome for outcome in report.outcomes if outcome.verdict == "pass"]
    assert len(tried) >= 5, "hardly anything was examined"


def test_there_are_enough():
    assert len(GOOD) >= 60


def test_lint_finds_nothing_in_them():
    assert [str(f) for file in sorted((FOLDER / "good").glob("*.py")) for f in lint_file(file, Config())] == []


def test_lint_finds_nothing_in_the_library_s_own_operators():
    package = inspect.getfile(pullback).rpartition("/")[0]
    assert [str(f) for file in files([__import__("pathlib").Path(package)]) for f in lint_file(file, Config())] == []


@pytest.mark.parametrize(
    "name", ["class_constants", "cube", "exp", "recursive_sine", "sigmoid", "sinh", "square", "one_ctx_per_call"]
)
def test_lint_finds_nothing_in_the_programs_that_are_right(name):
    assert [str(f) for f in lint_file(PROGRAMS / f"{name}.py", Config())] == []
