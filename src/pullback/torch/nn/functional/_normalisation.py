"""Normalisation to mean 0 and variance 1: by batch, layer, group, instance; by the root mean square; by neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.torch.nn.functional._common import xp
from pullback.torch.nn.functional._padding import pad
from pullback.torch.nn.functional._pooling import avg_pool2d, avg_pool3d


def _scaled(x: Any, weight: Any, bias: Any, shape: tuple[int, ...]) -> Any:
    """``x * weight + bias``, both in this shape."""
    if weight is not None:
        x = x * xp.reshape(weight, shape)
    return x if bias is None else x + xp.reshape(bias, shape)


def _standard(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """`x` with mean 0 and variance 1 over `axes`, and what these were."""
    mean = xp.mean(x, axis=axes, keepdims=True)
    centred = x - mean
    variance = xp.mean(centred * centred, axis=axes, keepdims=True)
    return centred / xp.sqrt(variance + eps), mean, variance


def _keep(running: Any, found: Any, momentum: float) -> None:
    """Move a running mean or variance towards what was found, out of the graph."""
    if running is not None:
        values = np.asarray(found.detach()._array).reshape(tuple(running.shape))
        running.detach().copy_(running.detach() * (1 - momentum) + values * momentum)


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel (axis 1): of the batch in training, else with the running ones.

    Parameters
    ----------
    running_mean, running_var
        One number per channel; in training moved, in place, towards those of the batch; or ``None``.
    """
    if input.ndim < 2:
        raise lesson(
            IndexError if training else RuntimeError, f"batch_norm expects at least 2 axes, but got {list(input.shape)}"
        )
    axes = tuple([k for k in range(input.ndim) if k != 1])
    shape = (1, input.shape[1]) + (1,) * (input.ndim - 2)
    if not training:
        if running_mean is None or running_var is None:
            raise lesson(RuntimeError, "Expected running_mean and running_var to be defined when training=False")
        deviation = xp.sqrt(xp.reshape(running_var, shape) + eps)
        return _scaled((input - xp.reshape(running_mean, shape)) / deviation, weight, bias, shape)
    n = math.prod([input.shape[k] for k in axes])
    if n == 1:
        raise lesson(ValueError, f"Expected more than 1 value per channel when training, got input size {input.shape}")
    result, mean, variance = _standard(input, axes, eps)
    _keep(running_mean, mean, momentum)
    _keep(running_var, variance * (n / max(n - 1, 1)), momentum)
    return _scaled(result, weight, bias, shape)


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0 and variance 1 for each channel of each sample."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = tuple(range(2, input.ndim))
    n = math.prod([input.shape[k] for k in axes])
    if n == 1:
        raise lesson(ValueError, f"Expected more than 1 spatial element when training, got input size {input.shape}")
    result, mean, variance = _standard(input, axes, eps)
    for running, found in ((running_mean, mean), (running_var, variance * (n / max(n - 1, 1)))):
        _keep(running, xp.mean(found.detach(), axis=0), momentum)
    return _scaled(result, weight, bias, (1, input.shape[1]) + (1,) * (input.ndim - 2))


def _last_axes(input: Any, normalized_shape: Any) -> tuple[int, ...]:
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    if not shape or tuple(input.shape[-len(shape) :]) != shape:
        raise lesson(
            RuntimeError,
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got "
            f"input of size {list(input.shape)}",
        )
    return shape


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over the last axes, which have the shape `normalized_shape`."""
    shape = _last_axes(input, normalized_shape)
    return _scaled(_standard(input, tuple(range(-len(shape), 0)), eps)[0], weight, bias, shape)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """`input` divided by the root of the mean of its squares over the last axes."""
    shape = _last_axes(input, normalized_shape)
    eps = float(np.finfo(input.dtype).eps) if eps is None else eps
    square = xp.mean(input * input, axis=tuple(range(-len(shape), 0)), keepdims=True)
    return _scaled(input / xp.sqrt(square + eps), weight, None, shape)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 for each group of channels of each sample."""
    if input.ndim < 2:
        raise lesson(RuntimeError, f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    n, channels = input.shape[:2]
    if num_groups < 1 or channels % num_groups:
        raise lesson(
            RuntimeError,
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}",
        )
    groups = xp.reshape(input, (n, num_groups, math.prod(input.shape[1:]) // num_groups))
    result = xp.reshape(_standard(groups, (2,), eps)[0], tuple(input.shape))
    return _scaled(result, weight, bias, (1, channels) + (1,) * (input.ndim - 2))


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """`input` divided by a power of ``k + alpha`` times the mean of the squares of `size` neighbouring channels."""
    if input.ndim < 3:
        raise lesson(ValueError, f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    around = (0, 0, size // 2, (size - 1) // 2)
    square = xp.expand_dims(input * input, axis=1)
    if input.ndim == 3:
        padded = pad(square, around)
        mean = xp.squeeze(avg_pool2d(padded, (size, 1), 1), axis=1)
    else:
        shape = tuple(input.shape)
        flat = xp.reshape(square, (shape[0], 1, shape[1], shape[2], math.prod(shape[3:])))
        padded = pad(flat, (0, 0, *around))
        mean = xp.reshape(xp.squeeze(avg_pool3d(padded, (size, 1, 1), 1), axis=1), shape)
    return input / (mean * alpha + k) ** beta
