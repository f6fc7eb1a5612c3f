"""einops on Tensors: ``import pullback.doors.einops``, and ``einops.rearrange(x, "a b -> b a")`` is differentiable.

einops finds the class below by itself, once it is defined.  (``einops.array_api`` needs nothing of this.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from einops._backends import AbstractBackend  # what einops asks other libraries to derive from

from pullback.core.tensor import Tensor, wrap
from pullback.namespaces import array_api as xp


class PullbackBackend(AbstractBackend):
    """What einops wants done with arrays."""

    framework_name = "pullback"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Any:
        return wrap(Tensor, x)

    def to_numpy(self, x: Any) -> Any:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Any:
        return xp.arange(start, stop)

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def reshape(self, x: Any, shape: Any) -> Any:
        return xp.reshape(x, tuple(shape))

    def transpose(self, x: Any, axes: Any) -> Any:
        return xp.permute_dims(x, tuple(axes))

    def reduce(self, x: Any, operation: str, axes: Any) -> Any:
        return getattr(xp, operation)(x, axis=tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
        return xp.stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        return xp.expand_dims(x, axis=new_position)

    def tile(self, x: Any, repeats: Any) -> Any:
        return xp.tile(x, tuple(repeats))

    def concat(self, tensors: Any, axis: int) -> Any:
        return xp.concat(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        return bool(x.dtype.kind == "f")

    def einsum(self, pattern: str, *tensors: Any) -> Any:
        return np.einsum(pattern, *tensors)
