"""The pages of the probes and of the faults they name, as text and as Markdown."""

from __future__ import annotations

import textwrap

from pullback.check.probing import ORDER, PROBES
from pullback.check.probing.faults import CATALOGUE


def as_text() -> str:
    """Every probe with its page, for a terminal."""
    parts = []
    for name in ORDER:
        summary, _, rest = PROBES[name].page.strip().partition("\n")
        parts.append(f"{name}\n    {summary}\n{textwrap.indent(textwrap.dedent(rest).strip(), '    ')}")
    return "\n\n".join(parts)


def as_markdown() -> str:
    """The document of the probes, and of every fault."""
    lines = [
        "# Probes of `pullback check`",
        "",
        "Each probe has its own switch (`--only values,orders`, `--skip edges`). This page is written by",
        "`python docs/make_checks.py`, from the docstrings in `src/pullback/check/probing/` and the catalogue of faults there.",
        "",
    ]
    for name in ORDER:
        summary, _, rest = PROBES[name].page.strip().partition("\n")
        lines += [f"## {name}", "", summary, "", " ".join(textwrap.dedent(rest).split()), ""]
    lines += [
        "## The faults that probes name",
        "",
        "Causes first: of several faults the first is the one to look at.",
        "",
    ]
    lines += [
        "| fault | what it is | why it matters | what to write instead | in the source |",
        "|---|---|---|---|---|",
    ]
    for fault, entry in CATALOGUE.items():
        rules = ", ".join(f"[{code}](lint.md)" for code in entry.rules)
        cells = [text.replace("|", "\\|") for text in (entry.summary, entry.why, entry.instead)]
        lines.append(f"| `{fault}` | {' | '.join(cells)} | {rules} |")
    return "\n".join(lines) + "\n"
