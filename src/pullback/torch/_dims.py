"""``dim`` as torch reads it: a Tensor of no dimensions counts as having one, number 0 or -1."""

from __future__ import annotations

import functools
from typing import Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.core.tensor import Tensor as Base
from pullback.torch._export import xp


def axis_of(x: Any, dim: int) -> int:
    """One `dim`, counted from the front."""
    return normalize_axis_index(dim, max(x.ndim, 1))


def axes_of(x: Any, dim: Any) -> Any:
    """`dim` as the ``axis`` of a reduction: one, several, or all for ``None`` and ``()``."""
    if isinstance(dim, (tuple, list)):
        dim = tuple(dim) or None
    if dim is None or x.ndim:
        return dim
    normalize_axis_tuple(dim, 1)
    return None


def length_of(x: Any, dim: int) -> int:
    """The length of `x` along `dim`; a Tensor of no dimensions has none."""
    return int(x.shape[normalize_axis_index(dim, x.ndim)])


def along_an_axis(call: Any) -> Any:
    """`call`, which works along an axis, also for a Tensor of no dimensions: as a vector of one element."""

    @functools.wraps(call)
    def called(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.ndim:
            return call(input, *args, **kwargs)
        result = _with_vectors(call, _vector(input), args, kwargs)
        return type(result)(*map(_number, result)) if isinstance(result, tuple) else _number(result)

    return called


def written_along_an_axis(call: Any) -> Any:
    """The same for a method that writes into its Tensor and returns it."""

    @functools.wraps(call)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.ndim:
            return call(self, *args, **kwargs)
        _with_vectors(call, _vector(self), args, kwargs)
        return self

    return called


def _with_vectors(call: Any, vector: Any, args: Any, kwargs: Any) -> Any:
    return call(vector, *map(_vector, args), **{name: _vector(value) for name, value in kwargs.items()})


def _vector(value: Any) -> Any:
    return xp.reshape(value, (1,)) if isinstance(value, Base) and value.ndim == 0 else value


def _number(result: Any) -> Any:
    return xp.reshape(result, ())
