"""``torch.nn``: only `functional` is offered; modules and optimisers are no part of this library."""

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.nn import functional

__all__ = ["functional"]


def __getattr__(name: str) -> Any:
    _refuse("nn", name)
