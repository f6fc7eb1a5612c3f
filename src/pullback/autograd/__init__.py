"""Differentiation by the names that torch uses: ``backward``, ``grad``, ``Function``, grad modes, ``gradcheck``."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from pullback.autograd import function
from pullback.core.anomaly import detect_anomaly, set_detect_anomaly
from pullback.core.differentiate import backward, grad
from pullback.core.function import Function, once_differentiable
from pullback.core.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

if _TYPE_CHECKING:
    from pullback.autograd import checkpoint, forward_ad, functional, graph
    from pullback.check import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]

#: What is imported when it is first named, so that ``import pullback`` stays quick: name -> module.
_LATE = {
    "GradcheckError": "pullback.check",
    "checkpoint": "pullback.autograd.checkpoint",
    "forward_ad": "pullback.autograd.forward_ad",
    "functional": "pullback.autograd.functional",
    "gradcheck": "pullback.check",
    "gradgradcheck": "pullback.check",
    "graph": "pullback.autograd.graph",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATE:
        raise AttributeError(f"module 'pullback.autograd' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATE[name])
    value = module if _LATE[name].endswith(f".{name}") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
