"""``torch.nn.modules``: functions with parameters."""

# ruff: noqa: F401 - __all__ is what stands here at the end

import sys as _sys
from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.nn.modules import utils
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
    _BatchNorm,
    _Convolution,
    _InstanceNorm,
)
from pullback.torch.nn.modules.loss_base import _Loss, _WeightedLoss
from pullback.torch.nn.modules.module import Module

globals().update(_MODULES)
__all__ = [name for name in globals() if name[0].isupper() and name != "Any"]


_ConvNd = _Convolution
#: The files of torch in which modules stand: the same names are found there.
for _name in (
    *("activation", "batchnorm", "conv", "distance", "dropout", "flatten", "fold", "instancenorm", "linear", "loss"),
    *("normalization", "padding", "pixelshuffle", "pooling", "sparse", "upsampling"),
):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _sys.modules[__name__]


def __getattr__(name: str) -> Any:
    _refuse("nn.modules", name)
