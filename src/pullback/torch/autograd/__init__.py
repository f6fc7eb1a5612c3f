"""``torch.autograd``: `pullback.autograd` under torch's import path."""

from typing import Any as _Any

from pullback.autograd import (
    Function,
    backward,
    detect_anomaly,
    enable_grad,
    grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    once_differentiable,
    set_detect_anomaly,
    set_grad_enabled,
)
from pullback.torch._grad_modes import _is_multithreading_enabled as is_multithreading_enabled
from pullback.torch._grad_modes import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from pullback.torch._grad_modes import set_multithreading_enabled
from pullback.torch._missing import refuse as _refuse
from pullback.torch.autograd import anomaly_mode, forward_ad, function, functional, grad_mode, graph, profiler

# the import makes the submodule an attribute of this package, and then puts the function of the same name in its place
from pullback.torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from pullback.torch.autograd.variable import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def __getattr__(name: str) -> _Any:
    _refuse("autograd", name)
