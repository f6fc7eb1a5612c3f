"""The Fourier extension of the standard; built from the registry."""

from __future__ import annotations

from typing import Any

import pullback.ops.fourier
import pullback.ops.fourier_axes  # noqa: F401 - fill the registry
from pullback.ops.registry import REGISTRY

_operators: dict[str, Any] = {
    name.removeprefix("fft."): record.call for name, record in REGISTRY.items() if name.startswith("fft.")
}
globals().update(_operators)
__all__ = [*_operators]
