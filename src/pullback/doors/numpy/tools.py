"""What the rules of NumPy's door have in common: arguments as arrays, results into ``out=``, Tensors from bare results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback import linalg as linalg_namespace
from pullback.core.errors import lesson
from pullback.core.primitive import wider
from pullback.core.tensor import Tensor, wrap
from pullback.doors.numpy import FUNCTIONS
from pullback.namespaces import array_api
from pullback.ops.indexing import Key, getitem, key_of, read_at
from pullback.ops.inplace import is_recorded, write_at

#: The operators, under the names of the Array API standard.
xp: Any = array_api
linalg: Any = linalg_namespace


# -------------------------------------------------------------------------------------------------------- entering rules
def find(name: str) -> Any:
    """NumPy's function of a dotted name; ``None`` where this version of NumPy has none."""
    try:
        return attrgetter(name)(np)
    except AttributeError:
        return None


def offers(*names: str) -> Callable[[Any], Any]:
    """Enter a rule for NumPy's functions of these names."""

    def enter(rule: Any) -> Any:
        for name in names:
            function = find(name)
            if function is not None:
                FUNCTIONS[function] = rule
        return rule

    return enter


# ------------------------------------------------------------------------------------------------------------- arguments
def holds_tensors(value: Any) -> bool:
    """True for a Tensor, and for lists and tuples that hold one somewhere."""
    if isinstance(value, (list, tuple)):
        return any(holds_tensors(item) for item in value)
    return isinstance(value, Tensor)


def arr(value: Any, dtype: Any = None) -> Any:
    """A Tensor or array as it is; lists as an array, or stacked where they hold Tensors."""
    if not isinstance(value, (Tensor, np.ndarray)):
        value = xp.asarray(value) if holds_tensors(value) else np.asarray(value)
    return value if dtype is None or value.dtype == np.dtype(dtype) else xp.astype(value, dtype)


def tensor(value: Any) -> Any:
    """The same as a Tensor."""
    value = arr(value)
    return value if isinstance(value, Tensor) else Tensor(value)


def bare(value: Any) -> Any:
    """The values alone: arrays in the place of Tensors, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return np.asarray(value._array)
    if value.__class__ in (list, tuple):
        return value.__class__([bare(item) for item in value])
    if value.__class__ is dict:
        return {key: bare(item) for key, item in value.items()}
    return value


def floating(x: Any) -> Any:
    """Whole numbers and booleans as floating point numbers."""
    return x if x.dtype.kind in "fc" else xp.astype(x, np.float64)


def real_only(x: Any, name: str) -> Any:
    """`x` as floating-point numbers; complex ones are refused, as NumPy refuses them."""
    if x.dtype.kind == "c":
        raise TypeError(f"np.{name} is not supported for complex numbers")
    return floating(x)


def size(x: Any) -> int:
    """How many entries there are; of torch's Tensors ``x.size`` is something else."""
    return math.prod(x.shape)


def take_at(x: Any, index: Any) -> Any:
    """``x[index]`` as NumPy reads it, for Tensors of every class and for arrays."""
    return getitem(x, index) if isinstance(x, Tensor) else x[index]


def along(x: Any, axis: int, entry: Any) -> Any:
    """``x`` with `entry` as the index of one axis."""
    return take_at(x, (slice(None),) * normalize_axis_index(axis, len(x.shape)) + (entry,))


# --------------------------------------------------------------------------------------------------------------- results
def kind_of(values: Iterable[Any]) -> Any:
    """The class of the Tensors in nested arguments; ``None`` without any."""
    kind: Any = None
    for value in values:
        if isinstance(value, Tensor):
            kind = wider(kind, type(value))
        elif isinstance(value, (list, tuple)):
            inner = kind_of(value)
            kind = kind if inner is None else wider(kind, inner)
    return kind


def wrapped(kind: Any, value: Any) -> Any:
    """Arrays of numbers as Tensors without a graph, also in (named) tuples and lists; anything else as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(kind, np.asarray(value)) if value.dtype.kind in "biufc" else value
    if isinstance(value, (list, tuple)):
        items = [wrapped(kind, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def into(out: Any, result: Any, casting: Any = "same_kind") -> Any:
    """`result`, written into `out` where that is given."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return result
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast the result from {result.dtype} to the {out.dtype} of out= by the rule {casting!r}"
        )
    if isinstance(out, Tensor):
        write_at(out, key_of(Ellipsis), result)
    else:
        refuse_array(result, "out=")
        np.copyto(out, bare(result), casting=casting)
    return out


def refuse_array(value: Any, place: str) -> None:
    """Refuse to write what has a gradient into a bare array, which has no place in the graph."""
    if is_recorded(value):
        raise lesson(
            RuntimeError,
            f"{place} is a NumPy array, and cannot take a result that requires grad",
            why="an array has no place in the graph: what is computed from it would have no gradient.",
            instead="y = np.f(x), without it; or give a Tensor, pullback.asarray(array), to be written into.",
        )


def gather(x: Any, positions: Any) -> Any:
    """The entries of `x` at `positions` in its flattened form: how rules move entries that NumPy moved for them."""
    flat = xp.reshape(arr(x), (-1,))
    return read_at(flat, Key((positions,), False, False)) if isinstance(flat, Tensor) else flat[positions]


def moved(function: Callable[..., Any], x: Any, *args: Any, **options: Any) -> Any:
    """``function(x, ...)``, where `function` only moves entries: it is shown their numbers instead."""
    x = arr(x)
    return gather(x, function(np.arange(size(x)).reshape(x.shape), *args, **options))
