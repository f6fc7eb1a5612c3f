"""A temporary gives its memory to the operator that consumes it: ``2 * x * g`` needs one new array, as it does in NumPy.

Writing into an operand is right only if nobody else can ever look at it.  A count of references alone does not prove that:
compiled code may call an operator with an operand that some container of its own holds, and counts no reference for the call.
The proof is in the bytecode of the caller.  Where the instruction that made a Tensor and the one that consumes it have nothing
between them but one load, the Tensor went straight from the one to the other on the evaluation stack of that frame, and a
reference count that leaves no room for another holder says that it is nowhere else.

What this takes for granted: an instruction like ``a * b`` that ran a Tensor's operator pushed its result, or something new that
holds the result.  A class whose ``__mul__`` is itself compiled code that writes Tensors into a container kept elsewhere, and
returns that container, would break it (``functools.partial(np.multiply, tensors, out=kept)``, with arrays of objects).
"""

from __future__ import annotations

import opcode
import sys
from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core.recycling import alike, forget, is_watched

_CACHE = opcode.opmap.get("CACHE", 0)
_LOADS = frozenset(
    opcode.opmap[name]
    for name in ("LOAD_CONST", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_SMALL_INT")
    if name in opcode.opmap
)


def _instruction(symbol: str) -> bytes:
    """The bytecode of one operator."""
    code, opening = compile(f"a {symbol} b", "", "eval").co_code, opcode.opmap.get("BINARY_OP", -1)
    return next((code[k : k + 2] for k in range(0, len(code), 2) if code[k] == opening), b"")


_INSTRUCTIONS = {
    np.add: _instruction("+"),
    np.subtract: _instruction("-"),
    np.multiply: _instruction("*"),
    np.divide: _instruction("/"),
}

#: The newest large result: its identity, the frame that asked for it, and the instruction there.
_newest: tuple[int, int, int] = (0, 0, 0)


def made(tensor: Any) -> None:
    """Remember that the caller of the calling operator has just got this large result."""
    global _newest
    try:
        frame = sys._getframe(2)
    except ValueError:  # called by the interpreter itself: no instruction will consume it
        return
    _newest = id(tensor), id(frame), frame.f_lasti


def temporary(ufunc: Any, a: Any, b: Any, array_a: Any, array_b: Any) -> Any:
    """The array of an operand that nobody will see again and that has room for the result, or ``None``.

    The operator calls this with its operands as they came, in the very frame that Python's instruction called.
    """
    identity, owner, instruction = _newest
    if id(a) == identity and getrefcount(a) == _ALONE:
        operand, array, other, loads = a, array_a, array_b, 1
    elif id(b) == identity and getrefcount(b) == _ALONE:
        operand, array, other, loads = b, array_b, array_a, 0
    else:
        return None
    frame = sys._getframe(2)
    if not is_watched(operand) or id(frame) != owner:
        return None
    if not _follows(frame.f_code.co_code, instruction, frame.f_lasti, loads, _INSTRUCTIONS[ufunc]):
        return None
    if array.dtype != other.dtype or array.dtype.kind not in "fc" or not (other.ndim == 0 or alike(array, other)):
        return None
    forget(operand)
    return array


def _follows(code: bytes, made: int, now: int, loads: int, wanted: bytes) -> bool:
    """Whether `now` is the `wanted` operator, and takes the result of an operator at `made` after so many loads."""
    if code[now : now + 2] != wanted or code[made : made + 2] not in _INSTRUCTIONS.values():
        return False
    between = [step for step in code[made + 2 : now : 2] if step != _CACHE]
    return made < now and len(between) == loads and _LOADS.issuperset(between)


class _Operand:
    """Stands for a Tensor in `_references_to_a_temporary`."""

    def __mul__(self, other: Any) -> int:
        return _count(np.multiply, self, other, None, None)


def _count(ufunc: Any, a: Any, b: Any, array_a: Any, array_b: Any) -> int:
    return getrefcount(a)


def _references_to_a_temporary() -> int:
    """Count as `temporary` does; 0, which never occurs, where counting tells a temporary from a variable not."""
    held, one = _Operand(), 1
    alone = _Operand() * one
    free_threads = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return alone if alone < held * one and not free_threads else 0


_ALONE = _references_to_a_temporary() if sys.implementation.name == "cpython" else 0
