"""Lines of user code: where a node was recorded, where a rule is defined.

Looking at the stack on every call would slow every program, so the line of a node is noted only under
``detect_anomaly()``; messages say so where it is missing.  The line of a rule is known without running anything.
"""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any
from weakref import WeakKeyDictionary

from pullback.core import modes

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_recorded: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def user_line() -> str:
    """``file:line: source`` of the innermost frame outside this package."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    name, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(name, line).strip()
    return f"{name}:{line}" + (f": {source}" if source else "")


def note_line(node: Any) -> None:
    """Remember the user's line at which `node` was recorded."""
    _recorded[node] = user_line()


modes.note_line = note_line


def recorded_at(node: Any) -> str:
    """A sentence: where the node was recorded, or how to find out."""
    line = _recorded.get(node)
    if line is not None:
        return f"{node._name()} was recorded at {line}"
    return (
        f"To see the line that recorded {node._name()}, run the forward computation inside "
        "`with pullback.autograd.detect_anomaly():`"
    )


def defined_at(function: Any) -> str:
    """A sentence: where a user's rule is defined, empty when that is unknown."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    while getattr(function, "__wrapped__", None) is not None:
        function = function.__wrapped__
        code = getattr(function, "__code__", code)
    if code is None or code.co_filename.startswith(_PACKAGE):
        return ""
    return f"{function.__qualname__} is defined at {code.co_filename}:{code.co_firstlineno}"
