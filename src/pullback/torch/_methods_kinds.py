"""What a Tensor is, and its copies in other dtypes: ``size``, ``stride``, ``to``, ``double``, ``type_as`` ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops import inplace
from pullback.torch._dtypes import DTYPES, TYPE_NAMES, as_dtype
from pullback.torch._export import METHODS, both, function, method, xp
from pullback.torch._promotion import category
from pullback.torch._size import Size


# ------------------------------------------------------------------------------------------------- what it is
@method("size", plain=True)
def _size(self: Any, dim: Any = None) -> Any:
    """The shape, or the length of one axis."""
    return Size(self._array.shape) if dim is None else self._array.shape[dim]


@both("numel", plain=True)
def _numel(input: Any) -> int:
    """How many elements there are."""
    return math.prod(input._array.shape)


@method("nelement", plain=True)
def _nelement(self: Any) -> int:
    """How many elements there are."""
    return math.prod(self._array.shape)


@method("dim", "ndimension", plain=True)
def _dim(self: Any) -> int:
    """How many axes there are."""
    return len(self._array.shape)


@method("stride", plain=True)
def _stride(self: Any, dim: Any = None) -> Any:
    """How many elements lie in memory between neighbours along each axis."""
    array = np.asarray(self._array)
    strides = tuple([n // array.itemsize for n in array.strides])
    return strides if dim is None else strides[dim]


@method("storage_offset", plain=True)
def _storage_offset(self: Any) -> int:
    """How many elements of its base's memory lie before the first one."""
    base = self if self._base is None else self._base
    start, own = (np.asarray(t._array).__array_interface__["data"][0] for t in (base, self))
    return int(own - start) // self._array.itemsize


@method("data_ptr", plain=True)
def _data_ptr(self: Any) -> int:
    """The address of the first element."""
    return int(np.asarray(self._array).__array_interface__["data"][0])


@method("is_contiguous", plain=True)
def _is_contiguous(self: Any, **options: Any) -> bool:
    """Whether the elements lie in memory in C order."""
    return not isinstance(self._array, np.ndarray) or self._array.flags.c_contiguous


@method("contiguous", plain=True)
def _contiguous(self: Any, **options: Any) -> Any:
    """The Tensor itself where its elements lie in C order, a copy that does otherwise."""
    return self if _is_contiguous(self) else self.clone()


@method("element_size", plain=True)
def _element_size(self: Any) -> int:
    """Bytes per element."""
    return int(self.dtype.itemsize)


@method("get_device", plain=True)
def _get_device(self: Any) -> int:
    """-1: this library computes where its arrays live, and knows no accelerator of its own."""
    return -1


@method("is_inference", plain=True)
def _is_inference(self: Any) -> bool:
    """Always ``False``: what `inference_mode` makes are ordinary Tensors."""
    return False


@both("is_floating_point", plain=True)
def _is_floating_point(input: Any) -> bool:
    """Whether the dtype is a real floating-point one."""
    return category(input.dtype) == 2


@both("is_complex", plain=True)
def _is_complex(input: Any) -> bool:
    """Whether the dtype is complex."""
    return category(input.dtype) == 3


@both("is_nonzero", plain=True)
def _is_nonzero(input: Any) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


@function("is_tensor")
def _is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Base)


# ------------------------------------------------------------------------------------------------- other dtypes
def convert(x: Any, dtype: Any, copy: bool = False) -> Any:
    """`x` in another dtype; the very Tensor where it has it and no copy is asked for."""
    if x.dtype == dtype:
        return x.clone() if copy else x
    if category(x.dtype) == 3 and category(dtype) < 3:
        x = xp.real(x)
    return xp.astype(x, dtype)


@method("to", plain=True)
def _to(self: Any, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, **options: Any) -> Any:
    """In another dtype: ``to(dtype)``, ``to(other)``, ``to(device, dtype)``.  The only device is the arrays' own."""
    for value in args:
        if isinstance(value, Base):
            dtype = value.dtype
        elif isinstance(value, bool) or value is None:
            continue
        elif _names_a_device(value):
            device = value
        else:
            dtype = as_dtype(value)
    _check_device(device)
    return convert(self, self.dtype if dtype is None else as_dtype(dtype), copy)


def _names_a_device(value: Any) -> bool:
    return isinstance(value, (int, device)) or (
        isinstance(value, str) and value.partition(":")[0] in {"cpu", "cuda", "mps"}
    )


class device:  # noqa: N801 - torch's name
    """A place where Tensors live; the only one is the CPU (or wherever the array library keeps its arrays)."""

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: Any = None) -> None:
        name, _, number = str(type.type if isinstance(type, device) else type).partition(":")
        self.type: str = name
        self.index = int(number) if number else index

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )


def _check_device(device: Any) -> None:
    if device is not None and not str(device).startswith("cpu"):
        raise lesson(
            RuntimeError,
            f"there is no device {device!s} here",
            why="this library computes with the arrays it is given, on the device where they live.",
            instead='leave the device out, or "cpu"; for a GPU wrap an array of a library that has one.',
        )


@method("type", plain=True)
def _type(self: Any, dtype: Any = None) -> Any:
    """The old name of the Tensor's type; with an argument, a copy in that dtype."""
    if dtype is None:
        return f"torch.{TYPE_NAMES.get(self.dtype.name, self.dtype.name)}"
    return convert(self, as_dtype(dtype))


@method("type_as", plain=True)
def _type_as(self: Any, other: Any) -> Any:
    """In the dtype of `other`."""
    return convert(self, other.dtype)


def _cast_method(name: str) -> Any:
    dtype = DTYPES[name]

    def call(self: Any) -> Any:
        return convert(self, dtype)

    call.__doc__ = f"In dtype {dtype}."
    return call


for _name in ("float", "double", "half", "long", "int", "short", "bool", "cfloat", "cdouble"):
    method(_name, plain=True)(_cast_method(_name))
method("char", plain=True)(_cast_method("int8"))
method("byte", plain=True)(_cast_method("uint8"))


@method("cpu", plain=True)
def _cpu(self: Any) -> Any:
    """The Tensor itself."""
    return self


@method("cuda", plain=True)
def _cuda(self: Any, device: Any = None) -> Any:
    """Refused: there is no such device here."""
    _check_device("cuda")


# ------------------------------------------------------------------------------------------------- copies and writes
@both("clone", plain=True)
def _clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy in C order that belongs to the graph."""
    return Base.clone(input)  # type: ignore[attr-defined]


@both("detach", plain=True)
def _detach(input: Any) -> Any:
    """The same memory, out of the graph."""
    return Base.detach(input)


@method("copy_", plain=True)
def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The elements of `src` written into ``self``, broadcast and cast."""
    return inplace.copy_(self, src)


@method("fill_diagonal_", plain=True)
def _fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """The main diagonal set to a number; with `wrap`, again below in a tall matrix."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
        raise lesson(RuntimeError, "fill_diagonal_ expects a matrix, or more axes of one length")
    rows, columns = self.shape[0], self.shape[-1]
    index = np.arange(rows if wrap and self.ndim == 2 else min(self.shape))
    if wrap and self.ndim == 2 and rows > columns:
        index = index[index % (columns + 1) < columns]
        self[(index, index % (columns + 1))] = fill_value
        return self
    index = np.arange(min(self.shape))
    self[(index,) * self.ndim] = fill_value
    return self


@method("resize_as_", "resize_", plain=True)
def _resize_(self: Any, *sizes: Any, **options: Any) -> Any:
    """The Tensor itself in another shape; for more elements it gets other memory, to which these are copied."""
    wanted = tuple(sizes[0].shape) if sizes and isinstance(sizes[0], Base) else sizes[0] if len(sizes) == 1 else sizes
    wanted = (wanted,) if isinstance(wanted, int) else tuple(wanted)
    if wanted == tuple(self.shape):
        return self
    if math.prod(wanted) == math.prod(self.shape) and self._edge is None and self._view is None:
        return inplace.reshape_in_place(self, xp.reshape, wanted)
    if self.requires_grad:
        raise lesson(
            RuntimeError,
            "cannot resize variables that require grad",
            why="what is recorded knows the old elements.",
            instead="torch.empty(shape), or x.reshape(shape) for the same number of elements.",
        )
    if self._view is not None:
        raise lesson(
            RuntimeError,
            f"cannot resize a view of shape {list(self.shape)} to {list(wanted)}",
            why="its memory is a part of its base's.",
            instead="x.clone().resize_(...), torch.empty(shape).",
        )
    memory = np.empty(math.prod(wanted), dtype=self.dtype)
    kept = min(memory.size, math.prod(self.shape))
    memory[:kept] = np.asarray(self._array).ravel()[:kept]
    self.data = wrap(type(self), memory.reshape(wanted))
    return self


@method("transpose_", plain=True)
def _transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """Exchange two axes of this very Tensor."""
    return inplace.reshape_in_place(self, METHODS["transpose"], dim0, dim1)


@method("squeeze_", plain=True)
def _squeeze_(self: Any, dim: Any = None) -> Any:
    """Drop axes of length 1 from this very Tensor."""
    return inplace.reshape_in_place(self, METHODS["squeeze"], dim)


@method("t_", plain=True)
def _t_(self: Any) -> Any:
    """Transpose this very Tensor."""
    return inplace.reshape_in_place(self, METHODS["t"])


# ------------------------------------------------------------------------------------------------- new ones of its kind
@method("new_tensor", plain=True)
def _new_tensor(self: Any, data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
    """A Tensor from data, in this Tensor's dtype."""
    dtype = as_dtype(dtype) or self.dtype
    result = wrap(type(self), np.array(data._array if isinstance(data, Base) else data, dtype=dtype))
    return result.requires_grad_() if requires_grad else result


def _new_filled(make: Any, name: str) -> None:
    def call(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Any:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        result = wrap(type(self), to_fill(make(tuple(shape), dtype=as_dtype(dtype) or self.dtype)))
        return result.requires_grad_() if requires_grad else result

    call.__doc__ = f"`{name.removeprefix('new_')}` in this Tensor's dtype."
    method(name, plain=True)(call)


_new_filled(np.zeros, "new_zeros")
_new_filled(np.ones, "new_ones")
_new_filled(np.empty, "new_empty")


@method("new_full", plain=True)
def _new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """`full` in this Tensor's dtype."""
    return wrap(type(self), to_fill(np.full(tuple(size), fill_value, dtype=as_dtype(dtype) or self.dtype)))


@method("new", plain=True)
def _new(self: Any, *args: Any) -> Any:
    """Old name: an uninitialised Tensor of the given shape, or one from data, in this Tensor's dtype."""
    if not args:
        return wrap(type(self), np.empty(0, dtype=self.dtype))
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        return _new_tensor(self, args[0])
    shape = tuple(args[0]) if isinstance(args[0], Size) else args
    return wrap(type(self), np.empty(shape, dtype=self.dtype))
