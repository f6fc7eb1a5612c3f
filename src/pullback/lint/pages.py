"""The pages of the rules, which are their docstrings: as text for a terminal, as Markdown, and their two examples."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from pullback.lint.rule import Rule
from pullback.lint.rules import RULES, THEMES

SECTIONS = ("What it does", "Why it is bad", "Example", "Use instead")

#: What the examples of the pages leave out at their head.
PREAMBLE = """\
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

"""


class Page(NamedTuple):
    """A rule's page in parts."""

    summary: str
    what: str
    why: str
    example: str
    instead: str


def page(rule: Rule) -> Page:
    """The parts of a rule's page."""
    summary, _, rest = rule.page.strip().partition("\n")
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in textwrap.dedent(rest).splitlines():
        if line in SECTIONS:
            current = parts.setdefault(line, [])
        else:
            current.append(line)
    texts = [textwrap.dedent("\n".join(parts[section])).strip() for section in SECTIONS]
    return Page(summary, *texts)


def as_text(rule: Rule) -> str:
    """A page for the terminal."""
    repaired = ", --fix repairs it" if rule.fixable else ""
    return f"{rule.code} {rule.name} ({rule.severity}{repaired})\n\n{textwrap.dedent('    ' + rule.page).strip()}"


def as_markdown() -> str:
    """One document with the pages of all rules."""
    lines = [
        "# Rules of `pullback lint`",
        "",
        "What `pullback lint` looks for in the classes that derive from `torch.autograd.Function`, `pullback.Function` and",
        "`pullback.Primitive`. It reads source and runs nothing. `pullback lint --explain PB201` prints one of these pages.",
        "This page is written by `python docs/make_rules.py`, from the docstrings in `src/pullback/lint/rules/`. The examples",
        "begin with these lines, or with `import torch` and so on:",
        "",
        "```python",
        "import pullback.torch as torch",
        "from pullback.torch.autograd import Function",
        "from pullback.torch.autograd.function import once_differentiable",
        "```",
        "",
        "| code | fault | grade | repaired by `--fix` |",
        "|---|---|---|---|",
    ]
    ordered = [RULES[code] for code in sorted(RULES)]
    lines += [
        f"| [{r.code}](#{r.code.lower()}-{r.name}) | {r.summary.rstrip('.')} | {r.severity} | {'yes' if r.fixable else ''} |"
        for r in ordered
    ]
    theme = ""
    for rule in ordered:
        if rule.code[:3] != theme:
            theme = rule.code[:3]
            lines += ["", f"## {theme}xx: {THEMES[theme]}"]
        lines += ["", *_section(rule)]
    return "\n".join(lines) + "\n"


def _section(rule: Rule) -> list[str]:
    found = page(rule)
    joined = [" ".join(text.split()) for text in (found.what, found.why)]
    return [
        f"### {rule.code} {rule.name}",
        "",
        found.summary,
        "",
        f"**What it does.** {joined[0]}",
        "",
        f"**Why it is bad.** {joined[1]}",
        "",
        "**Example**",
        "",
        "```python",
        found.example,
        "```",
        "",
        "**Use instead**",
        "",
        "```python",
        found.instead,
        "```",
    ]
