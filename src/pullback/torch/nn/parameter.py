"""``torch.nn.parameter``: Tensors that a module owns and that are learned."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor as _Base
from pullback.core.tensor import wrap as _wrap
from pullback.torch._tensor import Tensor as _Tensor

__all__ = ["Buffer", "Parameter"]

#: The Tensors that were made as parameters, or as buffers, by identity: results of operators are ordinary Tensors.
_made: dict[int, tuple[Any, str]] = {}


def _mark(tensor: Any, kind: str) -> Any:
    key = id(tensor)
    _made[key] = (weakref.ref(tensor, lambda _: _made.pop(key, None)), kind)
    return tensor


def is_marked(value: Any, kind: str) -> bool:
    """Whether this very Tensor was made as a parameter (or buffer)."""
    found = _made.get(id(value))
    return found is not None and found[0]() is value and found[1] == kind


class _Kind(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _Base) and is_marked(value, cls.__name__)


class Parameter(metaclass=_Kind):
    """A leaf over the memory of `data`, which asks for gradients and which a module counts as its own.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> w.requires_grad, isinstance(w, torch.nn.Parameter), isinstance(w * 2, torch.nn.Parameter)
    (True, True, False)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        array = np.empty(0, dtype=np.float32) if data is None else data.detach()._array
        found = _wrap(_Tensor if data is None else type(data), array)
        return _mark(found.requires_grad_(requires_grad), "Parameter")


class Buffer(metaclass=_Kind):
    """A Tensor that a module keeps, and that is not learned."""

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        array = np.empty(0, dtype=np.float32) if data is None else data.detach()._array
        return _mark(_wrap(_Tensor if data is None else type(data), array), "Buffer")
