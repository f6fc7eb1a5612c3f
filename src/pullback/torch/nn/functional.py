"""A small ``torch.nn.functional``: activations, losses, ``linear``, ``pad``, ``one_hot``."""

from __future__ import annotations

from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.core.tensor import wrap as _wrap
from pullback.torch import _functions_elementwise, _functions_reductions, _functions_special  # noqa: F401 - fill the table
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._export import xp as _xp
from pullback.torch._missing import refuse as _refuse

__all__ = ["binary_cross_entropy_with_logits", "cross_entropy", "elu", "gelu", "l1_loss", "leaky_relu", "linear"]
__all__ += [
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "relu",
    "sigmoid",
    "silu",
]
__all__ += ["smooth_l1_loss", "softmax", "softplus", "tanh"]

sigmoid, tanh, relu = _FUNCTIONS["sigmoid"], _FUNCTIONS["tanh"], _FUNCTIONS["relu"]


def softmax(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """``exp(input) / sum(exp(input))`` along `dim`."""
    return _FUNCTIONS["softmax"](input, _last(input, dim), dtype)


def log_softmax(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return _FUNCTIONS["log_softmax"](input, _last(input, dim), dtype)


def _last(input: Any, dim: Any) -> int:
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, without overflow."""
    return _xp.logaddexp(beta * input, _xp.zeros_like(input)) / beta


def logsigmoid(input: Any) -> Any:
    """``log(sigmoid(input))``."""
    return -softplus(-input)


def silu(input: Any) -> Any:
    """``input * sigmoid(input)``."""
    return input * sigmoid(input)


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """`input` where positive, ``negative_slope * input`` elsewhere."""
    return _xp.where(input > 0, input, negative_slope * input)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """`input` where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return _xp.where(input > 0, input, alpha * _xp.expm1(input))


def gelu(input: Any, approximate: str = "none") -> Any:
    """``input * Φ(input)`` with the normal distribution function Φ, or its approximation by ``"tanh"``."""
    if approximate == "tanh":
        return 0.5 * input * (1 + tanh((2 / _np.pi) ** 0.5 * (input + 0.044715 * input * input * input)))
    return 0.5 * input * (1 + _FUNCTIONS["erf"](input / 2**0.5))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    product = input @ _xp.matrix_transpose(weight) if weight.ndim > 1 else input @ weight
    return product if bias is None else product + bias


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """`input` divided by its norm along `dim`, or by `eps` where that is larger."""
    return input / _xp.clip(_FUNCTIONS["norm"](input, p, dim, True), eps, None)


def _reduced(values: Any, reduction: str) -> Any:
    if reduction == "mean":
        return _xp.mean(values)
    if reduction == "sum":
        return _xp.sum(values)
    if reduction == "none":
        return values
    raise _lesson(ValueError, f"{reduction!r} is not a valid value for reduction", instead="'mean', 'sum' or 'none'.")


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The mean of squared differences."""
    gap = input - target
    return _reduced(gap * gap, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The mean of absolute differences."""
    return _reduced(_xp.abs(input - target), reduction)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """A square near zero, the absolute value elsewhere."""
    gap = _xp.abs(input - target)
    return _reduced(_xp.where(gap < beta, 0.5 * gap * gap / beta, gap - 0.5 * beta), reduction)


def binary_cross_entropy_with_logits(input: Any, target: Any, reduction: str = "mean") -> Any:
    """``-target * log(sigmoid(input)) - (1 - target) * log(1 - sigmoid(input))``."""
    return _reduced(softplus(input) - target * input, reduction)


def nll_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """Minus the log-probability (along axis 1) of the target classes."""
    picked = _xp.take_along_axis(input, _xp.expand_dims(target, axis=1), axis=1)
    return _reduced(-_xp.squeeze(picked, axis=1), reduction)


def cross_entropy(input: Any, target: Any, reduction: str = "mean") -> Any:
    """`nll_loss` of `log_softmax`, from scores."""
    return nll_loss(log_softmax(input, 1), target, reduction)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """A new last axis with a 1 at the class, 0 elsewhere."""
    classes = tensor._array
    n = int(classes.max(initial=-1)) + 1 if num_classes < 0 else num_classes
    return _wrap(type(tensor), _np.eye(n, dtype=_np.int64)[classes])


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Constants around the last axes: `pad` counts (before, after) pairs from the last axis on; negative ones cut."""
    if mode != "constant":
        raise _lesson(
            NotImplementedError,
            f"pad(mode={mode!r}) is not offered",
            instead="mode='constant', or index with the wanted rows.",
        )
    pairs = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (input.ndim - len(pairs)) + pairs
    cut = tuple(
        [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape, strict=True)],
    )
    inner = input[cut]
    before = [(max(a, 0), max(b, 0)) for a, b in pairs]
    shape = tuple([n + a + b for n, (a, b) in zip(inner.shape, before, strict=True)])
    outer = _wrap(type(input), _np.full(shape, 0 if value is None else value, dtype=input.dtype))
    outer[tuple([slice(a, a + n) for n, (a, _) in zip(inner.shape, before, strict=True)])] = inner
    return outer


def __getattr__(name: str) -> Any:
    _refuse("nn.functional", name)
