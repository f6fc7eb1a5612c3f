"""The graph as an object: nodes, edges, hooks on several Tensors, write counts."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd.logbook import log_backward
from pullback.autograd.mutation import allow_mutation_on_saved_tensors
from pullback.core import arrays
from pullback.core.differentiate import GradientEdge, get_gradient_edge
from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.hooks import RemovableHandle
from pullback.core.leaf import Leaf
from pullback.core.packing import disable_saved_tensors_hooks, saved_tensors_hooks
from pullback.core.tensor import Tensor, wrap

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "log_backward",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_on_disk",
    "saved_tensors_hooks",
]


def increment_version(tensor: Any) -> None:
    """Count a write to `tensor` (or several) that the library did not see: values saved from it are stale now.

    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0])
    >>> x.numpy()[0] = 5.0
    >>> pb.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        one._shared_buffer().touch()


def queue_callback(callback: Callable[[], object]) -> None:
    """Call `callback` at the end of the backward pass that is running."""
    task = current_pass()
    if task is None:
        raise lesson(
            RuntimeError,
            "Final callbacks can only be installed during backward pass.",
            instead="call this from a hook or from a Function's backward.",
        )
    task.final.append(callback)


class _Handles(RemovableHandle):
    """The handles of one hook on several Tensors, removed together."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """One hook on several Tensors.

    Parameters
    ----------
    tensors
        Tensors that require gradients.
    fn
        With ``mode="all"``: ``fn(grads)``, called in every pass that reaches one of them, as soon as the last gradient is
        there; ``None`` stands for those that the pass does not reach.  With ``mode="any"``: ``fn(grad)``, called once per
        pass with the first gradient.
    mode
        ``"all"`` or ``"any"``.
    """
    if mode not in ("all", "any"):
        raise lesson(
            ValueError,
            f"Expects mode to be one of ('all', 'any') but got {mode}",
            instead="'all' to be called once with all gradients, 'any' to be called with the first.",
        )
    nodes = [_node_finder(tensor) for tensor in tensors]
    key, lock = object(), threading.Lock()

    def arrived(position: int, grad: Any) -> None:
        task = current_pass()
        if task is None:
            return
        with lock:
            task.kept = task.kept or {}
            first = key not in task.kept
            if first:
                task.kept[key] = [None] * len(nodes), sum(visited(task, node()) for node in nodes)
            grads, missing = task.kept[key]
            grads[position] = grad
            task.kept[key] = grads, missing - 1
        if mode == "any":
            if first:
                fn(grad)
        elif missing == 1:
            fn(grads)

    return _Handles([t.register_hook(lambda grad, k=k: arrived(k, grad)) for k, t in enumerate(tensors)])


def visited(task: Any, node: Any) -> bool:
    """True when the pass comes by this node (``None`` for one that no graph holds any more)."""
    return node is not None and task.visits(node)


def _node_finder(tensor: Any) -> Callable[[], Any]:
    """Finds the node of a Tensor as it is now, without holding it; that of a leaf may be another one in every graph."""
    leaf = tensor._edge
    if leaf.__class__ is Leaf:
        return lambda: None if leaf.node is None else leaf.node()
    return weakref.ref(tensor._resolved()[0])


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - used like a statement
    """Inside, saved values are copied into memory of their own, as torch's namesake does for those on an accelerator."""

    def __new__(cls, pin_memory: bool = False, device_type: str = "cuda") -> Any:
        return object.__new__(cls)

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda copy: copy)

    def _again(self) -> Any:
        return type(self)()


class save_on_disk(saved_tensors_hooks):  # noqa: N801
    """Inside, saved values are written to files, and mapped into memory when backward reads them.

    Parameters
    ----------
    folder
        Where to write; a temporary folder by default.  Each file is removed when its value is no longer needed.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.graph.save_on_disk():
    ...     y = pb.sum(pb.sin(x) * x)
    >>> y.backward()
    """

    def __new__(cls, folder: Any = None) -> Any:
        return object.__new__(cls)

    def __init__(self, folder: Any = None) -> None:
        self.folder = folder
        super().__init__(lambda tensor: _OnDisk(tensor, folder), lambda stored: stored.load())

    def _again(self) -> Any:
        return type(self)(self.folder)


class _OnDisk:
    """The elements of one Tensor in a file that lives as long as this object."""

    def __init__(self, tensor: Tensor, folder: Any) -> None:
        import tempfile  # a heavy module of the standard library, for this rare use

        self.xp = arrays.namespace(tensor._array)
        array = np.ascontiguousarray(tensor._array)
        self.kind, self.dtype, self.shape = type(tensor), array.dtype, tensor._array.shape
        handle, self.path = tempfile.mkstemp(suffix=".saved", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(array.tobytes())
        self._finalizer = weakref.finalize(self, _remove, self.path)

    def load(self) -> Tensor:
        """The values, mapped into memory read-only."""
        if 0 in self.shape:
            values: Any = np.empty(self.shape, self.dtype)
        else:
            mapped = np.memmap(self.path, dtype=self.dtype, mode="r", shape=self.shape or (1,))
            values = np.asarray(mapped).reshape(self.shape)
        return wrap(self.kind, values if self.xp is np else self.xp.asarray(values.copy()))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)
