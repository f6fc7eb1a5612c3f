"""Functions whose results have no derivative: positions, counts, comparisons, dtypes, text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import bare, find, into, kind_of, offers, wrapped


def _constant(function: Any) -> Callable[..., Any]:
    """NumPy's own values: arrays of numbers as Tensors without a graph, anything else as it is."""

    def rule(*args: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        found = function._implementation(*bare(args), **bare(options))
        return into(out, wrapped(kind_of([*args, *options.values()]) or Tensor, found))

    return rule


def _written(function: Any) -> Callable[..., Any]:
    """What leaves the program: a Tensor that requires gradients refuses, as it does in ``np.asarray``."""

    def left(value: Any) -> Any:
        return np.asarray(value) if isinstance(value, Tensor) else value

    def rule(*args: Any, **options: Any) -> Any:
        return function._implementation(*[left(v) for v in args], **{k: left(v) for k, v in options.items()})

    return rule


# fmt: off
CONSTANT = (
    "all", "allclose", "any", "argmax", "argmin", "argpartition", "argsort", "argwhere", "array_equal", "array_equiv",
    "array_repr", "array_str", "array2string", "can_cast", "common_type", "count_nonzero", "diag_indices_from", "digitize",
    "einsum_path", "flatnonzero", "isclose", "iscomplex", "iscomplexobj", "isin", "isneginf",
    "isposinf", "isreal", "isrealobj", "lexsort", "linalg.matrix_rank", "may_share_memory", "min_scalar_type",
    "nanargmax", "nanargmin", "ndim", "nonzero", "packbits", "ravel_multi_index", "result_type", "searchsorted",
    "shares_memory", "size", "tril_indices_from", "triu_indices_from", "unpackbits", "unravel_index",
)
WRITTEN = ("save", "savetxt", "savez", "savez_compressed")
# fmt: on


@offers("shape")
def shape(a: Any) -> Any:
    """``np.shape``."""
    return a.shape


for _name in CONSTANT:
    if find(_name) is not None:
        offers(_name)(_constant(find(_name)))
for _name in WRITTEN:
    offers(_name)(_written(find(_name)))
