"""Shapes and views: ``view``, ``expand``, ``permute``, ``cat``, ``split`` and their relatives."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops.indexing import Key, embed
from pullback.ops.shapes import swapaxes
from pullback.torch._dims import along_an_axis, axis_of, length_of
from pullback.torch._export import FUNCTIONS, both, function, method, need_tensor, sizes_of, variadic, with_in_place, xp
from pullback.torch._promotion import as_dtype_of, result_type


# ------------------------------------------------------------------------------------------------- the same elements
@method("view", plain=True)
@variadic("size")
def _view(self: Any, sizes: Any) -> Any:
    """The same memory in another shape; ``view(dtype)`` is not offered."""
    result = xp.reshape(self, sizes)
    if not result._is_view() and self._array.size:
        raise lesson(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            f"contiguous subspaces): {list(self.shape)} cannot be viewed as {list(sizes)}",
            why="a view shares memory, and these elements do not lie in the order that the new shape needs.",
            instead="x.reshape(...), which copies where it must.",
        )
    return result


@function("reshape", plain=True)
def _reshape(input: Any, shape: Any) -> Any:
    """The same elements in another shape; a view where possible."""
    return xp.reshape(input, sizes_of((shape,)))


@method("reshape", plain=True)
@variadic("shape")
def _reshape_method(self: Any, shape: Any) -> Any:
    """The same elements in another shape; a view where possible."""
    return xp.reshape(self, shape)


@method("view_as", "reshape_as", plain=True)
def _view_as(self: Any, other: Any) -> Any:
    """The same elements in the shape of `other`."""
    return xp.reshape(self, tuple(other.shape))


@both("flatten", plain=True)
def _flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from `start_dim` to `end_dim` made one."""
    shape = tuple(input.shape)
    if not shape:
        return xp.reshape(input, (1,))
    start, end = axis_of(input, start_dim), axis_of(input, end_dim)
    if start > end:
        raise lesson(
            RuntimeError,
            "flatten() has invalid args: start_dim cannot come after end_dim",
            instead=f"flatten({end}, {start}).",
        )
    return xp.reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@both("unflatten", plain=True)
def _unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One axis made several."""
    shape, dim = tuple(input.shape), axis_of(input, dim)
    sizes = list(sizes)
    if -1 in sizes:
        known = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = shape[dim] // max(known, 1)
    return xp.reshape(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


@both("ravel", plain=True)
def _ravel(input: Any) -> Any:
    """One axis."""
    return xp.reshape(input, (-1,))


@both("squeeze")
def _squeeze(input: Any, dim: Any = None) -> Any:
    """Without the axes of length 1 (among `dim`, where given; others stay as they are)."""
    shape = tuple(input.shape)
    wanted = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = tuple(sorted({k for k in map(partial(axis_of, input), wanted) if shape and shape[k] == 1}))
    return xp.squeeze(input, axis=axes) if axes else xp.reshape(input, shape)


@both("unsqueeze", plain=True)
def _unsqueeze(input: Any, dim: int) -> Any:
    """A new axis of length 1 at `dim`."""
    return xp.expand_dims(input, axis=dim)


@both("permute")
@variadic("dims")
def _permute(input: Any, dims: Any) -> Any:
    """The axes in another order."""
    return xp.permute_dims(input, dims)


@both("swapaxes", plain=True)
@along_an_axis
def _swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two axes exchanged."""
    return swapaxes(input, axis0, axis1)


@both("transpose", "swapdims", plain=True)
@along_an_axis
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return swapaxes(input, dim0, dim1)


@both("t", plain=True)
def _t(input: Any) -> Any:
    """The transpose of a matrix; 0-d and 1-d Tensors as they are."""
    if input.ndim > 2:
        raise lesson(
            RuntimeError,
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D",
            instead="x.mT, or transpose.",
        )
    return xp.permute_dims(input, tuple(reversed(range(input.ndim))))


@both("adjoint", plain=True)
def _adjoint(input: Any) -> Any:
    """The conjugate transpose of matrices."""
    flipped = xp.matrix_transpose(input)
    return xp.conj(flipped) if arrays.is_complex(input.dtype) else flipped


@both("movedim", "moveaxis", plain=True)
@along_an_axis
def _movedim(input: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    return xp.moveaxis(input, source, destination)


# ------------------------------------------------------------------------------------------------- repetition
@method("expand", plain=True)
@variadic("size")
def _expand(self: Any, given: Any) -> Any:
    """Axes of length 1 repeated without copying; -1 leaves a length as it is."""
    shape = tuple(self.shape)
    offset = len(given) - len(shape)
    full = tuple([shape[k - offset] if n == -1 else n for k, n in enumerate(given)])
    return xp.broadcast_to(self, full)


@method("expand_as", plain=True)
def _expand_as(self: Any, other: Any) -> Any:
    """Expanded to the shape of `other`."""
    return xp.broadcast_to(self, tuple(other.shape))


@both("broadcast_to", plain=True)
def _broadcast_to(input: Any, size: Any) -> Any:
    """Axes of length 1 repeated without copying."""
    return _expand(input, size)


@function("broadcast_tensors")
def _broadcast_tensors(*tensors: Any) -> Any:
    """All Tensors expanded to one shape."""
    shape = np.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    return tuple([xp.broadcast_to(t, shape) for t in tensors])


@both("tile")
@variadic("dims")
def _tile(input: Any, dims: Any) -> Any:
    """The whole repeated along each axis."""
    return xp.tile(input, dims)


@method("repeat", plain=True)
@variadic("repeats")
def _repeat(self: Any, repeats: Any) -> Any:
    """The whole repeated along each axis; what NumPy calls ``tile``."""
    if len(repeats) < self.ndim:
        raise lesson(
            RuntimeError,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
            instead=f"x.repeat({', '.join(['1'] * (self.ndim - len(repeats)) + list(map(str, repeats)))}), or x.tile.",
        )
    return xp.tile(self, repeats)


@both("repeat_interleave")
def _repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, *, output_size: Any = None) -> Any:
    """Each element repeated; what NumPy calls ``repeat``.  Of repetitions alone: each one's number, that often."""
    if repeats is None:
        return wrap(type(input), np.repeat(np.arange(input.shape[0]), input._array))
    if dim is None:
        input, dim = xp.reshape(input, (-1,)), 0
    return xp.repeat(input, repeats, axis=dim)


@method("sum_to_size", plain=True)
@variadic("size")
def _sum_to_size(self: Any, sizes: Any) -> Any:
    """Summed over the axes along which `size` would be broadcast to this shape; integers as `sum` does."""
    if not arrays.broadcasts_to(sizes, tuple(self.shape)):
        raise lesson(RuntimeError, f"size {list(sizes)} is not expandable to size {list(self.shape)}.")
    if sizes == tuple(self.shape) != ():
        return self
    extra = self.ndim - len(sizes)
    gone = tuple([k for k, n in enumerate(self.shape) if k < extra or n != sizes[k - extra]])
    return xp.reshape(FUNCTIONS["sum"](self, gone), sizes)


# ------------------------------------------------------------------------------------------------- together and apart
def _alike(tensors: Any, name: str) -> list[Any]:
    """Several Tensors in one dtype."""
    found = list(tensors)
    if not found:
        raise lesson(ValueError if name == "cat" else RuntimeError, f"{name}(): expected a non-empty list of Tensors")
    for tensor in found:
        need_tensor(tensor, name)
    dtype = found[0].dtype
    if any(t.dtype != dtype for t in found):
        dtype = result_type(*found)
    return [as_dtype_of(t, dtype) for t in found]


@function("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors one after the other along an axis that they have."""
    parts = _alike(tensors, "cat")
    longest = max(part.ndim for part in parts)
    parts = [part for part in parts if part.ndim == longest or part._array.size] or parts  # old code starts from empty
    return xp.concat(parts, axis=dim)


@function("stack")
def _stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of one shape along a new axis."""
    return xp.stack(_alike(tensors, "stack"), axis=dim)


@function("hstack")
def _hstack(tensors: Any) -> Any:
    """Side by side."""
    parts = [xp.reshape(t, (1,)) if t.ndim == 0 else t for t in _alike(tensors, "hstack")]
    return xp.concat(parts, axis=0 if parts[0].ndim == 1 else 1)


@function("vstack", "row_stack")
def _vstack(tensors: Any) -> Any:
    """One under the other."""
    parts = [xp.reshape(t, (1, -1)) if t.ndim < 2 else t for t in _alike(tensors, "vstack")]
    return xp.concat(parts, axis=0)


def _slices(input: Any, lengths: Any, dim: int) -> tuple[Any, ...]:
    axis, start, parts = axis_of(input, dim), 0, []
    for n in lengths:
        parts.append(input[(slice(None),) * axis + (slice(start, start + n),)])
        start += n
    return tuple(parts)


@both("split", "split_with_sizes", plain=True)
def _split(input: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Views of pieces along `dim`: of one length, or of the given lengths."""
    total, wanted = length_of(input, dim), split_size_or_sections
    if isinstance(wanted, int):
        lengths = [min(wanted, total - k) for k in range(0, total, wanted)] if wanted else [0]
    else:
        lengths = list(wanted)
        if sum(lengths) != total:
            raise lesson(
                RuntimeError,
                f"split_with_sizes expects split_sizes to sum exactly to {total} (the length along axis {dim}), "
                f"but got split_sizes={lengths}",
            )
    return _slices(input, lengths or [0], dim)


@both("chunk", plain=True)
def _chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most `chunks` pieces of one length (the last may be shorter)."""
    total = length_of(input, dim)
    if chunks < 1:
        raise lesson(RuntimeError, f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return _split(input, -(-total // chunks) if total else [0] * chunks, dim)


@both("tensor_split", plain=True)
def _tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Any, ...]:
    """Exactly so many pieces, or cut at the given places."""
    if indices_or_sections is None:
        indices_or_sections = sections if indices is None else indices
    total = length_of(input, dim)
    if isinstance(indices_or_sections, Base):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1:
            raise lesson(RuntimeError, f"number of sections must be larger than 0, got {indices_or_sections}")
        small, more = divmod(total, indices_or_sections)
        return _slices(input, [small + (k < more) for k in range(indices_or_sections)], dim)
    cuts = [0, *[min(max(c + total if c < 0 else c, 0), total) for c in indices_or_sections], total]
    return _slices(input, [b - a for a, b in itertools.pairwise(cuts)], dim)


@both("unbind")
def _unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The slices along `dim`, without that axis."""
    return tuple([_select(input, dim, k) for k in range(length_of(input, dim))])


@both("select", plain=True)
def _select(input: Any, dim: int, index: int) -> Any:
    """One slice along `dim`, without that axis."""
    return input[(slice(None),) * axis_of(input, dim) + (int(index),)]


@both("narrow", plain=True)
def _narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """`length` slices along `dim`, from `start` on."""
    total, axis = length_of(input, dim), axis_of(input, dim)
    first = int(start) + (total if start < 0 else 0)
    if not 0 <= first <= first + length <= total:
        raise lesson(
            RuntimeError, f"start ({first}) + length ({length}) exceeds dimension size ({total}).", instead="x[a:b]."
        )
    return input[(slice(None),) * axis + (slice(first, first + length),)]


@function("meshgrid")
def _meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    """Coordinates of a grid from its axes, as views of them."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = tuple([int(t.numel()) for t in tensors])
    lines = [(1,) * k + (n,) + (1,) * (len(shape) - k - 1) for k, n in enumerate(shape)]
    grids = [xp.broadcast_to(xp.reshape(t, line), shape) for t, line in zip(tensors, lines, strict=True)]
    return tuple(grids if indexing == "ij" or len(grids) < 2 else [swapaxes(g, 0, 1) for g in grids])


# ------------------------------------------------------------------------------------------------- diagonals, triangles
@both("diagonal")
def _diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonals of the matrices in `dim1` and `dim2`, as the last axis."""
    return xp.diagonal(input, offset, dim1, dim2)


@both("diag_embed")
def _diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last axis as their diagonal, zero elsewhere."""
    places = np.arange(input.shape[-1])
    n = len(places) + abs(offset)
    index = (..., places + max(-offset, 0), places + max(offset, 0))
    matrix = embed(input, (*input.shape[:-1], n, n), Key(index, basic=False))
    return matrix if (dim1, dim2) == (-2, -1) else xp.moveaxis(matrix, (-2, -1), (dim1, dim2))


@both("diag")
def _diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix from its diagonal, or the diagonal of a matrix."""
    if input.ndim not in (1, 2):
        raise lesson(RuntimeError, f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D", instead="torch.diagonal.")
    return _diag_embed(input, diagonal) if input.ndim == 1 else _diagonal(input, diagonal).clone()


@with_in_place("tril")
def _tril(input: Any, diagonal: int = 0) -> Any:
    """The lower triangle, zero elsewhere."""
    return xp.tril(input, k=diagonal)


@with_in_place("triu")
def _triu(input: Any, diagonal: int = 0) -> Any:
    """The upper triangle, zero elsewhere."""
    return xp.triu(input, k=diagonal)
