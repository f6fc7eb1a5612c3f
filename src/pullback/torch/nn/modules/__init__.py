"""``torch.nn.modules``: functions with parameters."""

# ruff: noqa: F401 - __all__ is what stands here at the end

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.nn.modules.container import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from pullback.torch.nn.modules.functions import MODULES as _MODULES
from pullback.torch.nn.modules.layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Bilinear,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    GroupNorm,
    Identity,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    Linear,
    PReLU,
    RMSNorm,
)
from pullback.torch.nn.modules.module import Module

globals().update(_MODULES)
__all__ = [name for name in globals() if name[0].isupper() and name != "Any"]


def __getattr__(name: str) -> Any:
    _refuse("nn.modules", name)
