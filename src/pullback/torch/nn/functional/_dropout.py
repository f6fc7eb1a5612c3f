"""Dropout: entries, or whole channels, set to zero at random, and the others scaled up."""

from __future__ import annotations

import warnings
from typing import Any

from pullback.core.errors import lesson
from pullback.torch.nn.functional._common import FUNCTIONS, in_place_too, xp


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise lesson(ValueError, f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Any, shape: Any, p: float) -> Any:
    """Booleans that are true with probability ``1 - p``."""
    return FUNCTIONS["rand"](tuple(shape)) >= p


def _dropped(input: Any, shape: Any, p: float, training: bool) -> Any:
    _check(p)
    if not training or p == 0:
        return xp.astype(input, input.dtype, copy=False)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return xp.where(_kept(input, shape, p), input * scale, 0.0)


@in_place_too
def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """Each entry zero with probability `p` in training, the others times ``1 / (1 - p)``."""
    return _dropped(input, input.shape, p, training)


def _channels(name: str, ndims: tuple[int, int]) -> Any:
    """Dropout of whole channels of Tensors that have one of these numbers of axes (without a batch, with one)."""

    def call(input: Any, p: float = 0.5, training: bool = True) -> Any:
        if input.ndim not in ndims:
            warnings.warn(f"{name}: Received a {input.ndim}-D input to {name}.", UserWarning, stacklevel=4)
        batched = input.ndim == ndims[1] or input.ndim not in ndims
        lead = 2 if batched else 1
        return _dropped(input, (*input.shape[:lead], *[1] * (input.ndim - lead)), p, training)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Each channel zero with probability `p` in training, the others times ``1 / (1 - p)``."
    return in_place_too(call)


dropout1d = _channels("dropout1d", (2, 3))
dropout2d = _channels("dropout2d", (3, 4))
dropout3d = _channels("dropout3d", (4, 5))

#: What `alpha_dropout` puts in the place of an entry: the limit of `selu` towards minus infinity.
_SATURATED = -1.7580993408473766


def _alpha(input: Any, shape: Any, p: float, training: bool) -> Any:
    _check(p)
    if not training or p == 0:
        return xp.astype(input, input.dtype, copy=False)
    if p == 1:
        return xp.zeros_like(input) * input
    scale = (1 / ((1 - p) * (1 + p * _SATURATED**2))) ** 0.5
    return scale * xp.where(_kept(input, shape, p), input, _SATURATED) - scale * p * _SATURATED


@in_place_too
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False) -> Any:
    """Dropout that keeps mean and variance of what `selu` computes (Klambauer et al. 2017)."""
    return _alpha(input, input.shape, p, training)


@in_place_too
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False) -> Any:
    """`alpha_dropout` of whole channels."""
    return _alpha(input, (*input.shape[:2], *[1] * (input.ndim - 2)), p, training)
