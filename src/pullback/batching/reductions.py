"""Batching rules of reductions, scans and sorts: the axes of an entry, counted behind the batch axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback.batching.batched import Batched, batch_of, namespace_for, padded, within
from pullback.batching.elementwise import again, named

#: Reductions over one axis, several, or all.
SEVERAL: tuple[str, ...] = (
    "sum",
    "prod",
    "max",
    "min",
    "mean",
    "std",
    "var",
    "any",
    "all",
    "count_nonzero",
    "amax",
    "amin",
    "median",
    "ptp",
)
SEVERAL += ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar", "nanmedian")
#: What works along one axis, over all entries in C order for ``None``.
ALONG = ["argmax", "argmin", "nanargmax", "nanargmin", "cumsum", "cumprod", "nancumsum", "nancumprod"]
#: What works along one axis, by default the last one.
LAST = ["sort", "argsort", "diff", "trapezoid", "cumulative_sum", "cumulative_prod"]


def behind(axis: Any, ndim: int) -> Any:
    """Axes of an entry as axes of the value; all of them for ``None``."""
    if axis is None or ndim == 0:  # NumPy accepts axis=0 and -1 of a number
        return tuple(range(1, ndim + 1))
    if isinstance(axis, (tuple, list)):
        return tuple([k + 1 for k in normalize_axis_tuple(axis, ndim)])
    return normalize_axis_index(axis, ndim) + 1


def of_value(x: Any, function: Callable[..., Any], **options: Any) -> Any:
    """``function(value, **options)`` as a batched array."""
    return again(function(x.value, **options), x.batch)


def several(name: str) -> Callable[..., Any]:
    """The batching rule of a reduction."""
    run = named(name)

    def rule(x: Any, /, axis: Any = None, **options: Any) -> Any:
        options = {k: v for k, v in options.items() if v is not None}
        if x.__class__ is not Batched:
            return run(x, axis=axis, **options)
        return of_value(x, run, axis=behind(axis, x.ndim), **options)

    return rule


def flat(x: Any) -> Any:
    """The entries in C order, along one axis."""
    value = x.value
    shape = (value.shape[0], math.prod(value.shape[1:]))
    return Batched(namespace_for((value,)).reshape(value, shape), x.batch)


def along(name: str) -> Callable[..., Any]:
    """The batching rule of a function along one axis, or over all entries."""
    run = named(name)

    def rule(x: Any, /, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if keepdims:
            options["keepdims"] = True
        if x.__class__ is not Batched:
            return run(x, axis=axis, **options)
        if axis is not None and x.ndim:
            return of_value(x, run, axis=behind(axis, x.ndim), **options)
        found = of_value(flat(x), run, axis=1, **options)
        if keepdims:
            found.value = namespace_for((found.value,)).reshape(found.value, (found.value.shape[0], *[1] * x.ndim))
        return found

    return rule


def last(name: str) -> Callable[..., Any]:
    """The batching rule of a function along one axis, the last one by default."""
    run = named(name)

    def rule(x: Any, /, *args: Any, axis: Any = -1, **options: Any) -> Any:
        if x.__class__ is not Batched:
            return run(x, *args, axis=axis, **options)
        if axis is None:
            x, axis = (flat(x), 0) if x.ndim != 1 else (x, 0)
        return of_value(x, lambda value, **rest: run(value, *args, **rest), axis=behind(axis, x.ndim), **options)

    return rule


def scan(name: str) -> Callable[..., Any]:
    """The batching rule of a cumulative function of the standard: the axis may be left out for one axis."""
    rule = last(name)

    def checked(x: Any, /, *, axis: Any = None, **options: Any) -> Any:
        options = {k: v for k, v in options.items() if v is not None}
        if x.__class__ is Batched and axis is None and x.ndim != 1:
            raise ValueError(f"{name} needs an axis where there is more than one")
        return rule(x, axis=axis, **options)

    return checked


def by_position(name: str, default: Any) -> Callable[..., Any]:
    """The same, with the axis as the second argument too."""
    rule = last(name)

    def function(x: Any, /, axis: Any = default, **options: Any) -> Any:
        return rule(x, axis=axis, **options)

    return function


def take_along_axis(x: Any, indices: Any, /, axis: Any = -1) -> Any:
    """The batching rule of ``take_along_axis``."""
    batch = batch_of((x, indices))
    run = named("take_along_axis")
    if batch is None:
        return run(x, indices, axis=axis)
    if axis is None:
        x, axis = flat(Batched(within(x, batch), batch)), 0
    ndim = len(indices.shape)
    return again(
        run(within(x, batch), within(indices, batch), axis=normalize_axis_index(axis, ndim) + 1),
        batch,
    )


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """The batching rule of ``searchsorted``: fast where all entries search in the same line, or by counting."""
    batch = batch_of((x1, x2, sorter))
    if batch is None:
        return named("searchsorted")(x1, x2, side=side, sorter=sorter)
    if batch_of((x1, sorter)) is not batch:
        return again(named("searchsorted")(x1, within(x2, batch), side=side, sorter=sorter), batch)
    if sorter is not None:
        x1 = take_along_axis(x1, sorter, axis=0)
    line = padded(within(x1, batch), 1)
    wanted = within(x2, batch)
    xp = namespace_for((line, wanted))
    line = xp.reshape(line, (line.shape[0], *[1] * (len(wanted.shape) - 1), line.shape[1]))
    wanted = xp.expand_dims(wanted, axis=-1)
    before = line < wanted if side == "left" else line <= wanted
    return again(xp.count_nonzero(before, axis=len(wanted.shape) - 1), batch)


RULES: dict[str, Callable[..., Any]] = {
    **{name: several(name) for name in SEVERAL},
    **{name: along(name) for name in ALONG},
    **{name: last(name) for name in LAST},
    "sort": by_position("sort", -1),
    "argsort": by_position("argsort", -1),
    "cumulative_sum": scan("cumulative_sum"),
    "cumulative_prod": scan("cumulative_prod"),
    "take_along_axis": take_along_axis,
    "searchsorted": searchsorted,
}
