"""Who wrote where: one `Buffer` per block of memory that is written in place or viewed.

A saved value is stale only when a later write overlaps it, so the log keeps the written *regions*, each with the number of
its latest write.  Filling an array row by row is therefore legal even though earlier rows were saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.lib.array_utils import byte_bounds

from pullback.core import arrays
from pullback.core.places import caller

#: A region that spans more cells of the log than this is kept in one list of wide regions.
WIDE = 16


#: The latest write to a region: its number, the region (``None`` where unknown), and who wrote, see `places.caller`.
Write = tuple[int, Any, Any]


class Buffer:
    """The write log that a Tensor shares with its views and its detached aliases.

    Regions are filed by the cells of memory that they touch, so that looking one up does not read the whole log.  A cell is as
    large as the first region written: a row, where an array is filled by rows.

    Attributes
    ----------
    version
        How many writes there were.
    borrowed
        The memory belongs to somebody else (a cotangent handed to a rule): copy before writing.
    detached
        The Tensor that the log belongs to was cut out of the graph with ``detach_()``.
    viewed
        There are views of the base.
    views
        Of borrowed memory only: weak references to views and aliases, which move along when the base gets memory of its own.
    locked
        The memory was recorded: ``numpy()`` hands it out read-only.
    past
        What stood there before the latest writes, all of them in turn, where that is remembered (see past.py).
    """

    __slots__ = (
        *("__weakref__", "_cell", "_cells", "_wide"),
        *("borrowed", "detached", "locked", "past", "version", "viewed", "views"),
    )

    def __init__(self, borrowed: bool = False, locked: bool = False) -> None:
        self.version = 0
        self.borrowed = borrowed
        self.detached = False
        self.locked = locked
        self.past: Any = None
        self.viewed = False
        self.views: list[Any] = []
        self._cell = 0
        self._cells: dict[int, dict[Any, Write]] = {}
        self._wide: dict[Any, Write] = {}

    def wrote(self, array: Any, depth: int = 1) -> None:
        """Log a write to the region that `array` covers; who wrote is `depth` frames or more outwards."""
        self.version += 1
        if self.past and self.past[-1].version != self.version:
            self.past = None
        if not isinstance(array, arrays.ndarray):
            array = arrays.in_numpy(array)
        write = (self.version, array, caller(depth + 1))
        if array is None:
            self._wide[None] = write
            return
        low, high = byte_bounds(array)
        if not self._cell:
            self._cell = max(high - low, 64)
        key = (low, array.shape, array.strides)
        cells = range(low // self._cell, (high - 1) // self._cell + 1)
        if len(cells) > WIDE:
            self._wide[key] = write
        else:
            for cell in cells:
                self._cells.setdefault(cell, {})[key] = write

    def touch(self, who: Any = None) -> None:
        """Log a write to unknown places: everything saved before is stale.  `who` wrote: a place, or words for it."""
        self.version += 1
        self.past = None
        self._wide[None] = (self.version, None, who or caller(2))

    def state(self) -> Any:
        """What is known of writes so far, for `restore`."""
        return (
            self.version,
            self._cell,
            {cell: dict(regions) for cell, regions in self._cells.items()},
            dict(self._wide),
        )

    def restore(self, state: Any) -> None:
        """Forget the writes since `state`."""
        self.version, self._cell, self._cells, self._wide = state
        self.past = None

    def stale(self, array: Any, version: int) -> bool:
        """True when a write after `version` overlaps `array`."""
        return self.version != version and any(self._overlapping(array, version))

    def writes(self, array: Any, version: int) -> list[Write]:
        """The writes after `version` that overlap `array`, the earliest first; of each region only the latest is known."""
        found = {write[0]: write for write in self._overlapping(array, version)}
        return [found[number] for number in sorted(found)]

    def _overlapping(self, array: Any, version: int) -> Iterator[Write]:
        for write in self._near(array):
            if write[0] > version and (write[1] is None or arrays.shares_memory(write[1], array)):
                yield write

    def _near(self, array: Any) -> Iterator[Write]:
        """The logged writes that could overlap `array`."""
        yield from self._wide.values()
        if not self._cells:
            return
        if not isinstance(array, arrays.ndarray):
            array = arrays.in_numpy(array)
        if array is None:
            cells: Any = list(self._cells)
        else:
            low, high = byte_bounds(array)
            cells = range(low // self._cell, (max(high, low + 1) - 1) // self._cell + 1)
            if len(cells) > len(self._cells):
                cells = list(self._cells)
        for cell in cells:
            yield from self._cells.get(cell, {}).values()


#: The buffer of every cotangent handed to a user's rule.
BORROWED = Buffer(borrowed=True)
