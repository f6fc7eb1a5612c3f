"""What is said of each Function of the corpus: how it is called, with what, and what is known of its derivatives."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    """One Function with its inputs.

    name
        Names the case among all modules.
    call
        Takes one Tensor per input, gives a Tensor or a tuple of Tensors.
    inputs
        How each input is drawn (see below), or an array. Those of real or complex numbers are differentiated,
        unless `constant` says otherwise.
    exact
        The first gradient is the derivative of the value; False where another one is meant (a straight-through
        estimator), or where the author erred.
    torch_second
        Second derivatives in torch: "right", "wrong" (a number), "raises". Right means: the derivative of the first
        gradient. "meant" where no such thing can be told: the first gradient uses a value whose own gradient is
        another one than its derivative.
    refused
        Where pullback refuses: "" (nowhere: all orders are right), "forward", "first", "second" or "third".
    warns
        A pattern that a warning of pullback matches, in every call.
    loose
        Relative tolerance, where single precision is used inside.
    smooth
        False where the third derivative cannot be had by differences of the second (rounded or iterated values).
    """

    name: str
    call: Callable[..., Any]
    inputs: tuple[Any, ...]
    exact: bool = True
    torch_second: str = "right"
    refused: str = ""
    warns: str = ""
    loose: float = 0.0
    smooth: bool = True

    def arrays(self) -> list[np.ndarray]:
        """The inputs, the same ones in every run."""
        rng = generator(self.name)
        return [draw(rng) if callable(draw) else np.asarray(draw) for draw in self.inputs]

    def differentiated(self) -> list[bool]:
        """Which inputs are differentiated."""
        return [
            array.dtype.kind in "fc" and not getattr(draw, "constant", False)
            for draw, array in zip(self.inputs, self.arrays(), strict=True)
        ]

    def stands(self, order: int) -> bool:
        """Whether pullback gives the derivatives of this order (0: the values)."""
        return not self.refused or order < ("forward", "first", "second", "third").index(self.refused)

    @contextmanager
    def warned(self) -> Iterator[None]:
        """Lets the warning pass that the case is known for, and no other."""
        with warnings.catch_warnings():
            if self.warns:
                warnings.filterwarnings("ignore", self.warns)
            yield


def generator(name: str) -> np.random.Generator:
    """Random numbers that belong to a name, whatever else is drawn."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(*shape: int, scale: float = 1.0) -> Draw:
    return lambda rng: scale * rng.standard_normal(shape)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Draw:
    return lambda rng: rng.uniform(low, high, shape)


def positive(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.5, 2.0, shape)


def complexes(*shape: int) -> Draw:
    return lambda rng: rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def integers(*shape: int, below: int) -> Draw:
    return lambda rng: rng.integers(0, below, shape)


def booleans(*shape: int) -> Draw:
    return lambda rng: rng.random(shape) < 0.5


def spread(*shape: int, gap: float = 0.1) -> Draw:
    """Numbers that differ from each other by at least `gap`, and from 0 by half of that: no ties, no kinks."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        count = int(np.prod(shape))
        steps = np.arange(count) - count // 2 + 0.5
        return gap * rng.permutation(steps + rng.uniform(-0.2, 0.2, count)).reshape(shape)

    return draw


def definite(n: int, *batch: int) -> Draw:
    """Symmetric positive definite matrices."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        a = rng.standard_normal((*batch, n, n))
        return a @ np.swapaxes(a, -1, -2) / n + np.eye(n)

    return draw


def regular(n: int, *batch: int) -> Draw:
    """Matrices far from singular ones."""
    return lambda rng: 0.4 * rng.standard_normal((*batch, n, n)) + 1.5 * np.eye(n)


def single(draw: Draw) -> Draw:
    """The same in single precision."""
    return lambda rng: draw(rng).astype(np.float32)


def constant(draw: Any) -> Draw:
    """An input that is not differentiated."""

    def drawn(rng: np.random.Generator) -> np.ndarray:
        return draw(rng) if callable(draw) else np.asarray(draw)

    drawn.constant = True  # type: ignore[attr-defined]
    return drawn
