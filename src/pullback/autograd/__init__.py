"""Differentiation by the names that torch uses: ``backward``, ``grad``, ``Function``, grad modes."""

from pullback.autograd import forward_ad, function, functional, graph
from pullback.check import GradcheckError, gradcheck, gradgradcheck
from pullback.core.anomaly import detect_anomaly, set_detect_anomaly
from pullback.core.differentiate import backward, grad
from pullback.core.function import Function, once_differentiable
from pullback.core.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
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
