"""A temporary gives its memory to the operator that consumes it: ``2 * x * g`` needs one new array, as it does in NumPy.

Writing into an operand is right only if nobody else can ever look at it.  A count of references alone does not prove that:
compiled code may call an operator with an operand that some container of its own holds, and counts no reference for the call.
The proof is in the bytecode of the caller.  Where the instruction that made a Tensor works on a variable of that frame, what it
made is a Tensor on the evaluation stack, not an array of objects that holds one (which would be used again for every entry that
it is broadcast to).  Where nothing but one load lies between that instruction and the one that consumes the Tensor, it went
straight from the one to the other, and a reference count that leaves no room for another holder says that it is nowhere else.

What this takes for granted: an instruction like ``a * b`` that ran a Tensor's operator pushed its result, or something new that
holds the result.  A class whose ``__mul__`` is itself compiled code that writes Tensors into a container kept elsewhere, and
returns that container, would break it (``functools.partial(np.multiply, tensors, out=kept)``, with arrays of objects).
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from sys import getrefcount
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from pullback.core.recycling import alike, forget, is_watched
from pullback.core.references import IN_A_VARIABLE
from pullback.core.tensor import Tensor

_VARIABLES = frozenset({"LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})
_LOADS = _VARIABLES | {"LOAD_CONST", "LOAD_SMALL_INT"}
_PAIRS = frozenset({"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_SYMBOLS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}
_SNAPSHOTS = sys.version_info < (3, 13)  # `f_locals` of a function is a dict that lives as long as the frame


class _Large(NamedTuple):
    """The newest large result: which Tensor, in which frame and by which instruction it was made, of which Tensors."""

    tensor: int
    frame: int
    instruction: int
    operands: frozenset[int]  # empty where one is known to have been on the evaluation stack


_newest = _Large(0, 0, 0, frozenset())


def made(tensor: Any, a: Any, b: Any, elided: bool) -> None:
    """Remember that the caller of the calling operator has just got this large result."""
    global _newest
    try:
        frame = sys._getframe(2)
    except ValueError:  # called by the interpreter itself: no instruction will consume it
        return
    operands = () if elided else [id(operand) for operand in (a, b) if isinstance(operand, Tensor)]
    _newest = _Large(id(tensor), id(frame), frame.f_lasti, frozenset(operands))


def temporary(ufunc: Any, a: Any, b: Any, array_a: Any, array_b: Any) -> Any:
    """The array of an operand that nobody will see again and that has room for the result, or ``None``.

    The operator calls this with its operands as they came, in the very frame that Python's instruction called.
    """
    newest = _newest
    if id(a) == newest.tensor and getrefcount(a) == _ALONE:
        operand, array, other, loads = a, array_a, array_b, 1
    elif id(b) == newest.tensor and getrefcount(b) == _ALONE:
        operand, array, other, loads = b, array_b, array_a, 0
    else:
        return None
    frame = sys._getframe(2)
    if not is_watched(operand) or id(frame) != newest.frame:
        return None
    way = _way(frame.f_code, newest.instruction, frame.f_lasti)
    if way is None or way.loads != loads or way.symbol != _SYMBOLS[ufunc]:
        return None
    if newest.operands and not _loaded(frame, way.variables, newest.operands):
        return None
    if array.dtype != other.dtype or array.dtype.kind not in "fc" or not (other.ndim == 0 or alike(array, other)):
        return None
    forget(operand)
    return array


class _Way(NamedTuple):
    """From one operator of a function straight to another: how many loads are between, and what was loaded for the first."""

    loads: int
    symbol: str  # of the second
    variables: tuple[str, ...]


@functools.lru_cache(maxsize=256)
def _way(code: CodeType, made: int, now: int) -> _Way | None:
    """How the result of the instruction at `made` gets to the one at `now`; ``None`` where another way may lead there."""
    steps = list(dis.get_instructions(code)) if code.co_flags & inspect.CO_OPTIMIZED else []
    places = {step.offset: k for k, step in enumerate(steps)}
    first, last = places.get(made, 0), places.get(now, 0)
    if not 0 < first < last or any(step.is_jump_target for step in steps[first : last + 1]):
        return None
    between = [step.opname for step in steps[first + 1 : last]]
    ends = [step.argrepr for step in (steps[first], steps[last]) if step.opname == "BINARY_OP"]
    if not _LOADS.issuperset(between) or len(ends) < 2 or not set(_SYMBOLS.values()).issuperset(ends):
        return None
    loaded: list[str] = []  # the newest first; empty for a constant
    for step in reversed(steps[:first]):
        if step.opname in _PAIRS:
            loaded += step.argval[::-1]
        elif step.opname in _LOADS:
            loaded.append(step.argval if step.opname in _VARIABLES else "")
        if step.opname not in _LOADS or step.is_jump_target:
            break
    return _Way(len(between), ends[1], tuple([name for name in loaded[:2] if name]))


def _loaded(frame: Any, names: tuple[str, ...], operands: frozenset[int]) -> bool:
    """Whether one of these variables is one of the Tensors that a result was made of."""
    variables = frame.f_locals
    found = any(id(variables.get(name)) in operands for name in names)
    if _SNAPSHOTS and getrefcount(variables) == IN_A_VARIABLE + 1:  # the frame and this function hold it, nobody else
        variables.clear()  # it would keep alive what the variables hold now
    return found


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
