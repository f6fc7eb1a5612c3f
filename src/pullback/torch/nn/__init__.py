"""``torch.nn``: functions of neural networks, and modules, which are functions with parameters."""

# ruff: noqa: F401 - __all__ is what stands here at the end

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.nn import functional, init, modules, parameter, utils
from pullback.torch.nn.parameter import Buffer, Parameter

globals().update({name: getattr(modules, name) for name in modules.__all__})
__all__ = sorted([*modules.__all__, "Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"])


def __getattr__(name: str) -> Any:
    _refuse("nn", name)
