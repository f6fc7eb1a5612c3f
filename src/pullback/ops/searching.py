"""Where values stand, and which values there are.  Positions and counts have no derivative, values that were found do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.indexing import take
from pullback.ops.named import named
from pullback.ops.registry import POSITIONS, TRUTHS, Make, Sample, register
from pullback.ops.shapes import shape_of


class Nonzero(Primitive):
    """Where ``x`` is not zero: one array of positions per axis.  No derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return tuple(ctx.xp.nonzero(x))


class Searchsorted(Primitive):
    """Where values would have to stand in a sorted array.  No derivative."""

    @staticmethod
    def forward(ctx: Any, x1: Any, x2: Any, *, side: str, sorter: Any) -> Any:
        return ctx.xp.searchsorted(x1, x2, side=side, sorter=sorter)


class Isin(Primitive):
    """Whether each entry of ``x1`` is among those of ``x2``.  No derivative."""

    @staticmethod
    def forward(ctx: Any, x1: Any, x2: Any, *, invert: bool) -> Any:
        found = ctx.xp.isin(x1, x2)
        return ctx.xp.logical_not(found) if invert else found


class UniqueAll(Primitive):
    """Positions of the first of equal entries, of every entry among them, and how many are equal.  No derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        found = ctx.xp.unique_all(x)
        return found.indices, ctx.xp.reshape(found.inverse_indices, x.shape), found.counts


@named
def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The positions of the entries that are not zero: one Tensor of integers per axis of `x`.

    Raises
    ------
    ValueError
        For an `x` of no dimensions, which has no positions.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.nonzero(pb.tensor([0.0, 3.0, 4.0]))
    (tensor([1, 2]),)
    """
    if not shape_of(x):
        raise lesson(ValueError, "nonzero() needs an array of one dimension or more", instead="x != 0, for one number.")
    return tuple(Nonzero.apply(x))


@named
def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where the values `x2` would have to be inserted into the sorted `x1` to keep it sorted.

    Parameters
    ----------
    x1
        Sorted real numbers, one-dimensional.
    x2
        An array, Tensor or number.
    side
        Before (``"left"``) or behind (``"right"``) what is equal.
    sorter
        Positions that sort `x1`, where it is not sorted.

    Returns
    -------
    Integers, in the shape of `x2`.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.searchsorted(pb.tensor([1.0, 2.0, 4.0]), pb.tensor([0.0, 2.0, 9.0]))
    tensor([0, 1, 3])
    """
    if len(shape_of(x1)) != 1:
        raise lesson(ValueError, f"searchsorted() needs a one-dimensional x1, but its shape is {tuple(shape_of(x1))}")
    if side not in ("left", "right"):
        raise lesson(ValueError, f"searchsorted() takes 'left' or 'right' as side, but got {side!r}")
    bare = x1._array if isinstance(x1, Tensor) else x1
    if not hasattr(x2, "dtype"):
        x2 = arrays.asarray(x2, arrays.namespace(bare), np.result_type(arrays.dtype_of(bare), x2))
    return Searchsorted.apply(x1, x2, side=side, sorter=sorter._array if isinstance(sorter, Tensor) else sorter)


@named
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each entry of `x1` is among the entries of `x2` (or, with `invert`, whether it is not).

    Parameters
    ----------
    x1, x2
        Arrays, Tensors or (one of them) a number.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.isin(pb.tensor([1, 2, 3]), pb.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    return Isin.apply(x1, x2, invert=invert)


# ----------------------------------------------------------------------------------------------------------------- sets
class UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /) -> UniqueAllResult:
    """The different entries of `x`, with their positions and counts.

    Returns
    -------
    values
        The different entries, sorted, one-dimensional.  Every NaN is different from every other.  The gradient of a value
        goes to the first of the entries that are equal to it: which entries are equal is piecewise constant.
    indices
        Where, in C order, each of them first stands in `x`.
    inverse_indices
        For every entry of `x`, its number among `values`.
    counts
        How many entries are equal to each value.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.unique_all(pb.tensor([3.0, 1.0, 3.0])).counts
    tensor([1, 2])
    """
    indices, inverse, counts = UniqueAll.apply(x)
    return UniqueAllResult(take(x, indices), indices, inverse, counts)


def unique_counts(x: Any, /) -> UniqueCountsResult:
    """The different entries of `x`, and how often each stands in it; see `unique_all`.

    >>> import pullback as pb
    >>> pb.unique_counts(pb.tensor([3.0, 1.0, 3.0])).values
    tensor([1., 3.])
    """
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverseResult:
    """The different entries of `x`, and the number among them of every entry; see `unique_all`.

    >>> import pullback as pb
    >>> pb.unique_inverse(pb.tensor([3.0, 1.0, 3.0])).inverse_indices
    tensor([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The different entries of `x`, sorted; see `unique_all`.

    >>> import pullback as pb
    >>> x = pb.tensor([3.0, 1.0, 3.0], requires_grad=True)
    >>> pb.unique_values(x)[1].backward()
    >>> x.grad
    tensor([1., 0., 0.])
    """
    return unique_all(x).values


# ------------------------------------------------------------------------------------------------------------- registry
def _any(make: Make) -> Any:
    yield Sample((make(2, 3),))
    yield Sample((make.integers(4) % 3,))


def _sorted(make: Make) -> Any:
    yield Sample((np.sort(make(4)), make(2, 3)))
    yield Sample((np.sort(make(4)), 0.5), {"side": "right"})


def _members(make: Make) -> Any:
    yield Sample((make.integers(2, 3), make.integers(4)))
    yield Sample((make.integers(2, 3), 3), {"invert": True})


def _repeated(make: Make) -> Any:
    x = make(4)
    yield Sample((x,))
    yield Sample((make(2, 3),))
    yield Sample((make(0),))


register("nonzero", Nonzero, _any, call=nonzero, reference=np.nonzero, differentiable=False, reason=POSITIONS)
register(
    *("searchsorted", Searchsorted, _sorted),
    call=searchsorted,
    reference=np.searchsorted,
    complex=False,
    differentiable=False,
    reason=POSITIONS,
)
register("isin", Isin, _members, call=isin, reference=np.isin, differentiable=False, reason=TRUTHS)
for _name, _call in (("unique_all", unique_all), ("unique_counts", unique_counts), ("unique_inverse", unique_inverse)):
    register(_name, UniqueAll, _repeated, call=_call, reference=getattr(np, _name))
register("unique_values", UniqueAll, _repeated, call=unique_values, reference=lambda x: np.unique(x))
