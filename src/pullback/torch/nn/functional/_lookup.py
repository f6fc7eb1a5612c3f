"""Tables that are looked up: ``embedding``, ``embedding_bag``, ``one_hot``."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import wrap
from pullback.ops.inplace import index_add
from pullback.torch._promotion import category
from pullback.torch.nn.functional._common import xp


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """A new last axis with a 1 at the class, 0 elsewhere."""
    if tensor.dtype != np.int64:
        raise lesson(
            RuntimeError, "one_hot is only applicable to index tensor of type LongTensor.", instead="x.long()."
        )
    classes = tensor._array
    if not classes.size and num_classes <= 0:
        raise lesson(RuntimeError, "Can not infer total number of classes from empty tensor.", instead="num_classes=n.")
    if classes.size and classes.min() < 0:
        raise lesson(RuntimeError, "Class values must be non-negative.")
    n = int(classes.max(initial=-1)) + 1 if num_classes < 0 else num_classes
    if classes.size and classes.max() >= n:
        raise lesson(RuntimeError, "Class values must be smaller than num_classes.")
    return wrap(type(tensor), np.eye(n, dtype=np.int64)[classes])


def _renormalised(weight: Any, rows: Any, max_norm: Any, norm_type: float) -> None:
    """Scale down, in place and out of the graph, the rows that are looked up and longer than `max_norm`."""
    if max_norm is None:
        return
    table = weight.detach()
    for row in np.unique(rows):
        length = float(np.linalg.norm(table._array[row], norm_type))
        if length > max_norm:
            table[int(row)] = table[int(row)] * (max_norm / (length + 1e-7))


def embedding(
    input: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` that `input` names; the row `padding_idx` gets no gradient."""
    if category(input.dtype) != 1:
        raise lesson(
            RuntimeError, f"Expected indices of an integer dtype, but got {input.dtype}", instead="input.long()."
        )
    n, rows = weight.shape[0], input._array
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise lesson(AssertionError, "Padding_idx must be within num_embeddings")
        padding_idx %= n
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise lesson(IndexError, "index out of range in self", instead=f"indices from 0 to {n - 1}.")
    _renormalised(weight, rows, max_norm, norm_type)
    table = weight
    if padding_idx is not None:
        table = xp.where((np.arange(n) == padding_idx)[:, None], weight.detach(), table)
    if scale_grad_by_freq:
        share = 1 / np.maximum(np.bincount(rows.ravel(), minlength=n), 1)[:, None]
        table = table.detach() + (table - table.detach()) * share.astype(weight.dtype)
    return table[rows]


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    """Sums, means or maxima of bags of rows of `weight`: the rows of a matrix `input`, or what lies between `offsets`."""
    if mode not in ("sum", "mean", "max"):
        raise lesson(ValueError, "mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise lesson(NotImplementedError, f"embedding_bag: per_sample_weights needs mode='sum', not {mode!r}")
    if input.ndim == 2:
        if offsets is not None:
            raise lesson(ValueError, "if input is 2D, then offsets has to be None")
        bags, starts = input.shape[0], np.arange(input.shape[0]) * input.shape[1]
        per_sample_weights = None if per_sample_weights is None else xp.reshape(per_sample_weights, (-1,))
    else:
        if offsets is None:
            raise lesson(ValueError, "offsets has to be a 1D Tensor but got None")
        starts = offsets._array[:-1] if include_last_offset else offsets._array
        bags = len(starts)
    flat = xp.reshape(input, (-1,))
    owner = np.searchsorted(starts, np.arange(flat.numel()), side="right") - 1
    kept = np.ones(owner.shape, dtype=bool) if padding_idx is None else flat._array != padding_idx % weight.shape[0]
    flat, owner = flat[kept], owner[kept]
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * xp.expand_dims(per_sample_weights[kept], axis=1)
    total = wrap(type(weight), to_fill(np.zeros((bags, weight.shape[1]), dtype=weight.dtype)))
    if mode == "max":
        largest = [xp.max(rows[owner == k], axis=0) if (owner == k).any() else total[k] for k in range(bags)]
        return xp.stack(largest) if largest else total
    total = index_add(total, (owner,), rows)
    if mode == "mean":
        total = total / np.maximum(np.bincount(owner, minlength=bags), 1)[:, None].astype(weight.dtype)
    return total
