"""Comparisons, tests and bits: operators without derivative.  Their results never belong to a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.ops.families import ZERO, Refused, binary, constant, function_of, nary
from pullback.ops.registry import INTEGERS, TRUTHS, Make, Sample, register
from pullback.ops.samples import Samples, integers, pairs, singles, truths


def _register(
    name: str,
    samples: Samples,
    dunder: str = "",
    complex: bool = False,
    doc: str = "",
    arguments: Any = ("a", "b"),
    reason: str = TRUTHS,
) -> Any:
    return register(
        name,
        constant(name, doc=doc, arguments=arguments),
        samples,
        reference=getattr(np, name),
        dunder=dunder,
        elementwise=True,
        complex=complex,
        differentiable=False,
        reason=reason,
    )


equal = _register("equal", pairs(), "eq", complex=True, doc="``a == b``, elementwise.")
not_equal = _register("not_equal", pairs(), "ne", complex=True, doc="``a != b``, elementwise.")
less = _register("less", pairs(), "lt", doc="``a < b``, elementwise.")
less_equal = _register("less_equal", pairs(), "le", doc="``a <= b``, elementwise.")
greater = _register("greater", pairs(), "gt", doc="``a > b``, elementwise.")
greater_equal = _register("greater_equal", pairs(), "ge", doc="``a >= b``, elementwise.")

isnan = _register("isnan", singles(), complex=True, doc="True where x is NaN.", arguments=("x",))
isinf = _register("isinf", singles(), complex=True, doc="True where x is infinite.", arguments=("x",))
isfinite = _register(
    "isfinite", singles(), complex=True, doc="True where x is neither infinite nor NaN.", arguments=("x",)
)
signbit = _register(
    "signbit", singles(), doc="True where the sign bit is set: negative numbers and -0.0.", arguments=("x",)
)

_BETWEEN_NEIGHBOURS = Refused(
    why="between two floating-point numbers there is none: the result moves in steps, with a as a whole.",
    instead="a + (nextafter(a, b) - a).detach(), where it is meant as a moved by a constant; a.detach() for a constant.",
)
Nextafter = nary(
    "nextafter",
    lambda xp, a, b: xp.nextafter(a, b),
    {"a": _BETWEEN_NEIGHBOURS, "b": _BETWEEN_NEIGHBOURS},
    doc="The floating-point number next to a in the direction of b.  Its derivative is refused",
)
nextafter = register(
    "nextafter",
    Nextafter,
    pairs(numbers=()),
    call=function_of(Nextafter, "nextafter", "a", "b"),
    reference=np.nextafter,
    elementwise=True,
    complex=False,
    differentiable=False,
    observe=lambda y: y.detach() if hasattr(y, "detach") else y,
    reason="it moves in steps, from one floating-point number to the next; asking for a gradient is refused",
)

logical_and = _register("logical_and", truths, doc="``a and b``, elementwise.")
logical_or = _register("logical_or", truths, doc="``a or b``, elementwise.")
logical_xor = _register("logical_xor", truths, doc="True where exactly one of a and b is true.")


def _one_truth(make: Make) -> Any:
    yield Sample((make.integers(4) % 2 == 0,))


def _one_integer(make: Make) -> Any:
    yield Sample((make.integers(4),))


logical_not = _register("logical_not", _one_truth, doc="``not x``, elementwise.", arguments=("x",))
bitwise_and = _register("bitwise_and", integers, "and", doc="``a & b`` of whole numbers or booleans.", reason=INTEGERS)
bitwise_or = _register("bitwise_or", integers, "or", doc="``a | b`` of whole numbers or booleans.", reason=INTEGERS)
bitwise_xor = _register("bitwise_xor", integers, "xor", doc="``a ^ b`` of whole numbers or booleans.", reason=INTEGERS)
bitwise_invert = _register(
    "bitwise_invert",
    _one_integer,
    "invert",
    doc="``~x`` of whole numbers or booleans.",
    arguments=("x",),
    reason=INTEGERS,
)
bitwise_left_shift = _register(
    "bitwise_left_shift", integers, "lshift", doc="``a << b`` of whole numbers.", reason=INTEGERS
)
bitwise_right_shift = _register(
    "bitwise_right_shift", integers, "rshift", doc="``a >> b`` of whole numbers.", reason=INTEGERS
)

Copysign = binary(
    "copysign",
    lambda xp, a, b: xp.sign(a) * xp.sign(xp.copysign(xp.ones_like(a), b)),
    ZERO,
    doc="``|a|`` with the sign of b.  vjp: ā = ȳ sign(a) sign(b), 0 where a = 0, the kink; b̄ = 0",
)
copysign = register("copysign", Copysign, pairs(), reference=np.copysign, elementwise=True, complex=False)
