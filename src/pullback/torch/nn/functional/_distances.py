"""Distances and directions: ``normalize``, ``cosine_similarity``, ``pairwise_distance``, ``pdist``."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.torch.nn.functional._common import FUNCTIONS, xp


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`input` divided by its norm along `dim`, or by `eps` where that is larger."""
    result = input / xp.clip(FUNCTIONS["norm"](input, p, dim, True), eps, None)
    return result if out is None else out.copy_(result)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """``x1 · x2 / (|x1| |x2|)`` along `dim`, each norm counting as at least `eps`."""
    a, b = FUNCTIONS["broadcast_tensors"](x1, x2)
    lengths = [xp.clip(FUNCTIONS["norm"](x, 2, dim, True), eps, None) for x in (a, b)]
    return FUNCTIONS["sum"]((a / lengths[0]) * (b / lengths[1]), dim)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The norm along the last axis of ``x1 - x2 + eps``."""
    return FUNCTIONS["norm"](x1 - x2 + eps, p, -1, keepdim)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows, as one axis."""
    if input.ndim != 2:
        raise lesson(RuntimeError, f"pdist only supports 2D tensors, got: {input.ndim}D", instead="torch.cdist(x, x).")
    first, second = np.triu_indices(input.shape[0], 1)
    return FUNCTIONS["norm"](input[first] - input[second], p, -1)
