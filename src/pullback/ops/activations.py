"""Functions of neural networks that the Array API standard has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.core.primitive import Primitive
from pullback.ops.families import Elementwise, function_of, unary, without_graph
from pullback.ops.registry import Make, Sample, register
from pullback.ops.samples import singles


def _sigmoid(xp: Any, x: Any) -> Any:
    if arrays.is_complex(x.dtype):
        return 1 / (1 + xp.exp(-x))
    small = xp.exp(-xp.abs(x))  # never overflows, and keeps the precision of tiny results
    return xp.where(x < 0, small, 1.0) / (1 + small)


Sigmoid = unary("sigmoid", _sigmoid, lambda y: y * (1 - y), doc="``1 / (1 + exp(-x))``.  vjp: x̄ = ȳ (y (1 - y))*")


class Relu(Elementwise):
    """``x`` where it is positive, else 0.  vjp: x̄ = ȳ where x > 0, else 0, also at the kink"""

    node_name = "ReluBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return ctx.xp.maximum(x, 0)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,) = ctx.saved_tensors
        return Masked(ctx.xp.where(x <= 0, 0.0, ct), lambda: ~(without_graph(x) < 0))  # the kink is no structural zero


class _Normalized(Primitive):
    """Base of operators that turn the entries along an axis into a distribution."""

    @staticmethod
    def mask_rule(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
        """Where no cotangent comes to a whole line, none goes to it."""
        inner = masked.mask
        own = arrays.namespace(inner)
        mask = own.broadcast_to(own.any(inner, axis=ctx.axis, keepdims=True), inner.shape)
        return Masked(xp.where(mask, grad, xp.zeros_like(grad)), mask)


def _shifted(xp: Any, x: Any, axis: int) -> Any:
    """The entries minus the largest one along the axis, so that no exponential overflows."""
    return x - xp.max(x, axis=axis, keepdims=True) if arrays.size(x) else x


class Softmax(_Normalized):
    """``exp(x) / Σ exp(x)`` along an axis.  vjp: x̄ = y (ȳ - Σ ȳ y)"""

    node_name = "SoftmaxBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int) -> Any:
        ctx.axis = axis
        y = ctx.xp.exp(_shifted(ctx.xp, x, axis))
        y = arrays.asarray(y / ctx.xp.sum(y, axis=axis, keepdims=True), ctx.xp)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (y,) = ctx.saved_tensors
        product = ct * y
        return product - y * ctx.xp.sum(product, axis=ctx.axis, keepdims=True)


class LogSoftmax(_Normalized):
    """``x - log Σ exp(x)`` along an axis.  vjp: x̄ = ȳ - exp(y) Σ ȳ"""

    node_name = "LogSoftmaxBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int) -> Any:
        ctx.axis = axis
        xp = ctx.xp
        y = _shifted(xp, x, axis)
        if arrays.size(x):
            y = arrays.asarray(y - xp.log(xp.sum(xp.exp(y), axis=axis, keepdims=True)), xp)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (y,) = ctx.saved_tensors
        return ct - ctx.xp.exp(y) * ctx.xp.sum(ct, axis=ctx.axis, keepdims=True)


def softmax(x: Any, /, axis: int = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along `axis`."""
    return Softmax.apply(x, axis=axis)


def log_softmax(x: Any, /, axis: int = -1) -> Any:
    """The logarithm of `softmax`, exact also where that is tiny."""
    return LogSoftmax.apply(x, axis=axis)


def _lines(make: Make) -> Any:
    yield Sample((make(2, 3),))
    yield Sample((make(2, 2, 3),), {"axis": 1})
    yield Sample((make(),), {"axis": 0})
    yield Sample((make(0, 2),), {"axis": 0})
    yield Sample((make(2, 0),), {"axis": 0})


def _softmax_reference(x: Any, axis: int = -1) -> Any:
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)


def _log_softmax_reference(x: Any, axis: int = -1) -> Any:
    return x - np.logaddexp.reduce(x, axis=axis, keepdims=True)


sigmoid = register("sigmoid", Sigmoid, singles(), reference=lambda x: 1 / (1 + np.exp(-x)), elementwise=True)
relu = register(
    "relu",
    Relu,
    singles(),
    call=function_of(Relu, "relu", "x"),
    reference=lambda x: np.maximum(x, 0),
    elementwise=True,
    complex=False,
)
register("softmax", Softmax, _lines, call=softmax, reference=_softmax_reference, complex=False, public=False)
register(
    "log_softmax", LogSoftmax, _lines, call=log_softmax, reference=_log_softmax_reference, complex=False, public=False
)
