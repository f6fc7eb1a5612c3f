"""Elementwise functions and methods, generated from tables; each has the in-place form that torch has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.torch._export import (
    FUNCTIONS,
    METHODS,
    both,
    function,
    need_tensor,
    numpy_names,
    with_in_place,
    write_out,
    xp,
)
from pullback.torch._promotion import as_dtype_of, as_float, as_number, category, for_division, result_type, together

#: torch's name: what is done to integers and booleans first.
_UNARY: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan"), as_float),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"), as_float),
    **dict.fromkeys(("sigmoid", "reciprocal"), as_float),
    **dict.fromkeys(("abs", "neg", "floor", "ceil", "trunc"), lambda x: x),
    "square": as_number,
}
_UNARY_NAMES = {"neg": "negative"}
_PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
_ALIASES = {
    "abs": ("absolute",),
    "neg": ("negative",),
    "trunc": ("fix",),
    "asin": ("arcsin",),
    "acos": ("arccos",),
    "atan": ("arctan",),
    "asinh": ("arcsinh",),
    "acosh": ("arccosh",),
    "atanh": ("arctanh",),
}
#: torch's name: the operator's name.
_BINARY = {
    "maximum": "maximum",
    "minimum": "minimum",
    "atan2": "atan2",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "copysign": "copysign",
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift",
}
_FLOATING = {"atan2", "hypot", "logaddexp", "copysign"}
_WITHOUT_IN_PLACE = {"maximum", "minimum", "logaddexp"}
_BINARY_ALIASES = {
    "atan2": ("arctan2",),
    "ne": ("not_equal",),
    "lt": ("less",),
    "le": ("less_equal",),
    "gt": ("greater",),
    "ge": ("greater_equal",),
}


def _unary(name: str, prepare: Callable[[Any], Any]) -> Callable[..., Any]:
    operator = _UNARY_NAMES.get(name, name)

    def call(input: Any, *, out: Any = None) -> Any:
        result = getattr(xp, operator)(prepare(need_tensor(input, name)))
        return result if out is None else write_out(name, result, out)

    call.__doc__ = f"Elementwise ``{name}``; see `pullback.{operator}`."
    return call


def _binary(name: str) -> Callable[..., Any]:
    operator = _BINARY[name]
    align = for_division if name in _FLOATING else together

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        result = getattr(xp, operator)(*align(input, other))
        return result if out is None else write_out(name, result, out)

    call.__doc__ = f"Elementwise ``{name}``, with broadcasting; see `pullback.{operator}`."
    return call


for _name, _prepare in _UNARY.items():
    with_in_place(_name, *_ALIASES.get(_name, ()), plain=True)(_unary(_name, _prepare))
    FUNCTIONS[f"{_name}_"] = METHODS[f"{_name}_"]
for _name in _PREDICATES:
    both(_name, plain=True)(_unary(_name, lambda x: x))
for _name in _BINARY:
    (both if _name in _WITHOUT_IN_PLACE else with_in_place)(_name, *_BINARY_ALIASES.get(_name, ()), plain=True)(
        _binary(_name)
    )


# ------------------------------------------------------------------------------------------------- arithmetic
def _times(other: Any, alpha: Any) -> Any:
    """``alpha * other``; a whole `alpha` does not make integers of booleans."""
    if alpha == 1:
        return other
    whole = isinstance(alpha, int) and isinstance(other, Base)
    return as_dtype_of(other * alpha, other.dtype) if whole else other * alpha


@with_in_place("add", plain=True)
def _add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input + alpha * other``."""
    a, b = together(input, _times(other, alpha))
    return xp.add(a, b) if out is None else write_out("add", xp.add(a, b), out)


@with_in_place("sub", "subtract", plain=True)
def _sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    """``input - alpha * other``."""
    a, b = together(input, _times(other, alpha))
    return xp.subtract(a, b) if out is None else write_out("sub", xp.subtract(a, b), out)


@both("rsub", plain=True)
def _rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - alpha * input``."""
    return _sub(other, input, alpha=alpha)


@with_in_place("mul", "multiply", plain=True)
def _mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """``input * other``."""
    a, b = together(input, other)
    return xp.multiply(a, b) if out is None else write_out("mul", xp.multiply(a, b), out)


@with_in_place("div", "divide", "true_divide", plain=True)
def _div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """``input / other``; `rounding_mode` is ``None``, ``"floor"`` or ``"trunc"``."""
    if rounding_mode == "floor":
        result = xp.floor_divide(*together(input, other))
    else:
        a, b = for_division(input, other)
        result = xp.divide(a, b)
        if rounding_mode == "trunc":
            result = as_dtype_of(xp.trunc(result), result_type(input, other))
        elif rounding_mode is not None:
            raise lesson(
                RuntimeError,
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}",
            )
    return result if out is None else write_out("div", result, out)


@with_in_place("pow", plain=True)
def _pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """``input ** exponent``."""
    a, b = together(input, exponent)
    return xp.pow(a, b) if out is None else write_out("pow", xp.pow(a, b), out)


@with_in_place("rsqrt", plain=True)
def _rsqrt(input: Any) -> Any:
    """``1 / sqrt(input)``."""
    return xp.reciprocal(xp.sqrt(as_float(input)))


@with_in_place("exp2", plain=True)
def _exp2(input: Any) -> Any:
    """``2 ** input``."""
    return xp.pow(2.0, as_float(input))


@with_in_place("frac", plain=True)
def _frac(input: Any) -> Any:
    """What `trunc` takes away."""
    return input - xp.trunc(input)


@with_in_place("fmod", plain=True)
def _fmod(input: Any, other: Any) -> Any:
    """The remainder with the sign of `input`."""
    a, b = together(input, other)
    size = abs(b)
    return xp.where(a < 0, -xp.remainder(-a, size), xp.remainder(a, size))


def _ignoring_nan(name: str, operator: str) -> None:
    def call(input: Any, other: Any) -> Any:
        a, b = together(input, other)
        return xp.where(xp.isnan(b), a, xp.where(xp.isnan(a), b, getattr(xp, operator)(a, b)))

    call.__doc__ = f"`{operator}`, with the other one where one is NaN."
    both(name, plain=True)(call)


_ignoring_nan("fmax", "maximum")
_ignoring_nan("fmin", "minimum")


@with_in_place("logical_not", plain=True)
def _logical_not(input: Any, *, out: Any = None) -> Any:
    """Elementwise ``not``, of any dtype."""
    flags = input if category(input.dtype) == 0 else input != 0
    return xp.logical_not(flags) if out is None else write_out("logical_not", xp.logical_not(flags), out)


@with_in_place("bitwise_not", plain=True)
def _bitwise_not(input: Any) -> Any:
    """Elementwise ``~``."""
    return xp.bitwise_invert(input)


@with_in_place("round")
def _round(input: Any, *, decimals: int = 0) -> Any:
    """Round half to even, to a number of decimals.  Its derivative is zero."""
    if decimals == 0:
        return xp.round(input)
    scale = 10.0**decimals
    return xp.round(input * scale) / scale


@with_in_place("sign", "sgn")
def _sign(input: Any) -> Any:
    """1, 0 or -1; of complex numbers those of absolute value 1, or 0."""
    return as_dtype_of(xp.sign(as_number(input)), input.dtype)


@both("positive", plain=True)
def _positive(input: Any) -> Any:
    """The Tensor itself."""
    return input


# ------------------------------------------------------------------------------------------------- clamp and choose
@with_in_place("clamp", "clip")
def _clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Every element brought between `min` and `max` (numbers or Tensors, either may be left out)."""
    if min is None and max is None:
        raise lesson(RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = result_type(input, *[bound for bound in (min, max) if bound is not None])
    bounds = [bound if bound is None else as_dtype_of(bound, dtype) for bound in (min, max)]
    return xp.clip(as_dtype_of(input, dtype), *bounds)


@with_in_place("clamp_min", plain=True)
def _clamp_min(input: Any, min: Any) -> Any:
    """Every element at least `min`."""
    return _clamp(input, min)


@with_in_place("clamp_max", plain=True)
def _clamp_max(input: Any, max: Any) -> Any:
    """Every element at most `max`."""
    return _clamp(input, None, max)


def _where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where `condition`, `other` elsewhere; with `condition` alone, the indices where it holds."""
    if input is None and other is None:
        return tuple([wrap(type(condition), axis) for axis in np.nonzero(np.atleast_1d(condition._array))])
    if not isinstance(input, Base) and not isinstance(other, Base):
        dtype = result_type(input, other)
        input, other = (wrap(type(condition), np.asarray(value, dtype=dtype)) for value in (input, other))
    if category(condition.dtype) != 0:
        condition = condition != 0
    return xp.where(condition, *together(input, other))


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """``self`` where `condition`, `other` elsewhere."""
    return _where(condition, self, other)


FUNCTIONS["where"], METHODS["where"] = numpy_names(_where, "where"), _where_method


@with_in_place("lerp", plain=True)
def _lerp(input: Any, end: Any, weight: Any) -> Any:
    """``input + weight * (end - input)``."""
    return input + weight * (end - input)


@with_in_place("addcmul", plain=True)
def _addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 * tensor2``."""
    product = tensor1 * tensor2
    return input + (product if value == 1 else product * value)


@with_in_place("addcdiv", plain=True)
def _addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 / tensor2``."""
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else quotient * value)


@with_in_place("relu", plain=True)
def _relu(input: Any) -> Any:
    """``max(input, 0)``, with derivative 0 at 0."""
    return xp.relu(input)


# ------------------------------------------------------------------------------------------------- complex numbers
@both("conj", "conj_physical", plain=True)
def _conj(input: Any) -> Any:
    """The complex conjugate; a real Tensor is returned as it is."""
    return xp.conj(input) if category(input.dtype) == 3 else input


@both("real", plain=True)
def _real(input: Any) -> Any:
    """The real part; a real Tensor is returned as it is."""
    return xp.real(input) if category(input.dtype) == 3 else input


@both("imag", plain=True)
def _imag(input: Any) -> Any:
    """The imaginary part."""
    if category(input.dtype) != 3:
        raise lesson(RuntimeError, "imag is not implemented for tensors with non-complex dtypes.")
    return xp.imag(input)


@both("angle", plain=True)
def _angle(input: Any) -> Any:
    """The argument of complex numbers, 0 or π for real ones."""
    return xp.angle(as_float(input))


@function("complex")
def _complex(real: Any, imag: Any) -> Any:
    """A complex Tensor from real and imaginary part."""
    if real.dtype != imag.dtype:
        raise lesson(
            RuntimeError, f"Expected both inputs to have the same dtype, but they are {real.dtype} and {imag.dtype}"
        )
    return real + 1j * imag


@both("isclose")
def _isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Elementwise ``|input - other| <= atol + rtol * |other|``."""
    a, b = together(input, other)
    gap = xp.abs(xp.subtract(a, b)) if category(a.dtype) else xp.logical_xor(a, b)
    close = xp.logical_or(a == b, xp.logical_and(gap <= atol + rtol * xp.abs(b), xp.isfinite(b)))
    return xp.logical_or(close, xp.logical_and(xp.isnan(a), xp.isnan(b))) if equal_nan else close


@both("allclose")
def _allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see `isclose`."""
    return bool(_isclose(input, other, rtol, atol, equal_nan)._array.all())


@both("equal", plain=True)
def _equal(input: Any, other: Any) -> bool:
    """Whether shapes and all elements are equal; a Python bool."""
    return tuple(input.shape) == tuple(other.shape) and bool((input._array == other._array).all())
