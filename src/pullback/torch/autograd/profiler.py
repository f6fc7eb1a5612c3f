"""``torch.autograd.profiler``: `torch.profiler` by its old path."""

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.profiler import record_function

__all__ = ["record_function"]


def __getattr__(name: str) -> Any:
    _refuse("autograd.profiler", name)
