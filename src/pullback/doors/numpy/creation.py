"""Making arrays like a Tensor: ``np.zeros_like(x)``, and ``np.array([a * a, b], like=x)``, which stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import arr, bare, find, holds_tensors, kind_of, offers, tensor, wrapped, xp
from pullback.ops.shapes import as_shape


def _like(name: str) -> None:
    make = getattr(xp, name)

    def rule(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        if shape is None:
            return make(tensor(a), dtype=dtype)
        values = getattr(np, name.removesuffix("_like"))(
            as_shape(shape), dtype=arr(a).dtype if dtype is None else dtype
        )
        return wrapped(kind_of([a]) or Tensor, values)

    offers(name)(rule)


for _name in ("zeros_like", "ones_like", "empty_like"):
    _like(_name)


@offers("full_like")
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """``np.full_like``: the value keeps its gradient."""
    target = arr(a)
    value = fill_value if isinstance(fill_value, Tensor) else wrapped(kind_of([a]) or Tensor, np.asarray(fill_value))
    value = xp.astype(value, target.dtype if dtype is None else dtype, copy=False)
    return xp.astype(xp.broadcast_to(value, tuple(target.shape) if shape is None else as_shape(shape)), value.dtype)


@offers("full")
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Any:
    """``np.full(..., like=x)``: the value keeps its gradient."""
    return xp.full(shape, fill_value, dtype=dtype)


def _given(a: Any, dtype: Any = None, copy: Any = None) -> Any:
    found = xp.asarray(a if holds_tensors(a) else np.asarray(a), dtype=dtype)
    return xp.astype(found, found.dtype) if copy and found is a else found


@offers("asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> Any:
    """``np.asarray(..., like=x)``: lists of Tensors are stacked."""
    return _given(a, dtype, copy)


@offers("array")
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    **rest: Any,
) -> Any:
    """``np.array(..., like=x)``: lists of Tensors are stacked."""
    found = _given(object, dtype, copy)
    missing = ndmin - len(found.shape)
    return xp.reshape(found, (1,) * missing + tuple(found.shape)) if missing > 0 else found


def _values(name: str) -> None:
    """Anything else with ``like=x``: NumPy's values, as a Tensor."""
    function = find(name)

    def rule(*args: Any, **options: Any) -> Any:
        left = [
            np.asarray(value) if isinstance(value, Tensor) else value for value in args
        ]  # refuses to lose a gradient
        return wrapped(Tensor, function(*left, **options))

    offers(name)(rule)


for _name in (
    *("arange", "empty", "eye", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt"),
    *("identity", "loadtxt", "ones", "tri", "zeros"),
):
    _values(_name)


# ---------------------------------------------------------------------------------------------------------------- ranges
@offers("linspace")
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """``np.linspace``: linear in both ends."""
    start, stop, num = _both_ends(start, stop, int(num))
    steps = num - 1 if endpoint else num
    shape = np.broadcast_shapes(tuple(start.shape), tuple(stop.shape))
    part = (np.arange(num) / max(steps, 1)).reshape(-1, *[1] * len(shape))
    part = np.asarray(part, dtype=np.result_type(start.dtype, stop.dtype))
    found = xp.broadcast_to(start + (stop - start) * part, (num, *shape))
    if endpoint and num > 1:  # the last one exactly
        last = np.zeros((num, *[1] * len(shape)), dtype=bool)
        last[-1] = True
        found = xp.where(last, stop, found)
    if dtype is not None:
        found = xp.astype(xp.floor(found) if np.dtype(dtype).kind in "iu" else found, dtype)
    found = xp.moveaxis(found, 0, axis)
    step = (stop - start) / steps if steps > 0 else xp.full_like(stop - start, np.nan)
    return (found, step) if retstep else found


def _both_ends(start: Any, stop: Any, num: int) -> Any:
    """Both ends as Tensors of a floating-point dtype that they have in common."""
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    ends = [tensor(start), tensor(stop)]
    kind = kind_of([start, stop]) or Tensor
    dtype = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (start, stop)])
    dtype = dtype if dtype.kind in "fc" else np.dtype(float)
    ends = [
        x if isinstance(end, Tensor) else wrapped(kind, bare(x)) for x, end in zip(ends, (start, stop), strict=True)
    ]
    return *[xp.astype(x, dtype, copy=False) for x in ends], num


@offers("logspace")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """``np.logspace``."""
    found = xp.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else xp.astype(found, dtype)


@offers("geomspace")
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """``np.geomspace``, between real numbers of one sign."""
    ends = _both_ends(start, stop, int(num))[:2]
    start, stop = [xp.astype(x, np.result_type(x.dtype, np.float64), copy=False) for x in ends]
    first, last = bare(start), bare(stop)
    if np.any(first == 0) or np.any(last == 0):
        raise ValueError("Geometric sequence cannot include zero")
    if np.iscomplexobj(first) or np.iscomplexobj(last) or np.any(np.sign(first) != np.sign(last)):
        raise lesson(
            NotImplementedError,
            "np.geomspace of Tensors knows real numbers of one sign",
            instead="pullback.exp(np.linspace(np.log(start), np.log(stop), num)) of complex numbers.",
        )
    sign = np.sign(first)
    found = sign * xp.exp(linspace(xp.log(start * sign), xp.log(stop * sign), num, endpoint))
    found = xp.moveaxis(found, 0, axis)
    return found if dtype is None else xp.astype(found, dtype)
