"""Reading by index, in all of NumPy's forms.

Reading and adding are adjoint: the vjp of ``x[index]`` adds ȳ into zeros at ``index``, where entries that were read
twice add up, and the vjp of that addition reads.  So derivatives of every order are made of these two.  Entries that
were not read get a structural zero (see `pullback.core.masked`).
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.named import named
from pullback.ops.registry import ATTRIBUTES, Make, Sample, register
from pullback.ops.shapes import moveaxis, ravel, shape_of
from pullback.ops.structure import moved, zero_elsewhere

#: From so many values on it pays to find out whether an index with integer arrays meets any entry twice.
WORTH_COUNTING = 200


# ------------------------------------------------------------------------------------------------------------ the index
class Key:
    """An index, taken apart once.

    Attributes
    ----------
    entries
        What the array library takes: a tuple of integers, slices, None, Ellipsis and bare arrays.  A basic one has an
        Ellipsis, so that an element is an array of no dimensions that shares memory, and no number.
    basic
        Integers, slices, None and Ellipsis only: reading gives a view.
    unique
        No entry of the array can be met twice.
    batches
        The batches that arrays of the index belong to, inside `vmap`; the innermost first.
    """

    __slots__ = ("_counted", "basic", "batches", "entries", "unique")
    _pullback_own = True  # a kept one is `frozen`: no memory of it is anybody else's

    def __init__(self, entries: tuple[Any, ...], basic: bool = True, unique: bool = True) -> None:
        self.entries = entries
        self.basic = basic
        self.unique = unique
        self._counted = False
        self.batches: Any = () if basic else _batches_of(entries)

    def part(self, batch: Any, k: int) -> Key:
        """The index of one entry of a batch."""
        if batch not in self.batches:
            return self
        entries = tuple([e.part(batch, k) if hasattr(e, "batch") else e for e in self.entries])
        return Key(tuple([int(e) if _is_integer(e) else e for e in entries]), False, self.unique)

    def __repr__(self) -> str:
        shown = [
            f"an array of {e.dtype}" if hasattr(e, "dtype") else "..." if e is Ellipsis else repr(e)
            for e in self.entries
        ]
        return f"[{', '.join(shown)}]"

    def read(self, array: Any) -> Any:
        """The entries of a bare array at this index."""
        if self.batches:
            return self._space().read_at(array, self.entries)
        if self.understood_by(array):
            return array[self.entries]
        xp = arrays.namespace(array)
        numbers = np.arange(math.prod(array.shape)).reshape(array.shape)[self._in_numpy()]
        flat = np.ascontiguousarray(numbers.reshape(-1))  # torch takes no negative strides
        found = xp.take(xp.reshape(array, (-1,)), xp.asarray(flat))
        return xp.reshape(found, numbers.shape)

    def put_fresh(self, array: Any, values: Any, xp: Any) -> Any:
        """A copy of a bare array, with `values` at this index."""
        room = getattr(xp, "room", None)  # inside `vmap`, where each entry may write something else
        return self.put(arrays.copy(array, xp) if room is None else room(array, values), values)

    def put(self, array: Any, values: Any) -> Any:
        """A bare array with `values` at this index: written in place where the library allows it."""
        if self.batches:
            return self._space().written_at(array, self.entries, values, False)
        if hasattr(array, "at"):
            return array.at[self.entries].set(values)
        if not self._written_by(array):
            return self._through_numpy(array, values, operator.setitem)
        array[self.entries] = values
        return array

    def add(self, array: Any, values: Any) -> Any:
        """A fresh bare array of zeros with `values` added at this index; what is met twice is added twice."""
        if self.batches:
            space = self._space()
            return space.written_at(space.room(array, values), self.entries, values, True)
        if hasattr(array, "add_at"):
            if self.unique:
                array[self.entries] = values
            else:
                array.add_at(self.entries, values)
            return array
        if not self.unique and not self._counted and isinstance(array, np.ndarray) and values.size > WORTH_COUNTING:
            self._counted = True
            self.unique = self._meets_once(array.shape, values.size)
        if hasattr(array, "at"):
            place = array.at[self.entries]
            return place.max(values) if arrays.dtype_of(array).kind == "b" else place.add(values)
        if self.unique and self._written_by(array):
            array[self.entries] = values
            return array
        if not isinstance(array, np.ndarray):
            return self._through_numpy(array, values, np.add.at)
        np.add.at(array, self.entries, values)
        return array

    def _space(self) -> Any:
        """The namespace of the innermost batch of the index."""
        return next(e for e in self.entries if getattr(e, "batch", None) is self.batches[0]).__array_namespace__()

    @property
    def backwards(self) -> bool:
        """True when a slice has a negative step."""
        return any(entry.__class__ is slice and entry.step is not None and entry.step < 0 for entry in self.entries)

    def _meets_once(self, shape: tuple[int, ...], count: int) -> bool:
        """Count the entries that are met; a permutation meets each once, and assigning is much quicker than adding."""
        met = np.zeros(shape, dtype=bool)
        met[self.entries] = True
        return bool(np.count_nonzero(met) == count)

    def understood_by(self, array: Any) -> bool:
        """True when the library knows this form of index: every one knows the basic ones, NumPy and JAX know all."""
        if isinstance(array, np.ndarray) or hasattr(array, "at") or hasattr(array, "add_at"):
            return True
        return self.basic and (arrays.reads_backwards(array) or not self.backwards)

    def _written_by(self, array: Any) -> bool:
        """The same question for assignment, where the standard allows no new axes."""
        return self.understood_by(array) and (
            isinstance(array, np.ndarray)
            or hasattr(array, "add_at")
            or (self.basic and all(e is not None for e in self.entries))
        )

    def _through_numpy(self, array: Any, values: Any, write: Any) -> Any:
        total = np.asarray(array).copy()
        write(total, self._in_numpy(), np.asarray(values))
        new = arrays.namespace(array).asarray(total)
        if not arrays.is_mutable(array):
            return new
        array[...] = new
        return array

    def _in_numpy(self) -> tuple[Any, ...]:
        return tuple([np.asarray(e) if hasattr(e, "dtype") else e for e in self.entries])

    def frozen(self) -> Key:
        """The same index with arrays of its own, which nobody can change later."""
        if self.basic:
            return self
        entries = tuple([e.copy() if isinstance(e, np.ndarray) or hasattr(e, "batch") else e for e in self.entries])
        return Key(entries, False, self.unique)

    def last_writes(self, shape: tuple[int, ...]) -> Any:
        """Which of the values written at this index are still there in the end (boolean, bare NumPy)."""
        if self.batches:
            space = self._space()
            owner = space.room(np.zeros(shape, dtype=np.intp), None)
            size = space.read_at(owner, self.entries).shape
            numbers = np.arange(math.prod(size)).reshape(size)
            return space.read_at(space.written_at(owner, self.entries, numbers, False), self.entries) == numbers
        entries = self._in_numpy()
        owner = np.empty(shape, dtype=np.intp)
        numbers = np.arange(owner[entries].size).reshape(owner[entries].shape)
        owner[entries] = numbers
        return owner[entries] == numbers

    def kind(self) -> str:
        """What torch calls the last step of a basic index."""
        last = [e for e in self.entries if e is not Ellipsis]
        if not last or last[-1].__class__ is slice:
            return "slice"
        return "unsqueeze" if last[-1] is None else "select"


def key_of(index: Any) -> Key:
    """Take an index apart: integers, slices, None, Ellipsis, booleans, lists, arrays, Tensors, and tuples of these."""
    if index.__class__ is int:
        return Key((index, Ellipsis))
    given = index if index.__class__ is tuple else (index,)
    entries = tuple([_entry(item) for item in given])
    basic, unique = True, True
    for entry in entries:
        if entry.__class__ is bool or hasattr(entry, "dtype"):
            basic = False
            unique = unique and (entry.__class__ is bool or arrays.dtype_of(entry).kind == "b")
    if basic and not any(entry is Ellipsis for entry in entries):
        entries = (*entries, Ellipsis)
    return Key(entries, basic, unique)


def _entry(item: Any) -> Any:
    """One entry of an index in the form that array libraries take."""
    if item is None or item is Ellipsis or item.__class__ is int:
        return item
    if item.__class__ is slice:
        ends = (item.start, item.stop, item.step)
        if all(n is None or n.__class__ is int for n in ends):
            return item
        return slice(*[None if n is None else operator.index(n) for n in ends])
    if isinstance(item, (bool, np.bool_)):
        return bool(item)
    if isinstance(item, Tensor):
        item = item._array
    elif isinstance(item, (list, tuple, range)):
        item = np.asarray(_bare(item))
        if item.size == 0 and item.dtype.kind == "f":
            item = item.astype(np.intp)
    if arrays.is_array(item):
        kind = arrays.dtype_of(item).kind
        if kind in "iu" and item.ndim == 0 and not hasattr(item, "batch"):
            return int(item)
        if kind in "iub":
            return item
        raise IndexError(
            f"only integers, slices, None, Ellipsis and arrays of integers or booleans are valid indices, "
            f"not an array of {arrays.dtype_of(item)}"
        )
    if hasattr(item, "__index__"):
        return operator.index(item)
    raise IndexError(
        f"only integers, slices, None, Ellipsis and arrays of integers or booleans are valid indices, "
        f"not {type(item).__name__}"
    )


def _batches_of(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The batches of arrays inside `vmap`, the innermost first."""
    found = {batch for entry in entries if hasattr(entry, "batch") for batch in entry.batches}
    return tuple(sorted(found, key=lambda batch: -batch.level))


def _is_integer(entry: Any) -> bool:
    return (
        hasattr(entry, "dtype")
        and not entry.shape
        and arrays.dtype_of(entry).kind in "iu"
        and not hasattr(entry, "batch")
    )


def _bare(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return [_bare(value) for value in item]
    return np.asarray(item._array) if isinstance(item, Tensor) else item


# --------------------------------------------------------------------------------------------- reading, and its adjoint
class Slice(Primitive):
    """``x[index]`` for integers, slices, None: a view.  vjp: x̄ = 0 everywhere, then ȳ at index"""

    node_name = "SliceBackward0"
    _called = "getitem"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, key: Key) -> Any:
        ctx.key = key
        ctx.shape = x.shape
        return x[key.entries] if x.__class__ is np.ndarray else key.read(x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: embed(c, ctx.shape, ctx.key), ct)


class Select(Slice):
    """``x[…, k]``.  vjp: x̄ = 0 everywhere, then ȳ at index"""

    node_name = "SelectBackward0"


class NewAxis(Slice):
    """``x[…, None]``.  vjp: x̄ = ȳ without the axis"""

    node_name = "UnsqueezeBackward0"


class Index(Primitive):
    """``x[index]`` with arrays in the index: a copy.  vjp: x̄ = 0, then ȳ added at index; what was read twice adds up"""

    linear = True
    node_name = "IndexBackward0"
    _called = "getitem"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, key: Key) -> Any:
        ctx.key = key.frozen() if ctx.needs_input_grad[0] else key
        ctx.shape = x.shape
        return arrays.asarray(key.read(x), ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: embed(c, ctx.shape, ctx.key), ct)


class Embed(Primitive):
    """Zeros of a shape, with the argument added at an index: the adjoint of reading.  vjp: ȳ[index]"""

    linear = True
    node_name = "EmbedBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, y: Any, *, shape: Any, key: Key) -> Any:
        ctx.key = key
        return _embed(y, shape, key)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return read(ct, ctx.key)


class Clear(Primitive):
    """The argument with zeros at an index.  vjp: x̄ = ȳ with (structural) zeros at the index"""

    linear = True
    node_name = "ClearBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, key: Key) -> Any:
        ctx.key = key
        return _clear(x, key)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: clear(c, ctx.key), ct)


def _embed(y: Any, shape: Any, key: Key) -> Any:
    return key.add(arrays.zeros_beside(y, tuple(shape)), y)


def _clear(x: Any, key: Key) -> Any:
    xp = arrays.namespace(x)
    return key.put(arrays.copy(x, xp), xp.zeros((), dtype=x.dtype))


def read(x: Any, key: Key) -> Any:
    """``x[key]`` of a bare array or a Tensor."""
    if not isinstance(x, Tensor):
        return key.read(x)
    return (Slice if key.basic else Index).apply(x, key=key)


def embed(y: Any, shape: Any, key: Key) -> Any:
    """Zeros of `shape` with `y`, bare or a Tensor, added at `key`."""
    return Embed.apply(y, shape=shape, key=key) if isinstance(y, Tensor) else _embed(y, shape, key)


def clear(x: Any, key: Key) -> Any:
    """`x`, bare or a Tensor, with zeros at `key`."""
    return Clear.apply(x, key=key) if isinstance(x, Tensor) else _clear(x, key)


_READERS: dict[str, Any] = {"slice": Slice, "select": Select, "unsqueeze": NewAxis}


def getitem(x: Any, index: Any, /) -> Any:
    """``x[index]`` in every form that NumPy knows.

    Integers, slices, None and Ellipsis give a view that shares memory, also for a single element; a boolean mask, or
    integers in lists, arrays and Tensors, give a copy.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> pb.autograd.grad(x[[0, 0, 2]].sum(), x)
    (tensor([2., 0., 1.]),)
    """
    if index.__class__ is int:
        return Select.apply(x, key=Key((index, Ellipsis)))
    return read_at(x, key_of(index))


def read_at(x: Any, key: Key) -> Any:
    """``x[key]``."""
    return (_READERS[key.kind()] if key.basic else Index).apply(x, key=key)


# ------------------------------------------------------------------------------------------------------- along one axis
@named
def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The entries of `x` at the positions `indices` along `axis`; of all entries in C order when ``None``.

    Parameters
    ----------
    indices
        Integers, of any shape; negative ones count from the end.

    Returns
    -------
    A copy: the shape of `x` with that of `indices` in the place of `axis`.
    """
    shape = shape_of(x)
    axis = None if axis is None else normalize_axis_index(axis, len(shape))
    try:
        bare = _positions(indices)
    except IndexError as error:
        raise TypeError(*error.args) from None  # NumPy's take says so
    if axis is None:
        if len(shape) != 1 and isinstance(bare, np.ndarray) and bare.size:  # refused before `ravel` is recorded
            count = math.prod(shape)
            if bare.min() < -count or bare.max() >= count:
                raise IndexError(f"an index of take() is out of bounds for an array of {count} entries")
        x, axis = x if len(shape) == 1 else ravel(x), 0
    return Index.apply(x, key=Key((slice(None),) * axis + (bare,), False, arrays.size(bare) <= 1))


def _positions(indices: Any) -> Any:
    """Integer positions as a bare array."""
    bare = indices._array if isinstance(indices, Tensor) else indices
    bare = bare if arrays.is_array(bare) else np.asarray(bare)
    if arrays.dtype_of(bare).kind not in "iu":
        if arrays.size(bare):
            raise IndexError(f"indices must be integers, but they are {arrays.dtype_of(bare)}")
        bare = np.asarray(bare).astype(np.intp)
    return bare


@named
def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """For every line of `x` along `axis`, the entries at the positions that the same line of `indices` names.

    >>> import pullback as pb
    >>> x = pb.tensor([[3.0, 1.0], [2.0, 4.0]])
    >>> pb.take_along_axis(x, [[1], [0]], axis=1)
    tensor([[1.],
            [2.]])
    """
    return Gather.apply(x, key=line_key(shape_of(x), _positions(indices), axis))


class Gather(Index):
    """``take_along_axis``.  vjp: x̄ = 0, then ȳ added where it was taken"""

    node_name = "GatherBackward0"


def line_key(shape: tuple[int, ...], indices: Any, axis: int) -> Key:
    """The index that reads or writes, in every line along `axis`, the positions in `indices`."""
    axis = normalize_axis_index(axis, len(shape))
    if indices.ndim != len(shape):
        raise ValueError(f"indices need as many axes as the array, {len(shape)}, but have {indices.ndim}")
    entries: list[Any] = []
    for k, n in enumerate(shape):
        spread = [1] * len(shape)
        spread[k] = n
        entries.append(indices if k == axis else np.arange(n).reshape(spread))
    return Key(tuple(entries), False, False)


# ------------------------------------------------------------------------------------------------------------ diagonals
class Diagonal(Primitive):
    """A diagonal of two axes, as the last axis; a view.  vjp: x̄ = 0, then ȳ on the diagonal"""

    node_name = "DiagonalBackward0"
    view = True
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, offset: int, axes: tuple[int, int]) -> Any:
        ctx.axes = axes
        last = moveaxis(x, axes, (-2, -1))
        ctx.shape = last.shape
        ctx.key = diagonal_key(last.shape, offset)
        return _diagonal_of(last, offset, ctx.key)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: moveaxis(embed(c, ctx.shape, ctx.key), (-2, -1), ctx.axes), ct)


def _diagonal_of(last: Any, offset: int, key: Key) -> Any:
    """The diagonals of the last two axes of a bare array; a view of NumPy's."""
    if hasattr(last, "batch") and arrays.behaves_like_numpy(last):
        return last.over_leading(lambda value: _diagonal_of(value, offset, key))
    if not isinstance(last, np.ndarray):
        return key.read(last)
    found = np.diagonal(last, offset, -2, -1)
    if last.flags.writeable:
        found.flags.writeable = True
    return found


def diagonal_key(shape: tuple[int, ...], offset: int) -> Key:
    """The index of a diagonal of the last two axes."""
    rows, columns = shape[-2:]
    start = max(-offset, 0)
    k = np.arange(start, max(min(rows, columns - offset), start))
    return Key((Ellipsis, k, k + offset), False, True)


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The entries of `x` whose indices along two axes differ by `offset`, as the last axis of the result; a view.

    >>> import pullback as pb
    >>> pb.diagonal(pb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """
    ndim = len(shape_of(x))
    if ndim < 2:
        raise ValueError(f"a diagonal needs at least two axes, but the shape is {shape_of(x)}")
    axes = normalize_axis_index(axis1, ndim), normalize_axis_index(axis2, ndim)
    if axes[0] == axes[1]:
        raise ValueError("axis1 and axis2 cannot be the same")
    return Diagonal.apply(x, offset=offset, axes=axes)


# --------------------------------------------------------------------------------------------------------- registration
_INDICES: tuple[Any, ...] = (
    1,
    (0, -1),
    slice(None, None, -1),
    (Ellipsis, slice(0, 2)),
    (None, 0, None),
    [0, 0, 1],
    (slice(None), [2, 0]),
    (np.array([[0, 1]]), np.array([[2], [2]])),
    (1, None, np.array([True, False, True])),
    np.array([[True, False, True], [False, False, True]]),
    False,
)


def _reads(make: Make):
    for index in _INDICES:
        yield Sample((make(2, 3), index))


def _embeds(make: Make):
    yield Sample((make(2),), {"shape": (3, 2), "key": key_of(1)})
    yield Sample((make(3),), {"shape": (3,), "key": key_of([0, 2, 0])})


def _clears(make: Make):
    yield Sample((make(3, 2),), {"key": key_of(1)})
    yield Sample((make(3),), {"key": key_of([0, 2, 0])})


def _takes(make: Make):
    yield Sample((make(2, 3), np.array([2, 0, 2])), {"axis": 1})
    yield Sample((make(3), np.array([1, -1])))
    yield Sample((make(2, 3), np.array([[0, 1]])), {"axis": 0})


def _lines(make: Make):
    yield Sample((make(2, 3), np.array([[2, 0], [1, 1]])))
    yield Sample((make(2, 3), np.array([[1, 0, 1]])), {"axis": 0})


def _squares(make: Make):
    yield Sample((make(2, 3),))
    yield Sample((make(2, 3),), {"offset": -1})
    yield Sample((make(2, 3, 2),), {"offset": 1, "axis1": 2, "axis2": 1})


def _embed_reference(y: Any, shape: Any, key: Key) -> Any:
    zeros = np.zeros(shape, y.dtype)
    if y.shape != zeros[key.entries].shape:
        raise ValueError("the argument has another shape than the place it is added to")
    return key.add(zeros, y)


def _clear_reference(x: Any, key: Key) -> Any:
    return key.put(x.copy(), 0)


register("getitem", Index, _reads, call=getitem, reference=lambda x, index: x[index], public=False)
register("embed", Embed, _embeds, reference=_embed_reference, public=False)
register("clear", Clear, _clears, reference=_clear_reference, public=False)
register("take", Index, _takes, call=take, reference=np.take)
register("take_along_axis", Gather, _lines, call=take_along_axis, reference=np.take_along_axis)
register("diagonal", Diagonal, _squares, call=diagonal, reference=np.diagonal)

ATTRIBUTES["__getitem__"] = getitem
