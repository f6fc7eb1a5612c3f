"""The Function classes inside the installed torch: every finding was looked at, and at least nine of ten are true."""

import time
from pathlib import Path

import pytest

from pullback.lint import Config, files, lint_file

pytestmark = pytest.mark.torch
TRIAGED = Path(__file__).with_name("torch_findings.txt")


def _triaged():
    rows = [line.split(" ", 3) for line in TRIAGED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {(file, code, where): verdict for file, code, where, verdict in rows}


def _found():
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13"):
        pytest.skip(f"the findings are those of torch 2.13, this is {torch.__version__}")
    root = Path(torch.__file__).parent
    start = time.perf_counter()
    every = list(files([root]))
    found = [f for file in every for f in lint_file(file, Config())]
    seconds = time.perf_counter() - start
    return root, every, found, seconds


def test_every_finding_is_triaged_and_nine_of_ten_are_true():
    root, every, found, seconds = _found()
    keys = {(Path(f.path).relative_to(root).as_posix(), f.code, f.function) for f in found}
    triaged = _triaged()
    assert keys == set(triaged), keys ^ set(triaged)
    true = sum(verdict.startswith("true") for verdict in triaged.values())
    assert true >= 0.9 * len(triaged)
    assert len(every) > 1000
    assert seconds / len(every) < 60 / 10_000 * 4, "10,000 files take more than a minute, by far"
