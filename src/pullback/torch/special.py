"""``torch.special``: special functions by SciPy's names, under torch's."""

from __future__ import annotations

from typing import Any

from pullback.torch import _functions_elementwise, _functions_reductions  # noqa: F401 - they fill the table
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._export import xp as _xp
from pullback.torch._missing import refuse as _refuse
from pullback.torch._promotion import as_float as _as_float

__all__ = ["entr", "exp2", "expit", "expm1", "log1p", "log_softmax", "logit", "logsumexp", "softmax"]
#: Names that are here exactly when the operator is there: this module's name -> that of `pullback.torch`.
_ELSEWHERE = {
    "digamma": "digamma",
    "psi": "digamma",
    "gammaln": "lgamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "xlogy": "xlogy",
}


def _named_here(name: str) -> Any:
    found = _FUNCTIONS.get(_ELSEWHERE.get(name, ""))
    if found is None:
        _refuse("special", name)
    return found


exp2, expm1, expit, log1p = (_FUNCTIONS[name] for name in ("exp2", "expm1", "sigmoid", "log1p"))
softmax, log_softmax, logsumexp = (_FUNCTIONS[name] for name in ("softmax", "log_softmax", "logsumexp"))
__getattr__ = _named_here


def logit(input: Any, eps: Any = None) -> Any:
    """``log(input / (1 - input))``."""
    x = _as_float(input) if eps is None else _xp.clip(_as_float(input), eps, 1 - eps)
    return _xp.log(x) - _xp.log1p(-x)


def entr(input: Any) -> Any:
    """``-input * log(input)``."""
    return -_named_here("xlogy")(input, input)
