"""Activations: ``relu`` and its relatives, the softmax family, gates."""

from __future__ import annotations

import math
from typing import Any

from pullback.core.errors import lesson
from pullback.torch._dims import length_of
from pullback.torch.nn.functional._common import FUNCTIONS, in_place_too, xp

sigmoid, tanh = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"]

#: The constants of `selu`, which keep mean 0 and variance 1 (Klambauer et al. 2017, "Self-normalizing neural networks").
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


# ----------------------------------------------------------------------------------------------------- broken lines
@in_place_too
def relu(input: Any) -> Any:
    """`input` where positive, 0 elsewhere."""
    return FUNCTIONS["relu"](input)


@in_place_too
def relu6(input: Any) -> Any:
    """`input` brought between 0 and 6; the slope is 0 at both."""
    return _between(input, 0.0, 6.0)


@in_place_too
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """`input` brought between `min_val` and `max_val`; the slope is 0 at both."""
    if min_val > max_val:
        raise lesson(
            ValueError, "min_val cannot be greater than max_val", instead=f"hardtanh(x, {max_val}, {min_val})."
        )
    return _between(input, min_val, max_val)


def _between(x: Any, low: float, high: float) -> Any:
    return xp.where(x <= low, low, xp.where(x >= high, high, x))


@in_place_too
def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """`input` where positive, ``negative_slope * input`` elsewhere."""
    return xp.where(input > 0, input, negative_slope * input)


@in_place_too
def threshold(input: Any, threshold: float, value: float) -> Any:
    """`input` where it is above `threshold`, `value` elsewhere."""
    return xp.where(input <= threshold, value, input)


def prelu(input: Any, weight: Any) -> Any:
    """`leaky_relu` with a learned slope, one for all or one for each channel (axis 1)."""
    if weight.numel() > 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim > 1 or weight.numel() != channels:
            raise lesson(RuntimeError, f"prelu: expected one slope, or {channels}, not a Tensor {list(weight.shape)}")
        weight = xp.reshape(weight, (-1,) + (1,) * (input.ndim - 2))
    elif weight.ndim:
        weight = xp.reshape(weight, ())
    return xp.where(input > 0, input, weight * input)


@in_place_too
def rrelu(input: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False) -> Any:
    """`leaky_relu` with slopes drawn between `lower` and `upper` in training, with their mean otherwise."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    return xp.where(input >= 0, input, input * (lower + (upper - lower) * FUNCTIONS["rand_like"](input.detach())))


@in_place_too
def hardsigmoid(input: Any) -> Any:
    """``relu6(input + 3) / 6``."""
    return _between(input + 3, 0.0, 6.0) / 6


@in_place_too
def hardswish(input: Any) -> Any:
    """``input * hardsigmoid(input)``."""
    return xp.where(input <= -3, 0.0, xp.where(input >= 3, input, input * (input + 3) / 6))


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input` where its absolute value exceeds `lambd`, 0 elsewhere."""
    return xp.where(xp.abs(input) > lambd, input, 0.0)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """`input` moved towards 0 by `lambd`, but not beyond."""
    if lambd < 0:
        raise lesson(RuntimeError, f"lambda must be greater or equal to 0, but found to be {lambd}")
    return xp.where(input > lambd, input - lambd, xp.where(input < -lambd, input + lambd, 0.0))


# ----------------------------------------------------------------------------------------------------- smooth ones
@in_place_too
def elu(input: Any, alpha: float = 1.0) -> Any:
    """`input` where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return xp.where(input > 0, input, alpha * xp.expm1(input))


@in_place_too
def celu(input: Any, alpha: float = 1.0) -> Any:
    """`input` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return xp.where(input > 0, input, alpha * xp.expm1(input / alpha))


@in_place_too
def selu(input: Any) -> Any:
    """`elu`, scaled so that mean 0 and variance 1 are kept."""
    return _SELU_SCALE * elu(input, _SELU_ALPHA)


@in_place_too
def silu(input: Any) -> Any:
    """``input * sigmoid(input)``."""
    return input * sigmoid(input)


@in_place_too
def mish(input: Any) -> Any:
    """``input * tanh(softplus(input))``."""
    return input * tanh(softplus(input))


def gelu(input: Any, approximate: str = "none") -> Any:
    """``input * Φ(input)`` with the normal distribution function Φ, or its approximation by ``"tanh"``."""
    if approximate == "tanh":
        return 0.5 * input * (1 + tanh((2 / math.pi) ** 0.5 * (input + 0.044715 * input * input * input)))
    if approximate != "none":
        raise lesson(RuntimeError, f"approximate argument must be either none or tanh, not {approximate!r}")
    return input * xp.special.ndtr(input)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * input)) / beta``, and `input` itself where ``beta * input`` exceeds `threshold`."""
    scaled = input * beta
    return xp.where(scaled > threshold, input, xp.logaddexp(scaled, xp.zeros_like(scaled)) / beta)


def logsigmoid(input: Any) -> Any:
    """``log(sigmoid(input))``."""
    return -xp.logaddexp(-input, xp.zeros_like(input))


def softsign(input: Any) -> Any:
    """``input / (1 + |input|)``."""
    return input / (1 + xp.abs(input))


def tanhshrink(input: Any) -> Any:
    """``input - tanh(input)``."""
    return input - tanh(input)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, times the sigmoid of the second."""
    if input.ndim == 0:
        raise lesson(RuntimeError, "glu does not support 0-dimensional tensors")
    n = length_of(input, dim)
    if n % 2:
        raise lesson(RuntimeError, f"Halving dimension must be even, but dimension {dim} is size {n}")
    first, second = FUNCTIONS["chunk"](input, 2, dim)
    return first * sigmoid(second)


# ----------------------------------------------------------------------------------------------------- softmax
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """``exp(input) / sum(exp(input))`` along `dim`."""
    return FUNCTIONS["softmax"](input, _last(input, dim), dtype)


def log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return FUNCTIONS["log_softmax"](input, _last(input, dim), dtype)


def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` of ``-input``."""
    return softmax(-input, dim, dtype=dtype)


def _last(input: Any, dim: Any) -> int:
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random choice along `dim`: `softmax` of ``(logits + Gumbel noise) / tau``, or that rounded, with its gradient."""
    noise = -xp.log(-xp.log(FUNCTIONS["rand_like"](logits.detach()) + 1e-30) + 1e-30)
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = FUNCTIONS["argmax"](soft, dim, True)
    chosen = FUNCTIONS["scatter"](FUNCTIONS["zeros_like"](logits), dim, index, 1.0)
    return chosen - soft.detach() + soft


relu_, hardtanh_, leaky_relu_, threshold_ = relu.written, hardtanh.written, leaky_relu.written, threshold.written
rrelu_, elu_, celu_, selu_ = rrelu.written, elu.written, celu.written, selu.written
