"""Special functions and methods, generated from tables; SciPy's names of the operators stand beside torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.torch._export import FUNCTIONS, METHODS, need_tensor, with_in_place, write_out, xp
from pullback.torch._promotion import as_float, for_division

#: torch's name: SciPy's.  In ``pullback.torch``, ``pullback.torch.special``, and methods.
_OF_ONE = {
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "lgamma": "gammaln",
    "digamma": "psi",
    "i0": "i0",
    "sinc": "sinc",
}
_OF_TWO = {"xlogy": "xlogy", "igamma": "gammainc", "igammac": "gammaincc"}
#: Those that torch has as functions in place, too.
_IN_PLACE = ("erf", "erfc", "i0", "logit", "sinc", "xlogy")


def of_one(name: str, operator: str) -> Callable[..., Any]:
    """A function of one Tensor, from the special function `operator`."""
    run = getattr(xp.special, operator)

    def call(input: Any, *, out: Any = None) -> Any:
        result = run(as_float(need_tensor(input, name)))
        return result if out is None else write_out(name, result, out)

    return _named(call, name, f"Elementwise ``{name}``; see `pullback.special.{operator}`.")


def of_two(name: str, operator: str) -> Callable[..., Any]:
    """A function of two Tensors, or of a Tensor and a number."""
    run = getattr(xp.special, operator)

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        result = run(*for_division(input, other))
        return result if out is None else write_out(name, result, out)

    return _named(call, name, f"Elementwise ``{name}``, with broadcasting; see `pullback.special.{operator}`.")


def of_degree(name: str, operator: str) -> Callable[..., Any]:
    """A polynomial in `input`; torch gives the degree last, SciPy first."""
    run = getattr(xp.special, operator)

    def call(input: Any, n: Any, *, out: Any = None) -> Any:
        x, degree = for_division(input, n)
        result = run(degree if hasattr(n, "dtype") else n, x)
        return result if out is None else write_out(name, result, out)

    return _named(call, name, f"The polynomial of degree `n` at `input`; see `pullback.special.{operator}`.")


def _named(call: Any, name: str, doc: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


for _name, _operator in _OF_ONE.items():
    with_in_place(_name, plain=True)(of_one(_name, _operator))
for _name, _operator in _OF_TWO.items():
    with_in_place(_name, plain=True)(of_two(_name, _operator))


@with_in_place("logit", plain=True)
def _logit(input: Any, eps: Any = None, *, out: Any = None) -> Any:
    """``log(input / (1 - input))``, with `input` brought between `eps` and ``1 - eps`` where that is given."""
    x = as_float(need_tensor(input, "logit"))
    result = xp.special.logit(x if eps is None else xp.clip(x, eps, 1 - eps))
    return result if out is None else write_out("logit", result, out)


@with_in_place("mvlgamma", plain=True)
def _mvlgamma(input: Any, p: int, *, out: Any = None) -> Any:
    """The logarithm of the multivariate gamma function of dimension `p`."""
    result = xp.special.multigammaln(as_float(need_tensor(input, "mvlgamma")), p)
    return result if out is None else write_out("mvlgamma", result, out)


def _polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The `n`-th derivative of `digamma`."""
    result = xp.special.polygamma(n, as_float(need_tensor(input, "polygamma")))
    return result if out is None else write_out("polygamma", result, out)


@with_in_place("polygamma", plain=True)
def _polygamma_method(self: Any, n: int) -> Any:
    """The `n`-th derivative of `digamma`."""
    return _polygamma(n, self)


FUNCTIONS["polygamma"] = _named(_polygamma, "polygamma", _polygamma.__doc__ or "")
FUNCTIONS.update({f"{_name}_": METHODS[f"{_name}_"] for _name in _IN_PLACE})
