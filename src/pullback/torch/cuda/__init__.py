"""``torch.cuda``: there is no such device, and programs that ask are told so."""

from __future__ import annotations

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.cuda import amp

__all__ = ["amp", "device_count", "is_available"]


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def __getattr__(name: str) -> Any:
    _refuse("cuda", name)
