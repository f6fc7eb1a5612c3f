"""Losses, each with torch's ``reduction`` and the words of long ago, ``size_average`` and ``reduce``."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import wrap
from pullback.torch._promotion import category
from pullback.torch.nn.functional._activations import log_softmax, logsigmoid, softplus
from pullback.torch.nn.functional._common import FUNCTIONS, reduced, reduction_of, xp
from pullback.torch.nn.functional._distances import cosine_similarity, pairwise_distance


def _pair(input: Any, target: Any) -> tuple[Any, Any]:
    """Both in one shape; torch warns where they have to be broadcast."""
    if tuple(input.shape) != tuple(target.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning,
            stacklevel=4,
        )
        return FUNCTIONS["broadcast_tensors"](input, target)
    return input, target


def _weighted(values: Any, weight: Any, reduction: str) -> Any:
    """Losses times weights; their mean is divided by the sum of the weights."""
    if weight is None:
        return reduced(values, reduction)
    values = values * weight
    if reduction != "mean":
        return reduced(values, reduction)
    return xp.sum(values) / xp.sum(xp.broadcast_to(weight, tuple(values.shape)))


# ----------------------------------------------------------------------------------------------------- differences
def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """Squared differences."""
    reduction = reduction_of(reduction, size_average, reduce)
    a, b = _pair(input, target)
    gap = a - b
    return _weighted(gap * gap, weight, reduction)


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """Absolute differences."""
    reduction = reduction_of(reduction, size_average, reduce)
    a, b = _pair(input, target)
    return _weighted(xp.abs(a - b), weight, reduction)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """A parabola where the difference is smaller than `beta`, the absolute value less ``beta / 2`` elsewhere."""
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise lesson(RuntimeError, f"smooth_l1_loss does not support negative values for beta, but beta is {beta}")
    a, b = _pair(input, target)
    gap = xp.abs(a - b)
    if beta == 0:
        return reduced(gap, reduction)
    return reduced(xp.where(gap < beta, 0.5 * (a - b) ** 2 / beta, gap - 0.5 * beta), reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """A parabola where the difference is smaller than `delta`, straight lines elsewhere."""
    if delta <= 0:
        raise lesson(RuntimeError, f"huber_loss does not support non-positive values for delta, but delta is {delta}")
    a, b = _pair(input, target)
    gap = xp.abs(a - b)
    return _weighted(xp.where(gap <= delta, 0.5 * (a - b) ** 2, delta * (gap - 0.5 * delta)), weight, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the logarithm of a normal density, with variances `var` of at least `eps` (that bound has no gradient)."""
    if isinstance(var, (int, float)):
        var = FUNCTIONS["full_like"](input.detach(), var)
    if bool((var._array < 0).any()):
        raise lesson(ValueError, "var has negative entry/entries")
    if tuple(var.shape) == tuple(input.shape[:-1]):
        var = xp.expand_dims(var, axis=-1)
    var = var + (FUNCTIONS["clamp"](var.detach(), eps) - var.detach())
    loss = 0.5 * (xp.log(var) + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# ----------------------------------------------------------------------------------------------------- probabilities
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``-target log(input) - (1 - target) log(1 - input)``, where logarithms count as at least -100."""
    reduction = reduction_of(reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape):
        raise lesson(
            ValueError,
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated.",
            instead="targets in the shape of the input.",
        )
    if bool(((input._array < 0) | (input._array > 1)).any()):
        raise lesson(
            RuntimeError,
            "all elements of input should be between 0 and 1",
            instead="binary_cross_entropy_with_logits, which takes any number.",
        )
    loss = -target * xp.clip(xp.log(input), -100.0, None) - (1 - target) * xp.clip(xp.log1p(-input), -100.0, None)
    return reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for any `input`."""
    reduction = reduction_of(reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape):
        raise lesson(ValueError, f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is None:
        loss = (1 - target) * input - logsigmoid(input)
    else:
        loss = (1 - target) * input - (1 + (pos_weight - 1) * target) * logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-probability (along axis 1, or the only one) of the target classes, each times the weight of its class."""
    reduction = reduction_of(reduction, size_average, reduce)
    axis = 0 if input.ndim == 1 else 1
    _check_classes(input, target, axis, ignore_index)
    classes = target._array
    counted = classes != ignore_index
    index = wrap(type(target), np.expand_dims(np.where(counted, classes, 0), axis))
    picked = xp.squeeze(xp.take_along_axis(input, index, axis=axis), axis=axis)
    weights = wrap(type(input), counted.astype(input.dtype))
    if weight is not None:
        weights = weights * weight[index._array.squeeze(axis)]
    losses = xp.where(counted, -picked * weights, 0.0)
    if reduction == "mean":
        return xp.sum(losses) / xp.sum(weights)
    return reduced(losses, reduction)


def _check_classes(input: Any, target: Any, axis: int, ignore_index: int) -> None:
    expected = tuple(input.shape[:axis]) + tuple(input.shape[axis + 1 :])
    if input.ndim == 0:
        raise lesson(ValueError, f"Expected 1 or more dimensions (got {input.ndim})")
    if tuple(target.shape) != expected:
        kind = ValueError if input.shape[0] != (target.shape[0] if target.ndim else 1) and axis else RuntimeError
        raise lesson(kind, f"expected a target of shape {list(expected)}, not {list(target.shape)}")
    if category(target.dtype) != 1:
        raise lesson(RuntimeError, f"expected scalar type Long but found {target.dtype}", instead="target.long().")
    classes = target._array[target._array != ignore_index]
    if classes.size and (classes.min() < 0 or classes.max() >= input.shape[axis]):
        raise lesson(
            IndexError, f"Target {classes.max()} is out of bounds.", instead=f"classes 0 to {input.shape[axis] - 1}."
        )


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """`nll_loss` of `log_softmax`, from scores; the targets are classes, or probabilities of the shape of `input`."""
    reduction = reduction_of(reduction, size_average, reduce)
    axis = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, axis)
    spread = [-1 if k == axis else 1 for k in range(input.ndim)]
    if tuple(target.shape) == tuple(input.shape) and category(target.dtype) == 2:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
        losses = -(logs * target if weight is None else logs * target * xp.reshape(weight, tuple(spread)))
        losses = xp.sum(losses, axis=axis)
        if reduction == "mean":
            return xp.sum(losses) / max(losses.numel() if input.ndim > 1 else 1, 1)
        return reduced(losses, reduction)
    sharp = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return sharp
    counted = target._array != ignore_index
    smooth = -xp.sum(logs if weight is None else logs * xp.reshape(weight, tuple(spread)), axis=axis)
    smooth = xp.where(counted, smooth, 0.0)
    if reduction == "mean":
        total = counted.sum() if weight is None else xp.sum(weight[np.where(counted, target._array, 0)] * counted)
        smooth = xp.sum(smooth) / total
    else:
        smooth = reduced(smooth, reduction)
    return (1 - label_smoothing) * sharp + label_smoothing / input.shape[axis] * smooth


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """``target (log(target) - input)`` with log-probabilities as `input`; ``"batchmean"`` divides by the first length."""
    batchmean = reduction == "batchmean"
    reduction = reduction_of("sum" if batchmean else reduction, size_average, reduce)
    if log_target:
        losses = xp.exp(target) * (target - input)
    else:
        losses = xp.special.xlogy(target, target) - target * input
    total = reduced(losses, reduction)
    return total / input.shape[0] if batchmean and input.ndim else total


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-probability of counts, of which `input` is the expected number, or its logarithm."""
    reduction = reduction_of(reduction, size_average, reduce)
    losses = xp.exp(input) - target * input if log_input else input - target * xp.log(input + eps)
    if full:
        stirling = target * xp.log(target) - target + 0.5 * xp.log(2 * math.pi * target)
        losses = losses + xp.where(target > 1, stirling, 0.0)
    return reduced(losses, reduction)


# ----------------------------------------------------------------------------------------------------- margins
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``max(0, -target (input1 - input2) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    return reduced(_positive(-target * (input1 - input2) + margin), reduction)


def _positive(x: Any) -> Any:
    """``max(0, x)``, with slope 1 at 0: what torch's ``clamp_min`` does."""
    return xp.clip(x, 0.0, None)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """`input` where `target` is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    near = xp.where(target == 1, input, 0.0) if not hasattr(target, "_array") else xp.where(target != -1, input, 0.0)
    far = xp.where(target != 1, _positive(margin - input), 0.0)
    return reduced(near + far, reduction)


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """``log(1 + exp(-target input))``."""
    reduction = reduction_of(reduction, size_average, reduce)
    return reduced(softplus(-target * input, 1.0, math.inf), reduction)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``1 - cos`` where `target` is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    cosine = cosine_similarity(input1, input2, dim=-1, eps=1e-12)
    losses = xp.where(target == 1, 1 - cosine, 0.0) + xp.where(target == -1, _positive(cosine - margin), 0.0)
    return reduced(losses, reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``."""
    reduction = reduction_of(reduction, size_average, reduce)
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """`triplet_margin_loss` with a distance of your own."""
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = xp.minimum(far, distance(positive, negative))
    return reduced(_positive(margin + near - far), reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``Σ max(0, margin - input[target] + input[j])ᵖ / n`` over all other classes j."""
    reduction = reduction_of(reduction, size_average, reduce)
    scores = xp.reshape(input, (1, -1)) if input.ndim < 2 else input
    classes = np.atleast_1d(target._array)
    index = wrap(type(target), classes[:, None])
    gaps = margin - xp.take_along_axis(scores, index, axis=1) + scores
    gaps = xp.where(gaps > 0, gaps, 0.0)
    gaps = gaps if p == 1 else gaps**p
    if weight is not None:
        gaps = gaps * xp.expand_dims(weight[classes], axis=1)
    others = np.arange(scores.shape[1]) != classes[:, None]
    losses = xp.sum(xp.where(others, gaps, 0.0), axis=1) / scores.shape[1]
    return reduced(xp.reshape(losses, tuple(target.shape)), reduction)


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """``Σ max(0, 1 - (input[i] - input[j])) / n`` over targets i (up to the first -1) and all other classes j."""
    reduction = reduction_of(reduction, size_average, reduce)
    scores = xp.reshape(input, (1, -1)) if input.ndim < 2 else input
    labels = target._array.reshape(tuple(scores.shape))
    valid = np.cumsum(labels < 0, axis=1) == 0
    is_target = np.zeros(labels.shape, dtype=bool)
    rows, places = np.nonzero(valid)
    is_target[rows, labels[rows, places]] = True
    chosen = xp.take_along_axis(scores, np.where(valid, labels, 0), axis=1)
    gaps = _positive(1 - (xp.expand_dims(chosen, axis=2) - xp.expand_dims(scores, axis=1)))
    counted = valid[:, :, None] & ~is_target[:, None, :]
    losses = xp.sum(xp.where(counted, gaps, 0.0), axis=(1, 2)) / scores.shape[1]
    return reduced(losses if input.ndim > 1 else xp.reshape(losses, ()), reduction)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the last axis of the logistic losses of each class."""
    reduction = reduction_of(reduction, size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return reduced(xp.mean(losses if weight is None else losses * weight, axis=-1), reduction)
