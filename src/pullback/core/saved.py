"""Values that a rule saved for its backward: where they came from, and whether they are still what they were.

Every saved value is an input, an output, or neither.  Inputs keep the very Tensor; outputs are kept as bare arrays and
re-wrapped when read, so that a node never holds its own result and no reference cycle arises; values that are neither are
*intermediates*: what they depend on is unknown, and only running forward again can tell (``recompute.py``).
"""

from __future__ import annotations

import weakref
from typing import Any

from pullback.core import arrays, modes
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.lost import stale
from pullback.core.past import place_before, restored
from pullback.core.tensor import Tensor, wrap
from pullback.core.versions import Buffer

_new = object.__new__


def _detached(node: Node, what: str) -> RuntimeError:
    return lesson(
        RuntimeError,
        f"Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(): {what} of {node._name()}",
        instead="use y = x.detach(), which leaves x alone.",
    )


class Saved:
    """What a node of a user's Function keeps: entries in order, and the arguments for a re-run where one may be needed."""

    __slots__ = ("entries", "rerun")

    def __init__(self, entries: tuple[Any, ...], rerun: Any) -> None:
        self.entries = entries
        self.rerun = rerun


class SavedTensor:
    """A saved Tensor with the version it had; subclasses say where it came from."""

    __slots__ = ("_array", "_buffer", "_edge", "_version", "tensor")
    origin = "intermediate"

    def __init__(self, tensor: Tensor, edge: Any = None) -> None:
        self.tensor: Any = tensor
        self._array = tensor._array
        self._buffer = tensor._buffer
        self._version = tensor._version
        self._edge = edge

    def _check(self, node: Node, what: str) -> None:
        """Raise if the value was overwritten, unless what stood there is remembered: then that is kept from now on."""
        buffer = self._buffer if self._buffer is not None else self._late_buffer()
        if buffer is not None and buffer.stale(self._array, self._version):
            old = restored(buffer, self._array, self._version) if self._has_place() else None
            if old is None:
                raise stale(node, what, self._array, self._version, buffer, self._edge)
            self._array, self._buffer = old, Buffer()

    def _has_place(self) -> bool:
        """Whether the place in the graph that the value was saved with is known."""
        return not self.tensor.requires_grad

    def _late_buffer(self) -> Any:
        """A Tensor gets its write log when it is first viewed or written, which may be after it was saved."""
        return self.tensor._buffer

    def unpack(self, node: Node, what: str) -> Any:
        """The saved value, checked."""
        self._check(node, what)
        if self.tensor._array is self._array or self.tensor.requires_grad:
            return self.tensor
        return wrap(type(self.tensor), self._array, self._buffer)


class SavedInput(SavedTensor):
    """A saved argument: the very object, as long as its place in the graph is still the one it was saved with."""

    __slots__ = ()
    origin = "input"

    def _has_place(self) -> bool:
        return True

    def unpack(self, node: Node, what: str) -> Any:
        self._check(node, what)
        tensor = self.tensor
        if tensor._array is self._array and tensor._resolved() == self._edge:  # lent memory is left, not overwritten
            return tensor
        if self._edge is not None and tensor._edge is None and tensor._view is None:
            raise _detached(node, what)
        return wrap(type(tensor), self._array, self._buffer, self._edge)


class SavedOutput(SavedTensor):
    """A saved result: a bare array, re-wrapped at every reading.

    It learns of its write log when one is made (`Tensor._shared_buffer` tells the node), so saving an output costs no log.
    """

    __slots__ = ("kind", "position")
    origin = "output"

    def __init__(self, tensor: Tensor, position: int) -> None:
        super().__init__(tensor)
        self.kind = type(tensor)
        self.tensor = weakref.ref(tensor)
        self.position = position

    def _late_buffer(self) -> Any:
        return None

    def _has_place(self) -> bool:
        return True

    def unpack(self, node: Node, what: str) -> Any:
        self._check(node, what)
        if self._buffer is None and modes.current()._recording:  # others may save what is handed out
            self._buffer = node._log_of(self.position, Buffer())
        return wrap(self.kind, self._array, self._buffer, (node, self.position))

    def same_or_again(self, node: Node, what: str) -> Any:
        """The output itself while it lives, as ``ctx.y`` should be; a new Tensor afterwards."""
        self._check(node, what)
        tensor = self.tensor()
        return tensor if tensor is not None and tensor._array is self._array else self.unpack(node, what)


def saved_result(kind: Any, array: Any) -> SavedOutput:
    """A `SavedOutput` for the only output of a node, made without Python calls to spare."""
    entry = _new(SavedOutput)
    entry._array = array
    entry._buffer = None
    entry._version = 0
    entry._edge = None
    entry.tensor = None
    entry.kind = kind
    entry.position = 0
    return entry


class SavedPlain(SavedTensor):
    """A saved output that is not differentiable, or that was saved without recording."""

    __slots__ = ()
    origin = "output"


def pack(tensor: Any, inputs: Any, edges: Any, returned: Any = (), outputs: Any = ()) -> Any:
    """What to keep of one saved Tensor; the Tensor itself where it is an argument that was never written or viewed."""
    for position in range(len(returned) - 1, -1, -1):  # a Tensor returned twice is one output, at its last place
        if returned[position] is tensor:
            output = outputs[position]
            return SavedOutput(output, position) if output._edge is not None else SavedPlain(output)
    for argument, edge in zip(inputs, edges, strict=True):
        if argument is tensor:
            if tensor._buffer is None and tensor._view is None:
                return tensor
            return SavedInput(tensor, edge or None)
    return SavedTensor(tensor)


def is_intermediate(entry: Any) -> bool:
    """True for a saved value that is neither input nor output, and could carry a derivative."""
    if entry.__class__ is SavedTensor:
        return arrays.is_inexact(entry.tensor.dtype)
    return getattr(entry, "source", "") == "intermediate"  # in the keeping of hooks, see packing.py


def holds_own_graph(entry: Any) -> bool:
    """True for an intermediate that forward recorded itself, under `enable_grad`: backward may differentiate it."""
    return is_intermediate(entry) and isinstance(getattr(entry, "tensor", None), Tensor) and entry.tensor.requires_grad


def unpack(entry: Any, node: Node, what: str) -> Any:
    """The Tensor behind an entry made by `pack`."""
    if entry is None:
        return None
    if isinstance(entry, Tensor):
        buffer = entry._buffer
        if buffer is not None and buffer.version:
            old = restored(buffer, entry._array, 0)
            if old is None:
                raise stale(node, what, entry._array, 0, buffer, entry._resolved())
            return wrap(type(entry), old, None, place_before(buffer, entry))
        if buffer is not None and buffer.detached:
            raise _detached(node, what)
        return entry
    return entry.unpack(node, what)
