"""Choosing between values: what is not chosen gets no cotangent, however infinite its slope."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.batches import to_fill
from pullback.core.tensor import Tensor, wrap
from pullback.doors.numpy.tools import arr, bare, floating, gather, into, kind_of, offers, tensor, wrapped, xp
from pullback.doors.numpy.ufuncs import operand
from pullback.ops.indexing import key_of, read_at
from pullback.ops.inplace import index_put


@offers("where")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """``np.where``; with a condition alone, the positions where it holds."""
    if x is None and y is None:
        return wrapped(kind_of([condition]) or Tensor, np.asarray(bare(condition)).nonzero())
    return xp.where(arr(condition), operand(x), operand(y))


@offers("clip")
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **options: Any
) -> Any:
    """``np.clip``."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    bounds = [None if bound is None or bound is np._NoValue else operand(bound) for bound in (low, high)]
    return into(out, xp.clip(arr(a, options.get("dtype")), *bounds), options.get("casting", "same_kind"))


@offers("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """``np.select``: of each entry the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    dtype = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (*choicelist, default)])
    shape = np.broadcast_shapes(*[np.shape(bare(x)) for x in (*condlist, *choicelist, default)])
    result = xp.broadcast_to(xp.astype(tensor(default), dtype), shape)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = xp.where(arr(condition), xp.astype(tensor(choice), dtype, copy=False), result)
    return result


@offers("choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """``np.choose``: each entry from the choice that `a` names there."""
    options = list(xp.unstack(choices)) if isinstance(choices, Tensor) else [arr(x) for x in choices]
    shape = np.broadcast_shapes(np.shape(bare(a)), *[tuple(x.shape) for x in options])
    numbers = np.arange(len(options) * int(np.prod(shape))).reshape(len(options), *shape)
    positions = np.choose(np.broadcast_to(bare(a), shape), list(numbers), mode=mode)  # type: ignore[call-overload]
    stacked = xp.stack([xp.broadcast_to(x, shape) for x in options])
    return into(out, gather(stacked, positions))


@offers("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """``np.piecewise``: each function is given the entries where its condition holds, and those alone."""
    x = arr(x)
    conditions = [np.asarray(c, dtype=bool) for c in _conditions(bare(condlist), len(x.shape))]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or one more functions are expected"
        )
    kind = kind_of([x, *funclist]) or Tensor
    result = wrap(kind, to_fill(np.zeros(tuple(x.shape), dtype=x.dtype)))
    for condition, function in zip(conditions, funclist, strict=True):
        if not condition.any():
            continue
        value = function(read_at(tensor(x), key_of(condition)), *args, **kw) if callable(function) else function
        result = index_put(result, condition, xp.astype(tensor(value), x.dtype, copy=False))
    return result


def _conditions(condlist: Any, ndim: int) -> Any:
    """A list of conditions, also where one was given alone."""
    first = condlist[0] if len(condlist) else condlist
    alone = np.isscalar(first) or (not isinstance(first, (list, np.ndarray)) and ndim != 0)
    return [condlist] if alone else condlist


@offers("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """``np.nan_to_num``: numbers in the place of NaN and infinities, which get no gradient."""
    x = arr(x)
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, True, nan, posinf, neginf) for part in (xp.real(x), xp.imag(x))]
        return parts[0] + 1j * parts[1]
    if x.dtype.kind != "f":
        return x
    limits = np.finfo(x.dtype)
    values = bare(x)
    for place, other in (
        (np.isnan(values), nan),
        (np.isposinf(values), limits.max if posinf is None else posinf),
        (np.isneginf(values), limits.min if neginf is None else neginf),
    ):
        x = xp.where(place, np.asarray(bare(other), dtype=x.dtype) if not isinstance(other, Tensor) else other, x)
    return x


@offers("real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Any:
    """``np.real_if_close``."""
    x = arr(a)
    return x if np.iscomplexobj(np.real_if_close(bare(x), tol)) or x.dtype.kind != "c" else xp.real(x)


@offers("real")
def real(val: Any) -> Any:
    """``np.real``."""
    return xp.real(arr(val))


@offers("imag")
def imag(val: Any) -> Any:
    """``np.imag``."""
    return xp.imag(arr(val))


@offers("angle")
def angle(z: Any, deg: bool = False) -> Any:
    """``np.angle``."""
    found = xp.angle(floating(arr(z)))
    return found * (180 / np.pi) if deg else found


@offers("round", "around")
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """``np.round``: piecewise constant."""
    x = arr(a)
    if not decimals:
        return into(out, xp.round(x))
    if x.dtype.kind not in "fc":
        return into(out, wrapped(kind_of([x]) or Tensor, np.round(bare(x), decimals)))
    scale = 10.0 ** abs(decimals)
    return into(out, xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale)


@offers("fix")
def fix(x: Any, out: Any = None) -> Any:
    """``np.fix``: towards 0."""
    return into(out, xp.trunc(arr(x)))
