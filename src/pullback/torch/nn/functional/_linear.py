"""Linear maps: ``linear``, ``bilinear``; scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.torch._promotion import category, together
from pullback.torch.nn.functional._common import FUNCTIONS, xp
from pullback.torch.nn.functional._dropout import dropout


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    x, w = together(input, weight)
    product = xp.matmul(x, xp.matrix_transpose(w) if w.ndim > 1 else w)
    return product if bias is None else product + bias


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1ᵀ A input2`` for every matrix A of `weight`."""
    if tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
        raise lesson(
            RuntimeError,
            f"bilinear(): input batch dimensions do not match: {list(input1.shape)} and {list(input2.shape)}",
        )
    product = xp.einsum("...i,oij,...j->...o", input1, weight, input2)
    return product if bias is None else product + bias


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    """``softmax(query keyᵀ / sqrt(d) + mask) value``."""
    if is_causal and attn_mask is not None:
        raise lesson(RuntimeError, "Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (FUNCTIONS["repeat_interleave"](x, times, -3) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = xp.matmul(query, xp.matrix_transpose(key)) * factor
    if is_causal:
        scores = xp.where(np.tril(np.ones(tuple(scores.shape[-2:]), dtype=bool)), scores, -math.inf)
    elif attn_mask is not None:
        scores = xp.where(attn_mask, scores, -math.inf) if category(attn_mask.dtype) == 0 else scores + attn_mask
    weights = FUNCTIONS["softmax"](scores, -1)
    if attn_mask is not None and category(attn_mask.dtype) == 0:  # a row that attends to nothing is zero
        weights = xp.where(attn_mask, weights, 0.0)
    return xp.matmul(dropout(weights, dropout_p, dropout_p > 0), value)
