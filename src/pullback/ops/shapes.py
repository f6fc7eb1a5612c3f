"""Shape operators.  Most are views: the result shares memory with the argument, and a write to either reaches both.

All are linear and only move entries: a rule is the inverse movement, and structural zeros move along.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.named import named
from pullback.ops.registry import ATTRIBUTES, Make, Sample, register
from pullback.ops.structure import moved, zero_elsewhere


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a Tensor, array, number or nested list as a plain tuple."""
    bare = x._array if isinstance(x, Tensor) else x
    return tuple(bare.shape) if hasattr(bare, "shape") else np.shape(bare)


def as_shape(shape: Any) -> tuple[int, ...]:
    """A shape given as an integer or a sequence."""
    return (operator.index(shape),) if hasattr(shape, "__index__") and np.ndim(shape) == 0 else tuple(shape)


# ------------------------------------------------------------------------------------------------------------ reshaping
class Reshape(Primitive):
    """The same entries, in C order, in another shape.  vjp: x̄ = reshape(ȳ)"""

    node_name = "ViewBackward0"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, shape: Any) -> Any:
        ctx.shape = x.shape
        return ctx.xp.reshape(x, shape)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.reshape(ct, ctx.shape)


class Unsqueeze(Reshape):
    """New axes of length 1; always a view.  vjp: x̄ = reshape(ȳ)"""

    node_name = "UnsqueezeBackward0"


class Squeeze(Reshape):
    """Without some axes of length 1; always a view.  vjp: x̄ = reshape(ȳ)"""

    node_name = "SqueezeBackward0"


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The entries of `x`, in C order, in another shape.

    Parameters
    ----------
    x
        Of any shape and dtype.
    shape
        The new shape, with as many entries; one length may be -1, and is then computed.
    copy
        ``None``: share memory where possible.  ``True``: never.  ``False``: always, or raise ValueError.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.reshape(pb.tensor([1.0, 2.0, 3.0, 4.0]), (2, 2))
    tensor([[1., 2.],
            [3., 4.]])
    """
    result = Reshape.apply(clone(x) if copy else x, shape=as_shape(shape))
    if copy is False and isinstance(x, Tensor) and result._view is None and arrays.nbytes(x._array):
        raise ValueError(f"reshape from {shape_of(x)} to {shape_of(result)} cannot be done without a copy")
    return result


@named
def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """`x` with new axes of length 1 at the positions `axis` (an integer or several) of the result."""
    old = shape_of(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = list(old)
    for k in sorted(normalize_axis_tuple(axes, len(old) + len(axes))):
        new.insert(k, 1)
    return Unsqueeze.apply(x, shape=tuple(new))


@named
def squeeze(x: Any, /, axis: Any = None) -> Any:
    """`x` without the axes `axis` (an integer or several), each of length 1; without all such axes when ``None``."""
    old = shape_of(x)
    if axis is None:
        axes: Any = [k for k, n in enumerate(old) if n == 1]
    else:
        axes = normalize_axis_tuple(axis, len(old))
        if any(old[k] != 1 for k in axes):
            raise ValueError(f"cannot squeeze the axes {axes} of shape {old}: each must have length 1")
    return Squeeze.apply(x, shape=tuple([n for k, n in enumerate(old) if k not in axes]))


def ravel(x: Any, /) -> Any:
    """The entries of `x` in C order along one axis; shares memory where possible."""
    return Reshape.apply(x, shape=(-1,))


# -------------------------------------------------------------------------------------------------------- order of axes
class Permute(Primitive):
    """The axes in another order.  vjp: x̄ = ȳ with the axes put back"""

    node_name = "PermuteBackward0"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, axes: Any) -> Any:
        ctx.back = tuple([axes.index(k) for k in range(len(axes))])
        return ctx.xp.permute_dims(x, axes)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.permute_dims(ct, ctx.back)


class Transpose(Permute):
    """Two axes exchanged.  vjp: x̄ = ȳ with them exchanged"""

    node_name = "TransposeBackward0"


@named
def permute_dims(x: Any, /, axes: Any) -> Any:
    """`x` with axis number ``axes[k]`` as axis number ``k``.

    >>> import pullback as pb
    >>> pb.permute_dims(pb.tensor([[1.0, 2.0, 3.0]]), (1, 0)).shape
    (3, 1)
    """
    ndim = len(shape_of(x))
    axes = normalize_axis_tuple(axes, ndim)
    if len(axes) != ndim:
        raise ValueError(f"axes must name each of the {ndim} axes once, but got {axes}")
    return Permute.apply(x, axes=axes)


def transpose(x: Any, /, axes: Any = None) -> Any:
    """`x` with its axes reversed, or in the order `axes`."""
    ndim = len(shape_of(x))
    if axes is not None:
        return permute_dims(x, axes)
    kind = Transpose if ndim == 2 else Permute
    return kind.apply(x, axes=tuple(reversed(range(ndim))))


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Any:
    """`x` with two axes exchanged."""
    ndim = len(shape_of(x))
    axis1, axis2 = normalize_axis_index(axis1, ndim), normalize_axis_index(axis2, ndim)
    axes = list(range(ndim))
    axes[axis1], axes[axis2] = axis2, axis1
    return Transpose.apply(x, axes=tuple(axes))


@named
def matrix_transpose(x: Any, /) -> Any:
    """`x` with its last two axes exchanged."""
    if len(shape_of(x)) < 2:
        raise ValueError(f"a matrix transpose needs at least two axes, but the shape is {shape_of(x)}")
    return swapaxes(x, -1, -2)


@named
def moveaxis(x: Any, source: Any, destination: Any, /) -> Any:
    """`x` with the axes `source` at the positions `destination`, the others in their old order."""
    ndim = len(shape_of(x))
    old, new = normalize_axis_tuple(source, ndim, "source"), normalize_axis_tuple(destination, ndim, "destination")
    if len(old) != len(new):
        raise ValueError(f"source and destination need the same number of axes, but got {old} and {new}")
    axes = [k for k in range(ndim) if k not in old]
    for position, k in sorted(zip(new, old, strict=True)):
        axes.insert(position, k)
    return Permute.apply(x, axes=tuple(axes))


# --------------------------------------------------------------------------------------------------------- broadcasting
class Expand(Primitive):
    """Entries repeated along new axes and axes of length 1; a read-only view.  vjp: x̄ = sum of ȳ over those axes"""

    node_name = "ExpandBackward0"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, shape: Any) -> Any:
        ctx.shape = x.shape
        return ctx.xp.broadcast_to(x, shape)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return arrays.sum_to(ct, ctx.shape, ctx.xp)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """`x` repeated to `shape`; the result is a read-only view.

    >>> import pullback as pb
    >>> pb.broadcast_to(pb.tensor([1.0, 2.0]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """
    return Expand.apply(x, shape=as_shape(shape))


@named
def broadcast_arrays(*xs: Any) -> tuple[Any, ...]:
    """Every argument repeated to the shape that all have in common."""
    shape = np.broadcast_shapes(*[shape_of(x) for x in xs])
    return tuple([x if shape_of(x) == shape else Expand.apply(x, shape=shape) for x in xs])


# ----------------------------------------------------------------------------------------------------- order of entries
class Flip(Primitive):
    """Entries in reverse order along some axes; a view.  vjp: x̄ = flip(ȳ)"""

    node_name = "FlipBackward0"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None) -> Any:
        ctx.axis = axis
        return ctx.xp.flip(x, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.flip(ct, axis=ctx.axis)


class Roll(Primitive):
    """Entries moved along an axis, those that leave coming in again.  vjp: x̄ = roll(ȳ) backwards"""

    linear = True
    node_name = "RollBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, shift: Any, axis: Any = None) -> Any:
        ctx.axis = axis
        ctx.back = tuple([-n for n in shift]) if isinstance(shift, tuple) else -shift
        return ctx.xp.roll(x, shift, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ctx.xp.roll(ct, ctx.back, axis=ctx.axis)


@named
def flip(x: Any, /, *, axis: Any = None) -> Any:
    """`x` in reverse order along `axis` (an integer, several, or all when ``None``); shares memory with `x`."""
    return Flip.apply(x, axis=tuple(axis) if isinstance(axis, list) else axis)


@named
def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """`x` with its entries moved by `shift` along `axis`, in a circle; along all entries in C order when ``None``.

    >>> import pullback as pb
    >>> pb.roll(pb.tensor([1.0, 2.0, 3.0]), 1)
    tensor([3., 1., 2.])
    """
    many = isinstance(shift, (tuple, list))
    shift = tuple([operator.index(n) for n in shift]) if many else operator.index(shift)
    return Roll.apply(x, shift=shift, axis=tuple(axis) if isinstance(axis, list) else axis)


# ------------------------------------------------------------------------------------------------------------ triangles
class Tril(Primitive):
    """The lower triangle, zeros elsewhere.  vjp: x̄ = tril(ȳ)"""

    linear = True
    node_name = "TrilBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, k: int = 0) -> Any:
        ctx.k = k
        return ctx.xp.tril(x, k=k)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: ctx.xp.tril(c, k=ctx.k), ct)


class Triu(Primitive):
    """The upper triangle, zeros elsewhere.  vjp: x̄ = triu(ȳ)"""

    linear = True
    node_name = "TriuBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, k: int = 0) -> Any:
        ctx.k = k
        return ctx.xp.triu(x, k=k)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: ctx.xp.triu(c, k=ctx.k), ct)


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The entries of the last two axes on and below diagonal number `k`, zeros above."""
    return Tril.apply(x, k=k)


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The entries of the last two axes on and above diagonal number `k`, zeros below."""
    return Triu.apply(x, k=k)


# ----------------------------------------------------------------------------------------------------- copies and casts
class Clone(Primitive):
    """A copy in C order.  vjp: x̄ = ȳ"""

    linear = True
    node_name = "CloneBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return arrays.copy(x, ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct


class Astype(Primitive):
    """A cast.  vjp: x̄ = ȳ cast back (done by the projection)"""

    linear = True
    node_name = "ToCopyBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, dtype: Any) -> Any:
        return arrays.cast(x, dtype, ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct


def clone(x: Any, /) -> Any:
    """A copy of `x` in C order, with the gradient passed on."""
    return Clone.apply(x)


@named
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`x` with another dtype; the very Tensor when it has it already and `copy` is false."""
    dtype = np.dtype(dtype)
    if not copy and arrays.dtype_of(x) == dtype:
        return x
    return Astype.apply(x, dtype=dtype)


# ------------------------------------------------------------------------------------------------- attributes of Tensor
def _reshape_method(self: Tensor, *shape: Any, copy: bool | None = None) -> Any:
    """The same entries in another shape, given as one tuple or as separate integers; see `pullback.reshape`."""
    return reshape(self, shape[0] if len(shape) == 1 else shape, copy=copy)


def _transpose_method(self: Tensor, *axes: Any) -> Any:
    """The axes reversed, or in the order given as one tuple or as separate integers."""
    return transpose(self, (axes[0] if len(axes) == 1 and axes[0] is not None else axes) or None)


ATTRIBUTES["T"] = property(transpose, doc="The axes in reverse order; of a matrix, its transpose.")
ATTRIBUTES["mT"] = property(matrix_transpose, doc="The last two axes exchanged.")
ATTRIBUTES["reshape"] = _reshape_method
ATTRIBUTES["transpose"] = _transpose_method
ATTRIBUTES["swapaxes"] = swapaxes
ATTRIBUTES["ravel"] = ravel
ATTRIBUTES["squeeze"] = squeeze
ATTRIBUTES["astype"] = astype


# --------------------------------------------------------------------------------------------------------- registration
def _reshapes(make: Make):
    yield Sample((make(2, 3), (3, 2)))
    yield Sample((make(2, 3), (-1,)))
    yield Sample((make(), (1, 1)))
    yield Sample((make(2, 0), (0, 3)))


def _axes(*options: dict[str, Any]) -> Any:
    def samples(make: Make):
        for given in options:
            yield Sample((make(2, 1, 3),), dict(given))

    return samples


def _moves(make: Make):
    yield Sample((make(2, 1, 3), 0, -1))
    yield Sample((make(2, 1, 3), (0, 1), (2, 0)))


def _matrices(make: Make):
    yield Sample((make(2, 3),))
    yield Sample((make(2, 3),), {"k": 1})
    yield Sample((make(2, 3, 3),), {"k": -1})


def _transposed(make: Make):
    yield Sample((make(2, 3),))
    yield Sample((make(2, 1, 3),))


def _broadcasts(make: Make):
    yield Sample((make(3), (2, 3)))
    yield Sample((make(2, 1), (2, 3)))
    yield Sample((make(), (2,)))


def _several(make: Make):
    yield Sample((make(3), make(2, 1)))
    yield Sample((make(2), make()))


def _any(make: Make):
    yield Sample((make(2, 3),))
    yield Sample((make(),))


def _casts(make: Make):
    yield Sample((make(2, 3), np.dtype(np.float64)))


def _by_position(function: Any) -> Any:
    """NumPy's function for the same value, whatever it calls its arguments."""
    return lambda *args, **options: function(*args, *options.values())


register("reshape", Reshape, _reshapes, call=reshape, reference=np.reshape)
register(
    "expand_dims",
    Unsqueeze,
    _axes({"axis": 0}, {"axis": -1}, {"axis": (0, 2)}),
    call=expand_dims,
    reference=np.expand_dims,
)
register("squeeze", Squeeze, _axes({"axis": 1}, {"axis": (1,)}, {}), call=squeeze, reference=np.squeeze)
register(
    "permute_dims",
    Permute,
    _axes({"axes": (2, 0, 1)}, {"axes": (0, -1, 1)}),
    call=permute_dims,
    reference=np.permute_dims,
)
register("matrix_transpose", Transpose, _transposed, call=matrix_transpose, reference=np.matrix_transpose)
register("moveaxis", Permute, _moves, call=moveaxis, reference=np.moveaxis)
register("broadcast_to", Expand, _broadcasts, call=broadcast_to, reference=np.broadcast_to)
register("broadcast_arrays", None, _several, call=broadcast_arrays, reference=np.broadcast_arrays)
register("flip", Flip, _axes({}, {"axis": 0}, {"axis": (0, -1)}), call=flip, reference=np.flip)
register(
    "roll",
    Roll,
    _axes({"shift": 1}, {"shift": -2, "axis": 2}, {"shift": (1, 2), "axis": (0, 2)}),
    call=roll,
    reference=np.roll,
)
register("tril", Tril, _matrices, call=tril, reference=np.tril)
register("triu", Triu, _matrices, call=triu, reference=np.triu)
register("clone", Clone, _any, call=clone, reference=np.copy, methods=("clone",))
register("astype", Astype, _casts, call=astype, reference=np.astype, complex=False)
