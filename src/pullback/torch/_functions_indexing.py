"""Picking and placing by index: ``gather``, ``scatter``, ``index_select``, ``masked_fill`` and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.arrays import everything
from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops import inplace
from pullback.ops.computed import computed
from pullback.torch._dims import along_an_axis, axis_of, written_along_an_axis
from pullback.torch._dtypes import of_number
from pullback.torch._export import FUNCTIONS, both, function, method, xp
from pullback.torch._promotion import as_dtype_of, category


def _grid(index: Any, dim: int) -> tuple[Any, ...]:
    """The index of `gather` as an index for every axis: `index` along `dim`, the element's own place elsewhere."""
    places = index._array if isinstance(index, Base) else np.asarray(index)
    own: list[Any] = list(np.indices(places.shape, sparse=True))
    if own:
        own[dim] = places
    return tuple(own)


def check_index(name: str, index: Any) -> None:
    if category(index.dtype) != 1:
        raise lesson(
            RuntimeError, f"{name}(): Expected dtype int64 for index, got {index.dtype}", instead="index.long()."
        )


def check_places(name: str, input: Any, dim: int, index: Any) -> None:
    """Refuse an index of `gather` or `scatter` of another dtype, other axes, or with places that there are not."""
    check_index(name, index)
    axis, places = axis_of(input, dim), everything(index._array)
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise lesson(RuntimeError, f"{name}(): Index tensor must have the same number of dimensions as input tensor")
    for k, (n, have) in enumerate(zip(index.shape, input.shape, strict=False)):
        if k != axis and n > have and index.numel():
            raise lesson(
                RuntimeError,
                f"{name}(): Size does not match at dimension {k}: expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {axis}",
            )
    n = input.shape[axis] if input.ndim else 1
    if isinstance(places, np.ndarray) and places.size and not (-n <= places.min() and places.max() < n):
        raise lesson(
            RuntimeError, f"{name}(): an index of {places.max()} is out of bounds for dimension {axis} with size {n}"
        )


def _rows(input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """The index of `index_select` and its relatives."""
    places = index._array if isinstance(index, Base) else np.asarray(index)
    places = places if places.shape else places.reshape((1,))
    return (slice(None),) * axis_of(input, dim) + (places,)


# ------------------------------------------------------------------------------------------------- picking
@both("gather")
def _gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim = 0``, and so on for other axes."""
    check_places("gather", input, dim, index)
    if input.ndim == 0:
        return xp.reshape(xp.reshape(input, (1,))[np.atleast_1d(index._array)], tuple(index.shape))
    return input[_grid(index, axis_of(input, dim))]


@both("take_along_dim")
def _take_along_dim(input: Any, indices: Any, dim: Any = None) -> Any:
    """`gather`, with broadcasting; without `dim`, from the flattened Tensor."""
    if dim is None:
        return xp.reshape(input, (-1,))[xp.reshape(indices, (-1,))._array]
    return xp.take_along_axis(input, indices, axis=dim)


@both("index_select")
@along_an_axis
def _index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices of `input` along `dim` that a 1-d `index` names."""
    check_index("index_select", index)
    if index.ndim > 1:
        raise lesson(IndexError, "index_select(): Index is supposed to be a vector", instead="x[index].")
    return input[_rows(input, dim, index)]


@both("take", plain=True)
def _take(input: Any, index: Any) -> Any:
    """Elements of the flattened Tensor."""
    return xp.take(input, index, axis=None)


@both("masked_select")
def _masked_select(input: Any, mask: Any) -> Any:
    """The elements where `mask` holds, as one axis."""
    shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    return xp.broadcast_to(input, shape)[np.broadcast_to(mask._array, shape)]


@both("nonzero")
def _nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or one Tensor per axis."""
    kind, found = type(input), np.nonzero(np.atleast_1d(input._array))
    if as_tuple:
        return tuple([wrap(kind, axis) for axis in found])
    return wrap(kind, np.stack(found, axis=-1)[:, : input.ndim])


@both("argwhere")
def _argwhere(input: Any) -> Any:
    """The indices of the elements that are not zero, one row each."""
    return _nonzero(input)


# ------------------------------------------------------------------------------------------------- placing
def _corner(source: Any, index: Any) -> Any:
    """As much of `source` as `index` names."""
    return source[tuple([slice(0, n) for n in index.shape])] if getattr(source, "ndim", 0) else source


@both("scatter")
@along_an_axis
def _scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """``out[index[i][j]][j] = src[i][j]`` for ``dim = 0``, and so on; `src` may be a number."""
    check_places("scatter", input, dim, index)
    source = value if src is None else src
    if reduce is not None:
        return _reduced(input, dim, index, source, reduce)
    source = _corner(source, index)
    return inplace.index_put(input, _grid(index, axis_of(input, dim)), source)


@method("scatter_")
@written_along_an_axis
def _scatter_(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Any:
    """`scatter`, written into ``self``."""
    check_places("scatter_", self, dim, index)
    source = value if src is None else src
    if reduce is not None:
        return inplace.write_result(self, _reduced, dim, index, source, reduce)
    return inplace.scatter_(self, dim, index, source)


def _reduced(input: Any, dim: int, index: Any, source: Any, reduce: str) -> Any:
    """``scatter(reduce="add")`` and ``"multiply"``, the old names of `scatter_reduce`."""
    if reduce not in ("add", "multiply"):
        raise lesson(RuntimeError, f"reduce argument must be either add or multiply, not {reduce!r}")
    return FUNCTIONS["scatter_reduce"](input, dim, index, source, reduce)


@both("scatter_add")
@along_an_axis
def _scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """``out[index[i][j]][j] += src[i][j]`` for ``dim = 0``, and so on."""
    check_places("scatter_add", input, dim, index)
    return inplace.index_add(input, _grid(index, axis_of(input, dim)), _corner(src, index))


@method("scatter_add_")
@written_along_an_axis
def _scatter_add_(self: Any, dim: int, index: Any, src: Any) -> Any:
    """`scatter_add`, written into ``self``."""
    check_places("scatter_add_", self, dim, index)
    return inplace.scatter_add_(self, dim, index, src)


@both("index_add")
@along_an_axis
def _index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The slices of `source` added to those of `input` along `dim` that `index` names."""
    return inplace.index_add(input, _rows(input, dim, index), source if alpha == 1 else source * alpha)


@method("index_add_")
@written_along_an_axis
def _index_add_(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """`index_add`, written into ``self``."""
    return inplace.index_add_(self, dim, index, source if alpha == 1 else source * alpha)


@both("index_copy")
@along_an_axis
def _index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """The slices of `input` along `dim` that `index` names, replaced by those of `source`."""
    return inplace.index_put(input, _rows(input, dim, index), source)


@method("index_copy_")
@written_along_an_axis
def _index_copy_(self: Any, dim: int, index: Any, source: Any) -> Any:
    """`index_copy`, written into ``self``."""
    return inplace.index_copy_(self, dim, index, source)


@both("index_fill")
@along_an_axis
def _index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """The slices of `input` along `dim` that `index` names, filled with `value`."""
    return inplace.index_put(input, _rows(input, dim, index), value)


@method("index_fill_")
@written_along_an_axis
def _index_fill_(self: Any, dim: int, index: Any, value: Any) -> Any:
    """`index_fill`, written into ``self``."""
    return inplace.index_fill_(self, dim, index, value)


@both("masked_fill")
def _masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`value`, in the dtype of `input`, where `mask` holds; `input` elsewhere."""
    return xp.where(mask, _cast_to(input, value), input)


def _cast_to(input: Any, value: Any) -> Any:
    """A number or 0-d Tensor in the dtype of `input`; no complex one loses its imaginary part."""
    if category(value.dtype if isinstance(value, Base) else of_number(value)) == 3 != category(input.dtype):
        raise lesson(RuntimeError, f"value cannot be converted to type {input.dtype} without overflow")
    return as_dtype_of(value, input.dtype) if isinstance(value, Base) else np.asarray(value).astype(input.dtype).item()


@method("masked_fill_")
def _masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """`masked_fill`, written into ``self``."""
    return inplace.masked_fill_(self, mask, value)


@both("masked_scatter")
def _masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The elements where `mask` holds, replaced by those of `source` in order."""
    places = np.broadcast_to(mask._array, tuple(input.shape))
    return inplace.index_put(input, places, xp.reshape(source, (-1,))[: int(places.sum())])


@method("masked_scatter_")
def _masked_scatter_(self: Any, mask: Any, source: Any) -> Any:
    """`masked_scatter`, written into ``self``."""
    places = np.broadcast_to(mask._array, tuple(self.shape))
    return inplace.index_put_(self, places, xp.reshape(source, (-1,))[: int(places.sum())])


@both("index_put")
def _index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """``input`` with `values` at `indices`; with `accumulate` added there, repeated places adding up."""
    return (inplace.index_add if accumulate else inplace.index_put)(input, tuple(indices), values)


@method("index_put_")
def _index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`index_put`, written into ``self``."""
    return inplace.index_put_(self, tuple(indices), values, accumulate)


# ------------------------------------------------------------------------------------------------- searching
@function("searchsorted")
def _searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    """Where the values would have to be inserted to keep a sequence sorted."""
    sequence = sorted_sequence if sorter is None else xp.take_along_axis(sorted_sequence, sorter, axis=-1)
    values = input if isinstance(input, Base) else wrap(type(sequence), np.asarray(input))
    if sequence.ndim > 1 and tuple(sequence.shape[:-1]) != tuple(values.shape[:-1]):
        raise lesson(
            RuntimeError, "searchsorted: the first axes of the sequences and of the values must have the same lengths"
        )
    side = side or ("right" if right else "left")

    def find(rows: Any, wanted: Any) -> Any:
        found = np.empty(wanted.shape, dtype=np.int32 if out_int32 else np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            found[place] = np.searchsorted(rows[place], wanted[place], side=side)
        return found

    return computed(find, sequence, values)


@function("bucketize")
def _bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of the bucket that each value falls into."""
    return _searchsorted(boundaries, input, out_int32=out_int32, right=right)


@both("bincount")
def _bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each non-negative integer occurs; with `weights`, their sums."""
    if input.ndim != 1 or input.dtype.kind not in "iu" or (input._array < 0).any():
        raise lesson(RuntimeError, "bincount only supports 1-d non-negative integral inputs.", instead="x.flatten().")
    counts = np.bincount(input._array, minlength=minlength)
    if weights is None:
        return wrap(type(input), counts)
    zeros = wrap(type(weights), to_fill(np.zeros(counts.shape, dtype=weights.dtype)))
    return inplace.index_add(zeros, input._array, weights)
