"""Bessel, Hankel and Struve functions.  The derivative in the argument is a difference of neighbours in the order.

DLMF, chapters 10 and 11.  Those of the first kind are exact also at 0; the others have a pole there.  The functions
scaled by ``exp(-|z|)`` have a kink at 0, where the slope is that of the unscaled function: the mean of both sides.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import arrays
from pullback.ops.complexes import sign
from pullback.ops.families import without_graph
from pullback.ops.kinks import kink
from pullback.ops.powers import pow_
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.ends import away_from_0, far_slope
from pullback.ops.special.family import NO_CLOSED_FORM, last, special
from pullback.ops.special.gammas import rgamma


def _tip(slope: Any, v: Any, z: Any, name: str, smooth: str) -> Any:
    """The slope of a function scaled by ``exp(-|z|)``; of order 0 it has a kink, where a second one is refused."""
    instead = f"{smooth} for the function without its factor; or where(...) to leave the zeros out."
    return kink(slope, (z == 0) & (v == 0), name, instead)


#: The factors of the asymptotic series, see ends.py: of Iᵥ, Kᵥ, and of Hankel's functions without their phase.
_OF_I, _OF_K, _OF_H = 1 / math.sqrt(2 * math.pi), math.sqrt(math.pi / 2), math.sqrt(2 / math.pi)


def _scaled_i(v: Any, z: Any, near: Any) -> Any:
    """The slope of ``ive``, which is even or odd with its order."""
    bare = without_graph(z)
    xp = arrays.namespace(bare)
    order = arrays.asarray(without_graph(v), xp, arrays.dtype_of(bare))
    parity = xp.where(order == xp.round(order), 1.0 - 2.0 * (xp.abs(order) % 2), xp.nan)
    mirrored = xp.where(bare < 0, -parity, xp.ones_like(parity))
    return far_slope(near * mirrored, v, abs(z), _OF_I, -1) * mirrored


def _scaled_hankel(v: Any, z: Any, near: Any, turn: complex) -> Any:
    """The slope of ``hankel1e`` (where `turn` is i) or ``hankel2e`` (-i)."""
    order = without_graph(v)
    phase = arrays.namespace(without_graph(near)).exp(-turn * (order * (math.pi / 2) + math.pi / 4))
    return far_slope(near, v, z, _OF_H * phase, turn)


def _slope_of_yv(v: Any, z: Any) -> Any:
    """``(Yᵥ₋₁ - Yᵥ₊₁) / 2``; at 0 without the one of lower order, unless both are equally infinite."""
    order = without_graph(v)
    whole = order == arrays.namespace(order).round(order)
    below = away_from_0(z, yv(v - 1, z), order > 0)
    return (below - away_from_0(z, yv(v + 1, z), (order < 0) & whole)) / 2


_orders = last([(1,), (0,), (2.5,), (3,)], 0.6, 4)

jv: Any = special(
    "jv(v, z)",
    "``Jᵥ(z)``, the Bessel function of the first kind.  df/dz = (Jᵥ₋₁ - Jᵥ₊₁) / 2  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (jv(v - 1, z) - jv(v + 1, z)) / 2,
)
yv: Any = special(
    "yv(v, z)",
    "``Yᵥ(z)``, the Bessel function of the second kind.  df/dz = (Yᵥ₋₁ - Yᵥ₊₁) / 2  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=_slope_of_yv,
)
iv: Any = special(
    "iv(v, z)",
    "``Iᵥ(z)``, the modified Bessel function of the first kind.  df/dz = (Iᵥ₋₁ + Iᵥ₊₁) / 2  (DLMF 10.29.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (iv(v - 1, z) + iv(v + 1, z)) / 2,
)
kv: Any = special(
    "kv(v, z)",
    "``Kᵥ(z)``, the modified Bessel function of the second kind.  df/dz = -(Kᵥ₋₁ + Kᵥ₊₁) / 2  (DLMF 10.29.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: -(kv(v - 1, z) + kv(v + 1, z)) / 2,
)
ive: Any = special(
    "ive(v, z)",
    "``exp(-|z|) Iᵥ(z)``.  df/dz = (fᵥ₋₁ + fᵥ₊₁) / 2 - sign(z) f  (DLMF 10.29.1)",
    _orders,
    v=NO_CLOSED_FORM,
    z=lambda v, z, f: _tip(_scaled_i(v, z, (ive(v - 1, z) + ive(v + 1, z)) / 2 - sign(z) * f), v, z, "ive", "iv(0, z)"),
)
kve: Any = special(
    "kve(v, z)",
    "``exp(z) Kᵥ(z)``.  df/dz = f - (fᵥ₋₁ + fᵥ₊₁) / 2  (DLMF 10.29.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z, f: far_slope(away_from_0(z, f) - (kve(v - 1, z) + kve(v + 1, z)) / 2, v, z, _OF_K, 1),
)
jve: Any = special(
    "jve(v, z)",
    "``exp(-|Im z|) Jᵥ(z)``.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2 for real numbers  (DLMF 10.6.1)",
    _orders,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (jve(v - 1, z) - jve(v + 1, z)) / 2,
)
yve: Any = special(
    "yve(v, z)",
    "``exp(-|Im z|) Yᵥ(z)``.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2 for real numbers  (DLMF 10.6.1)",
    _orders,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (yve(v - 1, z) - yve(v + 1, z)) / 2,
)
hankel1: Any = special(
    "hankel1(v, z)",
    "``Jᵥ(z) + i Yᵥ(z)``, complex also of real numbers.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (hankel1(v - 1, z) - hankel1(v + 1, z)) / 2,
)
hankel2: Any = special(
    "hankel2(v, z)",
    "``Jᵥ(z) - i Yᵥ(z)``, complex also of real numbers.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z: (hankel2(v - 1, z) - hankel2(v + 1, z)) / 2,
)
hankel1e: Any = special(
    "hankel1e(v, z)",
    "``exp(-iz) H⁽¹⁾ᵥ(z)``.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2 - i f  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z, f: _scaled_hankel(v, z, (hankel1e(v - 1, z) - hankel1e(v + 1, z)) / 2 - 1j * f, 1j),
)
hankel2e: Any = special(
    "hankel2e(v, z)",
    "``exp(iz) H⁽²⁾ᵥ(z)``.  df/dz = (fᵥ₋₁ - fᵥ₊₁) / 2 + i f  (DLMF 10.6.1)",
    _orders,
    complex=True,
    v=NO_CLOSED_FORM,
    z=lambda v, z, f: _scaled_hankel(v, z, (hankel2e(v - 1, z) - hankel2e(v + 1, z)) / 2 + 1j * f, -1j),
)

# ------------------------------------------------------------------------------------------------ of orders 0 and 1
j0: Any = special("j0(x)", "``J₀(x)``.  df/dx = -J₁(x)  (DLMF 10.6.3)", singles(), x=lambda x: -j1(x))
j1: Any = special(
    "j1(x)", "``J₁(x)``.  df/dx = (J₀ - J₂) / 2  (DLMF 10.6.1)", singles(), x=lambda x: (j0(x) - jv(2, x)) / 2
)
y0: Any = special("y0(x)", "``Y₀(x)``.  df/dx = -Y₁(x)  (DLMF 10.6.3)", singles(0.6, 3), x=lambda x: -y1(x))
y1: Any = special(
    "y1(x)",
    "``Y₁(x)``.  df/dx = (Y₀ - Y₂) / 2  (DLMF 10.6.1)",
    singles(0.6, 3),
    x=lambda x: (away_from_0(x, y0(x)) - yv(2, x)) / 2,
)
i0: Any = special("i0(x)", "``I₀(x)``.  df/dx = I₁(x)  (DLMF 10.29.3)", singles(), x=lambda x: i1(x))
i1: Any = special(
    "i1(x)", "``I₁(x)``.  df/dx = (I₀ + I₂) / 2  (DLMF 10.29.1)", singles(), x=lambda x: (i0(x) + iv(2, x)) / 2
)
i0e: Any = special(
    "i0e(x)",
    "``exp(-|x|) I₀(x)``.  df/dx = i1e(x) - sign(x) f; 0 at 0, the kink  (DLMF 10.29.3)",
    singles(),
    x=lambda x, f: _tip(_scaled_i(0.0, x, i1e(x) - sign(x) * f), 0, x, "i0e", "i0(x)"),
)
i1e: Any = special(
    "i1e(x)",
    "``exp(-|x|) I₁(x)``.  df/dx = (i0e + ive(2, x)) / 2 - sign(x) f  (DLMF 10.29.1)",
    singles(),
    x=lambda x, f: _scaled_i(1.0, x, (i0e(x) + ive(2, x)) / 2 - sign(x) * f),
)
k0: Any = special("k0(x)", "``K₀(x)``.  df/dx = -K₁(x)  (DLMF 10.29.3)", singles(0.6, 3), x=lambda x: -k1(x))
k1: Any = special(
    "k1(x)", "``K₁(x)``.  df/dx = -(K₀ + K₂) / 2  (DLMF 10.29.1)", singles(0.6, 3), x=lambda x: -(k0(x) + kv(2, x)) / 2
)
k0e: Any = special(
    "k0e(x)",
    "``exp(x) K₀(x)``.  df/dx = f - k1e(x)  (DLMF 10.29.3)",
    singles(0.6, 3),
    x=lambda x, f: far_slope(away_from_0(x, f) - k1e(x), 0.0, x, _OF_K, 1),
)
k1e: Any = special(
    "k1e(x)",
    "``exp(x) K₁(x)``.  df/dx = f - (k0e + kve(2, x)) / 2  (DLMF 10.29.1)",
    singles(0.6, 3),
    x=lambda x, f: far_slope(away_from_0(x, f) - (k0e(x) + kve(2, x)) / 2, 1.0, x, _OF_K, 1),
)


# ------------------------------------------------------------------------------------------------------------- Struve
def _power(v: Any, x: Any) -> Any:
    """``(x/2)ᵛ / (√π Γ(v + 3/2))``, which is left over in both recurrences."""
    return pow_(x / 2, v) * rgamma(v + 1.5) / math.sqrt(math.pi)


def _below(f: Any, sign: int, v: Any, x: Any) -> Any:
    """``f(v - 1, x)``; that of order 0 from order 1, because order -2, which comes next, has a pole at 0."""
    zero = v == 0
    y = f(where(zero, 1.0, v - 1), x)
    return where(zero, 2 / math.pi + sign * y, y)


def _recurrence(f: Any, sign: int, v: Any, x: Any, y: Any) -> Any:
    """The slope without the neighbour above where |x| > 1, because that one cancels with the power (DLMF 11.4.27)."""
    below = _below(f, sign, v, x)
    small = (below + sign * f(v + 1, x) + _power(v, x)) / 2
    far = abs(without_graph(x)) > 1
    return where(far, below - v / where(far, x, 1.0) * y, small)


struve: Any = special(
    "struve(v, x)",
    "``Hᵥ(x)``, Struve's function.  df/dx = (Hᵥ₋₁ - Hᵥ₊₁ + (x/2)ᵛ / (√π Γ(v + 3/2))) / 2  (DLMF 11.4.24)",
    last([(1,), (0,), (0.5,)], 0.6, 3),
    v=NO_CLOSED_FORM,
    x=lambda v, x, f: _recurrence(struve, -1, v, x, f),
)
modstruve: Any = special(
    "modstruve(v, x)",
    "``Lᵥ(x)``, the modified Struve function.  df/dx = (Lᵥ₋₁ + Lᵥ₊₁ + (x/2)ᵛ / (√π Γ(v + 3/2))) / 2  (DLMF 11.4.26)",
    last([(1,), (0,), (0.5,)], 0.6, 3),
    v=NO_CLOSED_FORM,
    x=lambda v, x, f: _recurrence(modstruve, 1, v, x, f),
)
