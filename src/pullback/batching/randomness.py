"""Random numbers within a batch: the same for all entries, different ones, or an error, as `vmap` was asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.batching.batched import Batched, opened
from pullback.batching.looping import each, innermost
from pullback.core.errors import lesson


class DifferentNumbers:
    """A generator whose every method draws for each entry of the open batches that want different numbers."""

    def __init__(self, numbers: Any, batches: list[Any]) -> None:
        self._numbers = numbers
        self._batches = batches

    def _of_shape(self, draw: Any, shape: Any) -> Any:
        found = draw((*[batch.size for batch in self._batches], *shape))
        for batch in self._batches:  # the outermost first: it stays innermost in the array
            found = Batched(found, batch)
        return found

    def standard_normal(self, size: Any = ()) -> Any:
        """Normal numbers."""
        return self._of_shape(self._numbers.standard_normal, size)

    def random(self, size: Any = ()) -> Any:
        """Uniform numbers."""
        return self._of_shape(self._numbers.random, size)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._numbers, name)

        def draw(*args: Any, **options: Any) -> Any:
            return _for_each(lambda *a: np.asarray(method(*a, **options)), args, self._batches)

        return draw


def _for_each(function: Any, args: Any, batches: list[Any]) -> Any:
    """``function(*args)`` for every entry of some batches, the innermost in the outer loop."""
    if not batches:
        return function(*args)
    *rest, last = batches
    return each(lambda *given: _for_each(function, given, rest), args, last)


def numbers_for(numbers: Any, *values: Any) -> Any:
    """The generator that draws within the open batches; `values` are what the numbers depend on."""
    batches = opened.get()
    if any(batch.randomness == "error" for batch in batches):
        raise lesson(
            RuntimeError,
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
            "flags on vmap or perform the randomness operation out of vmap",
            why="whether the entries of a batch get the same numbers matters, and only you know.",
        )
    different = [batch for batch in batches if batch.randomness == "different"]
    if innermost(list(values)) is not None:
        own = [batch for batch in batches if any(batch in getattr(v, "batches", ()) for v in values)]
        different = [batch for batch in batches if batch in different or batch in own]
    return DifferentNumbers(numbers, different) if different else numbers
