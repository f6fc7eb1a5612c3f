"""Rounding: piecewise constant, so the derivative is 0 wherever it exists, and by rule at the jumps."""

from __future__ import annotations

import numpy as np

from pullback.ops.families import ZERO, unary
from pullback.ops.registry import register
from pullback.ops.samples import singles

Floor = unary("floor", None, ZERO, doc="The largest whole number that is not above x.  vjp: x̄ = 0")
Ceil = unary("ceil", None, ZERO, doc="The smallest whole number that is not below x.  vjp: x̄ = 0")
Trunc = unary("trunc", None, ZERO, doc="The whole number next to x towards 0.  vjp: x̄ = 0")
Round = unary("round", None, ZERO, doc="The nearest whole number, the even one of two.  vjp: x̄ = 0")

floor = register("floor", Floor, singles(), reference=np.floor, elementwise=True, complex=False)
ceil = register("ceil", Ceil, singles(), reference=np.ceil, elementwise=True, complex=False)
trunc = register("trunc", Trunc, singles(), reference=np.trunc, elementwise=True, complex=False)
round_ = register("round", Round, singles(), reference=np.round, elementwise=True)
