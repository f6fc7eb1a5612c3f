"""``torch.special``: special functions by SciPy's names, under torch's."""

from __future__ import annotations

from typing import Any

from pullback.torch import _functions_elementwise, _functions_reductions  # noqa: F401 - they fill the table
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._export import xp as _xp
from pullback.torch._promotion import as_float as _as_float
from pullback.torch._promotion import together as _together

__all__ = ["digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p", "log_softmax"]
__all__ += ["logit", "logsumexp", "polygamma", "psi", "softmax", "xlog1py", "xlogy"]

digamma = psi = _FUNCTIONS["digamma"]
erf, erfc, erfinv = _FUNCTIONS["erf"], _FUNCTIONS["erfc"], _FUNCTIONS["erfinv"]
exp2, expm1, log1p = _FUNCTIONS["exp2"], _FUNCTIONS["expm1"], _FUNCTIONS["log1p"]
expit, gammaln = _FUNCTIONS["sigmoid"], _FUNCTIONS["lgamma"]
softmax, log_softmax, logsumexp = _FUNCTIONS["softmax"], _FUNCTIONS["log_softmax"], _FUNCTIONS["logsumexp"]


def logit(input: Any, eps: Any = None) -> Any:
    """``log(input / (1 - input))``."""
    x = _as_float(input) if eps is None else _xp.clip(_as_float(input), eps, 1 - eps)
    return _xp.log(x) - _xp.log1p(-x)


def xlogy(input: Any, other: Any) -> Any:
    """``input * log(other)``, zero where `input` is zero."""
    return _xp.xlogy(*_together(input, other))


def xlog1py(input: Any, other: Any) -> Any:
    """``input * log1p(other)``, zero where `input` is zero."""
    return _xp.xlog1py(*_together(input, other))


def entr(input: Any) -> Any:
    """``-input * log(input)``."""
    return -xlogy(input, input)


def polygamma(n: int, input: Any) -> Any:
    """The `n`-th derivative of `digamma`."""
    return _xp.polygamma(n, _as_float(input))
