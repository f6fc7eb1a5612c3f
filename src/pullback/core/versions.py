"""Who wrote where: one `Buffer` per block of memory that is written in place or viewed.

A saved value is stale only when a later write overlaps it, so the log keeps the written *regions*, each with the number of
its latest write.  Filling an array row by row is therefore legal even though earlier rows were saved.
"""

from __future__ import annotations

from typing import Any

from pullback.core import arrays


class Buffer:
    """The write log that a Tensor shares with its views and its detached aliases.

    Attributes
    ----------
    version
        How many writes there were.
    history
        How often the *graph* of the base changed; views compare it to know that their own place is out of date.
    borrowed
        The memory belongs to somebody else (a cotangent handed to a rule): copy before writing.
    locked
        The memory was recorded: ``numpy()`` hands it out read-only.
    """

    __slots__ = ("borrowed", "history", "locked", "regions", "version")

    def __init__(self, borrowed: bool = False, locked: bool = False) -> None:
        self.version = 0
        self.history = 0
        self.regions: dict[Any, tuple[int, Any]] = {}
        self.borrowed = borrowed
        self.locked = locked

    def wrote(self, array: Any) -> None:
        """Log a write to the region that `array` covers."""
        self.version += 1
        if isinstance(array, arrays.ndarray):
            key = (array.__array_interface__["data"][0], array.shape, array.strides)
            self.regions[key] = (self.version, array)
        else:
            self.regions[None] = (self.version, array)

    def touch(self) -> None:
        """Log a write to unknown places: everything saved before is stale."""
        self.version += 1
        self.regions[None] = (self.version, None)

    def stale(self, array: Any, version: int) -> bool:
        """True when a write after `version` overlaps `array`."""
        if self.version == version:
            return False
        return any(
            written > version and (region is None or arrays.shares_memory(region, array))
            for written, region in reversed(self.regions.values())
        )


#: The buffer of every cotangent handed to a user's rule.
BORROWED = Buffer(borrowed=True)
