"""Methods and attributes of Tensors that old or careful programs use: flags, maps, names of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.ops import inplace
from pullback.torch._export import FUNCTIONS, METHODS, method, xp

#: Questions that have one answer here.
FALSE = "is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse_csr is_vulkan is_xla is_xpu"


def _attribute(name: str, value: bool) -> None:
    METHODS[name] = property(lambda self: value, doc=f"``{value}``.")


for _name in FALSE.split():
    _attribute(_name, False)
_attribute("is_cpu", True)


@method("as_subclass", plain=True)
def _as_subclass(self: Any, cls: Any) -> Any:
    """The same memory and place in the graph, as a Tensor of another class."""
    if not issubclass(cls, Base):
        raise lesson(TypeError, f"as_subclass() takes a subclass of Tensor, not {cls!r}")
    found = xp.reshape(self, tuple(self.shape))
    found.__class__ = cls
    return found


@method("is_set_to", plain=True)
def _is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both are the same memory, of the same shape and strides."""
    same = tuple(self.shape) == tuple(tensor.shape) and METHODS["stride"](self) == METHODS["stride"](tensor)
    return same and METHODS["data_ptr"](self) == METHODS["data_ptr"](tensor)


@method("apply_", plain=True)
def _apply_(self: Any, callable: Any) -> Any:
    """Every element replaced by what a function of Python makes of it; not differentiable."""
    _refuse_gradients(self, "apply_")
    values = [callable(value) for value in self._array.ravel().tolist()]
    return inplace.copy_(self, np.asarray(values, dtype=self.dtype).reshape(tuple(self.shape)))


def _mapped(name: str) -> None:
    def call(self: Any, *rest: Any) -> Any:
        *tensors, function = rest
        _refuse_gradients(self, name)
        columns = [np.broadcast_to(t._array, tuple(self.shape)).ravel().tolist() for t in tensors]
        values = [function(*row) for row in zip(self._array.ravel().tolist(), *columns, strict=True)]
        return inplace.copy_(self, np.asarray(values, dtype=self.dtype).reshape(tuple(self.shape)))

    call.__doc__ = "Every element replaced by a function of it and of the others' elements; not differentiable."
    method(name, plain=True)(call)


_mapped("map_")
_mapped("map2_")


def _refuse_gradients(x: Any, name: str) -> None:
    if x.requires_grad:
        raise lesson(
            RuntimeError,
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.",
            why="a function of Python numbers has no derivative.",
            instead="operators of Tensors, or a Function.",
        )


@method("swapaxes_", "swapdims_", plain=True)
def _swapaxes_(self: Any, dim0: int, dim1: int) -> Any:
    """Exchange two axes of this very Tensor."""
    return METHODS["transpose_"](self, dim0, dim1)


@method("resize_as", "resize", plain=True)
def _resize(self: Any, *sizes: Any) -> Any:
    """Old name of `reshape` or `view_as`."""
    wanted = tuple(sizes[0].shape) if sizes and isinstance(sizes[0], Base) else sizes
    return METHODS["reshape"](self, *wanted)


@method("set_", plain=True)
def _set_(self: Any, source: Any = None) -> Any:
    """Put this Tensor over the memory of another one, of the same dtype; as ``x.data = source``."""
    if source is not None and not isinstance(source, Base):
        raise lesson(TypeError, f"set_() takes a Tensor, not {type(source).__name__}", instead="x.set_(tensor).")
    source = FUNCTIONS["empty"](0, dtype=self.dtype) if source is None else source.detach()
    if source.dtype != self.dtype:
        raise lesson(
            RuntimeError,
            f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}",
            instead="source.to(x.dtype).",
        )
    self.data = source
    return self


@method("share_memory_", "pin_memory", plain=True)
def _same(self: Any, device: Any = None) -> Any:
    """The Tensor itself: its memory stays where it is."""
    return self


@method("dim_order", plain=True)
def _dim_order(self: Any) -> Any:
    """The axes from the outermost in memory to the innermost."""
    strides = METHODS["stride"](self)
    return tuple(sorted(range(len(strides)), key=lambda k: -strides[k]))


@method("storage_type", plain=True)
def _storage_type(self: Any) -> Any:
    """The class of the array that holds the elements."""
    return type(self._array)


@method("conj_physical_", plain=True)
def _conj_physical_(self: Any) -> Any:
    """Conjugated in place."""
    return inplace.write_result(self, METHODS["conj"]) if self.dtype.kind == "c" else self


@method("name", plain=True)
def _name_of(self: Any) -> Any:
    """``None``: Tensors have no names."""
    return None
