"""``torch.nn.utils``: parameters as one vector, gradients brought to a length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.core.modes import no_grad as _no_grad
from pullback.core.tensor import Tensor as _Base
from pullback.core.tensor import wrap as _wrap
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._missing import refuse as _refuse

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
__all__ += ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters, one after the other, in one axis; in the graph."""
    return _FUNCTIONS["cat"]([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Give every parameter its part of a vector."""
    start = 0
    for parameter in parameters:
        n = parameter.numel()
        parameter.data = vec.detach()[start : start + n].reshape(parameter.shape)
        start += n


def _with_gradients(parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, _Base) else list(parameters)
    return [parameter for parameter in given if parameter.grad is not None]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """Scale all gradients, in place, so that together they are no longer than `max_norm`; returns their old length."""
    chosen = _with_gradients(parameters)
    if not chosen:
        return _FUNCTIONS["tensor"](0.0)
    norms = _np.array([_np.linalg.norm(_np.ravel(p.grad._array), norm_type) for p in chosen])
    total = float(_np.linalg.norm(norms, norm_type))
    if error_if_nonfinite and not _np.isfinite(total):
        raise _lesson(
            RuntimeError, f"The total norm of order {norm_type} for gradients is non-finite, so it cannot be clipped."
        )
    factor = min(max_norm / (total + 1e-6), 1.0)
    with _no_grad():
        for parameter in chosen:
            parameter.grad.mul_(factor)
    return _wrap(type(chosen[0]), _np.asarray(total, dtype=chosen[0].grad.dtype))


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Bring every entry of all gradients, in place, between ``-clip_value`` and `clip_value`."""
    with _no_grad():
        for parameter in _with_gradients(parameters):
            parameter.grad.clamp_(-clip_value, clip_value)


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None) -> Any:
    """The length of several Tensors together."""
    given = [tensors] if isinstance(tensors, _Base) else list(tensors)
    if not given:
        return _FUNCTIONS["tensor"](0.0)
    return _FUNCTIONS["norm"](
        _FUNCTIONS["stack"]([_FUNCTIONS["norm"](x.detach(), norm_type) for x in given]), norm_type
    )


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: Any = None) -> None:
    """Scale all gradients, in place, by ``max_norm / total_norm`` where that is less than 1."""
    factor = min(max_norm / (float(total_norm) + 1e-6), 1.0)
    with _no_grad():
        for parameter in _with_gradients(parameters):
            parameter.grad.mul_(factor)


def __getattr__(name: str) -> Any:
    _refuse("nn.utils", name)
