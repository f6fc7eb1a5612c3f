"""Lines of user code: where a node was recorded, where a rule is defined.

A node remembers the code and the instruction that called its operator, two references; which line that is, is found out when
an error wants to say it.  Every operator notes it for itself, because one more call for every node would be felt.
"""

from __future__ import annotations

import dis
import itertools
import linecache
import opcode
import os
import sys
from collections.abc import Callable
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


#: Says of code whether it is that of a library which computes with Tensors; ``None`` until one has asked for their namespace.
of_library: Callable[[Any], bool] | None = None


class _Familiar:
    """The last code that was found to be a user's; operators compare their caller with it before they look any further."""

    __slots__ = ("code",)
    code: Any


familiar = _Familiar()
familiar.code = None


def is_ours(code: Any) -> bool:
    """Whether code belongs to this package."""
    return bool(code.co_filename.startswith(_PACKAGE))


def outside(frame: Any) -> Any:
    """The innermost frame from `frame` outwards that is not of this package; the outermost one if all are."""
    caller = frame
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    if frame is caller and not frame.f_code.co_filename.startswith(_PACKAGE):
        familiar.code = frame.f_code
    return frame


def note(node: Any) -> None:
    """Remember who recorded `node`: the instruction outside this package that is running."""
    frame = outside(sys._getframe(1))
    node._code, node._instruction = frame.f_code, frame.f_lasti


def caller(depth: int = 1) -> tuple[Any, int]:
    """The instruction outside this package that is running.  To look at a frame costs, so `depth` frames are passed over."""
    try:
        frame = sys._getframe(depth)
    except ValueError:  # called by the interpreter itself: in a thread, at exit
        frame = sys._getframe()
    if frame.f_code is not familiar.code:
        frame = outside(frame)
    return frame.f_code, frame.f_lasti


def same_place(node: Any, other: Any) -> None:
    """`node` stands for something that `other` recorded."""
    node._code, node._instruction = getattr(other, "_code", None), getattr(other, "_instruction", 0)


def line_of(code: Any, instruction: int) -> str:
    """File, number and text of the line of an instruction; a full stop in the place of a text that cannot be read."""
    line = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,))[0] or code.co_firstlineno
    source = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f": {source}" if source else ".")


def operation_of(code: Any, instruction: int) -> str:
    """What an instruction does, as its user wrote it: ``+=``, ``mul_()``, an assignment; empty for anything else."""
    steps = [step for step in dis.get_instructions(code) if step.offset <= instruction]
    this = steps.pop()
    if this.opname == "STORE_SUBSCR":
        return "an assignment"
    if this.opname == "BINARY_OP":
        return this.argrepr
    if not this.opname.startswith("CALL") or this.positions is None:
        return ""
    begin = this.positions[0::2]  # line and column; what is called was loaded last by an expression that begins there
    loads = [s for s in steps if s.opname.startswith("LOAD") and s.positions is not None and s.positions[0::2] == begin]
    return f"{loads[-1].argval}()" if loads and isinstance(loads[-1].argval, str) else ""


def recorded_at(node: Any, name: str = "") -> str:
    """A sentence: which line of the user's recorded the node; empty when that is unknown."""
    code = getattr(node, "_code", None)
    if code is None:
        return ""
    return f"{name or node._name()} was recorded at {line_of(code, node._instruction)}"


def story(node: Any) -> list[str]:
    """Where a node was recorded, in sentences, and as far as anomaly detection noted it: who called, and in whose backward."""
    sentences = [recorded_at(node)]
    outer = node.metadata.get("traceback_", ())[:-1]
    sentences += [f"    called at {line}" for line in reversed(outer)]
    sentences += node.metadata.get("parents_", ())
    return [sentence for sentence in sentences if sentence]


def stack(limit: int) -> list[str]:
    """The lines outside this package that are running, the innermost last."""
    frame: Any = sys._getframe(1)
    lines: list[str] = []
    while frame is not None and len(lines) < limit:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            lines.append(line_of(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return lines[::-1]


def defined_at(function: Any) -> str:
    """A sentence: where a user's rule is defined, empty when that is unknown."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    while getattr(function, "__wrapped__", None) is not None:
        function = function.__wrapped__
        code = getattr(function, "__code__", code)
    if code is None or code.co_filename.startswith(_PACKAGE):
        return ""
    return f"{function.__qualname__} is defined at {code.co_filename}:{code.co_firstlineno}"


# --------------------------------------------------------------------------------------- compiled code that wants a number
_STORE = opcode.opmap["STORE_SUBSCR"]
_CALL = opcode.opmap["CALL"]
_CALL_KW = opcode.opmap.get("CALL_KW", -1)  # since Python 3.13
_KW_NAMES = opcode.opmap.get("KW_NAMES", -1)  # until then, some instructions before the call
_BETWEEN = frozenset({opcode.opmap.get("CACHE", -1), opcode.opmap.get("PRECALL", -1)})


def stores_item(frame: Any) -> bool:
    """Whether ``a[i] = x`` is running: an array then asks x for a number."""
    return bool(frame.f_code.co_code[frame.f_lasti] == _STORE)


def passes_by_name(frame: Any) -> bool:
    """Whether a call with names is running, ``f(a, initial=x)``: it is not ``float(x)`` which asks x for a number."""
    code, k = frame.f_code.co_code, frame.f_lasti
    if code[k] == _CALL_KW:
        return True
    if code[k] != _CALL or _KW_NAMES < 0:
        return False
    k -= 2
    while k > 0 and code[k] in _BETWEEN:
        k -= 2
    return bool(code[k] == _KW_NAMES)


#: Functions that wrap others: what they are called says nothing.
_WRAPPERS = frozenset({"wrapper", "wrapped", "inner", "_wrapped", "__call__", "<lambda>", "<listcomp>", "<genexpr>"})


def called_by_library(frame: Any) -> tuple[str, str] | None:
    """An installed library in whose code `frame` is, outside this package, and its function that was called from elsewhere.

    NumPy does not count: it asks Tensors what its functions mean, and where it does not, other words are needed.
    """
    frame = outside(frame)
    while _root(frame) == "numpy" and frame.f_back is not None:
        frame = frame.f_back
    root = _root(frame)
    if root is None or not _is_installed(frame.f_code.co_filename):
        return None
    names = []
    while frame is not None and _root(frame) == root:
        names.append(frame.f_code.co_name)
        wrapped, frame = frame.f_locals.get("fun"), frame.f_back  # what SciPy's decorators call the function
    telling = [name for name in names if name not in _WRAPPERS and not name.endswith("_wrapper")]
    return str(root), (telling or [getattr(wrapped, "__name__", names[-1])])[-1]


def is_numpys(frame: Any) -> bool:
    """Whether code of NumPy is running."""
    return bool(_root(frame) == "numpy")


def _root(frame: Any) -> Any:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] or None


def _is_installed(file: str) -> bool:
    return f"{os.sep}site-packages{os.sep}" in file or f"{os.sep}dist-packages{os.sep}" in file
