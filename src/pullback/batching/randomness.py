"""Random numbers within a batch: the same for all entries, different ones, or an error, as `vmap` was asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.batching.batched import Batch, Batched, opened
from pullback.batching.looping import each
from pullback.core.errors import lesson


class Numbers:
    """A generator that draws for each entry of the open batches that want different numbers.

    Where what is drawn depends on values (the means of Poisson numbers), it draws for each entry of the batches of these too:
    from the same state, where the batch wants the same numbers.
    """

    def __init__(self, numbers: Any, batches: list[Batch]) -> None:
        self._numbers = numbers
        self._batches = batches

    def _of_shape(self, draw: Any, shape: Any) -> Any:
        different = [batch for batch in self._batches if batch.randomness == "different"]
        found = draw((*[batch.size for batch in different], *shape))
        for batch in different:  # the outermost first: it stays innermost in the array
            found = Batched(found, batch)
        return found

    def standard_normal(self, size: Any = ()) -> Any:
        """Normal numbers."""
        return self._of_shape(self._numbers.standard_normal, size)

    def random(self, size: Any = ()) -> Any:
        """Uniform numbers."""
        return self._of_shape(self._numbers.random, size)

    def within(self, function: Any, *values: Any) -> Any:
        """A function that draws by itself, for each entry."""
        return self._for_each(function, values, self._batches)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._numbers, name)
        return lambda *args, **options: self.within(lambda *given: np.asarray(method(*given, **options)), *args)

    def _for_each(self, function: Any, values: Any, batches: list[Batch]) -> Any:
        """``function(*values)`` for every entry of some batches, the innermost in the outer loop."""
        if not batches:
            return function(*values)
        *rest, last = batches
        state = self._numbers.bit_generator.state if last.randomness == "same" else None

        def one(*given: Any) -> Any:
            if state is not None:
                self._numbers.bit_generator.state = state
            return self._for_each(function, given, rest)

        return each(one, values, last)


def numbers_for(numbers: Any, *values: Any) -> Any:
    """The generator that draws within the open batches; `values` are what the numbers depend on."""
    open_ones = opened.get()
    if any(batch.randomness == "error" for batch in open_ones):
        raise lesson(
            RuntimeError,
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap",
            why="whether the entries of a batch get the same numbers matters, and only you know.",
        )
    own = {batch for value in values for batch in getattr(value, "batches", ())}
    wanted = [batch for batch in open_ones if batch.randomness == "different" or batch in own]
    return Numbers(numbers, wanted) if wanted else numbers
