"""Recurrences along an axis: ``sₖ = bₖ + aₖ sₖ₋₁``, and the running ``log Σ exp`` that is made of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.axes import along, conj
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import reshape


def _moved(xp: Any, x: Any, axis: int, steps: int) -> Any:
    """The entries moved by one place along an axis, forwards (1) or backwards (-1); zero where none came from."""
    n, ndim = x.shape[axis], len(x.shape)
    if n == 0:
        return x
    rest = along(ndim, axis, slice(0, n - 1) if steps > 0 else slice(1, n))
    edge = xp.zeros_like(x[along(ndim, axis, slice(0, 1))])
    return xp.concat([edge, x[rest]] if steps > 0 else [x[rest], edge], axis=axis)


class LinearScan(Primitive):
    """``sₖ = bₖ + aₖ sₖ₋₁`` along an axis, from its front or (`reverse`) from its end.

    vjp: b̄ is the scan of ȳ the other way, with every a* one place earlier; āₖ = b̄ₖ s*ₖ₋₁
    """

    node_name = "LinearScanBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, *, axis: int, reverse: bool = False) -> Any:
        ctx.axis, ctx.reverse = axis, reverse
        s = _scan(a, b, axis, reverse)
        ctx.save_for_backward(a, s if ctx.needs_input_grad[0] else None)
        return s

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, s = ctx.saved_tensors
        way = -1 if ctx.reverse else 1
        carried = conj(ctx.xp, _moved(ctx.xp, a, ctx.axis, -way))
        of_b = LinearScan.apply(carried, ct, axis=ctx.axis, reverse=not ctx.reverse)
        need_a, need_b = ctx.needs_input_grad
        of_a = of_b * conj(ctx.xp, _moved(ctx.xp, s, ctx.axis, way)) if need_a else None
        return of_a, of_b if need_b else None


def _scan(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The recurrence, one slice after the other; other libraries go through NumPy."""
    for x in (a, b):
        if hasattr(x, "batch"):
            return arrays.namespace(x).along_axis(lambda a, b, axis: _scan(a, b, axis, reverse), (a, b), axis)
    gates, values = (np.moveaxis(np.asarray(x), axis, 0) for x in (a, b))
    total = np.array(values, dtype=np.result_type(gates, values))
    order = range(len(total) - 2, -1, -1) if reverse else range(1, len(total))
    before = 1 if reverse else -1
    for k in order:
        total[k] += gates[k] * total[k + before]
    found = np.ascontiguousarray(np.moveaxis(total, 0, axis))
    return found if isinstance(b, np.ndarray) else arrays.namespace(b).asarray(found)


def linear_scan(a: Any, b: Any, /, *, axis: int, reverse: bool = False) -> Any:
    """``sₖ = bₖ + aₖ sₖ₋₁`` along `axis`; with `reverse`, ``sₖ = bₖ + aₖ sₖ₊₁`` from the end.

    >>> import pullback as pb
    >>> from pullback.ops.scans import linear_scan
    >>> linear_scan(pb.tensor([0.5, 0.5, 0.5]), pb.tensor([1.0, 1.0, 1.0]), axis=0)
    tensor([1.  , 1.5 , 1.75])
    """
    return LinearScan.apply(a, b, axis=axis, reverse=reverse)


class Logcumsumexp(Primitive):
    """``yₖ = log Σ_{j≤k} exp(xⱼ)``.  vjp: x̄ⱼ = exp(xⱼ - yⱼ) sⱼ with sⱼ = ȳⱼ + exp(yⱼ - yⱼ₊₁) sⱼ₊₁: no exponential exceeds 1"""

    node_name = "LogcumsumexpBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int) -> Any:
        ctx.axis = axis
        y = _accumulated(x, axis)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, y = ctx.saved_tensors
        xp, axis = ctx.xp, ctx.axis
        step = y - _moved(xp, y, axis, -1)
        gates = xp.where(
            step <= 0, xp.exp(step), 0.0
        )  # not so of -inf - -inf, nor (sometimes) of the last, which is not read
        return _weights(xp, x, y) * LinearScan.apply(gates, ct, axis=axis, reverse=True)


def _accumulated(x: Any, axis: int) -> Any:
    """``logaddexp`` of all entries so far; other libraries go through NumPy."""
    if hasattr(x, "batch"):
        return arrays.namespace(x).along_axis(_accumulated, (x,), axis)
    y = np.logaddexp.accumulate(np.asarray(x), axis=axis)
    return y if isinstance(x, np.ndarray) else arrays.namespace(x).asarray(y)


def _weights(xp: Any, x: Any, y: Any) -> Any:
    """``exp(x - y)``; 0 where both are -inf."""
    return xp.where(x == -np.inf, 0.0, xp.exp(x - y))


def logcumsumexp(x: Any, /, *, axis: int) -> Any:
    """``log(cumsum(exp(x)))`` along `axis`, without overflow.

    >>> import pullback as pb
    >>> from pullback.ops.scans import logcumsumexp
    >>> logcumsumexp(pb.tensor([1000.0, 1000.0]), axis=0)
    tensor([1000.        , 1000.69314718])
    """
    if not x.shape:
        return reshape(Logcumsumexp.apply(reshape(x, (1,)), axis=axis), ())
    return Logcumsumexp.apply(x, axis=axis)


def _pairs(make: Make) -> Any:
    yield Sample((make(4), make(4)), {"axis": 0})
    yield Sample((make(2, 3), make(2, 3)), {"axis": -1, "reverse": True})
    yield Sample((make(2, 0), make(2, 0)), {"axis": 1})
    yield Sample((make(1), make(1)), {"axis": 0})


def _lines(make: Make) -> Any:
    yield Sample((make(4),), {"axis": 0})
    yield Sample((make(3, 2),), {"axis": -2})
    yield Sample((make(2, 0),), {"axis": 1})
    yield Sample((make(1),), {"axis": 0})


def _scan_reference(a: Any, b: Any, axis: int, reverse: bool = False) -> Any:
    """By what each entry of b contributes to each entry of the result."""
    if reverse:
        return np.flip(_scan_reference(np.flip(a, axis), np.flip(b, axis), axis), axis)
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    total = np.zeros_like(a * b)
    for k in range(len(b)):
        for j in range(k + 1):
            total[k] += np.prod(a[j + 1 : k + 1], axis=0) * b[j]
    return np.moveaxis(total, 0, axis)


def _running_reference(x: Any, axis: int) -> Any:
    if not x.ndim and axis in (0, -1):
        return x
    return np.log(np.cumsum(np.exp(x), axis=axis))


register("linear_scan", LinearScan, _pairs, call=linear_scan, reference=_scan_reference, public=False)
register(
    "logcumsumexp", Logcumsumexp, _lines, call=logcumsumexp, reference=_running_reference, complex=False, public=False
)
