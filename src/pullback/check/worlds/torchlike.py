"""torch, and ``pullback.torch``, which has the same names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from pullback.check.worlds.eager import EagerWorld
from pullback.check.worlds.memory import is_expanded, same_layout, unexpanded


class TorchWorld(EagerWorld):
    """A module with torch's names."""

    def __init__(self, torch: Any, name: str) -> None:
        self.torch, self.name = torch, name
        if name == "torch":
            self.dtypes = (*self.dtypes, "bfloat16")

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        array = np.asarray(array)
        if is_expanded(array):
            made = self.torch.from_numpy(unexpanded(array)).expand(*array.shape)
        elif array.ndim == 0:
            made = self.torch.tensor(np.array(array))
        else:
            made = self.torch.from_numpy(same_layout(array))
        if requires_grad and array.dtype.kind in "fc":
            made.requires_grad_(True)
        return made

    def array(self, tensor: Any) -> np.ndarray:
        found = tensor.detach()
        if "bfloat16" in str(found.dtype):
            found = found.to(self.torch.float32)
        if self.name == "torch":
            found = found.resolve_conj().resolve_neg()
        return np.array(found.numpy())

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype).rpartition(".")[2]

    def cast(self, array: np.ndarray, dtype: str, requires_grad: bool = False) -> Any:
        return self.torch.tensor(np.array(array)).to(getattr(self.torch, dtype)).requires_grad_(requires_grad)

    def pull(self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], record: bool) -> list[Any]:
        found = self.torch.autograd.grad(
            list(outputs), list(inputs), list(cotangents), retain_graph=True, create_graph=record, allow_unused=True
        )
        return list(found)

    def modes(self) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
        return {"no_grad": self.torch.no_grad, "inference_mode": self.torch.inference_mode}

    def seed(self, number: int) -> None:
        self.torch.manual_seed(number)
