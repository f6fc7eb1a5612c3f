"""``array += tensor`` and ``np.add(array, tensor, out=array)`` look the same from inside: the caller's bytecode tells."""

from __future__ import annotations

import opcode
from typing import Any

_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>")


def _instructions() -> frozenset[bytes]:
    """The bytecodes of ``a += b`` and its like."""
    opening = opcode.opmap.get("BINARY_OP", -1)
    codes = [compile(f"a {symbol}= b", "", "exec").co_code for symbol in _OPERATORS]
    return frozenset(code[k : k + 2] for code in codes for k in range(0, len(code), 2) if code[k] == opening)


_IN_PLACE = _instructions()


def writes_in_place(frame: Any, out: Any, inputs: Any) -> bool:
    """Whether the instruction of a frame is an operator that writes into its left operand, an array."""
    if len(out) != 1 or out[0] is not inputs[0]:
        return False
    code, k = frame.f_code.co_code, frame.f_lasti
    return code[k : k + 2] in _IN_PLACE
