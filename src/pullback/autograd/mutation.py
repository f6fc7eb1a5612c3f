"""Writing into saved values: they are copied before the write, so that backward still finds the old ones."""

from __future__ import annotations

import weakref
from typing import Any, Self

from pullback.core import arrays, views
from pullback.core.errors import lesson
from pullback.core.packing import saved_tensors_hooks
from pullback.core.tensor import Tensor, wrap


class _Held:
    """One saved value: the array that the program may write into, or a copy from before the first write to it."""

    __slots__ = ("__weakref__", "array", "kind")

    def __init__(self, tensor: Tensor) -> None:
        self.array: Any = tensor._array
        self.kind = type(tensor)

    def keep_from(self, written: Any) -> None:
        """Copy the values if a write to the array `written` would change them."""
        if arrays.shares_memory(self.array, written):
            self.array = arrays.copy(self.array, arrays.namespace(self.array))


class allow_mutation_on_saved_tensors(saved_tensors_hooks):  # noqa: N801 - used like a statement
    """Inside, values that are saved for backward may be written to in place: they are copied before the write.

    Forward and backward both have to run inside.  What is not written to is not copied.

    Raises
    ------
    AssertionError
        From a backward pass that runs outside, or after `clear`.
    RuntimeError
        For one inside of another.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.graph.allow_mutation_on_saved_tensors():
    ...     h = x * 1
    ...     y = (h * h).sum()
    ...     h.zero_()
    ...     y.backward()
    tensor([0., 0.], grad_fn=<CopyBackwards>)
    >>> x.grad
    tensor([2., 4.])
    """

    _active: Any = None  # the one that is entered, for all threads, as in torch

    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __init__(self) -> None:
        super().__init__(self._pack, self._unpack)
        self._held: weakref.WeakSet[_Held] = weakref.WeakSet()

    def _again(self) -> Any:
        return type(self)()

    def __enter__(self) -> Self:  # type: ignore[override]
        if allow_mutation_on_saved_tensors._active is not None:
            raise lesson(
                RuntimeError,
                "allow_mutation_on_saved_tensors contexts cannot be nested",
                instead="leave the inner one out: the outer one works for everything inside of it.",
            )
        super().__enter__()
        allow_mutation_on_saved_tensors._active = self
        views.before_writing = self._before_writing
        return self

    def __exit__(self, *exception: object) -> None:
        allow_mutation_on_saved_tensors._active = None
        views.before_writing = None
        self.clear()
        super().__exit__(*exception)

    def clear(self) -> None:
        """Let go of everything that was saved; a backward pass over it is an error from now on."""
        self._held.clear()

    def _pack(self, tensor: Tensor) -> _Held:
        held = _Held(tensor)
        self._held.add(held)
        return held

    def _unpack(self, held: _Held) -> Tensor:
        if held not in self._held:
            raise lesson(
                AssertionError,
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally "
                "recorded.",
                why="only inside is anything copied before it is written to.",
                instead="call backward() before the end of the block in which the outputs were computed.",
            )
        return wrap(held.kind, held.array)

    def _before_writing(self, tensor: Tensor) -> None:
        for held in list(self._held):
            held.keep_from(tensor._array)
