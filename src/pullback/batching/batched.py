"""The array of a batch: a value with the batch along its first axis, which shows only the shape of one entry.

A batch axis of length 1 stands for a value that is the same for every entry; it is spread by broadcasting, and in memory only
where it must be.  The value is an array of any library, or again a batched one, of an earlier batch: the *level* of a batch
counts when it began, and later batches lie outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.batching import memory
from pullback.core import arrays
from pullback.core import batches as machine
from pullback.core.batches import LIVE, ReadOut
from pullback.core.errors import lesson
from pullback.core.recycling import LARGE

_levels = itertools.count(1)
#: The batches that are open in this context, the innermost last.
opened: ContextVar[tuple[Batch, ...]] = ContextVar("pullback open batches", default=())


class Batch:
    """One batch: its size, and when it began.

    Attributes
    ----------
    size
        The number of entries.
    level
        Later batches have a higher one.
    randomness
        What random functions do inside: ``"error"``, ``"same"`` for all entries, or ``"different"``.
    """

    __slots__ = ("__weakref__", "level", "randomness", "size")

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size = size
        self.level = next(_levels)
        self.randomness = randomness
        LIVE.append(None)

    def __del__(self, _live: Any = LIVE, _trim: Any = memory.trim) -> None:  # also when modules are gone
        _live.pop()
        if not _live:
            _trim()

    def is_open(self) -> bool:
        """Whether the function that is mapped over this batch is running in this context."""
        return self in opened.get()


class Batched:
    """An array of which every entry stands for a batch of numbers.

    Attributes
    ----------
    value
        The array with the batch axis in front: of length ``batch.size``, or 1 where all entries are the same.
    batch
        The `Batch` that it belongs to.
    axis
        Where the caller of `vmap` had the batch axis.
    """

    __slots__ = ("axis", "batch", "value")
    __array_priority__ = 500
    __hash__ = None  # type: ignore[assignment]
    base = None  # as an array that owns its memory: whoever asks goes on to compare memory

    def __init__(self, value: Any, batch: Batch, axis: int = 0) -> None:
        self.value = value
        self.batch = batch
        self.axis = axis

    def __del__(self, _array: Any = np.ndarray, _large: int = LARGE, _release: Any = memory.release) -> None:
        if self.value.__class__ is _array and self.value.size > _large:
            _release(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape[1:])

    @property
    def ndim(self) -> int:
        return len(self.value.shape) - 1

    @property
    def size(self) -> int:
        return math.prod(self.value.shape[1:])

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def device(self) -> Any:
        return getattr(self.value, "device", "cpu")

    @property
    def batches(self) -> list[Batch]:
        """The batches that it belongs to, the innermost first."""
        return batches(self)

    def part(self, batch: Batch, k: int) -> Any:
        """What it is for entry `k` of a batch."""
        return entry(self, batch, k)

    def over_leading(self, function: Callable[[Any], Any]) -> Any:
        """A function of the last axes of a bare array, which leaves those in front alone."""
        return Batched(function(self.value), self.batch)

    def zeros_beside(self, shape: tuple[int, ...]) -> Any:
        """Zeros of another shape, into which what differs between entries as this array can be written."""
        value = self.value
        shape = (value.shape[0], *shape)
        large = value.__class__ is np.ndarray and math.prod(shape) > LARGE
        return Batched(memory.zeros(shape, value.dtype) if large else arrays.zeros_beside(value, shape), self.batch)

    def full(self) -> Any:
        """The value with a batch axis of full length."""
        return spread_out(self.value, self.batch.size)

    def has_room(self) -> bool:
        """Whether every entry has memory of its own."""
        inner = self.value
        return inner.shape[0] == self.batch.size and (inner.__class__ is not Batched or inner.has_room())

    def make_writable(self) -> None:
        """Give every entry memory of its own, before it is written."""
        if not self.has_room():
            self.value = arrays.copy(self.full(), arrays.namespace(self.value))

    def _in_numpy(self) -> Any:
        """The memory of all entries as a NumPy array; ``None`` where NumPy cannot see it."""
        return arrays.in_numpy(self.value)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace_of_batch(self.batch, self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Batched({self.value!r}, size={self.batch.size}, level={self.batch.level})"

    # ----------------------------------------------------------------------------------------------- no way out
    def _shared(self) -> Any:
        """The one array that all entries have; refused where they may have different ones."""
        if self.value.shape[0] == 1:
            return self.value[0, ...]
        raise lesson(
            ReadOut,
            "a value inside vmap was to be read as a number, a truth value or a bare array (data-dependent control flow, item(), "
            "numpy(), ...)",
            why="it stands for all entries of the batch at once, which may differ.",
            instead="where(condition, a, b) for a branch; pullback's own functions for NumPy's; or a loop over the entries for "
            "a function that really has to look at each of them.",
        )

    def __bool__(self) -> bool:
        return bool(self._shared())

    def __int__(self) -> int:
        return int(self._shared())

    def __float__(self) -> float:
        return float(self._shared())

    def __complex__(self) -> complex:
        return complex(self._shared())

    def __index__(self) -> int:
        return self._shared().__index__()

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))  # type: ignore[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = np.asarray(self._shared(), dtype=dtype)
        return found.copy() if copy else found

    def __dlpack__(self, **options: Any) -> Any:
        return self._shared().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._shared().__dlpack_device__()

    def item(self) -> Any:
        """The one number of all entries."""
        return self._shared().item()

    def tolist(self) -> Any:
        """The numbers of all entries."""
        return self._shared().tolist()


#: ``namespace_of_batch(batch, example)``: the namespace object of a batch; set by `pullback.batching.space`.
namespace_of_batch: Any = None


def spread_out(value: Any, size: int) -> Any:
    """A value whose batch axis has the length `size`."""
    if value.shape[0] == size:
        return value
    return arrays.namespace(value).broadcast_to(value, (size, *value.shape[1:]))


def batch_of(values: Iterable[Any]) -> Batch | None:
    """The innermost batch to which any of the values belongs."""
    found: Batch | None = None
    for value in values:
        if value.__class__ is Batched and (found is None or value.batch.level > found.level):
            found = value.batch
    return found


def namespace_for(values: Iterable[Any]) -> Any:
    """The namespace in which the values can be computed with together."""
    first: Any = None
    for value in values:
        if value.__class__ is Batched:
            return namespace_of_batch(batch_of(values), value)
        if first is None and hasattr(value, "dtype"):
            first = value
    return np if first is None else arrays.namespace(first)


def within(value: Any, batch: Batch) -> Any:
    """What a value is to the entries of a batch: with the batch axis in front, of length 1 where it does not belong to it."""
    if value.__class__ is Batched and value.batch is batch:
        return value.value
    if not hasattr(value, "shape"):
        value = np.asarray(value)
    return arrays.namespace(value).reshape(value, (1, *value.shape))


def padded(value: Any, ndim: int) -> Any:
    """A value with its batch axis, and axes of length 1 behind it so that an entry has `ndim` axes."""
    missing = ndim + 1 - len(value.shape)
    if missing <= 0:
        return value
    return arrays.namespace(value).reshape(value, (value.shape[0], *([1] * missing), *value.shape[1:]))


# ----------------------------------------------------------------------------------------------------- in and out of a batch
def enter(array: Any, batch: Batch, axis: int) -> Any:
    """An array with the batch along `axis` as a batched one."""
    if array.__class__ is Batched and array.batch.level > batch.level:
        return Batched(enter(array.value, batch, axis + 1), array.batch, array.axis)
    if array.__class__ is Batched and array.batch is batch:  # the same for all entries, or each entry's own full array
        raise lesson(RuntimeError, "an array of a batch cannot enter the same batch again")
    return Batched(arrays.namespace(array).moveaxis(array, axis, 0), batch, axis)


def leave(array: Any, batch: Batch, axis: int) -> Any:
    """The array with the batch along `axis`; one that does not belong to the batch is repeated."""
    if array.__class__ is Batched:
        if array.batch is batch:
            value = array.full()
            return arrays.namespace(value).moveaxis(value, 0, axis) if axis else value
        if array.batch.level > batch.level:
            return Batched(leave(array.value, batch, axis + 1 if axis >= 0 else axis), array.batch)
    xp = arrays.namespace(array)
    value = xp.broadcast_to(xp.reshape(array, (1, *array.shape)), (batch.size, *array.shape))
    return xp.moveaxis(value, 0, axis) if axis else value


def spread(array: Any, batch: Batch) -> Any:
    """The array as one of the batch, the same for all entries."""
    if array.__class__ is Batched:
        if array.batch is batch:
            return array
        if array.batch.level > batch.level:
            return Batched(spread(array.value, batch), array.batch)
    return Batched(arrays.namespace(array).reshape(array, (1, *array.shape)), batch)


def total(array: Any, batch: Batch) -> Any:
    """The sum over the entries of a batch."""
    if array.__class__ is Batched:
        if array.batch is batch:
            value = array.value
            xp = arrays.namespace(value)
            if value.shape[0] == batch.size:
                return xp.sum(value, axis=0, dtype=value.dtype)
            return xp.reshape(value, value.shape[1:]) * arrays.asarray(batch.size, xp, arrays.dtype_of(value))
        if array.batch.level > batch.level:
            return Batched(total(array.value, batch), array.batch)
    xp = arrays.namespace(array)
    return array * arrays.asarray(batch.size, xp, arrays.dtype_of(array))


def entry(array: Any, batch: Batch, k: int) -> Any:
    """The array of entry `k`; what does not belong to the batch is the same for all."""
    if array.__class__ is Batched:
        if array.batch is batch:
            return array.value[k if array.value.shape[0] == batch.size else 0, ...]
        if array.batch.level > batch.level:
            return Batched(entry(array.value, batch, k), array.batch)
    return array


def fresh(array: Any) -> Any:
    """An array made while batches are open, as one of theirs: each entry may write something else into it."""
    for batch in opened.get():
        array = spread(array, batch)
    if array.__class__ is Batched:
        array.make_writable()
    return array


machine.fresh = fresh


def batches(array: Any) -> list[Batch]:
    """The batches that an array belongs to, the innermost first."""
    found = []
    while array.__class__ is Batched:
        found.append(array.batch)
        array = array.value
    return found
