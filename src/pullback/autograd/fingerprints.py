"""What a Tensor looked like: enough to tell later whether another one has the same values, without keeping it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from pullback.core.arrays import everything
from pullback.core.tensor import Tensor

#: The elements are weighted by random numbers that repeat after so many, and the repetitions by others.
_PERIOD = 4096


class Fingerprint(NamedTuple):
    """Shape, dtype, a randomly weighted sum of the elements, and their norm; no numbers where values are not compared.

    A change of any element, or of their order, changes the sum by more than rounding does.
    """

    shape: tuple[int, ...]
    dtype: Any
    total: float | None = None
    norm: float = 0.0

    def difference(self, other: Fingerprint) -> str:
        """In words, what is different; empty when nothing is."""
        if (self.shape, self.dtype) != (other.shape, other.dtype):
            return (
                "Recomputed values have different metadata than during the forward pass, shape and dtype "
                f"{other.shape}, {other.dtype} instead of {self.shape}, {self.dtype}"
            )
        if self.total is None or other.total is None or self._agrees(self.total, other.total, other.norm):
            return ""
        return (
            "Recomputed tensors have other values than during the forward pass (random, or from something that changed)"
        )

    def _agrees(self, total: float, other: float, norm: float) -> bool:
        if not np.isfinite(self.norm):
            return not np.isfinite(norm)
        unit = float(np.finfo(self.dtype).eps) if self.dtype.kind in "fc" else 2.0**-8  # bfloat16 and its relatives
        slack = min(unit**0.5, 1024 * unit) * self.norm
        return bool(abs(total - other) <= slack and abs(self.norm - norm) <= slack)


def fingerprint(tensor: Tensor, values: bool) -> Fingerprint:
    """The look of a Tensor; with the numbers that its values give, if `values`."""
    look = Fingerprint(tuple(tensor.shape), tensor.dtype)
    if not values or tensor.dtype.kind in "OSU":
        return look
    host = everything(tensor._array).reshape(-1)
    if host.dtype.kind == "c":
        host = (
            host.view(host.real.dtype)
            if host.dtype.itemsize in (8, 16)
            else host.astype(np.complex128).view(np.float64)
        )
    if host.dtype.char not in "fd":
        host = host.astype(np.float64)
    with np.errstate(all="ignore"):
        return Fingerprint(look.shape, look.dtype, _weighted(host), math.sqrt(_dot(host, host)))


def _weighted(host: np.ndarray) -> float:
    weights = _weights(_PERIOD, host.dtype.char)
    if len(host) <= _PERIOD:
        return _dot(host, weights[: len(host)])
    rows = len(host) // _PERIOD
    total = _dot(host[rows * _PERIOD :], weights[: len(host) - rows * _PERIOD])
    sums = np.einsum("ij,j->i", host[: rows * _PERIOD].reshape(rows, _PERIOD), weights)
    return total + _dot(sums, _weights(rows, host.dtype.char))


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """By einsum, whose sums are in the same order every time; those of a library with threads may not be."""
    return float(np.einsum("i,i->", a, b))


@cache
def _weights(count: int, char: str) -> np.ndarray:
    return np.random.default_rng(count).uniform(0.5, 1.5, count).astype(char)
