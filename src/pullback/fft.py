"""The Fourier extension of the standard; built from the registry."""

from typing import Any as _Any

from pullback.ops import fourier as _one_axis  # noqa: F401 - fills the registry
from pullback.ops import fourier_axes as _several_axes  # noqa: F401
from pullback.ops.registry import REGISTRY as _REGISTRY

_operators: dict[str, _Any] = {
    name.removeprefix("fft."): record.call for name, record in _REGISTRY.items() if name.startswith("fft.")
}
globals().update(_operators)
__all__ = [*_operators]
