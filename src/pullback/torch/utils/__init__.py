"""``torch.utils``: only `checkpoint`."""

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.utils import checkpoint

__all__ = ["checkpoint"]


def __getattr__(name: str) -> Any:
    _refuse("utils", name)
