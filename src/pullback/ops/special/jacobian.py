"""Jacobi's elliptic functions.  DLMF, chapter 22.

All of them follow from the amplitude φ, the inverse of ``u = F(φ|m)``: its slope in u is dn, and that in m is
``-dn ∂F/∂m``.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.registry import Make, Sample
from pullback.ops.special.elliptic import slope_of_first_kind
from pullback.ops.special.family import special
from pullback.ops.special.scipys import scipys


def _samples(make: Make) -> Any:
    for a, b in (((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((2, 0), (1,))):
        yield Sample((make(*a, low=-1.2, high=1.2), make(*b, low=0.2, high=0.7)))
    yield Sample((make(2, low=2, high=4), make(2, low=0.01, high=0.04)))
    yield Sample((make(2, low=-1.2, high=1.2), 0.0))
    yield Sample((1.0, make(2, low=0.2, high=0.7)))


def _turn(u: Any, m: Any) -> Any:
    """``∂φ/∂m``."""
    return -ellipj_dn(u, m) * slope_of_first_kind(ellipj_ph(u, m), m)


ellipj_sn: Any = special(
    "ellipj_sn(u, m)",
    "``sn(u|m)``, the first result of `ellipj`.  df/du = cn dn, df/dm = cn ∂φ/∂m  (DLMF 22.13.1)",
    _samples,
    scipy=lambda u, m: scipys("ellipj")(u, m)[0],
    u=lambda u, m: ellipj_cn(u, m) * ellipj_dn(u, m),
    m=lambda u, m: ellipj_cn(u, m) * _turn(u, m),
)
ellipj_cn: Any = special(
    "ellipj_cn(u, m)",
    "``cn(u|m)``, the second result of `ellipj`.  df/du = -sn dn, df/dm = -sn ∂φ/∂m  (DLMF 22.13.2)",
    _samples,
    scipy=lambda u, m: scipys("ellipj")(u, m)[1],
    u=lambda u, m: -ellipj_sn(u, m) * ellipj_dn(u, m),
    m=lambda u, m: -ellipj_sn(u, m) * _turn(u, m),
)


def _dn_in_m(u: Any, m: Any, f: Any) -> Any:
    """From ``dn² = 1 - m sn²``."""
    s = ellipj_sn(u, m)
    return -(s * s / f + 2 * m * s * ellipj_cn(u, m) * _turn(u, m) / f) / 2


ellipj_dn: Any = special(
    "ellipj_dn(u, m)",
    "``dn(u|m)``, the third result of `ellipj`.  df/du = -m sn cn, df/dm from ``dn² = 1 - m sn²``  (DLMF 22.13.3)",
    _samples,
    scipy=lambda u, m: scipys("ellipj")(u, m)[2],
    u=lambda u, m: -m * ellipj_sn(u, m) * ellipj_cn(u, m),
    m=_dn_in_m,
)
ellipj_ph: Any = special(
    "ellipj_ph(u, m)",
    "``am(u|m)``, the amplitude φ, the fourth result of `ellipj`.  df/du = dn, df/dm = -dn ∂F/∂m  (DLMF 22.16.1)",
    _samples,
    scipy=lambda u, m: scipys("ellipj")(u, m)[3],
    u=lambda u, m: ellipj_dn(u, m),
    m=_turn,
)


def ellipj(u: Any, m: Any, /) -> tuple[Any, Any, Any, Any]:
    """Jacobi's elliptic functions ``(sn, cn, dn, φ)`` of `u` with parameter `m`.

    >>> import pullback as pb
    >>> pb.special.ellipj(pb.tensor(0.5), 0.3)[:3]
    (tensor(0.47421562), tensor(0.88041069), tensor(0.96567829))
    """
    return ellipj_sn(u, m), ellipj_cn(u, m), ellipj_dn(u, m), ellipj_ph(u, m)
