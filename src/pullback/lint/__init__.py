"""``pullback lint``: what source code says about custom autograd Functions, without importing or running it.

    lint_text(text)          findings in source text
    lint_file(path, config)  findings in a file
    RULES                    the rules, by code

`pullback lint --explain PB301` prints a rule's page.
"""

from __future__ import annotations

from pullback.lint.config import Config
from pullback.lint.finding import Finding
from pullback.lint.rule import Rule
from pullback.lint.rules import RULES
from pullback.lint.run import files, lint_file, lint_text

__all__ = ["RULES", "Config", "Finding", "Rule", "files", "lint_file", "lint_text"]
