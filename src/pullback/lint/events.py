"""What is noted while a method is followed: calls, and values that are returned, kept, written or taken out of the graph."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from pullback.lint.source import Source
from pullback.lint.values import Value

Branch = tuple[tuple[int, str], ...]
CTX, XP = "<ctx>", "<xp>"  # tokens of ctx, and of the array library that a Primitive finds there


@dataclass
class Called:
    """One call: ``name`` is dotted, ``tail`` its last part, ``receiver`` the value before the dot."""

    node: ast.Call
    name: str
    tail: str
    receiver: Value | None
    values: list[Value]
    keywords: dict[str, Value]
    branch: Branch
    starred: bool


@dataclass
class Event:
    """A value that was returned, kept or written, and where."""

    node: ast.AST
    value: Value
    branch: Branch
    name: str = ""


@dataclass
class Notes:
    """What is known at one point of a method, and what was noted up to there."""

    source: Source
    environment: dict[str, Value]
    attribute: Callable[[str], Value | None] = lambda name: None  # what ctx.name is known to hold
    calls: dict[int, Called] = field(default_factory=dict)  # by node: what a loop repeats counts once, as it was last
    returned: list[Event] = field(default_factory=list)
    kept: dict[int, Event] = field(default_factory=dict)  # ctx.name = value
    written: list[Event] = field(default_factory=list)  # in place
    left: list[Event] = field(default_factory=list)  # values taken out of the graph
    stored: list[Event] = field(default_factory=list)  # into names, attributes and containers from outside
    unrecorded: list[ast.With] = field(default_factory=list)  # blocks without recording
    branch: Branch = ()
