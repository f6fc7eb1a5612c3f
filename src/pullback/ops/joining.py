"""Joining arrays, and taking them apart: each is the other's adjoint.

The parts of `unstack` and `split` are views of one array that leave through one node, so pulling back through it costs
one joining of the cotangents, however many parts there are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core.masked import Masked, unmask
from pullback.core.primitive import Primitive
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.tensor import Tensor
from pullback.ops.indexing import Slice, key_of, read, take
from pullback.ops.named import named
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import Expand, Reshape, as_shape, clone, ravel, shape_of
from pullback.ops.structure import moved


def along(axis: int, entry: Any) -> Any:
    """The index that takes `entry` along one axis and everything along the others."""
    return key_of((slice(None),) * axis + (entry,))


# -------------------------------------------------------------------------------------------------------------- joining
class Concat(Primitive):
    """Arrays one after the other along an axis.  vjp: each takes its part of ȳ"""

    linear = True
    node_name = "CatBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, *xs: Any, axis: int) -> Any:
        y = ctx.xp.concat(xs, axis=axis)
        ctx.axis = normalize_axis_index(axis, y.ndim)
        ctx.lengths = [x.shape[axis] for x in xs]
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        stops = np.cumsum(ctx.lengths).tolist()
        return tuple(
            [
                read(ct, along(ctx.axis, slice(stop - n, stop))) if need else None
                for n, stop, need in zip(ctx.lengths, stops, ctx.needs_input_grad, strict=True)
            ]
        )


class Stack(Primitive):
    """Arrays of one shape side by side along a new axis.  vjp: each takes its part of ȳ"""

    linear = True
    node_name = "StackBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, *xs: Any, axis: int) -> Any:
        y = ctx.xp.stack(xs, axis=axis)
        ctx.axis = normalize_axis_index(axis, y.ndim)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        needs = ctx.needs_input_grad
        return tuple([read(ct, along(ctx.axis, k)) if need else None for k, need in enumerate(needs)])


@named
def concat(xs: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other.

    Parameters
    ----------
    xs
        Tensors or arrays that have the same shape, except along `axis`.  Dtypes are promoted.
    axis
        The axis along which to join; ``None`` joins the entries of all in C order.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.concat([pb.tensor([1.0]), pb.tensor([2.0, 3.0])])
    tensor([1., 2., 3.])
    """
    if axis is None:
        return Concat.apply(*[ravel(x) for x in xs], axis=0)
    return Concat.apply(*xs, axis=axis)


@named
def stack(xs: Sequence[Any], /, *, axis: int = 0) -> Any:
    """Arrays of one shape side by side along the new axis number `axis` of the result.

    >>> import pullback as pb
    >>> pb.stack([pb.tensor(1.0), pb.tensor(2.0)])
    tensor([1., 2.])
    """
    return Stack.apply(*xs, axis=axis)


# --------------------------------------------------------------------------------------------------------- taking apart
class PartsNode(PrimitiveNode):
    """A node with many outputs: those that nobody used have a cotangent of structural zeros."""

    __slots__ = ()

    def _pull_generally(self, cotangents: list[Any], task: Any) -> Any:
        grads = super()._pull_generally(cotangents, task)
        if grads[0] is not None and any(c is None or c.__class__ is Masked for c in cotangents):
            grads[0] = Masked(unmask(grads[0]), lambda: self._mask(cotangents))
        return grads

    def _mask(self, cotangents: list[Any]) -> Any:
        """The masks of the parts, joined as their cotangents are."""
        masks = [
            c.mask if c.__class__ is Masked else self.xp.full(spec[0], c is not None)
            for c, spec in zip(cotangents, self._specs, strict=True)
        ]
        return self._operator.backward(self, *masks)


class Unstack(Primitive):
    """The parts along an axis, without it; views.  vjp: x̄ = stack(ȳ₁, ȳ₂, …)"""

    node_name = "UnbindBackward0"
    node_base = PartsNode
    view = True

    @classmethod
    def apply(cls, x: Any, *, axis: int, _output: int | None = None) -> Any:
        """All parts, or part number `_output` alone: the step by which that part is regenerated from its base."""
        if _output is not None:
            return Slice.apply(x, key=along(axis, _output))
        return super().apply(x, axis=axis)

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int) -> Any:
        ctx.axis = axis
        return tuple([along(axis, k).read(x) for k in range(x.shape[axis])])

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        return ctx.xp.stack(cts, axis=ctx.axis)


class Split(Primitive):
    """Consecutive parts along an axis; views.  vjp: x̄ = concat(ȳ₁, ȳ₂, …)"""

    node_name = "SplitBackward0"
    node_base = PartsNode
    view = True

    @classmethod
    def apply(cls, x: Any, *, stops: tuple[int, ...], axis: int, _output: int | None = None) -> Any:
        """All parts, or part number `_output` alone: the step by which that part is regenerated from its base."""
        if _output is not None:
            return Slice.apply(x, key=_parts(stops, axis)[_output])
        return super().apply(x, stops=stops, axis=axis)

    @staticmethod
    def forward(ctx: Any, x: Any, *, stops: tuple[int, ...], axis: int) -> Any:
        ctx.axis = axis
        return tuple([part.read(x) for part in _parts(stops, axis)])

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        return ctx.xp.concat(cts, axis=ctx.axis)


def _parts(stops: tuple[int, ...], axis: int) -> list[Any]:
    return [along(axis, slice(start, stop)) for start, stop in zip((0, *stops), stops, strict=False)]


@named
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of `x` along `axis`, which they do not have any more; each shares memory with `x`.

    >>> import pullback as pb
    >>> pb.unstack(pb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (tensor([1., 2.]), tensor([3., 4.]))
    """
    return Unstack.apply(x, axis=normalize_axis_index(axis, len(shape_of(x))))


@named
def split(x: Any, sizes: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Consecutive parts of `x` along `axis`; each shares memory with `x`.

    Parameters
    ----------
    sizes
        The length of each part, which add up to that of `x`; or one length, and the last part may then be shorter.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.ops.joining import split
    >>> split(pb.tensor([1.0, 2.0, 3.0]), 2)
    (tensor([1., 2.]), tensor([3.]))
    """
    shape = shape_of(x)
    axis = normalize_axis_index(axis, len(shape))
    total = shape[axis]
    if hasattr(sizes, "__index__"):
        step = operator.index(sizes)
        if step <= 0:
            raise ValueError(f"the length of a part must be positive, but is {step}")
        stops = [*range(step, total, step), total]
    else:
        stops = np.cumsum([operator.index(n) for n in sizes], dtype=int).tolist()
        if (stops[-1] if stops else 0) != total or any(n < 0 for n in sizes):
            raise ValueError(f"parts of lengths {list(sizes)} do not make up axis {axis} of shape {shape}")
    return Split.apply(x, stops=tuple(stops), axis=axis)


# ------------------------------------------------------------------------------------------------------------ repeating
class Tile(Primitive):
    """The whole array repeated side by side.  vjp: x̄ = sum of the pieces of ȳ"""

    linear = True
    node_name = "RepeatBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, counts: tuple[int, ...]) -> Any:
        ctx.shape = x.shape
        ctx.counts = counts
        return ctx.xp.tile(x, counts)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        shape = (1,) * (len(ctx.counts) - len(ctx.shape)) + tuple(ctx.shape)
        pieces = [n for pair in zip(ctx.counts, shape, strict=True) for n in pair]
        apart = ctx.xp.reshape(ct, tuple(pieces))
        return ctx.xp.reshape(ctx.xp.sum(apart, axis=tuple(range(0, len(pieces), 2))), ctx.shape)


class Repeat(Primitive):
    """Every entry along an axis repeated in place.  vjp: x̄ = sums of neighbours in ȳ"""

    linear = True
    node_name = "RepeatInterleaveBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, count: int, axis: int) -> Any:
        ctx.axis = axis
        ctx.pieces = x.shape[: axis + 1] + (count,) + x.shape[axis + 1 :]
        return ctx.xp.repeat(x, count, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.sum(ctx.xp.reshape(ct, ctx.pieces), axis=ctx.axis + 1)


@named
def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Every entry along `axis` repeated in place; the entries of all in C order when ``None``.

    Parameters
    ----------
    repeats
        How often: one integer, or one for each position along `axis`.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.repeat(pb.tensor([1.0, 2.0]), 2)
    tensor([1., 1., 2., 2.])
    """
    shape = shape_of(x)
    length = math.prod(shape) if axis is None else shape[normalize_axis_index(axis, len(shape))]
    counts = np.asarray(repeats._array if isinstance(repeats, Tensor) else repeats)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers, but they are {counts.dtype}")
    if (counts < 0).any():
        raise ValueError("repeats must not be negative")
    if counts.size != 1 and counts.shape != (length,):
        raise ValueError(f"repeats must be one integer or {length} of them, but its shape is {counts.shape}")
    x, axis = (ravel(x), 0) if axis is None else (x, normalize_axis_index(axis, len(shape)))
    if counts.size == 1:
        return Repeat.apply(x, count=int(counts.reshape(())), axis=axis)
    return take(x, np.repeat(np.arange(length), counts), axis=axis)


@named
def tile(x: Any, repetitions: Any, /) -> Any:
    """The whole of `x` repeated side by side, ``repetitions[k]`` times along axis ``k``.

    >>> import pullback as pb
    >>> pb.tile(pb.tensor([1.0, 2.0]), (2,))
    tensor([1., 2., 1., 2.])
    """
    counts = as_shape(repetitions)
    return Tile.apply(x, counts=(1,) * (len(shape_of(x)) - len(counts)) + counts)


@named
def meshgrid(*xs: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinates of a grid from those along each axis: one array of the grid's shape per argument.

    Parameters
    ----------
    xs
        One-dimensional, of lengths n₁, n₂, …
    indexing
        ``"ij"``: the grid has shape (n₁, n₂, …).  ``"xy"``: (n₂, n₁, …), as a picture has rows and columns.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'indexing must be "xy" or "ij", but is {indexing!r}')
    if any(len(shape_of(x)) > 1 for x in xs):
        raise ValueError("meshgrid needs one-dimensional arguments")
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = [1, 0]
    lengths = [int(np.prod(shape_of(x))) for x in xs]
    shape = [0] * len(xs)
    for n, axis in zip(lengths, order, strict=True):
        shape[axis] = n
    grids = []
    for x, n, axis in zip(xs, lengths, order, strict=True):
        single = Reshape.apply(x, shape=tuple([n if k == axis else 1 for k in range(len(xs))]))
        grids.append(clone(Expand.apply(single, shape=tuple(shape))))
    return tuple(grids)


# --------------------------------------------------------------------------------------------------------- registration
def _lists(make: Make):
    yield Sample(((make(2, 3), make(1, 3)),))
    yield Sample(((make(2, 1), make(2, 3)),), {"axis": 1})
    yield Sample(((make(2, 1), make(3)),), {"axis": None})


def _equals(make: Make):
    yield Sample(((make(2, 3), make(2, 3)),))
    yield Sample(((make(2), make(2), make(2)),), {"axis": -1})
    yield Sample(((make(), make()),))


def _parted(make: Make):
    yield Sample((make(2, 3),))
    yield Sample((make(2, 3),), {"axis": -1})


def _splits(make: Make):
    yield Sample((make(5), 2))
    yield Sample((make(2, 3), (1, 2)), {"axis": 1})


def _repeats(make: Make):
    yield Sample((make(2, 3), 2))
    yield Sample((make(2, 3), 2), {"axis": 1})
    yield Sample((make(3), np.array([2, 0, 1])), {"axis": 0})


def _tiles(make: Make):
    yield Sample((make(2), (3,)))
    yield Sample((make(2, 3), (2, 1, 2)))
    yield Sample((make(2, 3), (2,)))


def _grids(make: Make):
    yield Sample((make(2), make(3)))
    yield Sample((make(2), make(3), make(1)), {"indexing": "ij"})


def _split_reference(x: Any, sizes: Any, axis: int = 0) -> Any:
    total = x.shape[axis]
    stops = list(range(sizes, total, sizes)) if isinstance(sizes, int) else np.cumsum(sizes)[:-1]
    return tuple(np.split(x, stops, axis))


def _unstack_reference(x: Any, axis: int = 0) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


register("concat", Concat, _lists, call=concat, reference=np.concatenate)
register("stack", Stack, _equals, call=stack, reference=np.stack)
register("unstack", Unstack, _parted, call=unstack, reference=_unstack_reference)
register("split", Split, _splits, call=split, reference=_split_reference, public=False)
register("repeat", Repeat, _repeats, call=repeat, reference=np.repeat)
register("tile", Tile, _tiles, call=tile, reference=np.tile)
register("meshgrid", None, _grids, call=meshgrid, reference=np.meshgrid)
