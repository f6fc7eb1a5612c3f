"""Write a differentiable operator once, forward and backward with a ``ctx``, and trust it to any order."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy as _numpy  # noqa: F401 - first: imported halfway through the package it takes a fifth longer

from pullback import autograd, doors, linalg
from pullback.core.errors import DerivativeRefused
from pullback.core.function import Function, once_differentiable
from pullback.core.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.doors.numpy import open_door as _open_door
from pullback.namespaces import array_api as _array_api
from pullback.ops.bind import bind as _bind
from pullback.ops.creation import tensor
from pullback.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap

if _TYPE_CHECKING:
    from pullback import bridges, check, draw, fft, implicit
    from pullback.check import GradcheckError, gradcheck, gradgradcheck
    from pullback.draw import make_dot
    from pullback.namespaces import special

_bind(_array_api)
_open_door(Tensor)
globals().update(_array_api._exports)

__version__ = "0.1.0"
__all__ = [
    "DerivativeRefused",
    "Function",
    "GradcheckError",
    "Primitive",
    "Tensor",
    "autograd",
    "bridges",
    "check",
    "doors",
    "draw",
    "enable_grad",
    "fft",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "hessian",
    "hvp",
    "implicit",
    "inference_mode",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "linalg",
    "make_dot",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
    "special",
    "tensor",
    "value_and_grad",
    "vjp",
    "vmap",
    *_array_api._exports,
]

#: What is imported when it is first named, so that ``import pullback`` stays quick: name -> module.
_LATE = {
    "GradcheckError": "pullback.check",
    "bridges": "pullback.bridges",
    "check": "pullback.check",
    "draw": "pullback.draw",
    "fft": "pullback.fft",
    "gradcheck": "pullback.check",
    "gradgradcheck": "pullback.check",
    "implicit": "pullback.implicit",
    "make_dot": "pullback.draw",
    "special": "pullback.namespaces.special",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATE:
        raise AttributeError(f"module 'pullback' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATE[name])
    value = module if _LATE[name].endswith(f".{name}") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
