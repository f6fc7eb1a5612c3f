"""Special functions under the names of `scipy.special`, built from the registry.

As the attribute ``special`` of the namespace of Tensors it is what SciPy looks for when its own functions are given
Tensors, so that ``scipy.special.erf(x)`` is differentiable where ``SCIPY_ARRAY_API=1`` is set.
"""

from __future__ import annotations

import inspect
from typing import Any

import pullback.ops.all
import pullback.ops.special  # noqa: F401 - fills the registry
from pullback.ops.registry import REGISTRY
from pullback.ops.special import differential, refused
from pullback.ops.special.airy import airy, airye
from pullback.ops.special.bessel_integrals import it2i0k0, it2j0y0, itairy, iti0k0, itj0y0, modfresnelm, modfresnelp
from pullback.ops.special.integrals import fresnel, shichi, sici
from pullback.ops.special.jacobian import ellipj
from pullback.ops.special.kelvin import kelvin
from pullback.ops.special.sums import log_softmax, logsumexp, multigammaln, softmax

#: SciPy's second names, and the operators that are registered elsewhere.
_ALIASES = {"digamma": "special.psi", "jn": "special.jv", "yn": "special.yv", "kn": "special.kv"}
_ELSEWHERE = {"expit": "sigmoid", "expm1": "expm1", "log1p": "log1p"}

_operators: dict[str, Any] = {
    name.removeprefix("special."): record.call for name, record in REGISTRY.items() if name.startswith("special.")
}
_operators |= {name: REGISTRY[registered].call for name, registered in (_ALIASES | _ELSEWHERE).items()}


def _pair(name: str, first: Any, second: Any) -> Any:
    """SciPy's function, which gives the value and the slope."""

    def function(*args: Any) -> tuple[Any, Any]:
        return first(*args), second(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}_f` and `{name}_df`, as SciPy gives them."
    function.__signature__ = inspect.signature(first)  # type: ignore[attr-defined]
    return function


_pairs = {name: _pair(name, *both) for name, both in (differential.PAIRS | refused.PAIRS).items()}
globals().update(_operators)
globals().update(_pairs)
__all__ = [
    "airy",
    "airye",
    "ellipj",
    "fresnel",
    "it2i0k0",
    "it2j0y0",
    "itairy",
    "iti0k0",
    "itj0y0",
    "kelvin",
    "log_softmax",
    "logsumexp",
    "modfresnelm",
    "modfresnelp",
    "multigammaln",
    "shichi",
    "sici",
    "softmax",
    *_operators,
    *_pairs,
]
