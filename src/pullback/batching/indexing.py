"""Reading and writing a batched array by index, in all of NumPy's forms; the index may be batched itself.

Where integers are batched, the number of the entry becomes one more integer index.  NumPy puts the axes that integer indices
make in their place when these stand together, and in front when they do not; what matters here is where they belong in an
entry, so they are moved there.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from pullback.batching.batched import Batch, Batched, batch_of, batches, namespace_for, padded, within
from pullback.batching.elementwise import again
from pullback.core import arrays
from pullback.core import batches as machine
from pullback.core.batches import ReadOut
from pullback.core.errors import lesson


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype") or isinstance(item, (list, bool, np.bool_))


def _entries(index: Any, ndim: int) -> list[Any]:
    """The entries of an index, with the Ellipsis and what is missing behind filled by slices."""
    given = list(index) if isinstance(index, tuple) else [index]
    used = 0
    for item in given:
        if _is_array(item) and _kind(item) == "b":
            used += len(np.shape(item) if not hasattr(item, "shape") else item.shape)
        elif item is not None and item is not Ellipsis:
            used += 1
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    fill = [slice(None)] * (ndim - used)
    place = next((k for k, item in enumerate(given) if item is Ellipsis), None)
    return [*given, *fill] if place is None else [*given[:place], *fill, *given[place + 1 :]]


def _kind(item: Any) -> str:
    if not hasattr(item, "dtype"):
        item = np.asarray(item)
    return str(arrays.dtype_of(item).kind)


class Place:
    """An index into a batched array, as one into its value.

    Attributes
    ----------
    index
        The index into the value.
    moved
        Axes of what it gives, and where they belong: behind the batch axis.  ``None`` where they are there.
    """

    __slots__ = ("index", "moved")

    def __init__(self, entries: list[Any], batch: Batch, length: int) -> None:
        self.moved: Any = None
        if not any(_is_array(item) for item in entries):
            self.index: tuple[Any, ...] = (slice(None), *entries)
            return
        places = [k for k, item in enumerate(entries) if _is_array(item) or isinstance(item, (int, np.integer))]
        together = places[-1] - places[0] == len(places) - 1
        own = any(item.__class__ is Batched and item.batch is batch for item in entries)
        if not own:
            self.index = (slice(None), *entries)
            if not together:  # the new axes come first, then the batch
                ndim = self._ndim(entries, places)
                self.moved = (ndim, 0)
            return
        self._number_entries(entries, places, together, batch, length)

    @staticmethod
    def _ndim(entries: list[Any], places: list[int]) -> int:
        shapes = []
        for k in places:
            item = entries[k]
            shapes += (
                [i.shape for i in np.nonzero(np.asarray(item))]
                if _is_array(item) and _kind(item) == "b"
                else [np.shape(item)]
            )
        return len(np.broadcast_shapes(*shapes))

    def _number_entries(self, entries: list[Any], places: list[int], together: bool, batch: Batch, length: int) -> None:
        expanded: list[Any] = []
        for item in entries:
            if _is_array(item) and _kind(item) == "b":
                if item.__class__ is Batched:
                    raise ReadOut("how many entries a batched mask takes may differ")
                expanded.extend(np.nonzero(np.asarray(item)))
            else:
                expanded.append(item)
        places = [k for k, item in enumerate(expanded) if _is_array(item) or isinstance(item, (int, np.integer))]
        ndim = max([len(expanded[k].shape) if hasattr(expanded[k], "shape") else 0 for k in places])
        for k in places:
            item = expanded[k]
            expanded[k] = padded(within(np.asarray(item) if not hasattr(item, "dtype") else item, batch), ndim)
        numbers = np.arange(length).reshape((length, *[1] * ndim))
        self.index = (numbers, *expanded)
        before = places[0]  # in an entry, the new axes stand behind so many others
        if together and before:
            self.moved = (tuple(range(1, ndim + 1)), tuple(range(before + 1, before + ndim + 1)))

    def arranged(self, found: Any) -> Any:
        """What the index gave, with the axes where they belong."""
        return found if self.moved is None else namespace_for((found,)).moveaxis(found, *self.moved)

    def rearranged(self, value: Any) -> Any:
        """The other way round, for what is written."""
        return value if self.moved is None else namespace_for((value,)).moveaxis(value, *reversed(self.moved))


def read(x: Any, index: Any) -> Any:
    """``x[index]``."""
    given = index if isinstance(index, tuple) else (index,)
    batch = batch_of((x, *given))
    if batch is None:
        return x[index]
    value = within(x, batch)
    if x.__class__ is Batched and x.batch is batch and not any(_is_array(item) for item in given):
        return Batched(value[(slice(None), *given)], batch)
    entries = _entries(index, len(x.shape))
    place = Place(entries, batch, value.shape[0])
    return again(place.arranged(_read(value, place.index)), batch)


def _read(value: Any, index: tuple[Any, ...]) -> Any:
    if batch_of((value, *index)) is not None:
        return read(value, index)
    if _knows(value, index):
        return value[index]
    xp = namespace_for((value,))
    places = np.arange(math.prod(value.shape)).reshape(value.shape)[_in_numpy(index)]
    found = xp.take(xp.reshape(value, (-1,)), xp.asarray(np.ascontiguousarray(places.reshape(-1))))
    return xp.reshape(found, places.shape)


def _knows(value: Any, index: tuple[Any, ...]) -> bool:
    """Whether the library of an array knows this form of index: every one knows the basic ones, NumPy and JAX know all."""
    return isinstance(value, np.ndarray) or hasattr(value, "at") or not any(_is_array(item) for item in index)


def _in_numpy(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([np.asarray(item) if _is_array(item) else item for item in index])


def write(x: Batched, index: Any, given: Any) -> None:
    """``x[index] = given``, in the memory of `x`."""
    _change(x, index, given, False)


def add_at(x: Batched, index: Any, given: Any) -> None:
    """Add at an index, in the memory of `x`; what is met twice is added twice."""
    _change(x, index, given, True)


def _change(x: Batched, index: Any, given: Any, add: bool) -> None:
    batch = x.batch
    entries = index if isinstance(index, tuple) else (index,)
    outer = batch_of((given, *entries))
    if outer is not None and outer.level > batch.level:
        raise _too_small()
    x.make_writable()
    mask = entries[0] if len(entries) == 1 else None
    if mask.__class__ is Batched and _kind(mask) == "b" and mask.batch is batch:
        _fill(x, mask, given, add)
        return
    place = Place(_entries(index, x.ndim), batch, batch.size)
    there = _read(x.value, place.index)
    ndim = len(there.shape) - 1
    if given.__class__ is Batched and given.batch is batch:
        value = given.value
        while len(value.shape) - 1 > ndim and value.shape[1] == 1:
            value = value[:, 0, ...]
        given = place.rearranged(padded(value, ndim))
    elif place.moved is not None and hasattr(given, "shape"):
        given = place.rearranged(padded(within(given, batch), ndim))
    _put(x, place.index, given, add)


def _put(x: Batched, index: tuple[Any, ...], given: Any, add: bool) -> None:
    value = x.value
    if value.__class__ is Batched:
        _change(value, index, given, add)
    elif hasattr(value, "at"):
        x.value = value.at[index].add(given) if add else value.at[index].set(given)
    elif not add and _knows(value, index):
        value[index] = given
    elif isinstance(value, np.ndarray):
        np.add.at(value, index, given)
    else:
        changed = np.asarray(value).copy()
        write_into: Any = np.add.at if add else operator.setitem
        write_into(changed, _in_numpy(index), np.asarray(given))
        value[...] = namespace_for((value,)).asarray(changed)


def _fill(x: Batched, mask: Batched, given: Any, add: bool) -> None:
    """Write one value per entry where its mask holds."""
    if len(getattr(given, "shape", ())) > 0:
        raise ReadOut("how many values a batched mask takes may differ")
    batch = x.batch
    ndim = x.ndim
    where = mask.value
    xp = namespace_for((x.value, where))
    where = xp.reshape(where, (*where.shape, *[1] * (ndim - mask.ndim)))
    new = padded(given.value, ndim) if given.__class__ is Batched and given.batch is batch else given
    old = x.value
    if not hasattr(new, "dtype"):
        new = xp.full_like(old, new)
    result = xp.where(where, old + new if add else xp.astype(new, old.dtype), old)
    if arrays.is_mutable(old):
        old[...] = result
    else:
        x.value = result


def _too_small() -> RuntimeError:
    return lesson(
        RuntimeError,
        "vmap: a value that differs between the entries of the batch was to be written into an array that they share",
        why="the array has room for one entry only.",
        instead="an array made from a batched one, such as zeros_like(x) or x * 0; or where and stack, out of place.",
    )


def refuse_write() -> RuntimeError:
    """The error for writing batched values into an array without the batch."""
    return _too_small()


def check_room(target: Any, *values: Any) -> None:
    """Before a Tensor is written: give each entry memory of its own, and refuse what differs between entries without it."""
    array = target._array
    has = batches(array)
    for value in values:
        for batch in getattr(getattr(value, "_array", value), "batches", ()):
            if batch not in has:
                raise _too_small()
    if has and not array.has_room():
        buffer = target._buffer
        if target._view is not None or (buffer is not None and buffer.viewed):
            raise lesson(
                RuntimeError,
                "vmap: an array that all entries of the batch share was to be written through a view, or has views",
                why="each entry needs memory of its own now, and the other views would not see what is written.",
                instead="x = x.clone() * 1 before there are views of it; or zeros_like(y) of a batched y.",
            )
        array.make_writable()


machine.check_room = check_room


def take(x: Any, indices: Any, /, axis: Any = None, **options: Any) -> Any:
    """The entries at some positions along an axis."""
    batch = batch_of((x, indices))
    if batch is None:
        return namespace_for((x,)).take(x, indices, axis=axis, **options)
    if axis is None:
        x = namespace_for((x,)).reshape(x, (-1,))
        axis = 0
    axis %= len(x.shape)
    return read(x, (*[slice(None)] * axis, indices))


RULES = {"take": take}
