"""More ways to put Tensors together, take them apart, and write one into a part of another one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops import inplace
from pullback.ops.indexing import Key, diagonal_key, read_at
from pullback.ops.windows import windows
from pullback.torch import _functions_shapes  # noqa: F401 - what is copied or renamed below
from pullback.torch._dims import axis_of, length_of
from pullback.torch._dtypes import as_dtype
from pullback.torch._export import FUNCTIONS, METHODS, both, function, method, sizes_of, xp


def _several(tensors: Any) -> list[Any]:
    """Tensors given one by one or in a sequence."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


# ------------------------------------------------------------------------------------------------- together
@function("column_stack")
def _column_stack(tensors: Any) -> Any:
    """Columns (1-d Tensors) and matrices side by side."""
    return FUNCTIONS["cat"]([xp.reshape(t, (-1, 1)) if t.ndim < 2 else t for t in tensors], 1)


@function("dstack")
def _dstack(tensors: Any) -> Any:
    """Together along a third axis."""
    return FUNCTIONS["cat"](list(_atleast_3d(list(tensors))), 2)


def _atleast(ndim: int, shaped: Any) -> Any:
    def call(*tensors: Any) -> Any:
        given = _several(tensors)
        found = tuple([shaped(t) if t.ndim < ndim else t for t in given])
        single = len(tensors) == 1 and isinstance(tensors[0], Base)
        return found[0] if single else found

    call.__doc__ = f"With at least {ndim} axes; of several Tensors, or a sequence of them, a tuple."
    return function(f"atleast_{ndim}d")(call)


_atleast(1, lambda t: xp.reshape(t, (1,)))
_atleast(2, lambda t: xp.reshape(t, (1, -1)))
_atleast_3d = _atleast(3, lambda t: xp.reshape(t, (1, -1, 1)) if t.ndim < 2 else xp.expand_dims(t, axis=-1))


@function("block_diag")
def _block_diag(*tensors: Any) -> Any:
    """A matrix with these matrices along its diagonal, zero elsewhere."""
    blocks = [xp.reshape(t, (1, -1)) if t.ndim < 2 else t for t in tensors] or [FUNCTIONS["zeros"](1, 0)]
    if any(block.ndim > 2 for block in blocks):
        raise lesson(RuntimeError, "torch.block_diag: Input tensors must have 2 or fewer dimensions.")
    width, left, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        rows.append(FUNCTIONS["constant_pad_nd"](block, (left, width - left - block.shape[1])))
        left += block.shape[1]
    return FUNCTIONS["cat"](rows, 0)


@function("cartesian_prod")
def _cartesian_prod(*tensors: Any) -> Any:
    """All ways to take one element from each vector, one row each."""
    given = _several(tensors)
    if len(given) == 1:
        return given[0]
    grids = FUNCTIONS["meshgrid"](*given, indexing="ij")
    return xp.stack([xp.reshape(grid, (-1,)) for grid in grids], axis=1)


@function("combinations")
def _combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All ways to take `r` elements of a vector, one row each."""
    if input.ndim != 1:
        raise lesson(RuntimeError, f"Expect a 1D vector, but got shape {list(input.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(input.shape[0]), r)), dtype=np.intp).reshape(-1, r)
    return input[places] if r else input[:0]


@function("vander")
def _vander(x: Any, N: Any = None, *, increasing: bool = False) -> Any:
    """Powers of the elements of a vector, one row each."""
    n = x.shape[0] if N is None else N
    powers = np.arange(n) if increasing else np.arange(n)[::-1].copy()
    return xp.expand_dims(x, axis=-1) ** wrap(type(x), powers)


@both("diagflat")
def _diagflat(input: Any, offset: int = 0) -> Any:
    """A matrix with all elements on its diagonal."""
    return FUNCTIONS["diag_embed"](xp.reshape(input, (-1,)), offset)


# ------------------------------------------------------------------------------------------------- apart
def _split_along(name: str, axis: Any, smallest: int) -> None:
    def call(input: Any, indices_or_sections: Any) -> Any:
        if input.ndim < smallest:
            raise lesson(RuntimeError, f"torch.{name} requires a tensor with at least {smallest} dimensions")
        dim = axis(input)
        if isinstance(indices_or_sections, int) and (
            indices_or_sections < 1 or length_of(input, dim) % indices_or_sections
        ):
            raise lesson(
                RuntimeError,
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                f"{length_of(input, dim)} is not divisible by the split_size {indices_or_sections}!",
                instead="torch.tensor_split, which takes any number.",
            )
        return FUNCTIONS["tensor_split"](input, indices_or_sections, dim)

    call.__doc__ = "Equal pieces, or cut at the given places."
    both(name, plain=True)(call)


_split_along("hsplit", lambda x: 0 if x.ndim == 1 else 1, 1)
_split_along("vsplit", lambda x: 0, 2)
_split_along("dsplit", lambda x: 2, 3)


def _same_as(name: str, other: str) -> None:
    for table in (FUNCTIONS, METHODS):
        if other in table:
            table[name] = table[other]


for _name in ("chunk", "split"):
    _same_as(f"unsafe_{_name}", _name)
_same_as("unsafe_split_with_sizes", "split")


@both("narrow_copy", plain=True)
def _narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:
    """`narrow`, copied."""
    return FUNCTIONS["narrow"](input, dim, start, length).clone()


@method("unfold", plain=True)
def _unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of `size` elements along an axis, `step` apart, as a new last axis; a copy, unlike torch's."""
    if not self.ndim:
        return xp.reshape(self, (1,)) if size == 1 else _refuse_window(self, size)
    axis = axis_of(self, dimension)
    if size > self.shape[axis] or size < 0:
        _refuse_window(self, size)
    if step <= 0:
        raise lesson(RuntimeError, f"step is {step} but must be > 0")
    found = windows(xp.moveaxis(self, axis, -1), (size,), (step,))
    return xp.moveaxis(found, -2, axis)


def _refuse_window(x: Any, size: int) -> Any:
    raise lesson(RuntimeError, f"maximum size for tensor is {max(x.shape, default=1)} but size is {size}")


@both("as_strided", plain=True)
def _as_strided(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """Elements picked by the places ``offset + Σ index · stride`` in the memory of `input`; a copy, unlike torch's.

    Only elements that `input` itself has can be picked: gradients know no others.
    """
    places: Any = np.asarray(
        int(storage_offset or 0) if storage_offset is not None else METHODS["storage_offset"](input)
    )
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise lesson(RuntimeError, f"mismatch in length of strides and shape: {size} and {stride}")
    for n, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * step
    own: Any = np.asarray(METHODS["storage_offset"](input))
    for n, step in zip(input.shape, METHODS["stride"](input), strict=True):
        own = own[..., None] + np.arange(n) * step
    flat = own.ravel()
    order = np.argsort(flat, kind="stable")
    found = np.searchsorted(flat, places, sorter=order)
    numbers = order[np.minimum(found, len(order) - 1)] if len(order) else np.zeros_like(found)
    if places.size and (not len(order) or (flat[numbers] != places).any()):
        raise lesson(
            RuntimeError,
            f"as_strided: the places of size {list(size)} and stride {list(stride)} go beyond the elements of this Tensor",
            why="what lies beside them in memory belongs to another Tensor, and could get no gradient.",
            instead="as_strided of the Tensor that owns the memory; x.unfold, slices.",
        )
    return read_at(xp.reshape(input, (-1,)), Key((numbers,), False, False))


@function("unravel_index")
def _unravel_index(indices: Any, shape: Any) -> Any:
    """Indices into a flattened Tensor as one Tensor of indices per axis."""
    sizes = sizes_of((shape,))
    array = indices._array
    if array.size and (array.max() >= math.prod(sizes) or array.min() < -math.prod(sizes)):
        raise lesson(ValueError, f"index is out of bounds for a shape {list(sizes)}")
    found = np.unravel_index(array % max(math.prod(sizes), 1), sizes)
    return tuple([wrap(type(indices), np.asarray(axis)) for axis in found])


# ------------------------------------------------------------------------------------------------- into a part
def _placed(input: Any, index: Any, src: Any, name: str) -> Any:
    part = input[index]
    if tuple(part.shape) != tuple(src.shape):
        raise lesson(
            RuntimeError, f"{name}: src must have the shape {list(part.shape)} of that part, not {list(src.shape)}"
        )
    return inplace.index_put(input, index, src)


@both("slice_scatter", plain=True)
def _slice_scatter(input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """`input` with `src` in the place of a slice along `dim`."""
    return _placed(input, (slice(None),) * axis_of(input, dim) + (slice(start, end, step),), src, "slice_scatter")


@both("select_scatter", plain=True)
def _select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """`input` with `src` in the place of one slice along `dim`."""
    return _placed(input, (slice(None),) * axis_of(input, dim) + (int(index),), src, "select_scatter")


@both("diagonal_scatter", plain=True)
def _diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """`input` with `src` on a diagonal of two axes."""
    moved = xp.moveaxis(input, (axis_of(input, dim1), axis_of(input, dim2)), (-2, -1))
    key = diagonal_key(tuple(moved.shape), offset)
    expected = FUNCTIONS["diagonal"](input, offset, dim1, dim2).shape
    if tuple(expected) != tuple(src.shape):
        raise lesson(RuntimeError, f"diagonal_scatter: src must have the shape {list(expected)}, not {list(src.shape)}")
    written = inplace.index_put(moved, key.entries, src)
    return xp.moveaxis(written, (-2, -1), (axis_of(input, dim1), axis_of(input, dim2)))


# ------------------------------------------------------------------------------------------------- copies of views
_VIEWS = "diagonal expand permute select slice split split_with_sizes squeeze t transpose unbind unsqueeze view"


def _copies(name: str) -> None:
    view = METHODS.get(name)
    if view is None:
        return

    def call(input: Any, *args: Any, **options: Any) -> Any:
        found = view(input, *args, **options)
        return tuple([part.clone() for part in found]) if isinstance(found, tuple) else found.clone()

    call.__doc__ = f"`{name}`, copied."
    function(f"{name}_copy", plain=True)(call)


for _name in _VIEWS.split():
    _copies(_name)


def _copy_of(name: str, function: Any) -> None:
    def call(input: Any, *args: Any, **options: Any) -> Any:
        return function(input, *args, **options).clone()

    call.__doc__ = f"`{name}`, copied."
    FUNCTIONS[f"{name}_copy"] = call


_copy_of("as_strided", _as_strided)
_copy_of("unfold", _unfold)
_copy_of("alias", lambda x: x)
_copy_of("detach", lambda x: x.detach())
_copy_of("view_as_real", lambda x: FUNCTIONS["view_as_real"](x))
_copy_of("view_as_complex", lambda x: FUNCTIONS["view_as_complex"](x))
_copy_of(
    "slice",
    lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * axis_of(x, dim) + (slice(start, end, step),)],
)


@both("as_strided_scatter", plain=True)
def _as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """`input` with `src` at the elements that `as_strided` picks."""
    numbers = wrap(type(input), np.arange(input.numel()).reshape(tuple(input.shape)))
    offset = 0 if storage_offset is None else storage_offset
    places = _as_strided(numbers, size, stride, offset)._array
    if tuple(places.shape) != tuple(src.shape):
        raise lesson(
            RuntimeError, f"as_strided_scatter: src must have the shape {list(places.shape)}, not {list(src.shape)}"
        )
    flat = inplace.index_put(xp.reshape(input, (-1,)), (places.ravel(),), xp.reshape(src, (-1,)))
    return xp.reshape(flat, tuple(input.shape))


# ------------------------------------------------------------------------------------------------- from memory
@function("frombuffer")
def _frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A Tensor over the memory of an object."""
    found = FUNCTIONS["from_numpy"](np.frombuffer(buffer, as_dtype(dtype), count, offset))
    return found.requires_grad_() if requires_grad else found


@function("from_dlpack")
def _from_dlpack(ext_tensor: Any) -> Any:
    """A Tensor over the memory of another library's array on the CPU."""
    return FUNCTIONS["from_numpy"](np.from_dlpack(ext_tensor))


@function("empty_strided")
def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    """An uninitialised Tensor; its elements lie in C order, whatever `stride` says."""
    return FUNCTIONS["empty"](tuple(size), dtype=dtype, requires_grad=requires_grad)


@method("new_empty_strided", plain=True)
def _new_empty_strided(self: Any, size: Any, stride: Any, dtype: Any = None, **options: Any) -> Any:
    """`empty_strided` in this Tensor's dtype."""
    return METHODS["new_empty"](self, tuple(size), dtype=dtype)
