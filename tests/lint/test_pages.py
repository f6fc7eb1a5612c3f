"""A rule's page is documentation and test: its example has the fault at the marked lines, its counterpart has none."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.lint import RULES, lint_text
from pullback.lint.pages import PREAMBLE, as_markdown, page
from pullback.lint.rules import THEMES

ROOT = Path(__file__).resolve().parents[2]
EVERY = [RULES[code] for code in sorted(RULES)]


def _marked(text):
    return [
        (number, code) for number, line in enumerate(text.splitlines(), 1) for code in re.findall(r"# (PB\d+)", line)
    ]


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.code)
def test_the_example_has_the_fault_where_it_says_and_no_other(rule):
    text = PREAMBLE + page(rule).example
    assert [(f.line, f.code) for f in lint_text(text)] == _marked(text)
    assert rule.code in {code for _, code in _marked(text)}


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.code)
def test_what_to_use_instead_has_no_fault(rule):
    assert lint_text(PREAMBLE + page(rule).instead) == []


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.code)
def test_pullback_s_own_functions_are_read_like_torch_s(rule):
    """The same classes with the import changed have the same faults."""
    text = (PREAMBLE + page(rule).example).replace("import torch", "import pullback.torch as torch", 1)
    text = text.replace("from torch.", "from pullback.torch.")
    assert [(f.line, f.code) for f in lint_text(text)] == _marked(text)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.code)
def test_a_page_is_complete(rule):
    found = page(rule)
    assert all(found), f"{rule.code} lacks a section"
    assert found.summary.endswith("."), "the first line is a sentence"
    assert rule.code[:3] in THEMES
    ast.parse(found.example)
    ast.parse(found.instead)


def test_names_of_rules_are_unique_and_name_the_fault():
    names = [rule.name for rule in EVERY]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_the_document_is_what_the_rules_say():
    written = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    assert written == as_markdown(), "run: python docs/make_rules.py"


def test_what_to_use_instead_is_python_that_runs():
    code = (
        "import sys; from pullback.lint import RULES; from pullback.lint.pages import PREAMBLE, page\n"
        "import pullback.torch as torch\n"
        "for c in sorted(RULES):\n"
        "    text = (PREAMBLE + page(RULES[c]).instead).replace('import torch', 'import pullback.torch as torch', 1)\n"
        "    exec(compile(text.replace('from torch.', 'from pullback.torch.'), c, 'exec'), {})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
