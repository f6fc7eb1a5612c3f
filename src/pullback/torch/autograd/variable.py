"""``Variable``, the name that a differentiable Tensor had long ago."""

from __future__ import annotations

from typing import Any

from pullback.autograd.graph import queue_callback as _queue_callback
from pullback.core.tensor import Tensor as _Base
from pullback.torch._functions_creation import as_tensor as _as_tensor

__all__ = ["Variable"]


class _Engine:
    """What programs reach for as ``Variable._execution_engine``."""

    queue_callback = staticmethod(_queue_callback)


class _VariableType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _Base)


class Variable(metaclass=_VariableType):
    """Old name: ``Variable(data, requires_grad)`` is a Tensor over the same memory."""

    _execution_engine = _Engine

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        return _as_tensor(data).detach().requires_grad_(requires_grad)
