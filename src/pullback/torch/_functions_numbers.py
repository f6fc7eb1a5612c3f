"""Elementwise functions that programs use now and then: ``nan_to_num``, ``heaviside``, ``ldexp``, ``gcd`` ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.ops.computed import computed
from pullback.torch._dtypes import DTYPES
from pullback.torch._export import FUNCTIONS, METHODS, both, function, with_in_place, xp
from pullback.torch._promotion import as_dtype_of, as_float, category, for_division, result_type, together
from pullback.torch._results import named
from pullback.torch._size import Size

Frexp = named("frexp", "mantissa exponent")


# ------------------------------------------------------------------------------------------------- special values
@with_in_place("nan_to_num")
def _nan_to_num(input: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers in the place of NaN and of infinities: 0, and the largest ones of the dtype, unless others are given."""
    if category(input.dtype) < 2:
        return input.clone()
    if category(input.dtype) == 3:
        parts = [_nan_to_num(part, nan, posinf, neginf) for part in (xp.real(input), xp.imag(input))]
        return FUNCTIONS["complex"](*parts)
    limits = np.finfo(input.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    array = input._array
    found = xp.where(xp.isnan(array), 0.0 if nan is None else float(nan), input)
    return xp.where(array == math.inf, float(high), xp.where(array == -math.inf, float(low), found))


@both("isposinf", plain=True)
def _isposinf(input: Any) -> Any:
    """Where an entry is plus infinity."""
    _refuse_complex(input, "isposinf")
    return input == math.inf


@both("isneginf", plain=True)
def _isneginf(input: Any) -> Any:
    """Where an entry is minus infinity."""
    _refuse_complex(input, "isneginf")
    return input == -math.inf


def _refuse_complex(input: Any, name: str) -> None:
    if category(input.dtype) == 3:
        raise lesson(RuntimeError, f"{name} does not support complex inputs.", instead="x.real, x.imag.")


@both("isreal", plain=True)
def _isreal(input: Any) -> Any:
    """Where the imaginary part is 0."""
    return xp.imag(input) == 0 if category(input.dtype) == 3 else xp.equal(input.detach(), input.detach()) | True


@function("isin")
def _isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Where an entry of `elements` is among `test_elements`."""
    kind = type(elements if isinstance(elements, Base) else test_elements)
    sides: list[Any] = [
        np.asarray(side._array if isinstance(side, Base) else side) for side in (elements, test_elements)
    ]
    return wrap(kind, np.asarray(np.isin(sides[0], sides[1], assume_unique=assume_unique, invert=invert)))


@function("broadcast_shapes", plain=True)
def _broadcast_shapes(*shapes: Any) -> Any:
    """The shape that several have in common."""
    return Size(np.broadcast_shapes(*shapes))


@both("is_same_size", plain=True)
def _is_same_size(input: Any, other: Any) -> bool:
    """Whether both have the same shape."""
    return tuple(input.shape) == tuple(other.shape)


# ------------------------------------------------------------------------------------------------- angles, powers
@with_in_place("deg2rad")
def _deg2rad(input: Any) -> Any:
    """Degrees to radians."""
    return as_float(input) * (math.pi / 180)


@with_in_place("rad2deg")
def _rad2deg(input: Any) -> Any:
    """Radians to degrees."""
    return as_float(input) * (180 / math.pi)


@with_in_place("float_power", plain=True)
def _float_power(input: Any, exponent: Any) -> Any:
    """``input ** exponent`` in double precision."""
    dtype = DTYPES["complex128" if category(result_type(input, exponent)) == 3 else "float64"]
    return xp.pow(_as_double(input, dtype), _as_double(exponent, dtype))


def _as_double(value: Any, dtype: Any) -> Any:
    """A Tensor in double precision; a number as one that is not whole."""
    return as_dtype_of(value, dtype) if isinstance(value, Base) else dtype.type(value).item()


@with_in_place("ldexp", plain=True)
def _ldexp(input: Any, other: Any) -> Any:
    """``input * 2 ** other``."""
    a, b = for_division(input, other)
    return xp.multiply(a, xp.pow(2.0, b))


@both("frexp", plain=True)
def _frexp(input: Any) -> Any:
    """``input = mantissa * 2 ** exponent`` with a mantissa from 0.5 to 1."""
    if category(input.dtype) != 2:
        raise lesson(RuntimeError, "torch.frexp() only supports floating-point dtypes", instead="x.double().")
    exponent = computed(lambda x: np.asarray(np.frexp(x)[1], dtype=np.int32), input)
    scale = xp.pow(2.0, as_dtype_of(-exponent, input.dtype))
    return Frexp(input * scale, exponent)


@with_in_place("heaviside", plain=True)
def _heaviside(input: Any, values: Any) -> Any:
    """0 for negative entries, 1 for positive ones, `values` for 0."""
    if input.dtype != values.dtype:
        raise lesson(RuntimeError, "heaviside is not yet implemented for tensors with different dtypes.")
    _refuse_complex(input, "heaviside")
    array = input._array
    one = wrap(type(input), (array > 0).astype(input.dtype))
    return xp.where(array == 0, values, one)


def _logaddexp2(input: Any, other: Any) -> Any:
    """``log2(2 ** input + 2 ** other)`` without overflow."""
    a, b = for_division(input, other)
    return xp.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


both("logaddexp2", plain=True)(_logaddexp2)


@with_in_place("nextafter", plain=True)
def _nextafter(input: Any, other: Any) -> Any:
    """The next number after `input` towards `other`; its derivative is that of `input`."""
    a, b = together(input, other)
    values = np.nextafter(a._array, b._array)
    return a + (values - a._array) + xp.zeros_like(b) * 0


def _whole(name: str) -> None:
    def call(input: Any, other: Any) -> Any:
        a, b = together(input, other)
        if category(a.dtype) > 1:
            raise lesson(NotImplementedError, f"{name} is for whole numbers, not for {a.dtype}", instead="x.long().")
        second = b._array if isinstance(b, Base) else np.asarray(b, dtype=a.dtype)
        return wrap(type(a), np.asarray(getattr(np, name)(a._array, second)))

    call.__doc__ = f"``{name}`` of whole numbers."
    with_in_place(name, plain=True)(call)


_whole("gcd")
_whole("lcm")


# ------------------------------------------------------------------------------------------------- complex numbers
@function("polar")
def _polar(abs: Any, angle: Any) -> Any:
    """Complex numbers from absolute value and angle."""
    return FUNCTIONS["complex"](abs * xp.cos(angle), abs * xp.sin(angle))


@function("view_as_real", plain=True)
def _view_as_real(input: Any) -> Any:
    """Complex numbers as pairs of real ones, in a new last axis; a copy, unlike torch's."""
    if category(input.dtype) != 3:
        raise lesson(RuntimeError, "view_as_real is only supported for complex tensors")
    return xp.stack([xp.real(input), xp.imag(input)], axis=-1)


@function("view_as_complex", plain=True)
def _view_as_complex(input: Any) -> Any:
    """Pairs of real numbers, along the last axis, as complex ones; a copy, unlike torch's."""
    if category(input.dtype) != 2:
        raise lesson(
            RuntimeError, f"view_as_complex is only supported for floating point tensors, but got {input.dtype}"
        )
    if not input.ndim or input.shape[-1] != 2:
        raise lesson(RuntimeError, "Tensor must have a last dimension of size 2")
    return FUNCTIONS["complex"](input[..., 0], input[..., 1])


def _as_it_is(name: str, doc: str) -> None:
    def call(input: Any) -> Any:
        return input

    call.__doc__ = doc
    both(name, plain=True)(call)


_as_it_is("resolve_conj", "The Tensor itself: conjugation is done at once.")
_as_it_is("resolve_neg", "The Tensor itself: negation is done at once.")


def _always(value: bool, names: str, doc: str) -> None:
    for name in names.split():

        def call(input: Any) -> bool:
            return value

        call.__doc__ = doc
        METHODS[name] = call
        call.__name__ = name


_always(
    False, "is_conj is_neg is_shared is_pinned is_distributed is_coalesced", "``False``: there is no such kind here."
)
FUNCTIONS.update({name: METHODS[name] for name in ("is_conj", "is_neg", "is_distributed")})


@both("is_signed", plain=True)
def _is_signed(input: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return input.dtype.kind not in "bu"


# ------------------------------------------------------------------------------------------------- filled
@function("fill")
def _fill(input: Any, value: Any) -> Any:
    """`value` in the shape and dtype of `input`."""
    return xp.where(np.ones(tuple(input.shape), dtype=bool), FUNCTIONS["full_like"](input, 0).fill_(value), input)


@function("randint_like")
def _randint_like(input: Any, low: Any, high: Any = None, *, dtype: Any = None, **options: Any) -> Any:
    """Random whole numbers in the shape and dtype of another Tensor."""
    low, high = (0, low) if high is None else (low, high)
    return FUNCTIONS["randint"](low, high, tuple(input.shape), dtype=dtype or input.dtype)


#: Functions of torch that write into their argument, as the methods do.
_IN_PLACE_FUNCTIONS = """
clamp_ clamp_max_ clamp_min_ clip_ exp2_ fix_ frac_ negative_ round_ rsqrt_ nan_to_num_ deg2rad_ rad2deg_ ldexp_ gcd_ lcm_ relu_
arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ zero_ fill_ detach_ index_put_ addmv_ conj_physical_ resize_as_
"""


def enter_in_place_functions(kind: Any) -> None:
    """Enter them, once the class of Tensors has all its methods."""
    FUNCTIONS.update({name: getattr(kind, name) for name in _IN_PLACE_FUNCTIONS.split()})
