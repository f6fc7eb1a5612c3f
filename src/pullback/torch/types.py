"""``torch.types``: what annotations of programs name."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from pullback.torch._methods_kinds import device as _device
from pullback.torch._missing import refuse as _refuse
from pullback.torch._size import Size as _Size

__all__ = ["Device", "Number"]

Number = builtins.int | builtins.float | builtins.bool
Device = _device | builtins.str | builtins.int | None
_size = _Size | Sequence[builtins.int]
_int, _float, _bool = builtins.int, builtins.float, builtins.bool


def __getattr__(name: str) -> Any:
    _refuse("types", name)
