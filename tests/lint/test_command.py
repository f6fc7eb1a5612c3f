"""``pullback lint`` as a person and as a program uses it."""

import json
import subprocess
import sys

import pytest

from pullback.cli import main
from pullback.lint import RULES
from pullback.lint.pages import PREAMBLE, page

BAD = PREAMBLE + page(RULES["PB301"]).example
GOOD = PREAMBLE + page(RULES["PB301"]).instead


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _lint(capsys, *arguments):
    status = main(["lint", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_nothing_found_is_0_and_findings_are_1(project, capsys):
    assert _lint(capsys, "good.py") == (0, "nothing found in 1 file\n", "")
    status, out, err = _lint(capsys, "bad.py")
    assert status == 1
    assert "PB301" in out
    assert "instead:" in out
    assert out.endswith("1 error in 1 file\n")
    assert not err


def test_a_finding_names_file_line_column_class_and_method(project, capsys):
    _, out, _ = _lint(capsys, "bad.py")
    line = next(k for k, text in enumerate(BAD.splitlines(), 1) if "# PB301" in text)
    assert out.startswith(f"bad.py:{line}:9: PB301 Scale.backward: 1 returned for 2 arguments (x, factor)")


def test_without_a_path_it_reads_this_folder_and_what_is_in_it(project, capsys):
    (project / "deep" / "er").mkdir(parents=True)
    (project / "deep" / "er" / "bad.py").write_text(BAD)
    status, out, _ = _lint(capsys)
    assert status == 1
    assert out.count("PB301") == 2
    assert "3 files" in out


def test_hidden_folders_and_environments_are_left_out(project, capsys):
    for folder in (".git", "env", "__pycache__"):
        (project / folder).mkdir()
        (project / folder / "bad.py").write_text(BAD)
    (project / "env" / "pyvenv.cfg").write_text("")
    assert _lint(capsys, "--exclude", "bad.py") == (0, "nothing found in 1 file\n", "")


def test_noqa_excuses_a_line(project, capsys):
    for comment in ("noqa: PB301", "noqa", "NOQA:PB101, PB301"):
        (project / "bad.py").write_text(BAD.replace("# PB301", f"# {comment}"))
        assert _lint(capsys, "bad.py")[0] == 0, comment
    (project / "bad.py").write_text(BAD.replace("# PB301", "# noqa: PB101"))
    assert _lint(capsys, "bad.py")[0] == 1
    (project / "bad.py").write_text(BAD.replace("# PB301", "; s = '# noqa'"))
    assert _lint(capsys, "bad.py")[0] == 1, "a text is no comment"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--select", "PB3"], 1),
        (["--select", "PB1,PB2"], 0),
        (["--ignore", "PB301"], 0),
        (["--ignore", "PB3", "--select", "PB301"], 1),  # the longer beginning decides
        (["--select", "PB3", "--ignore", "PB301"], 0),
        (["--exit-zero"], 0),
    ],
)
def test_rules_are_chosen(project, capsys, options, status):
    assert _lint(capsys, "bad.py", *options)[0] == status


def test_the_project_s_configuration_is_read(project, capsys):
    config = project / "pyproject.toml"
    config.write_text('[tool.pullback.lint]\nignore = ["PB3"]\n')
    assert _lint(capsys)[0] == 0
    assert _lint(capsys, "--isolated")[0] == 1
    config.write_text('[tool.pullback.lint]\nexclude = ["bad.py"]\n')
    assert _lint(capsys)[0] == 0
    config.write_text('[tool.pullback.lint.per-file-ignores]\n"b*.py" = ["PB301"]\n')
    assert _lint(capsys)[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.pullback.lint]\nselekt = []\n", "no key 'selekt'"),
        ('[tool.pullback.lint]\nselect = "PB1"\n', "select is no list of texts"),
        ("[tool.pullback.lint\n", "cannot be read"),
        ("[tool.pullback]\nlint = 1\n", "no table"),
    ],
)
def test_a_configuration_that_means_nothing_is_said(project, capsys, text, said):
    (project / "pyproject.toml").write_text(text)
    status, out, err = _lint(capsys)
    assert status == 2
    assert said in err
    assert not out
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["nowhere.py"], ["--select", "PB9"], ["--ignore", "E501"], ["--explain", "PB999"]]
)
def test_wrong_usage_is_2_and_one_sentence(project, capsys, arguments):
    status, out, err = _lint(capsys, *arguments)
    assert status == 2
    assert not out
    assert err.startswith("pullback lint: ")
    assert err.count("\n") == 1


def test_json_is_a_list_of_findings(project, capsys):
    status, out, _ = _lint(capsys, "bad.py", "--format", "json")
    (finding,) = json.loads(out)
    assert status == 1
    assert finding["code"] == "PB301"
    assert finding["function"] == "Scale.backward"
    assert finding["severity"] == "error"
    assert json.loads(_lint(capsys, "good.py", "--format", "json")[1]) == []


def test_sarif_names_rule_level_and_place(project, capsys):
    document = json.loads(_lint(capsys, "bad.py", "--format", "sarif")[1])
    (run,) = document["runs"]
    (result,) = run["results"]
    assert document["version"] == "2.1.0"
    assert result["ruleId"] == "PB301"
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bad.py"
    assert place["region"]["startLine"] > 5
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["PB301"]


def test_github_writes_workflow_commands(project, capsys):
    out = _lint(capsys, "bad.py", "--format", "github")[1]
    assert out.startswith("::error file=bad.py,line=")
    assert "title=PB301 gradient-count::" in out
    assert out.count("\n") == 1


def test_explain_and_rules(capsys):
    assert _lint(capsys, "--explain", "pb201")[1] == _lint(capsys, "--explain", "intermediate-saved")[1]
    assert "Use instead" in _lint(capsys, "--explain", "PB201")[1]
    listed = _lint(capsys, "--rules")[1].splitlines()
    assert [line.split()[0] for line in listed] == sorted(RULES)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"class F(Function:\n", "not Python"),
        (b"class F(Function):\n    x = '\xff'\n", "not text"),
        (b"# coding: martian\nclass F(Function): pass\n", "not text"),
        (b"class F(Function):\n    y = '\x00'\n", "not Python"),
        (b"class F(Function):\n    def forward(ctx, x): return " + b"-" * 100_000 + b"x\n", "not Python"),
    ],
)
def test_a_file_that_is_no_python_is_one_finding(project, capsys, content, said):
    (project / "bad.py").write_bytes(content)
    status, out, err = _lint(capsys, ".")
    assert status == 1
    assert "PB001" in out
    assert said in out
    assert not err


def test_nothing_is_imported_or_run(project, capsys):
    (project / "bad.py").write_text("raise SystemExit('it ran')\n" + BAD)
    assert _lint(capsys, "bad.py")[0] == 1


def test_standard_input_is_read(project):
    done = subprocess.run([sys.executable, "-m", "pullback", "lint", "-"], input=BAD, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>:")


def test_a_closed_pipe_is_no_traceback(project):
    for k in range(300):
        (project / f"bad{k}.py").write_text(BAD)
    command = f"{sys.executable} -m pullback lint . | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
