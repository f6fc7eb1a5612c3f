"""The operators at the border of a batch: arrays enter it, leave it, and are shared by all its entries.

Each is linear, and each is the adjoint of another one.  What is shared gets the *sum* of the cotangents of the entries, but only
by a pass from outside: while the batch is open, a derivative is that of each entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.batching import batched
from pullback.batching.batched import Batch, Batched, batch_of, batches, namespace_for
from pullback.batching.indexing import check_room
from pullback.core import arrays
from pullback.core import batches as machine
from pullback.core.errors import lesson
from pullback.core.masked import Masked, unmask
from pullback.core.primitive import Primitive
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor


class CrossingNode(PrimitiveNode):
    """A node that knows the batch, apart from what a rule may save."""

    __slots__ = ("axis", "batch")
    axis: int
    batch: Batch

    def _shadow(self) -> Any:
        shadow = super()._shadow()
        shadow.batch, shadow.axis = self.batch, self.axis
        return shadow


def moved(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Masked:
    """Mask rule: the mask crosses the border as the cotangent does."""

    def mask() -> Any:
        inner = masked.mask
        counted = arrays.cast(inner, np.dtype(float), arrays.namespace(inner))
        return ctx._operator.backward(ctx, counted) != 0

    return Masked(unmask(grad), mask)


class Enter(Primitive):
    """An array whose axis is the batch, seen from within the batch; a view.  vjp: x̄ = ȳ, put back along the axis"""

    view = True
    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch, axis: int) -> Any:
        ctx.batch, ctx.axis = batch, axis
        return batched.enter(x, batch, axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        if ctx.batch.is_open():
            return _only_its_own(ct, ctx.batch, ctx.axis)
        return leave(ct, ctx.batch, ctx.axis)


class Collect(Enter):
    """`Enter` for what was computed entry by entry: each entry's cotangent is its own anyway.  Its memory is nobody else's."""

    view = False

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return leave(ct, ctx.batch, ctx.axis)


class Leave(Primitive):
    """An array of the batch, seen from outside: with the batch as one more axis; a view.  vjp: x̄ = ȳ, within the batch"""

    view = True
    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch, axis: int) -> Any:
        ctx.batch, ctx.axis = batch, axis
        return batched.leave(x, batch, axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        axis = ctx.axis % len(ct.shape)
        return enter(ct, ctx.batch, axis)


class Share(Primitive):
    """An array from outside, the same for every entry; a view.  vjp: x̄ = the sum of ȳ over the entries"""

    quotient = staticmethod(lambda node, part: part(0))  # see `pullback.ops.kinks`
    view = True
    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch) -> Any:
        ctx.batch, ctx.axis = batch, 0
        return batched.spread(x, batch)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        if ctx.batch.is_open():  # each entry asks for its own derivative
            return ct
        return Total.apply(ct, batch=ctx.batch) if isinstance(ct, Tensor) else batched.total(ct, ctx.batch)


class OnlyOutside(Primitive):
    """The argument.  vjp: x̄ = ȳ, refused while the batch is open"""

    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch) -> Any:
        ctx.batch, ctx.axis = batch, 0
        return x

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        if ctx.batch.is_open():
            raise lesson(
                RuntimeError,
                "vmap: the derivative of a function that runs once for each entry, and captures a differentiable Tensor, was "
                "asked for within the batch",
                why="the entries share what is captured, and each one's own derivative cannot be told.",
                instead="pass what is captured as an argument; or take the gradient outside of vmap.",
            )
        return ct


class Total(Primitive):
    """The sum over the entries of a batch.  vjp: x̄ = ȳ, for every entry"""

    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch) -> Any:
        ctx.batch = batch
        ctx.axis = batch in batches(x)
        return batched.total(x, batch)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct if ctx.axis else ct * float(ctx.batch.size)


class Entry(Primitive):
    """One entry of a batch, seen from outside.  vjp: x̄ = ȳ for that entry, zeros for the others"""

    linear = True
    node_base = CrossingNode
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, batch: Batch, k: int) -> Any:
        ctx.batch, ctx.axis = batch, k
        found = batched.entry(x, batch, k)
        if isinstance(found, np.ndarray):
            return found.copy(order="K")  # some functions ask for the order in memory
        return arrays.copy(found, arrays.namespace(found))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        batch, k = ctx.batch, ctx.axis
        xp = Recorded.xp if isinstance(ct, Tensor) else arrays.namespace(ct)
        zeros = xp.zeros_like(ct)
        return collect(xp.stack([ct if j == k else zeros for j in range(batch.size)], axis=0), batch)


def enter(x: Any, batch: Batch, axis: int) -> Any:
    """A bare array or a Tensor, within the batch."""
    return Enter.apply(x, batch=batch, axis=axis) if isinstance(x, Tensor) else batched.enter(x, batch, axis)


def collect(x: Any, batch: Batch) -> Any:
    """The stacked results of all entries, within the batch again."""
    return Collect.apply(x, batch=batch, axis=0) if isinstance(x, Tensor) else batched.enter(x, batch, 0)


def leave(x: Any, batch: Batch, axis: int) -> Any:
    """A bare array or a Tensor, out of the batch; one that all entries share is repeated."""
    if not isinstance(x, Tensor):
        return batched.leave(x, batch, axis)
    if batch not in batches(x._array):
        x = Share.apply(x, batch=batch)
    return Leave.apply(x, batch=batch, axis=axis)


def entry(x: Any, batch: Batch, k: int) -> Any:
    """Entry `k` of a bare array or a Tensor; what does not belong to the batch as it is."""
    if not isinstance(x, Tensor):
        return batched.entry(x, batch, k)
    return Entry.apply(x, batch=batch, k=k) if batch in batches(x._array) else x


def only_outside(found: Any, batch: Batch) -> Any:
    """Results that can be differentiated outside of the batch only."""
    if isinstance(found, (tuple, list)):
        parts = [only_outside(part, batch) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return OnlyOutside.apply(found, batch=batch) if isinstance(found, Tensor) else found


def _only_its_own(ct: Any, batch: Batch, axis: int) -> Any:
    """What each entry, asked on its own, sends back to the array of all: zeros but for its own part."""
    array = ct._array if isinstance(ct, Tensor) else ct
    xp = Recorded.xp if isinstance(ct, Tensor) else namespace_for((array,))
    own = batched.enter(np.eye(batch.size, dtype=bool), batch, 0)
    shape = (*[1] * axis, batch.size, *[1] * (len(ct.shape) - axis))
    own = namespace_for((own,)).reshape(own, shape)
    return xp.where(own, xp.expand_dims(ct, axis=axis), 0.0)


# ---------------------------------------------------------------------------------------------------- captured arguments
def share(args: Any, bare: list[Any], edges: list[Any], options: dict[str, Any]) -> Any:
    """Give arguments that are captured from outside a batch their place within it; their cotangents are summed there.

    Changes `args`, `bare` and `edges` in place.  Returns the namespace of the innermost batch, ``None`` where there is none.
    """
    found = {batch for array in bare for batch in batches(array)}
    for option in options.values():
        found.update(getattr(option, "batches", ()))
    if not found:
        return None
    ordered = sorted(found, key=lambda batch: batch.level)
    for k, edge in enumerate(edges):
        if edge:
            has = batches(bare[k])
            missing = [batch for batch in ordered if batch not in has]
            if missing:
                x = args[k]
                for batch in missing:
                    x = Share.apply(x, batch=batch)
                args[k], bare[k], edges[k] = x, x._array, x._resolved()
    return batched.namespace_of_batch(ordered[-1], next((a for a in bare if a.__class__ is Batched), None))


def widest(xp: Any, values: Any) -> Any:
    """The namespace in which a rule made for `xp` computes with values of which some may be batched."""
    known = getattr(xp, "batch", None)
    found = batch_of(values)
    if found is None or (known is not None and known.level >= found.level):
        return xp
    return batched.namespace_of_batch(found, next(v for v in values if v.__class__ is Batched))


def share_one(x: Tensor, options: dict[str, Any]) -> Tensor:
    """The only argument of an operator, within the batch of its options (an index)."""
    for option in options.values():
        for batch in getattr(option, "batches", ()):
            if x._edge is not None and batch not in batches(x._array):
                x = Share.apply(x, batch=batch)
    return x


def shared_arguments(args: Any, options: dict[str, Any]) -> list[Any]:
    """Arguments of which some have tangents, with their places within the batch."""
    args = list(args)
    bare = [a._array if isinstance(a, Tensor) else a for a in args]
    share(args, bare, [a._edge if isinstance(a, Tensor) else None for a in args], options)
    return args


def made_room(target: Tensor, value: Tensor) -> Tensor:
    """`value` as it is written into `target`: within the batches of the latter, for which there is room."""
    check_room(target, value)
    if value._edge is not None:
        has = batches(value._array)
        for batch in reversed(batches(target._array)):
            if batch not in has:
                value = Share.apply(value, batch=batch)
    return value


machine.made_room = made_room
machine.share = share
machine.shared_arguments = shared_arguments
machine.share_one = share_one
machine.widest = widest
