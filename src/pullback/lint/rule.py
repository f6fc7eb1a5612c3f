"""What a rule is: a function over the facts of one Function class, or over a whole file, whose docstring is its page."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pullback.lint.analysis import Analysis
from pullback.lint.source import Source


@dataclass
class Hit:
    """One place where a rule is broken: what happens in this very code, and what to write instead."""

    node: ast.AST
    message: str
    instead: str
    severity: str = ""  # where it differs from the rule's own


@dataclass(frozen=True)
class Rule:
    """A rule: its code, the name of the fault, how grave it is, and the function that looks for it."""

    code: str
    name: str
    severity: str
    find: Callable[..., Iterator[Hit]]
    whole_file: bool = False
    fixable: bool = False

    @property
    def page(self) -> str:
        """What it does, why that is bad, an example, what to use instead."""
        return self.find.__doc__ or ""

    @property
    def summary(self) -> str:
        return self.page.strip().partition("\n")[0]


RULES: dict[str, Rule] = {}


def rule(
    code: str, name: str, severity: str, *, fixable: bool = False
) -> Callable[[Callable[[Analysis], Iterator[Hit]]], Rule]:
    """Register a function over one Function class as a rule."""
    return _register(code, name, severity, False, fixable)


def file_rule(
    code: str, name: str, severity: str
) -> Callable[[Callable[[Source, list[Analysis]], Iterator[Hit]]], Rule]:
    """Register a function over a file and its Function classes as a rule."""
    return _register(code, name, severity, True, False)


def _register(
    code: str, name: str, severity: str, whole_file: bool, fixable: bool
) -> Callable[[Callable[..., Iterator[Hit]]], Rule]:
    def register(find: Callable[..., Iterator[Hit]]) -> Rule:
        if code in RULES:
            raise ValueError(f"two rules {code}")
        RULES[code] = Rule(code, name, severity, find, whole_file, fixable)
        return RULES[code]

    return register
