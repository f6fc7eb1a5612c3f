"""The wheel contains the package and the programs of the demo, all of both and nothing else."""

import os
import re
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent

# A new dependency is a decision: it is made in pyproject.toml and said again here.
DEPENDENCIES = {
    None: {"numpy>=2", "array-api-compat", "graphviz", "rich"},
    "draw": {"graphviz-pure"},
    "torch": {"torch>=2.5"},
    "jax": {"jax>=0.5"},
    "scipy": {"scipy"},
    "dask": {"dask"},
    "check": {"hypothesis", "libcst", "mparray"},
}
FOR_DEVELOPERS = {"test", "lint"}  # extras that no user installs: their content is free


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--quiet"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.iterdir()
    assert path.name == "pullback-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    return HeaderParser().parsestr(wheel.read("pullback-0.1.0.dist-info/METADATA").decode())


def test_holds_every_file_of_the_package_and_of_the_examples_and_no_other(wheel):
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "pullback").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected |= {f"pullback/examples/{path.name}" for path in (ROOT / "examples").iterdir() if path.is_file()}
    packed = {name for name in wheel.namelist() if not name.startswith("pullback-0.1.0.dist-info/")}
    assert packed == expected
    assert {"pullback/py.typed", "pullback/examples/01_sigmoid.py"} <= packed
    assert not [name for name in wheel.namelist() if re.search(r"(^|/)(tests?|benchmarks)(/|\.py$)|conftest", name)]


def test_the_demo_runs_from_the_wheel_alone(wheel, tmp_path):
    wheel.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-m", "pullback", "demo", "--out", "graphs"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(tmp_path / "installed" / "pullback" / "examples") in done.stdout.replace("\n", "")
    assert (tmp_path / "graphs" / "03_square.svg").is_file()


def test_dependencies_are_exactly_those_named(metadata):
    found: dict[str | None, set[str]] = {None: set()}
    for line in metadata.get_all("Requires-Dist"):
        requirement, _, condition = (part.strip() for part in line.partition(";"))
        extra = re.fullmatch(r"extra == ['\"](.+)['\"]", condition)
        assert condition == "" or extra, f"a condition that this test does not know: {line}"
        found.setdefault(extra[1] if extra else None, set()).add(requirement)
    assert {extra: names for extra, names in found.items() if extra not in FOR_DEVELOPERS} == DEPENDENCIES
    assert set(metadata.get_all("Provides-Extra")) == (DEPENDENCIES.keys() - {None}) | FOR_DEVELOPERS


def test_says_what_it_is(wheel, metadata):
    assert metadata["Name"] == "pullback"
    assert metadata["Version"] == "0.1.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "pullback-0.1.0.dist-info/licenses/LICENSE" in wheel.namelist()
    entry_points = wheel.read("pullback-0.1.0.dist-info/entry_points.txt").decode()
    assert entry_points.split("\n", 2)[:2] == ["[console_scripts]", "pullback = pullback.cli:main"]
