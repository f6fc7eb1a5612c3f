"""Carlson's symmetric elliptic integrals.  DLMF 19.16.

Their slopes are integrals of the same kind, ``∫ tⁿ (t + x)⁻ᵃ (t + y)⁻ᵇ (t + z)⁻ᶜ (t + p)⁻ᵈ dt`` over the positive numbers with
larger exponents.  They are computed as they stand, by the double exponential rule (Takahasi and Mori 1974), which is exact
to double precision also where arguments are equal: there the formulas in R_D and R_F are 0/0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.elementary import sqrt
from pullback.ops.families import nary
from pullback.ops.registry import Make, Sample
from pullback.ops.selection import where
from pullback.ops.special.family import WHOLE, special
from pullback.ops.special.scipys import evaluate

_STEP, _END = 0.1, 5.0  # exact to 1e-15 for arguments between 1e-40 and 1e40


def _quadrature(n: Any, *rest: Any) -> Any:
    """The integral for exponents ``rest[:4]`` and arguments ``rest[4:]``; infinite where it does not converge at 0."""
    s = np.arange(-_END, _END + _STEP / 2, _STEP)
    t = np.exp(np.pi / 2 * np.sinh(s))
    weights = _STEP * np.pi / 2 * np.cosh(s) * t
    values = [np.asarray(v)[..., None] for v in rest]
    exponents, arguments = values[:4], values[4:]
    n = np.asarray(n)[..., None]
    product = t**n * weights
    for a, x in zip(exponents, arguments, strict=True):
        product = product * np.where(a == 0, 1.0, (t + np.where(a == 0, 1.0, x)) ** -a)
    total = product.sum(axis=-1)
    at_zero = n - sum(np.where(x == 0, a, 0.0) for a, x in zip(exponents, arguments, strict=True))
    return np.where(np.squeeze(at_zero <= -1, -1), np.inf, total)


def _raised(place: int) -> Callable[..., Any]:
    """The slope in one argument: its exponent is one larger."""

    def slope(n: Any, a: Any, b: Any, c: Any, d: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
        exponents = [a, b, c, d]
        factor = -exponents[place]
        exponents[place] = exponents[place] + 1
        return factor * integral(n, *exponents, x, y, z, p)

    return slope


_operator = nary(
    "carlson_integral",
    lambda xp, *args: evaluate("carlson_integral", _quadrature, xp, args),
    dict.fromkeys("nabcd", WHOLE) | {name: _raised(k) for k, name in enumerate("xyzp")},
    "``∫ tⁿ (t + x)⁻ᵃ (t + y)⁻ᵇ (t + z)⁻ᶜ (t + p)⁻ᵈ dt`` over the positive numbers.",
)
integral = _operator.apply


def _triples(make: Make) -> Any:
    for shapes in (((3,), (3,), (3,)), ((2, 1), (3,), ()), ((2, 0), (1,), ())):
        yield Sample(tuple([make(*shape, low=0.4, high=2) for shape in shapes]))
    yield Sample((make(2, low=0.4, high=2), 1.0, 1.5))


elliprf: Any = special(
    "elliprf(x, y, z)",
    "``R_F = 1/2 ∫ ((t+x)(t+y)(t+z))^(-1/2) dt``.  df/dx is the integral with the exponent of x one larger, and so on"
    "  (DLMF 19.18.1)",
    _triples,
    complex=True,
    x=lambda x, y, z: -integral(0, 1.5, 0.5, 0.5, 0, x, y, z, 1.0) / 4,
    y=lambda x, y, z: -integral(0, 0.5, 1.5, 0.5, 0, x, y, z, 1.0) / 4,
    z=lambda x, y, z: -integral(0, 0.5, 0.5, 1.5, 0, x, y, z, 1.0) / 4,
)
elliprd: Any = special(
    "elliprd(x, y, z)",
    "``R_D = 3/2 ∫ ((t+x)(t+y))^(-1/2) (t+z)^(-3/2) dt``.  df/dx is the integral with the exponent of x one larger, and so on"
    "  (DLMF 19.18.2)",
    _triples,
    complex=True,
    x=lambda x, y, z: -0.75 * integral(0, 1.5, 0.5, 1.5, 0, x, y, z, 1.0),
    y=lambda x, y, z: -0.75 * integral(0, 0.5, 1.5, 1.5, 0, x, y, z, 1.0),
    z=lambda x, y, z: -2.25 * integral(0, 0.5, 0.5, 2.5, 0, x, y, z, 1.0),
)
elliprg: Any = special(
    "elliprg(x, y, z)",
    "``R_G``, of degree 1/2.  df/dx = 1/8 ∫ t (t+x)^(-3/2) ((t+y)(t+z))^(-1/2) dt, and so on  (DLMF 19.16.3)",
    _triples,
    complex=True,
    x=lambda x, y, z: integral(1, 1.5, 0.5, 0.5, 0, x, y, z, 1.0) / 8,
    y=lambda x, y, z: integral(1, 0.5, 1.5, 0.5, 0, x, y, z, 1.0) / 8,
    z=lambda x, y, z: integral(1, 0.5, 0.5, 1.5, 0, x, y, z, 1.0) / 8,
)


def _quadruples(make: Make) -> Any:
    for shapes in (((3,), (3,), (3,), (3,)), ((2, 1), (3,), (), ()), ((2, 0), (1,), (), ())):
        yield Sample(tuple([make(*shape, low=0.4, high=2) for shape in shapes]))
    yield Sample((make(2, low=0.4, high=2), 1.0, 1.5, 1.5))


def _off_the_cut(p: Any, slope: Any) -> Any:
    """NaN where p < 0: the value is a principal part there, and its slope is not this integral."""
    return slope if arrays.is_complex(p.dtype) else where(p > 0, slope, float("nan"))


elliprj: Any = special(
    "elliprj(x, y, z, p)",
    "``R_J = 3/2 ∫ ((t+x)(t+y)(t+z))^(-1/2) (t+p)⁻¹ dt``.  df/dx is the integral with the exponent of x one larger, and so on;"
    " NaN for p < 0, where the value is a principal part  (DLMF 19.18.3)",
    _quadruples,
    complex=True,
    x=lambda x, y, z, p: _off_the_cut(p, -0.75 * integral(0, 1.5, 0.5, 0.5, 1, x, y, z, p)),
    y=lambda x, y, z, p: _off_the_cut(p, -0.75 * integral(0, 0.5, 1.5, 0.5, 1, x, y, z, p)),
    z=lambda x, y, z, p: _off_the_cut(p, -0.75 * integral(0, 0.5, 0.5, 1.5, 1, x, y, z, p)),
    p=lambda x, y, z, p: _off_the_cut(p, -1.5 * integral(0, 0.5, 0.5, 0.5, 2, x, y, z, p)),
)


# ------------------------------------------------------------------------------------------------------------- R_C
def _couples(make: Make) -> Any:
    for shapes in (((3,), (3,)), ((2, 1), (3,)), ((2, 0), (1,))):
        yield Sample(tuple([make(*shape, low=0.4, high=2) for shape in shapes]))
    yield Sample((1.0, make(2, low=0.4, high=2)))
    if make.dtype.kind == "f":
        yield Sample((make(2, low=0.4, high=2), make(2, low=-2, high=-0.4)))


def _degenerate(x: Any, y: Any, a: float, b: float, factor: float) -> Any:
    return factor * integral(0, a, b, 0, 0, x, y, 1.0, 1.0)


def _in_x(x: Any, y: Any) -> Any:
    if arrays.is_complex(y.dtype) or arrays.is_complex(x.dtype):
        return _degenerate(x, y, 1.5, 1, -0.25)
    cut = y < 0
    u, v = where(cut, x - y, x), where(cut, -y, y)
    inside = _degenerate(u, v, 1.5, 1, -0.25)
    safe = where(cut, x, 1.0)
    ratio = sqrt(where(cut, safe / u, 1.0))
    turn = ratio * (1 / safe - 1 / u) / 2
    return where(cut, turn * elliprc(u, v) + ratio * inside, inside)


def _in_y(x: Any, y: Any) -> Any:
    if arrays.is_complex(y.dtype) or arrays.is_complex(x.dtype):
        return _degenerate(x, y, 0.5, 2, -0.5)
    cut = y < 0
    u, v = where(cut, x - y, x), where(cut, -y, y)
    inside = _degenerate(u, v, 0.5, 2, -0.5)
    ratio = sqrt(where(cut, x / u, 1.0))
    beyond = ratio * (elliprc(u, v) / (2 * u) - _degenerate(u, v, 1.5, 1, -0.25) - inside)
    return where(cut, beyond, inside)


elliprc: Any = special(
    "elliprc(x, y)",
    "``R_C = 1/2 ∫ (t+x)^(-1/2) (t+y)⁻¹ dt``; for y < 0 the principal part, ``√(x/(x-y)) R_C(x-y, -y)``.  df/dx is the integral "
    "with the exponent of x one larger, and so in y  (DLMF 19.2.17, 19.2.20)",
    _couples,
    complex=True,
    x=_in_x,
    y=_in_y,
)
