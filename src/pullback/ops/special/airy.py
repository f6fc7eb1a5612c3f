"""Airy functions: each is the derivative of another, up to a factor.  DLMF 9.2."""

from __future__ import annotations

from typing import Any

from pullback.ops.samples import singles
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
