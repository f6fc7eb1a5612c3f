"""``torch.ops``: the operators by the names that torch's dispatcher has for them, as policies of checkpoints compare them.

>>> import pullback.torch as torch
>>> torch.ops.aten.mm.default is torch.ops.aten.matmul.default
True
"""

from __future__ import annotations

from typing import Any

from pullback.autograd.selective import operator_of as _operator_of
from pullback.core.errors import lesson as _lesson

__all__ = ["aten"]


class _Aten:
    """``torch.ops.aten``: each name is the operator of this library that does the work."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            operator = _operator_of(name.rstrip("_"))
        except ValueError:
            raise _lesson(
                AttributeError,
                f"torch.ops.aten.{name} is no single operator here",
                why="other functions are composed of several.",
                instead="the operators that it is made of (matmul, exp, sum, ...).",
                name=name,
            ) from None
        return _Packet(operator)


class _Packet:
    """An operator with its overloads, all of which are the operator itself; equal to it."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self.operator

    def __eq__(self, other: object) -> bool:
        return self.operator is (other.operator if isinstance(other, _Packet) else other)

    def __hash__(self) -> int:
        return hash(self.operator)

    def __repr__(self) -> str:
        return f"<the operator {self.operator.__name__}>"


aten = _Aten()
