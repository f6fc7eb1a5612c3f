"""``torch.autograd.grad_mode``: the switches of recording by their old path."""

from typing import Any

from pullback.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from pullback.torch._missing import refuse as _refuse

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


def __getattr__(name: str) -> Any:
    _refuse("autograd.grad_mode", name)
