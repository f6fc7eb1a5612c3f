"""Pooling: the largest entry, the mean or a norm of every window, or of as many windows as are asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import wrap
from pullback.ops.computed import computed
from pullback.ops.indexing import take_along_axis
from pullback.ops.windows import Grid, check_fit, read_windows
from pullback.ops.windows import windows as windows_of
from pullback.torch.nn.functional._axes import along_axes, bins, constant, means
from pullback.torch.nn.functional._common import per_axis, xp


def _check_axes(name: str, input: Any, ndim: int) -> None:
    if input.ndim not in (ndim + 1, ndim + 2):
        raise lesson(RuntimeError, f"{name}() Expected {ndim + 1}D or {ndim + 2}D input, but got {list(input.shape)}")


def _named(call: Any, name: str, doc: str) -> Any:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


def _room(n: int, size: int, step: int, gap: int, edge: int, ceil: bool) -> int:
    """How many entries to add at the end, beyond the padding: with `ceil`, for a last window that begins inside."""
    if not ceil:
        return 0
    reach = gap * (size - 1) + 1
    windows = -(-(n + 2 * edge - reach) // step) + 1
    if (windows - 1) * step >= n + edge:
        windows -= 1
    return max((windows - 1) * step + reach - (n + 2 * edge), 0)


class _Plan:
    """Where the windows of a pooling stand, and what is added around the axes for them."""

    def __init__(
        self, name: str, input: Any, ndim: int, size: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
    ) -> None:
        _check_axes(name, input, ndim)
        sizes = per_axis(size, ndim, "kernel_size")
        steps = sizes if stride is None or stride in ((), []) else per_axis(stride, ndim, "stride")
        gaps, edges = per_axis(dilation, ndim, "dilation"), per_axis(padding, ndim, "padding")
        if any(2 * edge > gap * (n - 1) + 1 or edge < 0 for edge, n, gap in zip(edges, sizes, gaps, strict=True)):
            raise lesson(
                RuntimeError,
                f"pad should be at most half of effective kernel size, but got pad={edges} and kernel_size={sizes}",
            )
        if min(steps) < 1 or min(gaps) < 1:
            raise lesson(RuntimeError, f"{name}: stride and dilation must be positive")
        self.grid, self.edges = Grid(sizes, steps, gaps), edges
        self.shape = tuple(input.shape[-ndim:])
        parts = zip(self.shape, sizes, steps, gaps, edges, strict=True)
        self.rooms = tuple([_room(*part, ceil) for part in parts])
        lead = [(0, 0)] * (input.ndim - ndim)
        self.pairs = lead + [(edge, edge + room) for edge, room in zip(edges, self.rooms, strict=True)]
        self.whole = tuple([n + a + b for n, (a, b) in zip(self.shape, self.pairs[len(lead) :], strict=True)])
        check_fit(self.whole, self.grid)

    @property
    def padded(self) -> bool:
        return any(a or b for a, b in self.pairs)

    def largest(self, array: Any) -> Any:
        """The number, within the last axes, of the largest entry of each window."""
        lead = array.shape[: -len(self.shape)]
        lowest = -math.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        values = np.pad(array, self.pairs, constant_values=lowest) if self.padded else array
        numbers: Any = np.arange(math.prod(self.shape)).reshape(self.shape)
        inside = np.ones(self.shape, dtype=bool)
        if self.padded:
            around = self.pairs[len(lead) :]
            numbers, inside = np.pad(numbers, around), np.pad(inside, around)
        found, counts = read_windows(values, self.grid), self.grid.counts(self.whole)
        rows = found.reshape(*lead, *counts, -1)
        real = read_windows(inside, self.grid).reshape(*counts, -1)
        first = real.argmax(axis=-1)  # where all entries are -inf, one that is not padding
        best = rows.argmax(axis=-1)
        best = np.where(np.take_along_axis(np.broadcast_to(real, rows.shape), best[..., None], -1)[..., 0], best, first)
        places = read_windows(numbers, self.grid).reshape(*counts, -1)
        return np.take_along_axis(np.broadcast_to(places, (*lead, *places.shape)), best[..., None], -1)[..., 0]


# ----------------------------------------------------------------------------------------------------- largest
def _max_with_indices(ndim: int) -> Any:
    name = f"max_pool{ndim}d"

    def call(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        plan = _Plan(name, input, ndim, kernel_size, stride, padding, dilation, ceil_mode)
        indices = computed(plan.largest, input)
        return _at(input, indices, ndim), indices

    return call


def _at(input: Any, indices: Any, ndim: int) -> Any:
    """The entries at these numbers within the last axes."""
    lead, wanted = tuple(input.shape[:-ndim]), tuple(indices.shape)
    rows = xp.reshape(input, (*lead, math.prod(input.shape[-ndim:])))
    found = take_along_axis(rows, xp.reshape(indices, (*lead, math.prod(wanted[len(lead) :]))), axis=-1)
    return xp.reshape(found, wanted)


def _max_pool(ndim: int) -> tuple[Any, Any]:
    both = _max_with_indices(ndim)

    def call(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        found = both(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    doc = "The largest entry of every window; with `return_indices`, also its number within the last axes."
    return _named(call, f"max_pool{ndim}d", doc), _named(both, f"max_pool{ndim}d_with_indices", doc)


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _max_unpool(ndim: int) -> Any:
    name = f"max_unpool{ndim}d"

    def call(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        _check_axes(name, input, ndim)
        sizes, edges = per_axis(kernel_size, ndim, "kernel_size"), per_axis(padding, ndim, "padding")
        steps = sizes if stride is None else per_axis(stride, ndim, "stride")
        if output_size is None:
            parts = zip(input.shape[-ndim:], sizes, steps, edges, strict=True)
            shape = tuple([(n - 1) * step + size - 2 * edge for n, size, step, edge in parts])
        else:
            shape = tuple([int(n) for n in output_size])[-ndim:]
        lead, total = tuple(input.shape[:-ndim]), math.prod(shape)
        places = xp.reshape(indices, (*lead, math.prod(indices.shape[len(lead) :])))
        known = places._array
        if isinstance(known, np.ndarray) and known.size and (known.min() < 0 or known.max() >= total):
            raise lesson(
                RuntimeError, f"Found an invalid max index: {known.max()} (output volumes are of size {list(shape)})"
            )
        empty = wrap(type(input), to_fill(np.zeros((*lead, total), dtype=input.dtype)))
        filled = empty.scatter(-1, places, xp.reshape(input, tuple(places.shape)))
        return xp.reshape(filled, (*lead, *shape))

    return _named(call, name, "Entries put back where `max_pool` found them, zeros elsewhere.")


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)


# ----------------------------------------------------------------------------------------------------- means, norms
def _avg_pool(ndim: int) -> Any:
    name = f"avg_pool{ndim}d"

    def call(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        plan = _Plan(name, input, ndim, kernel_size, stride, padding, 1, ceil_mode)
        x = constant(input, plan.pairs, 0) if plan.padded else input
        entries = tuple(range(-ndim, 0))
        total = xp.sum(windows_of(x, *_fields(plan.grid)), axis=entries)
        if divisor_override is not None:
            if divisor_override == 0:
                raise lesson(RuntimeError, "divisor must be not zero")
            return total / divisor_override
        counted = np.ones(plan.shape)
        if plan.padded:  # what was added at the end for `ceil_mode` never counts
            counted = np.pad(counted, [(n, n) for n in plan.edges], constant_values=float(count_include_pad))
            counted = np.pad(counted, [(0, n) for n in plan.rooms])
        counts = read_windows(counted, plan.grid).sum(axis=entries)
        return total / counts.astype(input.dtype)

    return _named(call, name, "The mean of every window.")


def _fields(grid: Grid) -> tuple[Any, Any, Any]:
    return grid.sizes, grid.steps, grid.gaps


avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool(1), _avg_pool(2), _avg_pool(3)


def _lp_pool(ndim: int) -> Any:
    name = f"lp_pool{ndim}d"

    def call(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        plan = _Plan(name, input, ndim, kernel_size, stride, 0, 1, ceil_mode)
        x = constant(input, plan.pairs, 0) if plan.padded else input
        powers = xp.sum(windows_of(x**norm_type, *_fields(plan.grid)), axis=tuple(range(-ndim, 0)))
        return xp.where(powers > 0, powers, 0.0) ** (1 / norm_type)

    return _named(call, name, "The sum of powers of every window, and the root of that.")


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)


# ----------------------------------------------------------------------------------------------------- adaptive
def _sizes(output_size: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * len(shape)
    if len(given) != len(shape):
        raise lesson(RuntimeError, f"output_size must have {len(shape)} numbers, not {given}")
    return tuple([n if wanted is None else int(wanted) for wanted, n in zip(given, shape, strict=True)])


def _adaptive_avg(ndim: int) -> Any:
    name = f"adaptive_avg_pool{ndim}d"

    def call(input: Any, output_size: Any) -> Any:
        _check_axes(name, input, ndim)
        shape = tuple(input.shape[-ndim:])
        return along_axes(input, [means(n, w) for n, w in zip(shape, _sizes(output_size, shape), strict=True)])

    return _named(call, name, "Means of as many windows as are asked for, of (nearly) one length.")


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive_avg(1), _adaptive_avg(2), _adaptive_avg(3)


def _adaptive_max(ndim: int) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{ndim}d"

    def both(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        _check_axes(name, input, ndim)
        shape = tuple(input.shape[-ndim:])
        sizes = _sizes(output_size, shape)
        indices = computed(lambda array: _adaptive_indices(array, shape, sizes), input)
        return _at(input, indices, ndim), indices

    def call(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        found = both(input, output_size)
        return found if return_indices else found[0]

    doc = "The largest entries of as many windows as are asked for, of (nearly) one length."
    return _named(call, name, doc), _named(both, f"{name}_with_indices", doc)


def _adaptive_indices(array: Any, shape: tuple[int, ...], wanted: tuple[int, ...]) -> Any:
    lead = array.shape[: array.ndim - len(shape)]
    found = np.zeros((*lead, *wanted), dtype=np.int64)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    edges = [bins(n, w) for n, w in zip(shape, wanted, strict=True)]
    for place in np.ndindex(*wanted):
        window = tuple([slice(*edges[k][p]) for k, p in enumerate(place)])
        best = array[(..., *window)].reshape(*lead, -1).argmax(axis=-1)
        found[(..., *place)] = numbers[window].ravel()[best]
    return found


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max(3)
