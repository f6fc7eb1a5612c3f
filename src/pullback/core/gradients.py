"""``.grad``, and the functions that users hang on a Tensor."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import LEAF_NUMBER, Node
from pullback.core.hooks import Hooks, RemovableHandle, name_of, register
from pullback.core.leaf import Leaf, accumulating
from pullback.core.masked import unmask
from pullback.core.placed import Placed
from pullback.core.versions import BORROWED
from pullback.core.wrapping import hold_another_array, lent, wrap


class Gradients(Placed):
    """What `Tensor` knows of its gradient, and how it is seen by hooks."""

    __slots__ = ()

    @property
    def grad(self) -> Any:
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. It is only filled for leaves, "
                "the Tensors you made yourself; call .retain_grad() on this one before backward() to have it filled too.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            self._check_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, Placed):
            raise lesson(
                TypeError,
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__!r}",
                instead="pullback.tensor(...) of the same shape, or None.",
            )
        if value is self:
            raise lesson(RuntimeError, "can't assign Variable as its own grad", instead="assign a copy.")
        if value.shape != self.shape:
            raise lesson(
                RuntimeError,
                f"attempting to assign a gradient of size {list(value.shape)} to a tensor of size {list(self.shape)}",
                instead="a gradient of the Tensor's own shape.",
            )
        if value.dtype != self.dtype:
            raise lesson(
                RuntimeError,
                f"attempting to assign a gradient with dtype {value.dtype} to a tensor of dtype {self.dtype}",
                instead="cast the gradient to the Tensor's dtype first.",
            )

    def _accumulate(self, cotangent: Any, record: bool, fresh: bool = False) -> None:
        """Add to ``.grad``: that of a leaf in place, unless the sum is itself to be differentiated.

        A `fresh` cotangent belongs to nobody else; its memory is taken over where it is an array of its own.
        """
        fresh = fresh and isinstance(cotangent, np.ndarray) and cotangent.base is None
        fresh = fresh and cotangent.flags.c_contiguous and cotangent.flags.writeable
        cotangent = unmask(cotangent)
        if record:
            clone = cotangent.clone() if self._grad is None else self._grad + cotangent
            self._grad = clone
            return
        xp = arrays.namespace(self._array)
        with accumulating:
            if self._grad is None:
                self._grad = wrap(type(self), cotangent if fresh else arrays.copy(cotangent, xp))
                return
            if self._edge.__class__ is not Leaf or (self._grad._buffer is not None and self._grad._buffer.borrowed):
                self._grad = wrap(type(self), arrays.copy(self._grad._array, xp))
            total = self._grad._array
            if arrays.is_mutable(total):
                total += (
                    cotangent if cotangent.dtype == total.dtype else arrays.cast(cotangent, arrays.dtype_of(total), xp)
                )
                self._grad._shared_buffer().touch("a backward pass, which added to .grad")
            else:
                hold_another_array(self._grad, total + cotangent)

    def retain_grad(self) -> None:
        """Fill ``.grad`` of this non-leaf Tensor too."""
        if not self.requires_grad:
            raise lesson(
                RuntimeError,
                "can't retain_grad on Tensor that has requires_grad=False",
                instead="ask for gradients where the Tensor is made: tensor(..., requires_grad=True).",
            )
        edge = self._resolved()
        if edge[0]._number != LEAF_NUMBER:
            self._node_hooks(edge[0]).retain[edge[1]] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """True after `retain_grad` on a non-leaf."""
        edge = self._resolved()
        if not edge or edge[0]._hooks is None or edge[0]._number == LEAF_NUMBER:
            return False
        reference = edge[0]._hooks.retain.get(edge[1])
        return reference is not None and reference() is self

    def _node_hooks(self, node: Node) -> Hooks:
        if node._hooks is None:
            node._hooks = Hooks(type(self))
        return node._hooks

    def _hook_table(self, purpose: str) -> tuple[Hooks, int]:
        if not self.requires_grad:
            raise lesson(
                RuntimeError,
                f"cannot register a {purpose} on a tensor that doesn't require gradient",
                instead="ask for gradients where the Tensor is made: tensor(..., requires_grad=True).",
            )
        if self._edge.__class__ is Leaf:
            return self._edge.hook_table(type(self)), 0
        edge = self._resolved()
        return self._node_hooks(edge[0]), edge[1]

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` with the summed gradient of this Tensor in every backward pass; it may return a replacement."""
        hooks, position = self._hook_table("hook")
        return register(hooks.tensor.setdefault(position, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after ``.grad`` of this leaf was updated."""
        if self.requires_grad and not self.is_leaf:
            raise lesson(
                RuntimeError,
                "post accumulate grad hooks cannot be registered on non-leaf tensors",
                instead="use register_hook, or register on the leaf.",
            )
        hooks, _ = self._hook_table("post accumulate grad hook")
        return register(hooks.after_accumulate, hook)

    @classmethod
    def _show(cls, cotangent: Any, record: bool) -> Any:
        """A cotangent of the walk as the Tensor that a user sees."""
        cotangent = unmask(cotangent)
        if cotangent is None:
            return None
        return lent(cotangent) if record else wrap(cls, cotangent, BORROWED)

    @staticmethod
    def _state(shown: Any) -> Any:
        """What `_was_written` compares: the memory, which is copied before the first write, and the place in the graph."""
        return None if shown is None else (shown._array, shown._edge)

    @staticmethod
    def _was_written(shown: Any, before: Any, hook: Any) -> bool:
        """True when a hook wrote into the cotangent that it was shown, which has a copy of its own since."""
        if shown is None or shown._array is before[0]:
            return False
        if shown._edge is not None and shown._edge is before[1]:
            raise lesson(
                DerivativeRefused,
                f"hook {name_of(hook)!r} wrote into its gradient without recording, while the pass is recorded",
                why="with create_graph=True the gradient is differentiated again, and its graph does not know of the write.",
                instead="write without no_grad(), detach() and .data; or return the new gradient.",
            )
        return True

    @classmethod
    def _hide(cls, value: Any, record: bool) -> Any:
        """A user's Tensor as the cotangent that the walk moves."""
        if value is None:
            return None
        return lent(value) if record else value._array
