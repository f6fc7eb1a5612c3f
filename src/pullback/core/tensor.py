"""Tensor: an array, and its place in the graph.

What belongs to the place stands in ``placed.py``, the ways out of the graph in ``leaving.py``, gradients and hooks in
``gradients.py``.  Operators are defined nowhere here; ``pullback/ops/bind.py`` attaches them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core import arrays, dual
from pullback.core.dual import OPEN
from pullback.core.errors import lesson
from pullback.core.gradients import Gradients
from pullback.core.leaf import Leaf as Leaf
from pullback.core.leaving import Leaving
from pullback.core.recorded import Recorded
from pullback.core.wrapping import lent as lent
from pullback.core.wrapping import wrap as wrap


class Tensor(Leaving, Gradients):
    """An array that can take part in differentiation.

    Make one with `pullback.tensor` (copies) or `pullback.asarray` (shares memory).

    Attributes
    ----------
    shape, dtype, ndim, size
        Those of the array; the dtype is always a NumPy dtype object.
    requires_grad
        True when operators on it are recorded.
    grad
        After ``backward()``: the derivative, a Tensor of the same shape and dtype, for leaves and after ``retain_grad()``.
    grad_fn
        The node that produced it; ``None`` for a leaf.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()
    __array_priority__ = 1000
    _base_class: Any = None  # the class that every kind of Tensor is an instance of

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        """Wrap an array without copying it."""
        self._array = array
        self._edge = None
        self._buffer = None
        self._grad = None
        if requires_grad:
            self.requires_grad = True

    @property
    def ndim(self) -> int:
        return len(self._array.shape)

    @property
    def size(self) -> int:
        return arrays.size(self._array)

    @property
    def device(self) -> Any:
        return getattr(self._array, "device", "cpu")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The Tensor itself; only its own device is accepted."""
        if device != self.device:
            raise ValueError(f"unsupported device {device!r}: this array lives on {self.device!r}")
        return self

    def __len__(self) -> int:
        if not self._array.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(Recorded.xp.unstack(self))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        body = np.array2string(
            arrays.everything(self._array), separator=", ", prefix="tensor(", max_line_width=100, threshold=100
        )
        parts = [body]
        if self.dtype not in (np.float64, np.int64, np.bool_, np.complex128):
            parts.append(f"dtype={self.dtype}")
        if hasattr(self._array, "batch"):
            parts.append(f"vmap={[batch.size for batch in self._array.batches]}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn._name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        if OPEN and (tangent := dual.tangent_of(self)) is not None:
            parts.append(f"tangent={tangent.tolist()}")
        return f"tensor({', '.join(parts)})"

    # ------------------------------------------------------------------------------------------------ copies
    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise lesson(
                RuntimeError,
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
                why="a copy of a computed Tensor would have no graph, or two.",
                instead="x.detach().clone() for the values.",
            )
        self._leave_as_value("deepcopy")
        result = _rebuild(type(self), arrays.copy(self._array, arrays.namespace(self._array)), self.requires_grad)
        memo[id(self)] = result
        if self._attributes():
            result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if self._grad is not None:
            result._grad = self._grad.__deepcopy__(memo)
        return result

    def __copy__(self) -> Tensor:
        """Another Tensor over the same memory: a leaf of its own, or a view."""
        leaf = self._edge.__class__ is Leaf
        twin = wrap(type(self), self._array, self._shared_buffer(), Leaf()) if leaf else self[...]  # type: ignore[index]
        if self._attributes():
            twin.__dict__.update(self.__dict__)
        return twin

    def __reduce__(self) -> Any:
        self._leave_as_value("pickle")
        return _rebuild, (type(self), np.asarray(self._array), self.requires_grad), self._attributes()

    def _attributes(self) -> Any:
        """What a user set on a Tensor of a subclass; ``None`` where there is nothing."""
        return getattr(self, "__dict__", None) or None


Tensor._base_class = Tensor


def _rebuild(kind: Any, array: Any, requires_grad: bool) -> Tensor:
    return wrap(kind, array).requires_grad_(requires_grad)
