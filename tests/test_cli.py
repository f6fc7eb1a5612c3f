"""The command line: what each option does, and what the exit status says."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pullback
from pullback import cli
from pullback.demo import course, report, runner, screen

GOOD = '''"""A good program.

It teaches nothing.
"""

def main(show=print):
    show("two", 2.0, "should be", 2.0)
    show("wrong on purpose", 3.0, "instead of", 2.0)
    show("a remark")
'''
WRONG = GOOD.replace('"two", 2.0', '"two", 2.0001')
CRASH = GOOD.replace('show("a remark")', "1 / 0")


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A folder of programs that takes the place of examples/."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "examples"
    folder.mkdir()
    monkeypatch.setattr(course, "folder", lambda: folder)

    def write(**sources):
        for name, source in sources.items():
            (folder / f"{name.removeprefix('p')}.py").write_text(source, encoding="utf-8")

    write(p01_good=GOOD)
    return write


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


# ---------------------------------------------------------------------------------------------------- the whole command


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("examples:", "pullback demo", "import pullback as pb", "version"))


def test_no_command_prints_the_help(capsys):
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("usage: pullback")


@pytest.mark.parametrize("argv", [["version"], ["--version"]])
def test_version(argv, capsys):
    assert cli.main(argv) == 0
    assert capsys.readouterr().out.startswith(f"pullback {pullback.__version__} (Python 3.")


def test_an_unknown_command_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["dmeo"])
    assert stop.value.code == 2
    assert "demo" in capsys.readouterr().err


def test_help_imports_nothing_heavy():
    program = "import sys; from pullback.cli import build_parser; build_parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "pullback.cli" in loaded
    assert not loaded & {"rich", "graphviz", "scipy", "pullback.demo.report", "pullback.demo.runner"}


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "pullback", "demo", "--list"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "03_square" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes that close early are a matter of POSIX shells")
def test_a_reader_that_stops_early_gets_no_traceback():
    program = "import sys; from pullback.cli import main; sys.exit(main(['demo', '--list']))"
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        done = subprocess.run([sys.executable, "-c", program], stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


# ----------------------------------------------------------------------------------------------------------------- demo


def test_all_right_is_status_0_and_says_so(programs, capsys):
    assert cli.main(["demo", "--no-files"]) == 0
    text = capsys.readouterr().out
    assert "1 program, 2 checks" in text
    assert "all right (≠: 1 number wrong on purpose)." in text
    assert "✓ two" in text
    assert "≠ wrong on purpose" in text
    assert "right: 2" in text


@pytest.mark.parametrize(("source", "why"), [(WRONG, "1 check FAILED"), (CRASH, "stopped with an error")])
def test_anything_wrong_is_status_1_and_named(programs, source, why, capsys):
    programs(p02_bad=source)
    assert cli.main(["demo", "--no-files"]) == 1
    text = capsys.readouterr().out
    assert f"02_bad: {why}" in text
    assert "01_good:" not in text
    assert ("FAILED two" in text) == (source is WRONG)
    assert ("ZeroDivisionError" in text) == (source is CRASH)


def test_a_program_without_checks_is_not_right(programs, capsys):
    programs(p02_empty='"""Empty."""\n\ndef main(show=print):\n    show("only words")\n')
    assert cli.main(["demo", "--no-files"]) == 1
    assert "02_empty: nothing was checked" in capsys.readouterr().out


def test_a_warning_stops_a_program(programs, capsys):
    programs(p02_warns='"""Warns."""\nimport warnings\n\ndef main(show=print):\n    warnings.warn("careful")\n')
    assert cli.main(["demo", "--no-files", "--only", "warns"]) == 1
    assert "careful" in capsys.readouterr().out


def test_json_has_every_row(programs, capsys):
    programs(p02_bad=WRONG)
    assert cli.main(["demo", "--json", "--no-files"]) == 1
    document = json.loads(capsys.readouterr().out)
    good, bad = document["programs"]

    def said(value, relation, truth):
        return {"value": value, "relation": relation, "truth": truth}

    assert (document["ok"], good["ok"], bad["ok"]) == (False, True, False)
    assert good["rows"] == [
        {"kind": "value", "what": "two", **said(2.0, "should be", 2.0), "error": 0.0, "right": True},
        {"kind": "value", "what": "wrong on purpose", **said(3.0, "instead of", 2.0), "error": 1.0, "right": True},
        {"kind": "remark", "what": "a remark"},
    ]
    assert bad["rows"][0]["right"] is False


def test_json_is_json_where_numbers_are_not_finite(programs, capsys):
    programs(p01_good=GOOD.replace("3.0, ", "float('nan'), "))
    cli.main(["demo", "--json", "--no-files"])

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    json.loads(capsys.readouterr().out, parse_constant=refuse)


def test_list_names_programs_and_runs_none(programs, capsys):
    programs(p02_crash=CRASH, p14_more=CRASH)
    assert cli.main(["demo", "--list"]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if "_" in line] == [
        "  01_good   A good program",
        "  02_crash  A good program",
        "  14_more   A good program",
    ]
    assert cli.main(["demo", "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] == {
        "name": "01_good",
        "part": "A Function and its ctx",
        "title": "A good program",
    }


@pytest.mark.parametrize("word", ["good", "01_good", "1", "01", "examples/01_good.py", "GOOD"])
def test_only_takes_names_numbers_and_files(programs, word, capsys):
    programs(p02_crash=CRASH)
    assert cli.main(["demo", "--no-files", "--only", word]) == 0
    assert cli.main(["demo", "--no-files", word]) == 0


def test_programs_may_be_named_in_both_ways_at_once(programs, capsys):
    programs(p02_second=GOOD, p03_crash=CRASH)
    assert cli.main(["demo", "--no-files", "1", "--only", "second"]) == 0
    assert "2 programs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "answer"),
    [("sinh", "there are 15_sinh_extra and 16_sinh_on_ctx\n"), ("extra", "there is 15_sinh_extra\n")],
)
def test_part_of_a_name_is_answered_with_the_programs_it_may_mean(programs, word, answer, capsys):
    programs(p15_sinh_extra=GOOD, p16_sinh_on_ctx=GOOD)
    assert cli.main(["demo", "--no-files", word]) == 2
    assert capsys.readouterr().err.endswith(answer)


def test_only_with_an_unknown_name_is_wrong_usage(programs, capsys):
    assert cli.main(["demo", "--only", "goood"]) == 2
    output = capsys.readouterr()
    assert "'goood'" in output.err
    assert "--list" in output.err
    assert output.out == ""


def test_graphs_are_written_and_named(tmp_path, capsys):
    out = tmp_path / "graphs"
    assert cli.main(["demo", "--json", "--only", "square", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    (program,) = document["programs"]
    assert document["page"] == str(out / "index.html")
    assert sorted(Path(file).name for file in program["files"]) == ["03_square.dot", "03_square.svg"]
    assert "SquareBackward" in (out / "03_square.dot").read_text(encoding="utf-8")
    assert (out / "03_square.svg").read_text(encoding="utf-8").lstrip().startswith(("<svg", "<?xml"))


def test_the_default_folder_is_in_the_working_directory(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--only", "square"]) == 0
    assert (tmp_path / "pullback-demo" / "03_square.svg").is_file()
    text = capsys.readouterr().out.replace("\\", "/")
    assert "pullback-demo/03_square.dot, .svg" in text
    assert text.splitlines()[-1] == "The graphs are in pullback-demo; pullback-demo/index.html shows them in a browser."


def test_the_page_shows_every_picture_that_there_is(tmp_path, capsys):
    for number in ("03", "01"):  # the second run leaves the first picture where it is
        assert cli.main(["demo", number, "--out", str(tmp_path)]) == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg ") == 2
    assert page.index("Sigmoid: what") < page.index("Square: save")
    assert (tmp_path / "01_sigmoid.svg").read_text(encoding="utf-8") in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"(?:src|href|url)\W*=?\W*(?:https?:|/)", page), "the page needs nothing else"


def test_without_a_picture_there_is_no_page(programs, tmp_path, capsys):
    assert cli.main(["demo"]) == 0
    assert not (tmp_path / "pullback-demo").exists()
    assert "index.html" not in capsys.readouterr().out


def test_the_help_names_commands_that_exist(capsys):
    assert cli.main([]) == 0
    named = set(re.findall(r"^  pullback (\w+)", capsys.readouterr().out, re.MULTILINE))
    assert named <= {*cli.COMMANDS, "version"}


def test_a_folder_that_cannot_be_made_is_wrong_usage(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert cli.main(["demo", "--only", "square", "--out", str(tmp_path / "file" / "graphs")]) == 2
    assert "--no-files" in capsys.readouterr().err


def test_no_files_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--no-files", "--only", "square"]) == 0
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------------------- checks


def show(*said):
    recorder = runner.Recorder()
    recorder(*said)
    (row,) = recorder.rows
    return row


@pytest.mark.parametrize(
    ("said", "right"),
    [
        (("just words",), None),
        (("a fact", True), True),
        (("a fact", False), False),
        (("a fact must be True itself", 1), False),
        (("equal", 1.0, "should be", 1), True),
        (("equal up to rounding", 0.1 + 0.2, "should be", 0.3), True),
        (("not equal", 1.0 + 1e-6, "should be", 1.0), False),
        (("not a number", float("nan"), "should be", 1.0), False),
        (("lists", [1.0, 2.0], "should be", [1.0, 2.0]), True),
        (("lists of other lengths", [1.0, 1.0], "should be", 1.0), False),
        (("names", "SinBackward", "should be", "SinBackward"), True),
        (("names", "SinBackward", "should be", "CosBackward"), False),
        (("damage", 20.0, "instead of", 4.0), True),
        (("no damage at all", 4.0, "instead of", 4.0), False),
        (("a Tensor", pullback.tensor([1.0, 2.0]), "should be", [1.0, 2.0]), True),
        (("a flag is no number", True, "should be", 1.0), False),
    ],
)
def test_what_counts_as_right(said, right):
    assert show(*said).right is right


@pytest.mark.parametrize("said", [("x", 1.0, 2.0), ("x", 1.0, "should equal", 1.0), ("x", 1.0, "should be")])
def test_another_sentence_is_refused(said):
    with pytest.raises(TypeError, match="should be"):
        show(*said)


# --------------------------------------------------------------------------------------------------------------- screen


def lines_of(stream):
    screen.screen(stream).show([[("pullback ", "title"), ("✓", "good"), (" x²", "text")]])
    return stream


def test_a_pipe_gets_no_colour_codes():
    assert lines_of(io.StringIO()).getvalue() == "pullback ✓ x²\n"


def test_a_terminal_gets_colours(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in lines_of(Terminal()).getvalue()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colours_gets_none(monkeypatch, name, value):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(name, value)
    text = lines_of(Terminal()).getvalue()
    assert "\x1b[3" not in text
    assert "✓ x²" in text.replace("\x1b[1m", "").replace("\x1b[0m", "")


def test_without_rich_a_terminal_gets_plain_text(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert lines_of(Terminal()).getvalue() == "pullback ✓ x²\n"


def test_an_encoding_without_the_signs_gets_others():
    raw = io.BytesIO()
    stream = lines_of(io.TextIOWrapper(raw, encoding="ascii", newline="\n"))
    assert stream.encoding == "ascii"
    assert raw.getvalue() == b"pullback ok x^2\n"


# --------------------------------------------------------------------------------------------------------------- report


def text_of(lines):
    return ["".join(text for text, _ in line) for line in lines]


@pytest.mark.parametrize("width", [60, 80, 110])
def test_no_line_is_wider_than_the_terminal(width):
    """For every program of the course as far as its words go, and for rows of every kind."""
    for example in course.examples():
        outcome = runner.Outcome(example, files=["pullback-demo/x.dot", "pullback-demo/x.svg"])
        recorder = runner.Recorder()
        recorder("a remark that is long " * 8)
        recorder("a label of many words that says what the number is", [1.5] * 6, "should be", [1.5] * 6)
        recorder("short", 123456.789, "instead of", 0.5)
        outcome.rows = recorder.rows
        for line in text_of(report.heading(example, width) + report.body(outcome, width)):
            assert len(line.rstrip()) <= width


def test_numbers_stand_under_each_other():
    outcome = runner.Outcome(course.examples()[0])
    recorder = runner.Recorder()
    for value in (0.125, 1234.5, -2.0, 1e-12):
        recorder("value " + "x" * int(abs(value) % 7), value, "should be", value)
    outcome.rows = recorder.rows
    lines = [line.partition("exact")[0].rstrip() for line in text_of(report.body(outcome, 80))]
    assert [line[14:].strip() for line in lines] == ["0.125", "1234.5", "-2", "1e-12"]
    assert lines[0].index(".") == lines[1].index(".")
    assert len(lines[2]) == lines[0].index(".")
