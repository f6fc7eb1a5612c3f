"""The programs of examples/: each runs, alone and in the demo, and shows the numbers it should."""

import ast
import importlib.util
import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import pullback
from pullback.demo import course, runner

EXAMPLES = {example.name: example for example in course.examples()}
FOLDER = Path(__file__).resolve().parent.parent / "examples"

# Numbers that must appear, worked out without the library.  Damage is pinned too: it must be that of the mistake shown.
SIGMOID = 0.6224593312018546
E = math.e
KEY_NUMBERS = {
    "01_sigmoid": {"y": SIGMOID, "dy/dx": 0.2350037122015945, "d²y/dx²": -0.05755679485232076},
    "02_leaky_relu": {"x.grad": [0.1, 0.1, 0.1, 1.0, 1.0]},
    "03_square": {"dy/dx": 6.0, "d²y/dx²": 2.0, "d³y/dx³ (zero, not an error)": 0.0},
    "04_ctx_is_the_node": {"different ctx.number in 100 calls": 100},
    "05_ten_calls": {
        "sin(sin(...sin(1))), ten times": 0.46295789853781183,
        "its derivative: ten cosines multiplied": 0.0792930521907713,
    },
    "06_threads_and_tasks": {"eight threads, dy/dx": [2, 4, 6, 8, 10, 12, 14, 16]},
    "07_state_on_the_class": {
        "two calls, x kept on the class": 20.0,
        "two threads, x kept on the class": 20.0,
        "ten calls, x kept on the class": 1024 * 1.001**5120,
        "ten calls, first parameter named self": 1024 * 1.001**1023,
    },
    "08_marks": {"da/dx": 3.0, "its derivative": [1.0, 0.0]},
    "10_class_constant": {"dy/dw": 2.0, "d²y/dx dw": 1.0},
    "11_lookup_table": {"gradient of the table": [2.0, 0.0, 5.0]},
    "12_function_factory": {"derivative 2x + 3x²": 16.0, "second derivative 2 + 6x": 14.0},
    "13_resource_object": {"first row of its Hessian": [0.5, -0.125], "matrices inverted in all these calls": 1},
    "14_exp": {"dy/dx": E, "d³y/dx³": E},
    "15_sinh_extra_outputs": {
        "sinh''(1)": 1.1752011936438014,
        "(sinh²)''(1)": 7.524391382167263,
        "dropped: second derivative": 0.0,
        "dropped: second derivative of sinh²": 4.762195691083631,
    },
    "16_sinh_on_ctx": {
        "with create_graph: forward runs": 2,
        "sinh''(1)": 1.1752011936438014,
        "(sinh²)''(1)": 7.524391382167263,
    },
    "17_cube": {"d²y/dx² = 6x": 12.0, "d³y/dx³ = 6": 6.0},
    "18_scipy": {"Φ(0.5)": 0.6914624612740131, "Φ''' = (x² - 1) φ(x)": -0.26404899532379674},
    "19_c_code": {"y": 0.9740769841801067, "d²y/dx²": 0.2350037122015945},
    "21_gradcheck": {"with two calls open its derivative is": 20.0},
    "24_solvers": {
        "E - e sin E": 1.2,
        "dE/de = sin E / (1 - e cos E)": 0.8658866168465398,
        "d²E/de²": -0.7175244186792704,
    },
    "22_primitive": {"d³y/dx³ = (12x - 8x³) y": 5 * math.exp(-0.25)},
}
WITHOUT_NUMBERS = {"09_errors_explain", "20_right_or_refused", "23_picture"}

# Programs about errors, refusals, the check itself, and pictures: they have no rule of their own that could be checked.
UNCHECKED = {"09_errors_explain", "20_right_or_refused", "21_gradcheck", "23_picture"}


@pytest.fixture(scope="module")
def outcomes():
    return {name: runner.run(example) for name, example in EXAMPLES.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_and_is_right(name, outcomes):
    outcome = outcomes[name]
    assert outcome.crash == ""
    assert outcome.wrong == []
    assert outcome.ok


@pytest.mark.parametrize("name", EXAMPLES)
def test_shows_the_key_numbers(name, outcomes):
    shown = {row.what: row.value for row in outcomes[name].rows}
    assert (name in KEY_NUMBERS) != (name in WITHOUT_NUMBERS)
    for what, value in KEY_NUMBERS.get(name, {}).items():
        assert shown[what] == pytest.approx(value, rel=1e-9, abs=1e-12), what


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - UNCHECKED))
def test_checks_both_orders(name, outcomes):
    facts = [row.what.split()[0] for row in outcomes[name].rows if row.relation == "fact"]
    assert {"gradcheck", "gradgradcheck"} <= set(facts)


@pytest.mark.parametrize("name", EXAMPLES)
def test_gives_the_same_numbers_twice_and_keeps_nothing(name, outcomes):
    again = runner.run(EXAMPLES[name])
    if name == "20_right_or_refused":  # shows random numbers, and what they should be
        assert again.ok
    else:
        assert [row.value for row in again.rows] == [row.value for row in outcomes[name].rows]


@pytest.mark.parametrize("name", EXAMPLES)
def test_runs_as_a_script(name, capsys):
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr()
    assert len(output.out.splitlines()) >= 3
    assert output.err == ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_picture_shows_what_is_saved(name, outcomes):
    drawable = outcomes[name].drawable
    if drawable:
        assert "released" not in pullback.draw.text(tuple(drawable.values()), drawable)


def test_runs_from_the_shell():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / "03_square.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "dy/dx tensor(6.," in done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_reads_like_a_lesson(name):
    """A title that fits beside the file's name in 80 columns, a short text, no name that is not public."""
    example = EXAMPLES[name]
    source = example.path.read_text(encoding="utf-8")
    assert len(example.title) + len(example.path.name) + 6 <= 80
    assert 60 <= len(example.text) <= 480
    assert max(map(len, source.splitlines())) <= 120
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert not node.module.startswith("pullback.")
        elif isinstance(node, ast.Import):
            assert [a.name for a in node.names if a.name.startswith("pullback")] in ([], ["pullback"])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pb":
            assert node.attr in pullback.__all__
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr.startswith("__")


def test_numbers_are_those_of_a_course_without_gaps():
    assert [example.number for example in EXAMPLES.values()] == list(range(1, len(EXAMPLES) + 1))
    assert set(course.PARTS) <= {example.number for example in EXAMPLES.values()}


def test_the_readme_names_every_program_once():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")] == [f"{n}.py" for n in EXAMPLES]
    for heading in course.PARTS.values():
        assert f"**{heading}**" in text


def test_scipy_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    outcome = runner.run(EXAMPLES["18_scipy"])
    assert outcome.ok
    assert "math.erf" in outcome.rows[0].what


def test_scipy_is_needed_for_solvers_and_said_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    outcome = runner.run(EXAMPLES["24_solvers"])
    assert outcome.ok
    assert "SciPy is not installed" in outcome.rows[0].what


def test_a_c_compiler_is_optional(monkeypatch):
    monkeypatch.setenv("PATH", "")
    outcome = runner.run(EXAMPLES["19_c_code"])
    assert outcome.ok, outcome.crash
    assert "no C compiler" in outcome.rows[0].what
