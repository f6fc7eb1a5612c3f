"""Views and in-place writes: memory is shared as NumPy shares it, history is rewritten as torch rewrites it.

A view remembers its base and the steps that lead from the base to it.  Writing through a view gives the *base* a new place in
the graph::

    before:  base ← old node                 after:  base ← WriteView ← old node
                                                              ↖ node of the written value

and every other view of that base finds its own new place when it is next used, by replaying its steps.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from pullback.core import arrays, batches, dual, modes
from pullback.core.batches import LIVE
from pullback.core.dual import OPEN, without
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.masked import Masked, unmask
from pullback.core.past import remember
from pullback.core.places import note
from pullback.core.recorded import Recorded
from pullback.core.tensor import Leaf, Tensor, wrap
from pullback.core.versions import BORROWED, Buffer
from pullback.core.wrapping import hold_another_array

Steps = tuple[tuple[Any, dict[str, Any]], ...]
before_writing: Any = None  # called with a Tensor whose memory is about to be written, if somebody wants to know


def replay(steps: Steps, value: Any) -> Any:
    """Apply the view operators of `steps` in turn, to a bare array or to a Tensor."""
    for operator, options in steps:
        value = operator.apply(value, **options)
    return value


class View:
    """The place of a view: recomputed from its base when the base was written.

    It is out of date when the base stands at another place than the one ``seen``; a base that is cut out of the graph leaves
    its views where they are.  ``forbidden`` is the reason why nothing may be written through this view, if there is one.
    """

    __slots__ = ("base", "edge", "forbidden", "seen", "steps")

    def __init__(self, base: Tensor, steps: Steps, edge: Any, forbidden: str = "") -> None:
        self.base = base
        self.steps = steps
        self.edge = edge
        self.forbidden = forbidden
        base._shared_buffer().viewed = True
        self.seen = without(base._edge)

    def resolve(self, tensor: Tensor) -> Any:
        """The current edge of this view, or ``None`` without gradients."""
        place = without(self.base._edge)
        if place is not self.seen and place is not None:
            if self.forbidden:
                raise lesson(
                    RuntimeError,
                    f"{self.forbidden} and its base or another view of its base has been modified inplace.",
                    why="the base has a new history now, which would replace the custom backward of this view.",
                    instead="clone() the output of the custom Function, or write before calling it.",
                )
            token = modes.enter(modes.ON)
            try:
                edge = replay(self.steps, self.base)._resolved()
            finally:
                modes.leave(token)
            if edge is not None:
                _move_retained_grad(tensor, self.edge, edge)
            self.edge, self.seen = edge, place
        return self.edge


def is_alias(array: Any, of: Any) -> bool:
    """True when a view operator really returned a view."""
    if not isinstance(array, arrays.ndarray):
        return arrays.is_mutable(array) and arrays.shares_memory(array, of)
    owner = of if of.base is None else of.base
    return array is of or array.base is owner or arrays.shares_memory(array, of)


def make_view(view: Tensor, source: Tensor, operator: Any, options: dict[str, Any], forbidden: str = "") -> None:
    """Note on a fresh result that it is a view of `source`."""
    parent = source._view
    step = ((operator, options),)
    if parent is None:
        base, steps = source, step
    else:
        base, steps = parent.base, parent.steps + step
        forbidden = forbidden or parent.forbidden
    if base._buffer is BORROWED:
        base._buffer = Buffer(borrowed=True)
    view._edge = View(base, steps, view._edge, forbidden)
    view._buffer = buffer = base._buffer
    if buffer is not None and buffer.borrowed:
        buffer.views.append(weakref.ref(view))


class WriteView(Node):
    """The new history of a base after a write through one of its views.

    vjp: the written region belongs to the value, everything else to the old base.
    """

    __slots__ = ("_value_dtype", "steps")

    def __init__(self, base: Tensor, value_edge: Any, steps: Steps, value_dtype: Any) -> None:
        super().__init__((base._resolved(), value_edge), type(base), base._array.shape, base.dtype)
        note(self)
        self.steps = steps
        self._value_dtype = value_dtype

    def _name(self) -> str:
        return "CopySlices"

    def _pull(self, cotangents: list[Any], task: Any) -> tuple[Any, Any]:
        given = cotangents[0]
        if given is None:
            return None, None
        cotangent = unmask(given)
        of_value = replay(self.steps, cotangent) if task.wants(self._edges[1]) else None
        of_base = self._outside(cotangent, given, task) if task.wants(self._edges[0]) else None
        if of_value is not None and given.__class__ is Masked:
            of_value = Masked(of_value, lambda: replay(self.steps, given.mask))
        return of_base, of_value

    def _outside(self, cotangent: Any, given: Any, task: Any) -> Any:
        """The cotangent with a structural zero where the value was written."""
        half = arrays.is_complex(self._specs[0][1]) and not arrays.is_complex(self._value_dtype)
        if half:  # the real or the imaginary part was written: no entry is zero as a whole
            return self._without_half(cotangent, task)

        xp = arrays.namespace(cotangent._array if task.record else cotangent)

        def mask() -> Any:
            kept: Any = np.ones(cotangent.shape, dtype=bool)
            self._clear(kept, False)
            kept = xp.asarray(kept)
            return kept & given.mask if given.__class__ is Masked else kept

        if cotangent.__class__ is np.ndarray:
            outside = arrays.copy(cotangent, np)
            self._clear(outside, 0)
        else:
            run = Recorded.xp if task.record else xp
            outside = run.where(mask(), cotangent, run.zeros_like(cotangent))
        return Masked(outside, mask)

    def _without_half(self, cotangent: Any, task: Any) -> Any:
        if not task.record:
            outside = arrays.copy(cotangent, arrays.namespace(cotangent))
            replay(self.steps, outside)[...] = 0
            return outside
        outside = cotangent.clone()
        part = replay(self.steps, outside)
        write(part, wrap(type(outside), arrays.namespace(part._array).zeros_like(part._array)))
        return outside

    def _clear(self, fresh: Any, value: Any) -> None:
        """Fill the written region of a fresh, C-contiguous NumPy array."""
        region = replay(self.steps, fresh)
        if is_alias(region, fresh):
            region[...] = value
        else:  # a reshape of the base was a view only because of the base's memory order
            positions = np.arange(fresh.size).reshape(fresh.shape)
            fresh.reshape(-1)[replay(self.steps, positions)] = value


class Overwrite(Node):
    """The new history of a Tensor that was overwritten as a whole.

    vjp: the cotangent belongs to the value, if that has a history; the old history gets structural zeros.
    """

    __slots__ = ()

    def __init__(self, tensor: Tensor, value_edge: Any) -> None:
        super().__init__((tensor._resolved(), value_edge), type(tensor), tensor._array.shape, tensor.dtype)
        note(self)

    def _name(self) -> str:
        return "CopyBackwards"

    def _pull(self, cotangents: list[Any], task: Any) -> tuple[Any, Any]:
        given = cotangents[0]
        if given is None:
            return None, None
        of_value = given if task.wants(self._edges[1]) else None
        of_old = self._nothing(unmask(given), task) if task.wants(self._edges[0]) else None
        return of_old, of_value

    def _nothing(self, cotangent: Any, task: Any) -> Any:
        xp = arrays.namespace(cotangent._array if task.record else cotangent)
        zeros = (Recorded.xp if task.record else xp).zeros_like(cotangent)
        return Masked(zeros, lambda: arrays.zeros(cotangent.shape, np.dtype(bool), xp))


def check_writable(tensor: Tensor, gradients: bool = False) -> None:
    """Refuse in-place writes into memory that cannot be written, and those that the graph cannot describe.

    `gradients` says that what is written has gradients.
    """
    array = tensor._array
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        borrowed = tensor._buffer is not None and tensor._buffer.borrowed
        if not borrowed:
            raise lesson(
                RuntimeError,
                "unsupported operation: the written-to tensor has read-only memory (it was broadcast, or made from a read-only "
                "array)",
                why="one element of the memory may stand for many elements of the tensor.",
                instead="x.clone(), and write into that.",
            )
    if not modes.current()._recording:
        return
    view = tensor._view
    if view is None:
        if tensor._edge.__class__ is Leaf:
            _refuse_leaf("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if view.base._edge.__class__ is Leaf:
        _refuse_leaf("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if view.forbidden and (gradients or view.edge is not None or view.base.requires_grad):
        raise lesson(
            RuntimeError,
            f"{view.forbidden} and is being modified inplace. This behavior is forbidden.",
            why="the new history of the base would replace the custom backward, and the gradient would be wrong.",
            instead="clone() the output of the custom Function before writing to it.",
        )


def _refuse_leaf(what: str) -> None:
    raise lesson(
        RuntimeError,
        what,
        why="its old value is the point at which you asked for the gradient.",
        instead="y = x.clone() and write into y; or, to update a parameter, write inside `with no_grad():`.",
    )


def write(target: Tensor, value: Tensor) -> Tensor:
    """Overwrite `target` with the elements of `value`: memory, write log and history.  Returns `target`."""
    tangent = dual.tangent_of(value) if OPEN else None
    edge = _fill(target, value)
    if (
        edge is not None and target._view is None
    ):  # `value` keeps its place for itself; a view's base gets a new one anyway
        edge = (Overwrite(target, edge), 0)
    wrote(target, edge, 4, tangent)
    return target


def become(target: Tensor, result: Tensor) -> Tensor:
    """Like `write`, of a result that was computed for `target` alone: its place becomes that of `target`."""
    tangent = dual.tangent_of(result) if OPEN else None
    wrote(target, _fill(target, result), 5, tangent)
    return target


def _fill(target: Tensor, value: Tensor) -> Any:
    """Write the elements of `value` into the memory of `target`.  Returns the place of `value` in the graph."""
    if LIVE:
        value = batches.made_room(target, value)
    edge = value._resolved()
    check_writable(target, edge is not None)
    old, new = target._array, value._array
    if new.shape != old.shape:
        raise lesson(
            RuntimeError,
            f"output with shape {list(old.shape)} doesn't match the broadcast shape {list(new.shape)}",
            why="an in-place operation cannot change the shape of what it writes into.",
            instead="the same operation out of place: y = x + other.",
        )
    _check_cast(arrays.dtype_of(new), arrays.dtype_of(old))
    own(target)
    if arrays.is_mutable(target._array):
        target._array[...] = new
    else:
        _rebind(target, new)
    return edge


def wrote(target: Tensor, edge: Any, depth: int = 3, tangent: Any = None) -> None:
    """After the memory of `target` was written: log it, and give it the history `edge`, and the tangent.

    For `depth` see `Buffer.wrote`.
    """
    mode = modes.current()
    whole = dual.written(target, tangent) if OPEN else None
    target._shared_buffer().wrote(target._array, depth)
    mode._wrote(target)
    if mode._recording:
        rebase(target, edge)
    if OPEN:
        dual.place(target, whole)


def rebase(target: Tensor, edge: Any) -> None:
    """Give `target` a new place in the graph, through its base where it is a view."""
    view = target._view
    if view is not None:
        base = view.base
        if edge is None and not base.requires_grad:
            return
        before = without(base._edge)
        base._edge = (WriteView(base, edge, view.steps, target.dtype), 0)
        _move_retained_grad(base, before, base._edge)
        if view.edge is not None and view.edge[0]._hooks is not None:
            view.resolve(target)  # its retained gradient moves along
        return
    if edge is None:
        if target._resolved() is None:
            return
        edge = (Overwrite(target, None), 0)
    _move_retained_grad(target, without(target._edge), edge)
    target._edge = edge


def _move_retained_grad(target: Tensor, old: Any, new: Any) -> None:
    """``retain_grad`` follows the Tensor to its new place; hooks stay with the old value."""
    if old.__class__ is not tuple or old[0]._hooks is None:
        return
    reference = old[0]._hooks.retain.get(old[1])
    if reference is not None and reference() is target:
        del old[0]._hooks.retain[old[1]]
        target._node_hooks(new[0]).retain[new[1]] = reference


def own(target: Tensor) -> None:
    """Before a write: copy memory that was only lent (a cotangent), remember what a recorded rule may have saved."""
    if before_writing is not None:
        before_writing(target)
    if target._buffer is not None and target._buffer.borrowed:
        _own_borrowed(target, target._buffer)
    remember(target)


def _own_borrowed(target: Tensor, buffer: Buffer) -> None:
    view = target._view
    base = target if view is None else view.base
    if isinstance(base._array, np.ndarray):
        hold_another_array(base, np.array(base._array, order="K"))  # the same strides, so that views of it stay views
    else:
        hold_another_array(base, arrays.copy(base._array, arrays.namespace(base._array)))
    base._buffer = Buffer()
    for reference in buffer.views:
        other = reference()
        if other is None:
            continue
        other._buffer = base._buffer
        if other._view is None:
            hold_another_array(other, base._array)
        else:
            hold_another_array(other, replay(other._view.steps, base._array))
            other._view.seen = without(base._edge)


def _rebind(target: Tensor, new: Any) -> None:
    """Write into a Tensor of a library with immutable arrays: hold another array from now on."""
    buffer = target._buffer
    if target._view is not None or (buffer is not None and buffer.viewed):
        raise lesson(
            RuntimeError,
            f"cannot write through a view of a {type(new).__name__}: this library's arrays are immutable",
            instead="write into the base itself (base[index] = value), or compute out of place.",
        )
    xp = arrays.namespace(new)
    hold_another_array(target, arrays.cast(new, target.dtype, xp))


def _check_cast(source: Any, target: Any) -> None:
    if source == target:
        return
    order = "biufc"
    kinds = [order.find("u" if d.kind == "u" else d.kind) for d in (source, target)]
    if kinds[0] > kinds[1] and not (source.kind in "iu" and target.kind in "iu"):
        raise lesson(
            RuntimeError,
            f"result type {source} can't be cast to the desired output type {target}",
            why="an in-place operation cannot change the dtype of what it writes into.",
            instead="the same operation out of place, or cast the value first.",
        )
