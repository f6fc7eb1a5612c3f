"""The errors for saved values that are lost: released by an earlier pass, or overwritten.

Who saved the value is known from the node, who overwrote it from the write log, who released it from what stands in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.graph import FREED, Node
from pullback.core.places import line_of, operation_of, story
from pullback.core.versions import Buffer, Write

#: Overlaps of more elements than this are not counted, and of more writes than this not named.
COUNTED, NAMED = 10_000_000, 3


def freed(node: Node) -> RuntimeError:
    """The error for a second walk over released values."""
    error = lesson(
        RuntimeError,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        f"freed): the values that {node._name()} saved are gone. Specify retain_graph=True in the earlier pass to keep them.",
        why="saved values are released as soon as a backward pass has used them, to keep memory low.",
        instead="pass retain_graph=True to the earlier backward() or grad(), or compute the outputs again.",
        node=node,
        _pullback_located=True,
    )
    place = (node._saved if isinstance(node._saved, FREED.__class__) else FREED).place
    if place is not None:
        error.add_note(f"The earlier pass, which released them, was started at {line_of(*place)}")
    return _with_line(error, node)


def stale(node: Node, what: str, array: Any, version: int, buffer: Buffer, producer: Any) -> RuntimeError:
    """The error for a saved value that was written to after it was saved."""
    by = f", which is output {producer[1]} of {_plain_name(producer[0])}," if producer else ""
    error = lesson(
        RuntimeError,
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {what} saved by "
        f"{node._name()} [{arrays.dtype_of(array)} {list(array.shape)}]{by} is at version {buffer.version}; expected version "
        f"{version} instead.",
        why="the backward of that operation would compute with the new values.",
        instead="write into a clone(), write before the value is used, or compute out of place.",
        node=node,
        _pullback_located=True,
    )
    _with_line(error, node)
    writes = buffer.writes(array, version)
    for write in writes[:NAMED]:
        error.add_note(_overwritten(write, array))
    if len(writes) > NAMED:
        error.add_note(f"{len(writes) - NAMED} later writes overlap it, too.")
    return error


def _with_line(error: RuntimeError, node: Node) -> RuntimeError:
    for sentence in story(node):
        error.add_note(sentence)
    return error


def _plain_name(node: Node) -> str:
    return node._name().removesuffix("Backward0").removesuffix("Backward")


def _overwritten(write: Write, array: Any) -> str:
    """A sentence: who wrote, and what of the saved array."""
    _, region, who = write
    part = _part(array, region)
    if isinstance(who, str):
        return f"It was overwritten{part} by {who}."
    operation = operation_of(*who)
    return f"It was overwritten{part}{operation and f' by {operation}'} at {line_of(*who)}"


def _part(array: Any, region: Any) -> str:
    """Which elements of `array` lie in `region`, in words; empty where that cannot be told or goes without saying."""
    own, other = (a if a is None or isinstance(a, np.ndarray) else arrays.in_numpy(a) for a in (array, region))
    if own is None or other is None or own.size < 2 or max(own.size, other.size) > COUNTED:
        return ""
    hit = np.argwhere(_overlap(own, other)).tolist()
    if not hit:
        return ""
    if len(hit) == own.size:
        return " as a whole"
    if len(hit) == 1:
        return f" in its element {hit[0]}"
    return f" in {len(hit)} of its {own.size} elements, from {hit[0]} to {hit[-1]},"


def _overlap(array: np.ndarray, region: np.ndarray) -> np.ndarray:
    """For each element of `array`, whether an element of `region` shares memory with it."""
    starts = np.sort(_addresses(region), axis=None)
    own = _addresses(array)
    before = np.searchsorted(starts, own + array.itemsize) - 1  # the last that begins before the element ends
    return (before >= 0) & (starts[before] + region.itemsize > own)


def _addresses(array: np.ndarray) -> np.ndarray:
    """The address of each element."""
    found: Any = np.full(array.shape, array.__array_interface__["data"][0], dtype=np.int64)
    for axis, stride in enumerate(array.strides):
        steps = stride * np.arange(array.shape[axis])
        found = found + steps.reshape((-1,) + (1,) * (array.ndim - axis - 1))
    return found
