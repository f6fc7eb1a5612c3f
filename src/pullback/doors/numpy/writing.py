"""Functions that write into their first argument: a Tensor is written with its history, an array takes values only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import arr, bare, find, gather, offers, refuse_array, size, tensor, xp
from pullback.ops.indexing import Key, key_of
from pullback.ops.inplace import write_at


def _write(target: Any, numbers: Any, values: Any) -> None:
    """Write `values` at places given as numbers of entries in C order."""
    places = np.unravel_index(numbers, tuple(target.shape))
    write_at(target, Key(tuple(places), False, False), values)


def _writes(name: str) -> Callable[[Any], Any]:
    """Enter a rule; where the first argument is an array, NumPy writes the values into it."""
    function = find(name)

    def enter(rule: Callable[..., None]) -> Any:
        def call(target: Any, *args: Any, **options: Any) -> None:
            if isinstance(target, Tensor):
                rule(target, *args, **options)
                return
            for given in (*args, *options.values()):
                refuse_array(given, f"the first argument of np.{name}")
            function._implementation(target, *bare(args), **bare(options))

        call.__name__, call.__doc__ = rule.__name__, rule.__doc__
        return offers(name)(call)

    return enter


@_writes("copyto")
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``np.copyto``."""
    source = tensor(src)
    if not np.can_cast(source.dtype, dst.dtype, casting) and hasattr(src, "dtype"):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {source.dtype!r} to {dst.dtype!r} according to the rule {casting!r}"
        )
    if where is True:
        write_at(dst, key_of(Ellipsis), source)
        return
    mask = np.broadcast_to(np.asarray(bare(where), dtype=bool), tuple(dst.shape))
    numbers = np.flatnonzero(mask)
    _write(dst, numbers, gather(xp.broadcast_to(source, tuple(dst.shape)), numbers))


@_writes("put")
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``np.put``."""
    numbers = np.asarray(bare(ind)).ravel()
    if mode == "wrap":
        numbers = numbers % size(a)
    elif mode == "clip":
        numbers = np.clip(numbers, 0, size(a) - 1)
    numbers = np.arange(size(a))[numbers]
    _repeating(a, numbers, v, np.arange(numbers.size))


@_writes("place")
def place(arr_: Any, mask: Any, vals: Any) -> None:
    """``np.place``: the values one after the other into the places where the mask holds."""
    numbers = np.flatnonzero(bare(mask))
    _repeating(arr_, numbers, vals, np.arange(numbers.size))


@_writes("putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    """``np.putmask``: each place where the mask holds takes the value that stands there."""
    numbers = np.flatnonzero(bare(mask))
    _repeating(a, numbers, values, numbers)


def _repeating(target: Any, numbers: Any, values: Any, order: Any) -> None:
    """Write values that are used again from the start when there are too few."""
    values = arr(values)
    if numbers.size and size(values):
        _write(target, numbers, xp.astype(tensor(gather(values, order % size(values))), target.dtype, copy=False))


@_writes("put_along_axis")
def put_along_axis(arr_: Any, indices: Any, values: Any, axis: Any) -> None:
    """``np.put_along_axis``."""
    numbers = np.arange(size(arr_)).reshape(tuple(arr_.shape))
    if axis is None:
        numbers, axis = numbers.ravel(), 0
    _write(arr_, np.take_along_axis(numbers, np.asarray(bare(indices)), axis), values)


@_writes("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """``np.fill_diagonal``."""
    marks = np.zeros(tuple(a.shape), dtype=bool)
    np.fill_diagonal(marks, True, wrap)
    numbers = np.flatnonzero(marks)
    _repeating(a, numbers, val, np.arange(numbers.size))
