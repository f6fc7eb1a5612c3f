"""pullback's own Tensors, over NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from pullback.check.worlds.eager import EagerWorld
from pullback.check.worlds.memory import is_expanded, same_layout, unexpanded
from pullback.core import modes
from pullback.core.differentiate import grad
from pullback.core.tensor import Tensor


class NativeWorld(EagerWorld):
    """pullback."""

    name = "pullback"

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        array = np.asarray(array)
        own = np.broadcast_to(unexpanded(array), array.shape) if is_expanded(array) else same_layout(array)
        return Tensor(own, requires_grad=requires_grad and array.dtype.kind in "fc")

    def array(self, tensor: Any) -> np.ndarray:
        return np.array(tensor._array)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype)

    def cast(self, array: np.ndarray, dtype: str, requires_grad: bool = False) -> Any:
        return Tensor(np.array(array, dtype), requires_grad=requires_grad)

    def pull(self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], record: bool) -> list[Any]:
        found = grad(
            list(outputs), list(inputs), list(cotangents), retain_graph=True, create_graph=record, allow_unused=True
        )
        return list(found)

    def modes(self) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
        return {"no_grad": modes.no_grad, "inference_mode": modes.inference_mode}
