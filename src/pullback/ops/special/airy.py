"""Airy functions: each is the derivative of another, up to a factor.  DLMF 9.2.

The scaled ones are multiplied by ``exp(±2/3 z^(3/2))``: of real numbers Ai is not defined to the left of 0 then, and Bi is
as it was.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.powers import pow_
from pullback.ops.samples import singles
from pullback.ops.selection import where
from pullback.ops.special.family import special
from pullback.ops.special.scipys import scipys

airy_ai: Any = special(
    "airy_ai(z)",
    "``Ai(z)``, the first result of `airy`.  df/dz = Ai'(z)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("airy")(z)[0],
    z=lambda z: airy_aip(z),
)
airy_aip: Any = special(
    "airy_aip(z)",
    "``Ai'(z)``, the second result of `airy`.  df/dz = z Ai(z)  (DLMF 9.2.1)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("airy")(z)[1],
    z=lambda z: z * airy_ai(z),
)
airy_bi: Any = special(
    "airy_bi(z)",
    "``Bi(z)``, the third result of `airy`.  df/dz = Bi'(z)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("airy")(z)[2],
    z=lambda z: airy_bip(z),
)
airy_bip: Any = special(
    "airy_bip(z)",
    "``Bi'(z)``, the fourth result of `airy`.  df/dz = z Bi(z)  (DLMF 9.2.1)",
    singles(),
    complex=True,
    scipy=lambda z: scipys("airy")(z)[3],
    z=lambda z: z * airy_bi(z),
)


def airy(z: Any, /) -> tuple[Any, Any, Any, Any]:
    """The Airy functions ``(Ai, Ai', Bi, Bi')`` of `z`.

    >>> import pullback as pb
    >>> pb.special.airy(pb.tensor(0.0))[:2]
    (tensor(0.35502805), tensor(-0.25881940))
    """
    return airy_ai(z), airy_aip(z), airy_bi(z), airy_bip(z)


def _root(z: Any) -> Any:
    """``√z``, and 0 to the left of 0."""
    right = z > 0
    return where(right, pow_(where(right, z, 1.0), 0.5), 0.0)


airye_ai: Any = special(
    "airye_ai(z)",
    "``exp(2/3 z^(3/2)) Ai(z)``, the first result of `airye`.  df/dz = f₂ + √z f  (DLMF 9.2.1)",
    singles(0.4, 3),
    scipy=lambda z: scipys("airye")(z)[0],
    z=lambda z, f: airye_aip(z) + pow_(z, 0.5) * f,
)
airye_aip: Any = special(
    "airye_aip(z)",
    "``exp(2/3 z^(3/2)) Ai'(z)``, the second result of `airye`.  df/dz = z f₁ + √z f  (DLMF 9.2.1)",
    singles(0.4, 3),
    scipy=lambda z: scipys("airye")(z)[1],
    z=lambda z, f: z * airye_ai(z) + pow_(z, 0.5) * f,
)
airye_bi: Any = special(
    "airye_bi(z)",
    "``exp(-2/3 |Re z^(3/2)|) Bi(z)``, the third result of `airye`.  df/dz = f₄ - √z f, to the left of 0 without √z"
    "  (DLMF 9.2.1)",
    singles(),
    scipy=lambda z: scipys("airye")(z)[2],
    z=lambda z, f: airye_bip(z) - _root(z) * f,
)
airye_bip: Any = special(
    "airye_bip(z)",
    "``exp(-2/3 |Re z^(3/2)|) Bi'(z)``, the fourth result of `airye`.  df/dz = z f₃ - √z f, to the left of 0 without √z"
    "  (DLMF 9.2.1)",
    singles(),
    scipy=lambda z: scipys("airye")(z)[3],
    z=lambda z, f: z * airye_bi(z) - _root(z) * f,
)


def airye(z: Any, /) -> tuple[Any, Any, Any, Any]:
    """The scaled Airy functions of `z`, in the order of `airy`.

    >>> import pullback as pb
    >>> pb.special.airye(pb.tensor(1.0))[:2]
    (tensor(0.26351364), tensor(-0.30998138))
    """
    return airye_ai(z), airye_aip(z), airye_bi(z), airye_bip(z)
