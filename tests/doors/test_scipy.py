"""SciPy's functions on Tensors: those that accept arrays of any namespace are differentiable, all others refuse.

SciPy reads ``SCIPY_ARRAY_API`` when it is imported, so every group of calls runs in a process of its own.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from doors import scipy_cases
from doors.scipy_checks import problems

CHECKS = Path(__file__).with_name("scipy_checks.py")


@pytest.mark.parametrize("group", [*scipy_cases.GROUPS, *scipy_cases.CONSUMERS])
def test_calls(group):
    if group in scipy_cases.CONSUMERS:
        pytest.importorskip("sklearn")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(CHECKS), group], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def test_every_pure_function_has_a_call():
    without = {
        f"{part}.{name}"
        for part, names in scipy_cases.PURE.items()
        for name in names
        if not any(re.search(rf"\b{name}\b", call) for calls in scipy_cases.GROUPS.values() for call in calls)
    }
    assert without == set()
    assert sum(map(len, scipy_cases.PURE.values())) > 190


def test_a_lost_graph_and_a_wrong_derivative_are_seen():
    """The checks themselves, on calls that are broken on purpose."""
    names = {"np": np, "pb": pb}
    cut = "v * (v if xp is np else v.detach())"
    assert any("finite differences" in text for text in problems(cut, names))
    assert problems("v * 2 if xp is np else v.detach() * 2", names) == [
        "result 0: lost its graph",
        "no result has a gradient",
    ]
    assert problems("v * 2 if xp is np else v.detach().numpy() * 2", names)[0] == "result 0: a bare ndarray"
    assert problems("v * 2 if xp is np else v * 3", names)[0].startswith("result 0: [")
    assert problems("v**2", names) == []


WITHOUT = """
import numpy as np, pullback as pb, scipy.signal, scipy.special, scipy.stats
x = pb.tensor([0.5, 1.5], requires_grad=True)
for call in (lambda: scipy.stats.zscore(x), lambda: scipy.signal.hilbert(x), lambda: scipy.special.softmax(x)):
    try:
        call()
    except RuntimeError as error:
        print(str(error).rpartition(".) ")[2] or str(error), "SCIPY_ARRAY_API=1" in " ".join(error.__notes__))
"""


def test_without_the_switch_functions_refuse_and_name_it():
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT], capture_output=True, text=True, check=False, env=environment
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    for name, line in zip(("zscore", "hilbert", "softmax"), lines, strict=True):
        assert f"scipy's {name}() does so." in line
        assert line.endswith("True")
