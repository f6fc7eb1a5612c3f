"""Exponentials, logarithms, trigonometric and hyperbolic functions: one line each."""

from __future__ import annotations

import numpy as np

from pullback.ops.families import unary
from pullback.ops.registry import Make, Sample, register


def _anywhere(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(3),))
    yield Sample((make(),))
    yield Sample((make(2, 0),))


Exp = unary("exp", None, lambda y: y, node_name="ExpBackward0", doc="``exp(x)``.  vjp: x̄ = ȳ y*")
Sin = unary("sin", None, lambda xp, x: xp.cos(x), node_name="SinBackward0", doc="``sin(x)``.  vjp: x̄ = ȳ cos(x)*")
Cos = unary("cos", None, lambda xp, x: -xp.sin(x), node_name="CosBackward0", doc="``cos(x)``.  vjp: x̄ = -ȳ sin(x)*")

exp = register("exp", Exp, _anywhere, reference=np.exp)
sin = register("sin", Sin, _anywhere, reference=np.sin)
cos = register("cos", Cos, _anywhere, reference=np.cos)
