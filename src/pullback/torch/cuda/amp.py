"""``torch.cuda.amp``: `torch.amp` by its old path."""

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def __getattr__(name: str) -> Any:
    _refuse("cuda.amp", name)
