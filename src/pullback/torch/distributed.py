"""``torch.distributed``: there is one process."""

from __future__ import annotations

from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["get_rank", "get_world_size", "is_available", "is_initialized"]


def is_available() -> bool:
    """``False``."""
    return False


def is_initialized() -> bool:
    """``False``."""
    return False


def get_world_size(group: Any = None) -> int:
    """1."""
    return 1


def get_rank(group: Any = None) -> int:
    """0."""
    return 0


def __getattr__(name: str) -> Any:
    _refuse("distributed", name)
