"""Special functions under the names of `scipy.special`, built from the registry.

As the attribute ``special`` of the namespace of Tensors it is what SciPy looks for when its own functions are given
Tensors, so that ``scipy.special.erf(x)`` is differentiable where ``SCIPY_ARRAY_API=1`` is set.
"""

from __future__ import annotations

from typing import Any

import pullback.ops.all
import pullback.ops.special  # noqa: F401 - fills the registry
from pullback.ops.registry import REGISTRY
from pullback.ops.special.airy import airy
from pullback.ops.special.integrals import fresnel, shichi, sici
from pullback.ops.special.sums import log_softmax, logsumexp, multigammaln, softmax

#: SciPy's second names, and the operators that are registered elsewhere.
_ALIASES = {"digamma": "special.psi", "jn": "special.jv", "yn": "special.yv", "kn": "special.kv"}
_ELSEWHERE = {"expit": "sigmoid", "expm1": "expm1", "log1p": "log1p"}

_operators: dict[str, Any] = {
    name.removeprefix("special."): record.call for name, record in REGISTRY.items() if name.startswith("special.")
}
_operators |= {name: REGISTRY[registered].call for name, registered in (_ALIASES | _ELSEWHERE).items()}
globals().update(_operators)
__all__ = [
    "airy",
    "fresnel",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "shichi",
    "sici",
    "softmax",
    *_operators,
]
