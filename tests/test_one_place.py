"""Adding an operator touches one place: the statement of the guide, put into a copy of the package, is found everywhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def with_one_more(tmp_path_factory):
    """A copy of the package, with the first program of the guide at the end of one module of operators."""
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    program = re.search(r"### Elementwise, in one statement.*?```python\n(.*?)```", guide, re.DOTALL).group(1)
    assert program.count("\nlog_cosh = register(") == 1
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src" / "pullback", copy / "pullback", ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "pullback" / "ops" / "elementary.py").open("a", encoding="utf-8") as module:
        module.write(f"\n\n{program}")
    return copy


def run(copy, *command):
    """The output of a command that imports the copy."""
    paths = os.pathsep.join([str(copy), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_it_is_in_every_namespace(with_one_more):
    found = run(
        with_one_more,
        "-c",
        "import pullback as pb, numpy as np\n"
        "assert pb.__file__.startswith(" + repr(str(with_one_more)) + ")\n"
        "x = pb.tensor([0.5, 2.0], requires_grad=True)\n"
        "assert pb.log_cosh is x.__array_namespace__().log_cosh is pb.namespaces.array_api.log_cosh\n"
        "assert 'log_cosh' in pb.__all__ and 'log_cosh' in dir(pb)\n"
        "(g,) = pb.autograd.grad(pb.log_cosh(x).sum(), x, create_graph=True)\n"
        "(h,) = pb.autograd.grad(g.sum(), x)\n"
        "print(np.allclose(g.tolist(), np.tanh([0.5, 2.0])), np.allclose(h.tolist(), 1 - np.tanh([0.5, 2.0]) ** 2))\n"
        "print(pb.log_cosh.__doc__)\n",
    )
    assert found.startswith("True True")
    assert ">>> pb.log_cosh(" in found


def test_it_is_in_the_documents(with_one_more, tmp_path):
    run(with_one_more, "docs/make_operators.py", str(tmp_path / "operators.md"))
    page = (tmp_path / "operators.md").read_text(encoding="utf-8")
    assert "| `log_cosh` | `log cosh x` | `pb` | `LogCoshBackward0` |  | 3 |" in page


def test_it_is_tested(with_one_more):
    """Every check of an operator finds it, and it passes."""
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_every_op.py", "-k", "log_cosh"]
    found = run(with_one_more, *command)
    assert int(re.search(r"(\d+) passed", found).group(1)) > 15
