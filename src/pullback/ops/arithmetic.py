"""``+ - * /``, signs, and what remains of a division: the operators that everything else is made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops.families import MINUS_ONE, ONE, ZERO, binary, unary
from pullback.ops.kinks import QUOTIENTS, operand
from pullback.ops.registry import register
from pullback.ops.samples import pairs, singles

Add = binary("add", ONE, ONE, numbers_count=True, doc="``a + b``.  vjp: ā = ȳ, b̄ = ȳ")
Subtract = binary(
    "subtract", ONE, MINUS_ONE, node_name="SubBackward0", numbers_count=True, doc="``a - b``.  vjp: ā = ȳ, b̄ = -ȳ"
)
Multiply = binary(
    "multiply",
    lambda b: b,
    lambda a: a,
    node_name="MulBackward0",
    numbers_count=True,
    doc="``a * b``.  vjp: ā = ȳ b*, b̄ = ȳ a*",
)


def _reciprocal(b: Any) -> Any:
    try:
        return 1 / b
    except ZeroDivisionError:  # Python's own zero; that of an array is infinite by itself
        return math.nan if isinstance(b, complex) else math.copysign(math.inf, b)


Divide = binary(
    "divide",
    _reciprocal,
    lambda a, b: -a / b / b,
    node_name="DivBackward0",
    numbers_count=True,
    doc="``a / b``.  vjp: ā = ȳ / b*, b̄ = -ȳ (a / b²)*",
)
Negative = unary("negative", None, MINUS_ONE, node_name="NegBackward0", doc="``-x``.  vjp: x̄ = -ȳ")
Positive = unary("positive", None, ONE, doc="``+x``, a copy.  vjp: x̄ = ȳ")

FloorDivide = binary(
    "floor_divide", ZERO, ZERO, doc="``floor(a / b)``, piecewise constant.  vjp: ā = 0, b̄ = 0, also at the jumps"
)


def _minus_quotient(xp: Any, a: Any, b: Any) -> Any:
    return -xp.floor_divide(a, b)


Remainder = binary(
    "remainder",
    ONE,
    _minus_quotient,
    doc="``a - floor(a / b) b``, which has the sign of b.  vjp: ā = ȳ, b̄ = -ȳ floor(a / b).\n\n"
    "    Differentiable almost everywhere: where a is a multiple of b it jumps, and the rule gives a one-sided slope.",
)


# ------------------------------------------------------------------------ how a factor passes: see `kinks.QUOTIENTS`
def _of_sum(node: Any, part: Any) -> Any:
    first, second = part(0), part(1)
    return None if first is None or second is None else first + second


def _of_difference(node: Any, part: Any) -> Any:
    first, second = part(0), part(1)
    return None if first is None or second is None else first - second


def _of_product(node: Any, part: Any) -> Any:
    for k in (0, 1):
        found = part(k)
        if found is not None:
            return found * operand(node, 1 - k)
    return None


def _of_fraction(node: Any, part: Any) -> Any:
    found = part(0)
    return None if found is None else found / operand(node, 1)


def _of_negative(node: Any, part: Any) -> Any:
    found = part(0)
    return None if found is None else -found


QUOTIENTS.update(
    {Add: _of_sum, Subtract: _of_difference, Multiply: _of_product, Divide: _of_fraction, Negative: _of_negative}
)

_quotients = pairs(second=(0.5, 2.0), numbers=(2.0, 1.5))

add = register("add", Add, pairs(), reference=np.add, dunder="add", elementwise=True)
subtract = register("subtract", Subtract, pairs(), reference=np.subtract, dunder="sub", elementwise=True)
multiply = register("multiply", Multiply, pairs(), reference=np.multiply, dunder="mul", elementwise=True)
divide = register("divide", Divide, _quotients, reference=np.divide, dunder="truediv", elementwise=True)
negative = register("negative", Negative, singles(), reference=np.negative, dunder="neg", elementwise=True)
positive = register("positive", Positive, singles(), reference=np.positive, dunder="pos", elementwise=True)
floor_divide = register(
    "floor_divide",
    FloorDivide,
    _quotients,
    reference=np.floor_divide,
    dunder="floordiv",
    elementwise=True,
    complex=False,
)
remainder = register(
    "remainder", Remainder, _quotients, reference=np.remainder, dunder="mod", elementwise=True, complex=False
)
