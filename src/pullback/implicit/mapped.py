"""Within `vmap`: a solver runs once for each entry of the batch, since it looks at its numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from pullback.batching.looping import apart, innermost
from pullback.core.batches import LIVE
from pullback.core.trees import leaves_of, refilled

F = TypeVar("F", bound=Callable[..., Any])


def mapped(solver: F) -> F:
    """`solver`, entry by entry where an argument is batched; what its functions read elsewhere must not be."""

    @wraps(solver)
    def solve(*args: Any, **options: Any) -> Any:
        batch = innermost([list(args), options]) if LIVE else None
        if batch is None:
            return solver(*args, **options)
        tree: list[Any] = [None]

        def one(*given: Any, **chosen: Any) -> list[Any]:
            tree[0] = solve(*given, **chosen)
            return leaves_of(tree[0])

        found = apart(one, args, options, batch)
        return refilled(tree[0], found)

    return solve  # type: ignore[return-value]
