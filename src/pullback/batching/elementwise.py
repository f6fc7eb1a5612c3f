"""Batching rules of elementwise functions: entries are lined up, and broadcasting does the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.batching.batched import Batch, Batched, batch_of, namespace_for, padded
from pullback.batching.memory import compute, large

#: The elementwise functions of the standard, and further ones of NumPy's that rules and doors use.
NAMES = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_invert",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "square",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
    "absolute",
    "angle",
    "arctan2",
    "around",
    "cbrt",
    "deg2rad",
    "exp2",
    "fabs",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "i0",
    "invert",
    "isclose",
    "ldexp",
    "logaddexp2",
    "mod",
    "nan_to_num",
    "rad2deg",
    "rint",
    "true_divide",
    "astype",
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
    "isneginf",
    "isposinf",
    "isreal",
    "iscomplex",
    "fix",
    "degrees",
    "radians",
]


def line_up(values: Sequence[Any], batch: Batch) -> list[Any]:
    """Values of which entries can be broadcast together: batch axis in front, entries with equally many axes."""
    ndim = max([len(v.shape) for v in values if hasattr(v, "dtype") and not isinstance(v, type)], default=0)
    return [padded(v.value, ndim) if v.__class__ is Batched and v.batch is batch else v for v in values]


def apply_elementwise(function: Callable[..., Any], values: Sequence[Any], options: dict[str, Any]) -> Any:
    """An elementwise function of arrays, some of them batched."""
    batch = batch_of(values)
    if batch is None:
        return function(*values, **options)
    batched = {k: v for k, v in options.items() if v.__class__ is Batched}
    if batched:  # clip(x, min=lower): arrays given by name
        names = list(batched)
        rest = {k: v for k, v in options.items() if k not in batched}
        count = len(values)
        return apply_elementwise(
            lambda *given: function(*given[:count], **dict(zip(names, given[count:], strict=True)), **rest),
            [*values, *batched.values()],
            {},
        )
    lined = line_up(values, batch)
    if options or batch_of(lined) is not None:  # not every library asks the right operand
        return again(apply_elementwise(function, lined, options), batch)
    return again(compute(function, lined), batch)


def again(result: Any, batch: Batch) -> Any:
    """What a function gave for the values, as what it gives for the batched arrays."""
    if isinstance(result, (tuple, list)):
        parts = [again(part, batch) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return Batched(np.asarray(result) if isinstance(result, np.generic) else result, batch)


def named(name: str) -> Callable[..., Any]:
    """The function of that name in the namespace of whatever it is applied to."""

    def function(*values: Any, **options: Any) -> Any:
        return getattr(namespace_for(values), name)(*values, **options)

    return function


def elementwise(name: str) -> Callable[..., Any]:
    """The batching rule of an elementwise function."""
    run = named(name)
    ufunc: Any = getattr(np, name, None)

    def rule(*values: Any, **options: Any) -> Any:
        if batch_of(options.values()) is not None:
            return apply_elementwise(run, [*values], options)
        batch = batch_of(values)
        if batch is None:
            return run(*values, **options)
        lined = line_up(values, batch)
        return again(run(*lined, **options) if options or not large(lined) else compute(ufunc, lined), batch)

    rule.__name__ = name
    return rule


def astype(x: Any, dtype: Any, /, **options: Any) -> Any:
    """Another dtype."""
    if x.__class__ is not Batched:
        return named("astype")(x, dtype, **options)
    return again(namespace_for((x.value,)).astype(x.value, dtype, **options), x.batch)


RULES: dict[str, Callable[..., Any]] = {**{name: elementwise(name) for name in NAMES}, "astype": astype}
