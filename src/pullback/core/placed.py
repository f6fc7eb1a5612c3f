"""An array at a place in the graph: where it stands, and how it is cut off.

The place is ``_edge``: ``None`` without gradients, ``(node, output number)`` for the result of a recorded operation, or an object
with ``resolve(tensor)`` that finds it: `Leaf` for what the user made, `pullback.core.views.View` for a view, whose place changes
when its base is written, `pullback.core.dual.Dual` for a Tensor that has a tangent as well.
"""

from __future__ import annotations

import weakref
from typing import Any, Self

from pullback.core import arrays, modes
from pullback.core.cuts import note_cut
from pullback.core.dual import OPEN, Dual, dual_at, without
from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Node
from pullback.core.leaf import Leaf
from pullback.core.versions import BORROWED, Buffer
from pullback.core.wrapping import hold_another_array, wrap


class Placed:
    """What `Tensor` knows of its place in the graph."""

    __slots__ = ("__weakref__", "_array", "_buffer", "_edge", "_grad")

    _array: Any
    _edge: Any
    _buffer: Buffer | None
    _grad: Any

    @property
    def shape(self) -> Any:
        return self._array.shape

    @property
    def dtype(self) -> Any:
        return arrays.dtype_of(self._array)

    @property
    def requires_grad(self) -> bool:
        edge = self._edge
        if edge is None:
            return False
        return edge.__class__ is tuple or edge.__class__ is Leaf or edge.resolve(self) is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients (or stop asking), in place; only for leaves."""
        if self.grad_fn is not None:
            if requires_grad:
                return self
            raise lesson(
                RuntimeError,
                "you can only change requires_grad flags of leaf variables.",
                why="this Tensor was computed from others, and its gradient flows on to them.",
                instead="to use a computed Tensor without differentiating it, take x.detach().",
            )
        if requires_grad and not arrays.is_inexact(self.dtype):
            raise lesson(
                RuntimeError,
                f"Only Tensors of floating point and complex dtype can require gradients, this one is {self.dtype}",
                why="a derivative needs values that can change by small amounts.",
                instead="make it floating point first, for example tensor(..., dtype=float).",
            )
        if requires_grad and OPEN and dual_at(self._edge) is not None:
            raise lesson(
                RuntimeError,
                "requires_grad_() was called on a dual number",
                why="it would be a variable, and at the same time a function of another one.",
                instead="make_dual(x.requires_grad_(), tangent): ask for gradients before it gets a tangent.",
            )
        if requires_grad is not (self._edge.__class__ is Leaf):
            self._edge = Leaf() if requires_grad else None
        return self

    @property
    def grad_fn(self) -> Node | None:
        edge = self._edge
        if edge is None or edge.__class__ is Leaf:
            return None
        if edge.__class__ is not tuple:
            edge = edge.resolve(self)
            if edge is None or edge[0]._number == LEAF_NUMBER:
                return None
        return edge[0]

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        edge = self._resolved()
        return edge[1] if edge else 0

    def _resolved(self) -> Any:
        """The edge as a tuple, or ``None`` without gradients."""
        edge = self._edge
        return edge if edge is None or edge.__class__ is tuple else edge.resolve(self)

    def _born(self) -> int:
        """The creation number at which this Tensor came to require gradients."""
        edge = self._edge
        if edge.__class__ is Leaf:
            return edge.number
        edge = self._resolved()
        if edge is None:
            return 0
        return edge[0]._number if edge[0]._number >= 0 else edge[0].variable._edge.number

    @property
    def _view(self) -> Any:
        """The `View` of a view, ``None`` for anything else."""
        edge = self._edge
        if edge is None or edge.__class__ is tuple or edge.__class__ is Leaf:
            return None
        if edge.__class__ is Dual:
            return None if edge.inner is None or edge.inner.__class__ is tuple else edge.inner
        return edge

    @property
    def _version(self) -> int:
        return 0 if self._buffer is None else self._buffer.version

    @property
    def _base(self) -> Any:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    def _shared_buffer(self) -> Buffer:
        """The write log, made on first use."""
        if self._buffer is BORROWED:
            self._buffer = Buffer(borrowed=True)
        if self._buffer is None:
            edge = without(self._edge)
            if edge.__class__ is tuple:
                self._buffer = edge[0]._log_of(edge[1]) or Buffer()
                edge[0]._adopt_buffer(edge[1], self._buffer)
            else:
                self._buffer = Buffer()
        return self._buffer

    def _cut(self, how: str) -> None:
        """The value leaves the graph: tell the mode, and remember where."""
        modes.current()._leaves(self, how)
        if self._edge is not None:
            note_cut(self._edge, how)

    def detach(self) -> Self:
        """The same memory without gradients; writes to it are noticed by whoever saved this Tensor."""
        self._cut("detach()")
        return self._logged_alias()

    def _logged_alias(self) -> Self:
        alias = self._alias()
        alias._buffer = buffer = self._shared_buffer()
        if buffer.borrowed:
            buffer.views += (weakref.ref(self), weakref.ref(alias))
        buffer.locked = buffer.locked or self.requires_grad
        return alias

    @property
    def data(self) -> Self:
        """The same memory, without gradients and without a shared write log (unless the memory is only lent)."""
        self._cut(".data")
        return self._alias() if self._buffer is None or not self._buffer.borrowed else self._logged_alias()

    @data.setter
    def data(self, value: Any) -> None:
        self._shared_buffer().touch()
        before = wrap(type(self), self._array)
        hold_another_array(self, value._array)
        if self._edge.__class__ is Leaf and (value.shape != before.shape or value.dtype != before.dtype):
            self._edge.node = None  # graphs built from now on see another shape or dtype

    def _alias(self) -> Self:
        """A bare Tensor over the same array."""
        return wrap(type(self), self._array)

    def detach_(self) -> Self:
        """Cut this very Tensor out of the graph."""
        if self._view is not None:
            raise lesson(
                RuntimeError,
                "Can't detach views in-place.",
                why="the view and its base share one history.",
                instead="use y = x.detach().",
            )
        self._cut("detach_()")
        if without(self._edge).__class__ is tuple:
            self._shared_buffer().detached = True  # whoever saved this Tensor relied on its place in the graph
        self._edge = None
        return self
