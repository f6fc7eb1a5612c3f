"""``torch.special``: special functions by SciPy's names, under torch's."""

from __future__ import annotations

from typing import Any

from pullback.torch import _functions_elementwise, _functions_reductions, _functions_special  # noqa: F401 - fill the table
from pullback.torch._errors import with_torchs_errors as _with_torchs_errors
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._functions_special import of_degree as _of_degree
from pullback.torch._functions_special import of_one as _of_one
from pullback.torch._functions_special import of_two as _of_two
from pullback.torch._missing import refuse as _refuse

#: This module's name: that of `pullback.torch`.
_THERE = {
    **{
        name: name
        for name in (
            *("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "log_softmax", "logit"),
            *("logsumexp", "polygamma", "round", "sinc", "softmax", "xlogy"),
        )
    },
    "expit": "sigmoid",
    "psi": "digamma",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "gammainc": "igamma",
    "gammaincc": "igammac",
}
#: This module's name: SciPy's.
_OF_ONE = {
    **{name: name for name in ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri")},
    **{f"bessel_{name}": name for name in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{name}": name for name in ("i0", "i1", "k0", "k1")},
    **{f"scaled_modified_bessel_{name}": f"{name}e" for name in ("k0", "k1")},
    "airy_ai": "airy_ai",
}
_OF_TWO = {"xlog1py": "xlog1py", "zeta": "zeta"}
_OF_DEGREE = {
    "chebyshev_polynomial_t": "eval_chebyt",
    "chebyshev_polynomial_u": "eval_chebyu",
    "hermite_polynomial_h": "eval_hermite",
    "hermite_polynomial_he": "eval_hermitenorm",
    "laguerre_polynomial_l": "eval_laguerre",
    "legendre_polynomial_p": "eval_legendre",
    "shifted_chebyshev_polynomial_t": "eval_sh_chebyt",
    "shifted_chebyshev_polynomial_u": "eval_sh_chebyu",
}

_here: dict[str, Any] = {
    **{name: _FUNCTIONS[there] for name, there in _THERE.items()},
    **{name: _of_one(name, operator) for name, operator in _OF_ONE.items()},
    **{name: _of_two(name, operator) for name, operator in _OF_TWO.items()},
    **{name: _of_degree(name, operator) for name, operator in _OF_DEGREE.items()},
}


def _third_kind(name: str, sign: int, shifted: bool) -> None:
    """Chebyshev polynomials V (sign -1) and W (sign 1) of the third and fourth kind: ``Uₙ ± Uₙ₋₁``."""
    u = _here["shifted_chebyshev_polynomial_u" if shifted else "chebyshev_polynomial_u"]

    def call(input: Any, n: Any, *, out: Any = None) -> Any:
        found = u(input, n) + sign * u(input, n - 1)
        return found if out is None else out.copy_(found)

    call.__name__ = name
    call.__doc__ = f"The polynomial of degree `n` at `input`: ``Uₙ {'+' if sign > 0 else '-'} Uₙ₋₁``."
    _here[name] = call


for _prefix in ("", "shifted_"):
    _third_kind(f"{_prefix}chebyshev_polynomial_v", -1, bool(_prefix))
    _third_kind(f"{_prefix}chebyshev_polynomial_w", 1, bool(_prefix))


def _spherical_bessel_j0(input: Any, *, out: Any = None) -> Any:
    """``sin(input) / input``, and 1 at 0."""
    return _FUNCTIONS["sinc"](input / 3.141592653589793, out=out)


_here["spherical_bessel_j0"] = _spherical_bessel_j0
_here = {name: _with_torchs_errors(call, name) for name, call in _here.items()}
globals().update(_here)
__all__ = list(_here)


def __getattr__(name: str) -> Any:
    _refuse("special", name)
