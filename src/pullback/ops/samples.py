"""The usual samples of elementwise operators: a vector, a number, nothing, and what broadcasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.ops.registry import Make, Sample

Samples = Callable[[Make], Iterable[Sample]]
Range = tuple[float, float]


def singles(low: float = -2.0, high: float = 2.0) -> Samples:
    """One argument between `low` and `high`."""

    def samples(make: Make) -> Any:
        for shape in ((3,), (), (2, 0)):
            yield Sample((make(*shape, low=low, high=high),))

    return samples


def pairs(first: Range = (-2.0, 2.0), second: Range = (-2.0, 2.0), numbers: tuple[float, ...] = (0.5, 1.5)) -> Samples:
    """Two arguments, each from its range: equal shapes, broadcast ones, empty ones, and beside a Python number."""

    def samples(make: Make) -> Any:
        for a, b in (((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((2, 0), (1,))):
            yield Sample((make(*a, low=first[0], high=first[1]), make(*b, low=second[0], high=second[1])))
        if numbers:
            yield Sample((make(2, low=first[0], high=first[1]), numbers[1]))
            yield Sample((numbers[0], make(2, low=second[0], high=second[1])))

    return samples


def integers(make: Make) -> Any:
    """Pairs of whole numbers without gradients."""
    yield Sample((make.integers(3), make.integers(3)))
    yield Sample((make.integers(2, 1), make.integers(3)))
    yield Sample((make.integers(2, 0), make.integers(1)))


def truths(make: Make) -> Any:
    """Pairs of booleans."""
    yield Sample((make.integers(4) % 2 == 0, make.integers(4) % 2 == 0))
    yield Sample((make.integers(2, 1) % 2 == 0, make.integers(3) % 2 == 0))
