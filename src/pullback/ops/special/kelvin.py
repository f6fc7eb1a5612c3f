"""Kelvin's functions: Bessel functions on the diagonals of the complex plane.  DLMF 10.61.

``ber x + i bei x = J₀(x e^{3πi/4})`` and ``ker x + i kei x = K₀(x e^{πi/4})``: the second derivatives are those of J₀ and
K₀, which are exact at 0 too.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.ops.complexes import imag, real
from pullback.ops.samples import singles
from pullback.ops.special.bessel import jv, kv
from pullback.ops.special.family import special

_FIRST = complex(-math.sqrt(0.5), math.sqrt(0.5))
_SECOND = complex(math.sqrt(0.5), math.sqrt(0.5))


def _bend_of_first(x: Any) -> Any:
    z = _FIRST * x
    return _FIRST**2 * (jv(2.0, z) - jv(0.0, z)) / 2


def _bend_of_second(x: Any) -> Any:
    z = _SECOND * x
    return _SECOND**2 * (kv(2.0, z) + kv(0.0, z)) / 2


ber: Any = special("ber(x)", "``Re J₀(x e^{3πi/4})``.  df/dx = berp(x)", singles(0.4, 3), x=lambda x: berp(x))
bei: Any = special("bei(x)", "``Im J₀(x e^{3πi/4})``.  df/dx = beip(x)", singles(0.4, 3), x=lambda x: beip(x))
ker: Any = special("ker(x)", "``Re K₀(x e^{πi/4})``.  df/dx = kerp(x)", singles(0.4, 3), x=lambda x: kerp(x))
kei: Any = special("kei(x)", "``Im K₀(x e^{πi/4})``.  df/dx = keip(x)", singles(0.4, 3), x=lambda x: keip(x))
berp: Any = special(
    "berp(x)",
    "``ber'(x)``.  df/dx = Re w² (J₂ - J₀)(w x) / 2, w = e^{3πi/4}  (DLMF 10.6.1)",
    singles(0.4, 3),
    x=lambda x: real(_bend_of_first(x)),
)
beip: Any = special(
    "beip(x)",
    "``bei'(x)``.  df/dx = Im w² (J₂ - J₀)(w x) / 2, w = e^{3πi/4}  (DLMF 10.6.1)",
    singles(0.4, 3),
    x=lambda x: imag(_bend_of_first(x)),
)
kerp: Any = special(
    "kerp(x)",
    "``ker'(x)``.  df/dx = Re w² (K₂ + K₀)(w x) / 2, w = e^{πi/4}  (DLMF 10.29.1)",
    singles(0.4, 3),
    x=lambda x: real(_bend_of_second(x)),
)
keip: Any = special(
    "keip(x)",
    "``kei'(x)``.  df/dx = Im w² (K₂ + K₀)(w x) / 2, w = e^{πi/4}  (DLMF 10.29.1)",
    singles(0.4, 3),
    x=lambda x: imag(_bend_of_second(x)),
)


def kelvin(x: Any, /) -> tuple[Any, Any, Any, Any]:
    """``(ber + i bei, ker + i kei, ber' + i bei', ker' + i kei')`` of `x`.

    >>> import pullback as pb
    >>> pb.special.kelvin(pb.tensor(1.0))[0]
    tensor(0.98438178+0.24956604j)
    """
    return ber(x) + 1j * bei(x), ker(x) + 1j * kei(x), berp(x) + 1j * beip(x), kerp(x) + 1j * keip(x)
