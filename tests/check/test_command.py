"""``pullback check`` as a person and as a program uses it."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points

import numpy as np
import pytest

from pullback.check import CheckFailed, assert_ok, check
from pullback.check.inputs import BadInputs, parsed
from pullback.check.probing import ORDER, PROBES
from pullback.cli import main

BAD = '''\
import numpy as np
import pullback as pb


class Half(pb.Function):
    """Forgets the factor 2."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x * grad


def arguments():
    return (np.array([1.0, 3.0]),)
'''
GOOD = BAD.replace("return x * grad", "return 2 * x * grad")


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _check(capsys, *arguments):
    status = main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_a_right_function_is_0_and_says_what_that_stands_on(project, capsys):
    status, out, err = _check(capsys, "good.py")
    assert status == 0
    assert "no fault found" in out
    assert "(proposed; --inputs gives others)" in out
    assert "tried     dtypes: float16, float32" in out
    assert not err


def test_a_fault_is_1_with_numbers_pattern_line_and_remedy(project, capsys):
    status, out, _ = _check(capsys, "bad.py:Half", "--inputs", "[1.0, 3.0]")
    assert status == 1
    assert "wrong-gradient" in out
    assert "looks like: the analytical derivative is 0.5 times the numerical one in every entry" in out
    assert "bad.py:13" in out
    assert "why it matters:" in out
    assert "instead:" in out


def test_the_smallest_inputs_that_show_it_are_found(project, capsys):
    pytest.importorskip("hypothesis")
    _, out, _ = _check(capsys, "bad.py:Half", "--only", "values", "--inputs", "randn(3, 4)")
    assert re.search(r"inputs: \[\[-?1\.\]\]", out)


def test_samples_come_from_a_function(project, capsys):
    _, out, _ = _check(capsys, "bad.py:Half", "--samples", "bad.py:arguments")
    assert "inputs: [1., 3.]" in out


def test_probes_are_chosen(project, capsys):
    _, out, _ = _check(capsys, "bad.py", "--only", "state,layouts", "--skip", "state", "--json")
    (report,) = json.loads(out)
    assert [probe["probe"] for probe in report["probes"]] == ["layouts"]


def test_json_has_the_facts(project, capsys):
    status, out, _ = _check(capsys, "bad.py", "--json", "--inputs", "[1.0, 3.0]", "--seed", "7")
    (report,) = json.loads(out)
    assert status == 1
    assert report["ok"] is False
    assert report["seed"] == 7
    (fault,) = [f for f in report["faults"] if f["name"] == "wrong-gradient"]
    assert (fault["found"], fault["expected"]) == ("3", "6")
    assert fault["instead"]


def test_junit_has_a_case_for_each_probe(project, capsys):
    _check(capsys, "bad.py", "--junit", "out.xml")
    suite = ET.parse(project / "out.xml").getroot()[0]
    assert [case.get("name") for case in suite] == list(ORDER)
    assert suite.get("failures") != "0"
    assert suite.find("testcase/failure").get("type") == "wrong-gradient"


def test_the_page_needs_nothing_else(project, capsys):
    _check(capsys, "good.py", "--html", "out.html")
    page = (project / "out.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "Taylor remainder" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_the_same_seed_finds_the_same(project, capsys):
    first = _check(capsys, "bad.py", "--json", "--seed", "3")[1]
    second = _check(capsys, "bad.py", "--json", "--seed", "3")[1]
    strip = lambda text: [[(f["name"], f["found"], f["inputs"]) for f in r["faults"]] for r in json.loads(text)]  # noqa: E731
    assert strip(first) == strip(second)


def test_a_derivative_by_hand_is_compared(project, capsys):
    assert _check(capsys, "good.py:Half", "--only", "values", "--expected", "2*x")[0] == 0
    status, out, _ = _check(capsys, "good.py:Half", "--only", "values", "--expected", "3*x")
    assert status == 1
    assert "differences do not side with the formula" in out
    assert "derivative-by-hand" in _check(capsys, "bad.py:Half", "--only", "layouts", "--expected", "2*x")[1]
    assert (
        "differences side with the formula"
        in _check(capsys, "bad.py:Half", "--only", "layouts", "--expected", "2*x")[1]
    )
    assert _check(capsys, "bad.py:Half", "--expected", "__import__('os')")[0] == 2


def test_trace_shows_what_is_kept_and_where_it_comes_from(project, capsys):
    status, out, _ = _check(capsys, "bad.py:Half", "--trace", "--inputs", "[1.0, 3.0]")
    assert status == 0
    assert "call 0: forward" in out
    assert "call 1: backward" in out
    assert "saved 0 = [1., 3.]  shape (2,)   is the argument x, the same object" in out
    assert "gradient of x goes out = [1., 3.]" in out


def test_workers_find_the_same(project, capsys):
    alone = json.loads(_check(capsys, "bad.py", "--json", "--only", "values,contract")[1])
    shared = json.loads(_check(capsys, "bad.py", "--json", "--only", "values,contract", "--workers", "2")[1])
    names = lambda reports: [[f["name"] for f in r["faults"]] for r in reports]  # noqa: E731
    assert names(alone) == names(shared) == [["wrong-gradient"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py"], "there is no file nowhere.py"),
        (["nowhere:Thing"], "cannot be imported"),
        (["good.py:Nothing"], "has no Nothing; there are Half"),
        (["good.py:np"], "cannot be called"),
        (["raises.py"], "cannot be imported: ZeroDivisionError"),
        (["leaves.py"], "cannot be imported: SystemExit"),
        (["empty.py"], "defines no Function class"),
        (["good.py", "--only", "everything"], "there is no probe 'everything'"),
        (["good.py", "--inputs", "randn(3"], "not Python"),
        (["good.py", "--inputs", "open('x')"], "there are randn"),
        (["good.py", "--inputs", "randn('x')"], "randn('x')"),
        (["good.py", "--order", "0"], "--order is 1 or more"),
        ([], "name what to examine"),
        (["slow.py", "--timeout", "1"], "still running after 1 s"),
        (["good.py", "--html", "no/such/folder.html"], "cannot write"),
    ],
)
def test_what_cannot_be_examined_is_one_sentence_and_2(project, capsys, arguments, said):
    (project / "raises.py").write_text("1 / 0\n")
    (project / "leaves.py").write_text("raise SystemExit\n")
    (project / "empty.py").write_text("x = 1\n")
    (project / "slow.py").write_text(GOOD.replace("        return x * x", "        while True: pass"))
    status, out, err = _check(capsys, *arguments)
    assert status == 2
    assert said in err
    assert err.startswith("pullback check: ")
    assert err.count("\n") == 1
    assert "Traceback" not in out


def test_a_forward_that_raises_is_2_and_names_the_line(project, capsys):
    (project / "bad.py").write_text(BAD.replace("return x * x", "return x.shape[7]"))
    status, out, _ = _check(capsys, "bad.py", "--inputs", "[1.0]")
    assert status == 2
    assert "forward-raises" in out


def test_a_probe_that_crashes_takes_nothing_with_it(project, capsys, monkeypatch):
    def crash(specimen, outcome):
        raise RuntimeError("boom")

    monkeypatch.setitem(PROBES, "layouts", type(PROBES["layouts"])("layouts", crash))
    status, out, _ = _check(capsys, "bad.py")
    assert status == 1
    assert "the probe could not go on: RuntimeError: boom" in out
    assert "wrong-gradient" in out


def test_a_closed_pipe_is_no_traceback(project):
    command = f"{sys.executable} -m pullback check bad.py good.py | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_the_probes_explain_themselves(capsys):
    out = _check(capsys, "--probes")[1]
    assert all(f"\n{name}\n" in f"\n{out}" for name in PROBES)


def test_inputs_as_text():
    x, w, number, flag, index, z = parsed(
        "randn(3, 4), [1.0, 2.0], 0.1, None, randint(0, 5, 2), complex_randn(2)", seed=0
    )
    assert x.shape == (3, 4)
    assert w.tolist() == [1.0, 2.0]
    assert (number, flag) == (0.1, None)
    assert index.dtype.kind == "i"
    assert z.dtype.kind == "c"
    with pytest.raises(BadInputs, match="no value"):
        parsed("x + 1", seed=0)


def test_in_a_program_and_in_a_test(project):
    namespace = {}
    exec(compile(BAD, "bad.py", "exec"), namespace)
    with pytest.raises(CheckFailed, match="wrong-gradient") as caught:
        assert_ok(namespace["Half"], [np.array([1.0, 3.0])], only=["values"])
    assert caught.value.report.faults[0].expected == "6"
    with pytest.raises(ValueError, match="there is no probe 'nothing'"):
        check(namespace["Half"], [np.ones(2)], only=["nothing"])


def test_the_plugin(project):
    (project / "test_it.py").write_text(
        "import numpy as np, pytest\nfrom bad import Half\nfrom good import Half as Right\n"
        "def test_fixture(check_function):\n    check_function(Right, [np.ones(3)], only=['values'])\n"
        "@pytest.mark.pullback_function(Half, inputs=[np.ones(3)], only=['values'])\ndef test_marked(): pass\n"
    )
    known = any(entry.name == "pullback" for entry in entry_points(group="pytest11"))  # pytest then loads it by itself
    plugin = [] if known else ["-p", "pullback.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "wrong-gradient" in done.stdout


def test_an_executor_of_the_caller_s(project):
    from concurrent.futures import ThreadPoolExecutor

    namespace = {}
    exec(compile(BAD, "bad.py", "exec"), namespace)
    with ThreadPoolExecutor(2) as executor:
        report = check(namespace["Half"], [np.array([1.0, 3.0])], executor=executor, only=["values", "layouts"])
    assert [fault.name for fault in report.faults] == ["wrong-gradient"]
