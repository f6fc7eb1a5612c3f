"""``torch.nn.init``: first values of parameters, written in place and out of the graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.core.modes import no_grad as _no_grad
from pullback.torch._missing import refuse as _refuse
from pullback.torch.random import default_generator as _generator

__all__: list[str] = []
_GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def _enter(call: Any) -> Any:
    __all__.append(call.__name__)
    return call


def _write(tensor: Any, values: Any) -> Any:
    with _no_grad():
        return tensor.copy_(_np.asarray(values, dtype=tensor.dtype))


def _fans(tensor: Any) -> tuple[int, int]:
    """How many numbers go into one output, and come from one input."""
    if tensor.ndim < 2:
        raise _lesson(ValueError, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


@_enter
def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance after this activation."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    return _GAINS.get(nonlinearity, 1.0)


@_enter
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers between `a` and `b`."""
    return _write(tensor, a + (b - a) * (generator or _generator)._numbers.random(tuple(tensor.shape)))


@_enter
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers."""
    return _write(tensor, mean + std * (generator or _generator)._numbers.standard_normal(tuple(tensor.shape)))


@_enter
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal numbers, drawn again until they lie between `a` and `b`."""
    numbers = (generator or _generator)._numbers
    values = _np.full(tuple(tensor.shape), _np.inf)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = mean + std * numbers.standard_normal(int(outside.sum()))
    return _write(tensor, values)


@_enter
def constant_(tensor: Any, val: float) -> Any:
    """One number."""
    return _write(tensor, _np.full(tuple(tensor.shape), val))


@_enter
def ones_(tensor: Any) -> Any:
    """Ones."""
    return constant_(tensor, 1.0)


@_enter
def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return constant_(tensor, 0.0)


@_enter
def eye_(tensor: Any) -> Any:
    """The identity matrix."""
    return _write(tensor, _np.eye(*tensor.shape))


@_enter
def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers of variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


@_enter
def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers of variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))), generator)


@_enter
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform numbers of variance ``gain² / fan`` (He et al. 2015)."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@_enter
def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal numbers of variance ``gain² / fan`` (He et al. 2015)."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise _lesson(ValueError, f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@_enter
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A (semi-)orthogonal matrix, with all axes but the first made one."""
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    draw = (generator or _generator)._numbers.standard_normal((max(rows, columns), min(rows, columns)))
    Q, R = _np.linalg.qr(draw)
    Q = Q * _np.sign(_np.diagonal(R))
    return _write(tensor, gain * (Q if rows >= columns else Q.T).reshape(tuple(tensor.shape)))


@_enter
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Kernels of convolutions that pass their channels on."""
    if tensor.ndim not in (3, 4, 5):
        raise _lesson(ValueError, "Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise _lesson(ValueError, "dim 0 must be divisible by groups")
    values = _np.zeros(tuple(tensor.shape))
    per_group = tensor.shape[0] // groups
    middle = tuple([n // 2 for n in tensor.shape[2:]])
    for group in range(groups):
        for k in range(min(per_group, tensor.shape[1])):
            values[(group * per_group + k, k, *middle)] = 1.0
    return _write(tensor, values)


#: The names of long ago, without the sign of writing.
for _name in (
    *("constant", "dirac", "eye", "normal", "orthogonal", "uniform"),
    *("kaiming_normal", "kaiming_uniform", "xavier_normal", "xavier_uniform"),
):
    globals()[_name] = globals()[f"{_name}_"]


def __getattr__(name: str) -> Any:
    _refuse("nn.init", name)
