"""Windows that slide along the last axes of an array, and their adjoint, which adds them up where they came from.

What convolutions, pooling and ``unfold`` read.  A grid says where windows stand: how long each is along each axis (`sizes`),
how far the next one is (`steps`), and how far apart the entries of one window are (`gaps`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.registry import Make, Sample, register
from pullback.ops.structure import moved, zero_elsewhere


@dataclass(frozen=True)
class Grid:
    """Where windows stand along the last axes: one number per axis in each field."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    gaps: tuple[int, ...]

    def counts(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows fit along each of these axes; 0 or less where not even one does."""
        return tuple(
            [(n - gap * (size - 1) - 1) // step + 1 for n, size, step, gap in zip(shape, *astuple(self), strict=True)]
        )

    def places(self, shape: tuple[int, ...]) -> Any:
        """The number, in C order, of every entry of every window: an array of the windows' shape."""
        counts = self.counts(shape)
        places: Any = np.zeros((1,) * (2 * len(shape)), dtype=np.intp)
        for k, (n, size, step, gap) in enumerate(zip(counts, *astuple(self), strict=True)):
            line = step * np.arange(n)[:, None] + gap * np.arange(size)
            spread = [1] * (2 * len(shape))
            spread[k], spread[len(shape) + k] = n, size
            places = places + line.reshape(spread) * math.prod(shape[k + 1 :])
        return places


def read_windows(x: Any, grid: Grid) -> Any:
    """The windows of a bare array: of NumPy's a read-only view."""
    if hasattr(x, "batch"):
        return x.over_leading(lambda value: read_windows(value, grid))
    shape = x.shape[-len(grid.sizes) :]
    lead, counts = x.shape[: -len(shape)], grid.counts(shape)
    if isinstance(x, np.ndarray):
        strides = x.strides[-len(shape) :]
        near = [s * step for s, step in zip(strides, grid.steps, strict=True)]
        far = [s * gap for s, gap in zip(strides, grid.gaps, strict=True)]
        return as_strided(x, (*lead, *counts, *grid.sizes), (*x.strides[: len(lead)], *near, *far), writeable=False)
    xp = arrays.namespace(x)
    places = grid.places(shape)
    found = xp.take(xp.reshape(x, (*lead, math.prod(shape))), xp.asarray(places.ravel()), axis=-1)
    return xp.reshape(found, (*lead, *places.shape))


def add_windows(windows: Any, shape: tuple[int, ...], grid: Grid) -> Any:
    """A bare array with every entry of every window added where `read_windows` found it."""
    if hasattr(windows, "batch"):
        return windows.over_leading(lambda value: add_windows(value, shape, grid))
    ndim = len(shape)
    lead, counts = windows.shape[: -2 * ndim], grid.counts(shape)
    bare: Any = np.asarray(windows)
    total: Any = np.zeros((*lead, *shape), dtype=bare.dtype)
    for offset in itertools.product(*map(range, grid.sizes)):
        reached = [
            slice(k * gap, k * gap + step * n, step)
            for k, n, step, gap in zip(offset, counts, grid.steps, grid.gaps, strict=True)
        ]
        total[(..., *reached)] += bare[(..., *offset)]
    return total if isinstance(windows, np.ndarray) else arrays.namespace(windows).asarray(total)


class Windows(Primitive):
    """The windows of the last axes: an axis for each one's place, then one for each entry.  vjp: ȳ added where it was read"""

    linear = True
    node_name = "UnfoldBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, *, grid: Grid) -> Any:
        ctx.grid, ctx.shape = grid, x.shape[-len(grid.sizes) :]
        return arrays.copy(read_windows(x, grid), ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return zero_elsewhere(lambda c: OverlapAdd.apply(c, shape=ctx.shape, grid=ctx.grid), ct)


class OverlapAdd(Primitive):
    """Windows added up where they stand: the adjoint of `Windows`.  vjp: the windows of ȳ"""

    linear = True
    node_name = "FoldBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, windows: Any, *, shape: tuple[int, ...], grid: Grid) -> Any:
        ctx.grid = grid
        return add_windows(windows, shape, grid)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return Windows.apply(ct, grid=ctx.grid)


def check_fit(shape: tuple[int, ...], grid: Grid, kind: Any = RuntimeError) -> None:
    """Refuse windows that do not fit into the last axes."""
    if min(grid.counts(shape), default=1) < 1:
        raise lesson(
            kind,
            f"windows of {list(grid.sizes)} entries, {list(grid.gaps)} apart, do not fit into the axes {list(shape)}",
            instead="a smaller kernel, or more padding.",
        )


def windows(x: Any, /, sizes: Any, steps: Any = None, gaps: Any = None) -> Any:
    """The windows of the last axes of `x`, one axis for each one's place, then one for each entry; a copy.

    Parameters
    ----------
    sizes
        How many entries a window has along each of the last axes.
    steps, gaps
        How far the next window is, and how far apart the entries of one are; 1 along every axis when left out.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.ops.windows import windows
    >>> windows(pb.tensor([1.0, 2.0, 3.0, 4.0]), (2,))
    tensor([[1., 2.],
            [2., 3.],
            [3., 4.]])
    """
    ones = (1,) * len(sizes)
    grid = Grid(tuple(sizes), tuple(steps or ones), tuple(gaps or ones))
    check_fit(tuple(x.shape[-len(ones) :]), grid)
    return Windows.apply(x, grid=grid)


def overlap_add(x: Any, /, shape: Any, grid: Grid) -> Any:
    """Windows added up in an array whose last axes have this shape: the adjoint of `windows`."""
    wanted = (*grid.counts(tuple(shape)), *grid.sizes)
    if tuple(x.shape[-len(wanted) :]) != wanted:
        raise lesson(RuntimeError, f"windows of shape {list(wanted)} were expected, not {list(x.shape)}")
    return OverlapAdd.apply(x, shape=tuple(shape), grid=grid)


def _windowed(make: Make) -> Any:
    yield Sample((make(5), (3,)))
    yield Sample((make(2, 6), (2,), (3,)))
    yield Sample((make(2, 4, 5), (2, 2), (2, 1), (1, 2)))
    yield Sample((make(0, 3), (2,)))


def _added(make: Make) -> Any:
    yield Sample((make(3, 3),), {"shape": (5,), "grid": Grid((3,), (1,), (1,))})
    yield Sample((make(2, 2, 3, 2, 2),), {"shape": (4, 5), "grid": Grid((2, 2), (2, 1), (1, 2))})


def _windows_reference(x: Any, sizes: Any, steps: Any = None, gaps: Any = None) -> Any:
    ones = (1,) * len(sizes)
    steps, gaps = steps or ones, gaps or ones
    long = tuple(gap * (n - 1) + 1 for n, gap in zip(sizes, gaps, strict=True))
    every: Any = np.lib.stride_tricks.sliding_window_view(x, long, tuple(range(-len(ones), 0)))
    return every[(..., *[slice(None, None, n) for n in steps], *[slice(None, None, n) for n in gaps])]


def _added_reference(x: Any, shape: Any, grid: Grid) -> Any:
    if x.shape[-2 * len(shape) :] != (*grid.counts(shape), *grid.sizes):
        raise ValueError("these are not the windows of that shape")
    total: Any = np.zeros((*x.shape[: -2 * len(shape)], *shape), dtype=x.dtype)
    place: Any = (..., grid.places(shape))
    np.add.at(total.reshape(*x.shape[: -2 * len(shape)], -1), place, x)
    return total


register("windows", Windows, _windowed, call=windows, reference=_windows_reference, public=False)
register("overlap_add", OverlapAdd, _added, call=overlap_add, reference=_added_reference, public=False)
