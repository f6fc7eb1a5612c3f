"""Differences of neighbours along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.ops.arithmetic import subtract
from pullback.ops.comparison import not_equal
from pullback.ops.indexing import key_of, read
from pullback.ops.joining import concat
from pullback.ops.named import named
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import broadcast_to, shape_of


@named
def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along `axis`, `n` times: ``x[1:] - x[:-1]``.

    Parameters
    ----------
    x
        A Tensor or array of one dimension or more.  Of booleans the result is where neighbours differ.
    n
        How often; 0 gives `x` itself.
    prepend, append
        Values to put before and behind `x` first: arrays with its shape except along `axis`, or of no dimensions.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.diff(pb.tensor([1.0, 4.0, 9.0]), append=16.0)
    tensor([3., 5., 7.])
    """
    if n < 0:
        raise lesson(ValueError, f"diff() takes differences n times, and n cannot be {n}")
    if n == 0:
        return x
    shape = shape_of(x)
    if not shape:
        raise lesson(ValueError, "diff() needs an array of one dimension or more, but x is a single number")
    axis = normalize_axis_index(axis, len(shape))
    parts = [_slab(prepend, x, axis), x, _slab(append, x, axis)]
    present = [part for part in parts if part is not None]
    x = concat(present, axis=axis) if len(present) > 1 else x
    before = (slice(None),) * axis
    earlier, later = key_of((*before, slice(None, -1))), key_of((*before, slice(1, None)))
    of_two = not_equal if arrays.dtype_of(x).kind == "b" else subtract
    for _ in range(n):
        x = of_two(read(x, later), read(x, earlier))
    return x


def _slab(value: Any, x: Any, axis: int) -> Any:
    """A single value as a slab of length 1 along an axis of `x`; an array as it is."""
    if value is None or shape_of(value):
        return value
    if not hasattr(value, "dtype"):
        bare = x._array if isinstance(x, Tensor) else x
        value = arrays.asarray(value, arrays.namespace(bare), np.result_type(arrays.dtype_of(bare), value))
    return broadcast_to(value, tuple([1 if k == axis else length for k, length in enumerate(shape_of(x))]))


def _samples(make: Make) -> Any:
    yield Sample((make(4),))
    yield Sample((make(2, 4),), {"n": 2})
    yield Sample((make(3, 2),), {"axis": 0, "prepend": make(1, 2), "append": 0.5})
    yield Sample((make(3),), {"n": 0})
    yield Sample((make(2, 0),), {"axis": 0})


def _reference(x: Any, **options: Any) -> Any:
    ends = {name: np.asarray(options.pop(name), x.dtype) for name in ("prepend", "append") if name in options}
    of_numpy: Any = np.diff
    return of_numpy(x, **options, **ends)


register("diff", None, _samples, call=diff, reference=_reference)
