"""What padding, pooling and resampling do to the last axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.ops.indexing import embed, key_of
from pullback.torch.nn.functional._common import xp


def constant(input: Any, pairs: list[tuple[int, int]], value: Any) -> Any:
    """A number around the axes."""
    cut = tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape, strict=True)])
    for (a, b), n in zip(pairs, input.shape, strict=True):
        if n + a + b < 0:
            raise lesson(RuntimeError, f"padding ({a}, {b}) takes more away than an axis of length {n} has")
    inner = input if all(a >= 0 and b >= 0 for a, b in pairs) else input[cut]
    before = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if not any(a or b for a, b in before):
        return inner.clone() if inner is input else inner
    shape = tuple([n + a + b for n, (a, b) in zip(inner.shape, before, strict=True)])
    place = tuple([slice(a, a + n) for n, (a, _) in zip(inner.shape, before, strict=True)])
    outer = embed(inner, shape, key_of(place))
    if not value:
        return outer
    around = np.full(shape, value, dtype=input.dtype)
    around[place] = 0
    return outer | around if input.dtype.kind == "b" else outer + around


def bins(n: int, wanted: int) -> list[tuple[int, int]]:
    return [(k * n // wanted, -(-(k + 1) * n // wanted)) for k in range(wanted)]


def along_axes(x: Any, matrices: list[Any]) -> Any:
    """The last axes multiplied with one matrix each."""
    ndim = len(matrices)
    for k, matrix in enumerate(matrices):
        moved = xp.moveaxis(x, k - ndim, -1)
        x = xp.moveaxis(xp.matmul(moved, matrix.T.astype(x.dtype)), -1, k - ndim)
    return x


def means(n: int, wanted: int) -> Any:
    """The matrix that takes `n` numbers to the means of `wanted` windows."""
    matrix = np.zeros((wanted, n))
    for row, (start, stop) in zip(matrix, bins(n, wanted), strict=True):
        row[start:stop] = 1 / (stop - start)
    return matrix
