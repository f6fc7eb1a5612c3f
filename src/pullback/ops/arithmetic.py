"""``+ - * /``, negation: the operators that everything else is made of."""

from __future__ import annotations

import numpy as np

from pullback.ops.families import MINUS_ONE, ONE, binary, unary
from pullback.ops.registry import Make, Sample, register


def _pairs(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(3), make(3)))
    yield Sample((make(2, 3), make(3)))
    yield Sample((make(2, 1), make(3)))
    yield Sample((make(), make(2)))
    yield Sample((make(2), 1.5))
    yield Sample((0.5, make(2)))


def _quotients(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(3), make(3, low=0.5)))
    yield Sample((make(2, 1), make(3, low=0.5)))
    yield Sample((make(2), 1.5))
    yield Sample((2.0, make(2, low=0.5)))


def _singles(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(3),))
    yield Sample((make(),))
    yield Sample((make(2, 0),))


Add = binary("add", ONE, ONE, node_name="AddBackward0", doc="``a + b``.  vjp: ā = ȳ, b̄ = ȳ")
Sub = binary("subtract", ONE, MINUS_ONE, node_name="SubBackward0", doc="``a - b``.  vjp: ā = ȳ, b̄ = -ȳ")
Mul = binary("multiply", lambda b: b, lambda a: a, node_name="MulBackward0", doc="``a * b``.  vjp: ā = ȳ b*, b̄ = ȳ a*")
Div = binary(
    "divide",
    lambda b: 1 / b,
    lambda a, b: -a / (b * b),
    node_name="DivBackward0",
    doc="``a / b``.  vjp: ā = ȳ / b*, b̄ = -ȳ (a / b²)*",
)
Neg = unary("negative", None, MINUS_ONE, node_name="NegBackward0", doc="``-x``.  vjp: x̄ = -ȳ")

add = register("add", Add, _pairs, reference=np.add, dunder="add")
subtract = register("subtract", Sub, _pairs, reference=np.subtract, dunder="sub")
multiply = register("multiply", Mul, _pairs, reference=np.multiply, dunder="mul")
divide = register("divide", Div, _quotients, reference=np.divide, dunder="truediv")
negative = register("negative", Neg, _singles, reference=np.negative, dunder="neg")
