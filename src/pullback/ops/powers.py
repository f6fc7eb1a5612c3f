"""``a ** b`` and its derivatives, right to any order also where the base is 0.

The functions ``a^b log(a)^n`` are closed under differentiation::

    d/da a^b log(a)^n = b a^(b-1) log(a)^n + n a^(b-1) log(a)^(n-1)
    d/db a^b log(a)^n = a^b log(a)^(n+1)

so with their limits at ``a = 0`` every derivative of a power is exact, or infinite where it is.  Two points need a
rule: ``x ** 0`` is the constant 1, so its derivative in the base is 0 also at 0; and ``0 ** x`` jumps at 0, where its
derivative is 0 by convention.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.tensor import Tensor
from pullback.ops.families import as_arrays, binary
from pullback.ops.kinks import QUOTIENTS, kink, operand
from pullback.ops.registry import Make, Sample, register


@functools.cache
def _power_log(n: int) -> Any:
    """The operator ``a^b log(a)^n``."""
    return binary(
        f"power_log_{n}",
        lambda xp, a, b: _in_base(xp, a, b, n),
        lambda xp, a, b: _power_log(n + 1).apply(a, b),
        forward=(lambda xp, a, b: xp.pow(a, b)) if n == 0 else (lambda xp, a, b: _evaluate(xp, a, b, n)),
        node_name="PowBackward0",
        doc=f"``a ** b * log(a) ** {n}``: what the derivatives of a power are made of.",
    )


def _evaluate(xp: Any, a: Any, b: Any, n: int) -> Any:
    """``a^b log(a)^n`` with its limit at ``a = 0``: 0 for positive b, infinite for others."""
    a, b = as_arrays(xp, a, b)
    if arrays.is_complex(b.dtype) and not arrays.is_complex(a.dtype):
        a = xp.astype(a, b.dtype)  # a negative base has a logarithm now
    zero = a == 0
    safe = xp.where(zero, 1.0, a)
    growth = xp.real(b) if arrays.is_complex(b.dtype) else b
    limit = xp.where(growth > 0, 0.0, xp.where(growth <= 0, (-math.inf) ** n, growth))  # NaN stays NaN
    return xp.where(zero, limit, xp.pow(safe, b) * xp.log(safe) ** n)


def _in_base(xp: Any, a: Any, b: Any, n: int) -> Any:
    """``d/da a^b log(a)^n``."""
    if not hasattr(b, "dtype"):  # a number: nothing is differentiated in b, so n is 0
        return 2 * a if b == 2 else b * xp.pow(a, b - 1) if b else 0.0
    if not arrays.is_inexact(b.dtype):
        b = xp.astype(b, a.dtype)  # b - 1 of an unsigned 0
    a, b = as_arrays(xp, a, b)
    origin = (a == 0) & (b == 0)
    safe = xp.where(origin, 1.0, a)
    slope = xp.where(origin, 0.0, b * _power_log(n).apply(safe, b - 1))
    return slope + n * _power_log(n - 1).apply(a, b - 1) if n else slope


def _in_exponent(xp: Any, a: Any, b: Any) -> Any:
    """``d/db a^b``."""
    a, b = as_arrays(xp, a, b)
    origin = (a == 0) & (b == 0)
    return kink(xp.where(origin, 0.0, _power_log(1).apply(a, b)), origin, "0 ** x")


Pow = binary(
    "pow",
    lambda xp, a, b: _in_base(xp, a, b, 0),
    _in_exponent,
    doc="``a ** b``.  vjp: ā = ȳ (b a^(b-1))*, b̄ = ȳ (y log a)*; 0 instead of 0·∞ at a = 0, see the module's docstring",
)


def _of_power(node: Any, part: Any) -> Any:
    found, exponent = part(0), operand(node, 1)
    if found is None or isinstance(exponent, Tensor) or np.any(np.less(exponent, 1)):
        return None
    return found if np.all(np.equal(exponent, 1)) else found * operand(node, 0) ** (exponent - 1)


QUOTIENTS[Pow] = _of_power  # a power of a cone is a multiple of it: see `pullback.ops.kinks`


def _samples(make: Make) -> Any:
    for a, b in (((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((2, 0), (1,))):
        yield Sample((make(*a, low=0.4), make(*b)))
    for exponent in (2, 3, -1, 0.5, 0, 1):
        yield Sample((make(2, low=0.4), exponent))
    yield Sample((make(3, low=-2.0, high=-0.5), 3))
    yield Sample((make(3, low=-2.0, high=2.0), 2))
    yield Sample((1.5, make(2)))


pow_ = register("pow", Pow, _samples, reference=np.pow, dunder="pow", elementwise=True)
