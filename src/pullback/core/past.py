"""What stood in memory before it was written: remembered while a rule, or a second run of forward, is recorded, and where a
library writes.

Functions write into what they made themselves, ``p = softmax(x)`` and later ``p[rows, target] -= 1``, because nothing is recorded
there.  Where it is recorded after all, softmax has saved its result, and the write would make it stale.  So the old content of
each written region is kept beside the log, and a saved value that was overwritten is put together again when it is read.
SciPy and its like write into their own arrays as well, ``x_max[~isfinite(x_max)] = 0``, whatever may have been saved.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from pullback.core import modes, places


class Before(NamedTuple):
    """One write: its number, the region, what stood there, the base and the place in the graph that it had."""

    version: int
    region: np.ndarray
    content: np.ndarray
    base: int
    edge: Any


def remember(tensor: Any) -> None:
    """Before a write to `tensor`: keep what stands there, if somebody may ask for it."""
    mode = modes.current()
    if not mode._recording or not isinstance(tensor._array, np.ndarray):
        return
    if mode._settings.watcher is None and not _library_writes():
        return
    base = tensor if tensor._view is None else tensor._view.base
    buffer = tensor._shared_buffer()
    buffer.past = buffer.past or []
    buffer.past.append(Before(buffer.version + 1, tensor._array, tensor._array.copy(), id(base), base._resolved()))


def _library_writes() -> bool:
    asked = places.of_library
    return asked is not None and asked(places.outside(sys._getframe(2)).f_code)


def restored(buffer: Any, array: Any, version: int) -> Any:
    """`array` as it was at `version`; ``None`` where that was not remembered."""
    past = buffer.past
    if not past or past[0].version > version + 1 or not isinstance(array, np.ndarray):
        return None
    found = np.array(array, order="C").reshape(-1)
    content, places = found.view(np.uint8), addresses_of_bytes(array)
    for write in reversed(past):
        if write.version <= version:
            break
        if np.may_share_memory(write.region, array):
            _undo(content, places, write)
    return found.reshape(array.shape)


def place_before(buffer: Any, tensor: Any) -> Any:
    """The place in the graph that `tensor` had before the first remembered write through it or a view of it."""
    return next((write.edge for write in buffer.past if write.base == id(tensor)), tensor._resolved())


def _undo(content: np.ndarray, places: np.ndarray, write: Before) -> None:
    written = addresses_of_bytes(write.region)
    order = np.argsort(written)
    position = np.minimum(np.searchsorted(written, places, sorter=order), max(len(written) - 1, 0))
    if len(written):
        source = order[position]
        hit = written[source] == places
        content[hit] = np.ascontiguousarray(write.content).reshape(-1).view(np.uint8)[source[hit]]


def addresses_of_bytes(array: np.ndarray) -> np.ndarray:
    """The address of each byte, elements in C order."""
    found: Any = np.full(array.shape, array.__array_interface__["data"][0], dtype=np.int64)
    for axis, stride in enumerate(array.strides):
        steps = stride * np.arange(array.shape[axis])
        found = found + steps.reshape((-1,) + (1,) * (array.ndim - axis - 1))
    return (found.reshape(-1, 1) + np.arange(array.itemsize)).reshape(-1)
