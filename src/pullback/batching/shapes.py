"""Batching rules of functions that change the shape, the order of axes, or put arrays together."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.batching.batched import Batched, batch_of, namespace_for, padded, spread_out, within
from pullback.batching.elementwise import again, named
from pullback.batching.reductions import behind, flat, of_value


def _unless_bare(name: str) -> Callable[[Any], Any]:
    """Let a rule see batched arrays only: anything else is left to its own library."""
    run = named(name)

    def decorate(rule: Any) -> Any:
        def function(x: Any, /, *args: Any, **options: Any) -> Any:
            return rule(x, *args, **options) if x.__class__ is Batched else run(x, *args, **options)

        function.__name__ = name
        return function

    return decorate


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple([operator.index(n) for n in shape]) if isinstance(shape, (tuple, list)) else (operator.index(shape),)


@_unless_bare("reshape")
def reshape(x: Any, shape: Any, *, copy: bool | None = None, order: str = "C") -> Any:
    """Entries in another shape; -1 is computed from an entry, for the batch may be empty."""
    shape = _sizes(shape)
    if -1 in shape:
        known = math.prod([n for n in shape if n != -1])
        if shape.count(-1) > 1 or known == 0 or x.size % known:
            raise ValueError(f"cannot reshape array of shape {x.shape} into shape {shape}")
        shape = tuple([x.size // known if n == -1 else n for n in shape])
    elif math.prod(shape) != x.size:
        raise ValueError(f"cannot reshape array of shape {x.shape} into shape {shape}")
    options = {} if copy is None else {"copy": copy}
    return of_value(x, lambda value: named("reshape")(value, (value.shape[0], *shape), **options))


@_unless_bare("permute_dims")
def permute_dims(x: Any, axes: Any) -> Any:
    """Axes in another order."""
    return of_value(x, lambda value: named("permute_dims")(value, (0, *behind(tuple(axes), x.ndim))))


@_unless_bare("transpose")
def transpose(x: Any, axes: Any = None) -> Any:
    """Axes in another order, by default reversed."""
    return permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


@_unless_bare("matrix_transpose")
def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged."""
    return of_value(x, named("matrix_transpose"))


@_unless_bare("swapaxes")
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    axes = list(range(x.ndim))
    a, b = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    axes[a], axes[b] = b, a
    return permute_dims(x, axes)


@_unless_bare("moveaxis")
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Some axes at other positions."""
    return of_value(x, lambda value: named("moveaxis")(value, behind(source, x.ndim), behind(destination, x.ndim)))


@_unless_bare("expand_dims")
def expand_dims(x: Any, axis: Any = 0) -> Any:
    """New axes of length 1."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = list(x.shape)
    for k in sorted(normalize_axis_tuple(tuple(axes), x.ndim + len(axes))):
        new.insert(k, 1)
    return reshape(x, tuple(new))


@_unless_bare("squeeze")
def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of length 1."""
    if axis is None:
        gone: Any = [k for k, n in enumerate(x.shape) if n == 1]
    else:
        gone = normalize_axis_tuple(axis, x.ndim)
        if any(x.shape[k] != 1 for k in gone):
            raise ValueError(f"cannot squeeze the axes {axis} of shape {x.shape}: each must have length 1")
    return reshape(x, tuple([n for k, n in enumerate(x.shape) if k not in gone]))


@_unless_bare("ravel")
def ravel(x: Any) -> Any:
    """Entries along one axis."""
    return flat(x)


@_unless_bare("broadcast_to")
def broadcast_to(x: Any, shape: Any) -> Any:
    """Entries repeated to a shape."""
    shape = _sizes(shape)
    value = padded(x.value, len(shape))
    return again(named("broadcast_to")(value, (value.shape[0], *shape)), x.batch)


def broadcast_arrays(*arrays_: Any) -> list[Any]:
    """Every argument repeated to the shape that all have in common."""
    shape = np.broadcast_shapes(*[x.shape for x in arrays_])
    return [broadcast_to(x, shape) for x in arrays_]


@_unless_bare("flip")
def flip(x: Any, axis: Any = None) -> Any:
    """Entries in reverse order."""
    return of_value(x, named("flip"), axis=behind(axis, x.ndim))


@_unless_bare("roll")
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Entries moved in a circle."""
    if axis is None:
        return reshape(of_value(flat(x), lambda value: named("roll")(value, shift, axis=1)), x.shape)
    return of_value(x, lambda value: named("roll")(value, shift, axis=behind(axis, x.ndim)))


def _triangle(name: str) -> Any:
    @_unless_bare(name)
    def rule(x: Any, k: int = 0) -> Any:
        return of_value(x, named(name), k=k)

    return rule


@_unless_bare("diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes."""
    a, b = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    return of_value(x, lambda value: np.diagonal(value, offset, a + 1, b + 1))


@_unless_bare("trace")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal."""
    found = diagonal(x, offset, axis1, axis2)
    return of_value(found, named("sum"), axis=len(found.shape))


@_unless_bare("repeat")
def repeat(x: Any, repeats: Any, /, axis: Any = None) -> Any:
    """Every entry several times."""
    if axis is None:
        x, axis = flat(x), 0
    return of_value(x, lambda value: named("repeat")(value, repeats, axis=behind(axis, x.ndim)))


@_unless_bare("tile")
def tile(x: Any, repetitions: Any) -> Any:
    """The whole several times."""
    times = _sizes(repetitions)
    ndim = max(len(times), x.ndim)
    times = (*([1] * (ndim - len(times))), *times)
    return of_value(x, lambda value: named("tile")(padded(value, ndim), (1, *times)))


# ------------------------------------------------------------------------------------------------------- several arrays
def _together(parts: Sequence[Any]) -> tuple[Any, list[Any]]:
    batch = batch_of(parts)
    assert batch is not None
    values = [within(part, batch) for part in parts]
    length = max(value.shape[0] for value in values)
    return batch, [spread_out(value, length) for value in values]


def concat(parts: Sequence[Any], /, axis: Any = 0, **options: Any) -> Any:
    """Arrays one after the other along an axis."""
    parts = list(parts)
    if batch_of(parts) is None:
        return getattr(namespace_for(parts), "concat")(parts, axis=axis, **options)  # noqa: B009
    batch, values = _together(parts)
    if axis is None:
        values = [flat(Batched(value, batch)).value for value in values]
        axis = 0
    return again(namespace_for(values).concat(values, axis=behind(axis, len(values[0].shape) - 1)), batch)


def stack(parts: Sequence[Any], /, axis: int = 0, **options: Any) -> Any:
    """Arrays along a new axis."""
    parts = list(parts)
    if batch_of(parts) is None:
        return namespace_for(parts).stack(parts, axis=axis, **options)
    batch, values = _together(parts)
    return again(namespace_for(values).stack(values, axis=behind(axis, len(values[0].shape))), batch)


@_unless_bare("unstack")
def unstack(x: Any, axis: int = 0) -> Any:
    """The parts along an axis, which goes."""
    place = behind(axis, x.ndim)
    where = (slice(None),) * place
    return tuple([again(x.value[(*where, k)], x.batch) for k in range(x.value.shape[place])])


def _split(name: str) -> Any:
    @_unless_bare(name)
    def rule(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        return of_value(x, lambda value: getattr(np, name)(value, indices_or_sections, axis=behind(axis, x.ndim)))

    return rule


def meshgrid(*lines: Any, indexing: str = "xy") -> list[Any]:
    """Coordinates of a grid."""
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    shape = tuple([lines[k].shape[0] for k in order])
    found = []
    for k, line in enumerate(lines):
        own = [1] * len(lines)
        own[order.index(k)] = -1
        found.append(broadcast_to(reshape(line, tuple(own)), shape))
    return found


RULES: dict[str, Callable[..., Any]] = {
    "broadcast_arrays": broadcast_arrays,
    "broadcast_to": broadcast_to,
    "concat": concat,
    "concatenate": concat,
    "diagonal": diagonal,
    "expand_dims": expand_dims,
    "flip": flip,
    "matrix_transpose": matrix_transpose,
    "meshgrid": meshgrid,
    "moveaxis": moveaxis,
    "permute_dims": permute_dims,
    "ravel": ravel,
    "repeat": repeat,
    "reshape": reshape,
    "roll": roll,
    "squeeze": squeeze,
    "stack": stack,
    "swapaxes": swapaxes,
    "tile": tile,
    "trace": trace,
    "transpose": transpose,
    "unstack": unstack,
    **{name: _triangle(name) for name in ("tril", "triu")},
    **{name: _split(name) for name in ("split", "array_split")},
}
