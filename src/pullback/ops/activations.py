"""Functions of neural networks that the Array API standard has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.ops.families import Elementwise, function_of, unary, without_graph
from pullback.ops.registry import register
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
