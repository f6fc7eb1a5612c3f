"""Write a differentiable operator once, forward and backward with a ``ctx``, and trust it to any order."""

from pullback import autograd
from pullback.core.function import Function, once_differentiable
from pullback.core.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.namespaces import array_api as _array_api
from pullback.ops.bind import bind as _bind
from pullback.ops.creation import tensor

_bind(_array_api)
globals().update(_array_api._operators)

__version__ = "0.1.0"
__all__ = [
    "Function",
    "Primitive",
    "Tensor",
    "autograd",
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
    "tensor",
    *_array_api._operators,
]
