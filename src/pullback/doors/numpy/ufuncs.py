"""NumPy's ufuncs and the operators that compute them; what ``out=``, ``where=`` and ``dtype=`` mean for these."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.doors.numpy import UFUNCS
from pullback.doors.numpy.tools import arr, bare, floating, into, kind_of, real_only, refuse_array, tensor, wrapped, xp
from pullback.ops import ufuncs as more
from pullback.ops.indexing import key_of, read_at
from pullback.ops.inplace import index_put

# ------------------------------------------------------------------------------------------------------------- the table
#: Ufuncs whose operator has another name; all others have the one that NumPy gives them.
_NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
}
# fmt: off
_SAME = (
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1",
    "floor", "floor_divide", "greater", "greater_equal", "hypot", "isfinite", "isinf", "isnan", "less", "less_equal", "log",
    "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "maximum",
    "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "reciprocal", "remainder", "sign", "signbit",
    "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
)
#: In `pullback.ops.ufuncs`.
_MORE = ("cbrt", "exp2", "fmod", "heaviside", "ldexp", "logaddexp2")
#: Of integers and booleans only, or with a result that has no derivative.
_CONSTANT = ("bitwise_count", "gcd", "lcm", "spacing", "isnat")
# fmt: on


def _constant(ufunc: Any) -> Callable[..., Any]:
    """A ufunc without derivative: its values."""
    return lambda *inputs: wrapped(kind_of(inputs) or Tensor, ufunc(*[bare(x) for x in inputs]))


def _fmax(a: Any, b: Any) -> Any:
    return xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, xp.maximum(a, b)))


def _fmin(a: Any, b: Any) -> Any:
    return xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, xp.minimum(a, b)))


def _wide(x: Any) -> Any:
    """As ``float_power`` computes: in double precision at least."""
    return xp.astype(arr(x), np.result_type(arr(x).dtype, np.float64), copy=False)


def _frexp(x: Any) -> Any:
    exponent = np.frexp(bare(x))[1]
    return more.ldexp(x, -exponent), wrapped(kind_of([x]), exponent)


def _modf(x: Any) -> Any:
    x = real_only(arr(x), "modf")
    whole = xp.trunc(x)
    return xp.where(xp.isinf(x), 0.0, x - xp.where(xp.isinf(x), 0.0, whole)), whole


def _scaled(x: Any, factor: float) -> Any:
    return xp.multiply(real_only(arr(x), "degrees and np.radians"), factor)


def _vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    return xp.vecdot(a, b, axis=axis)


COMPOSED: dict[str, Callable[..., Any]] = {
    "deg2rad": lambda x: _scaled(x, math.pi / 180),
    "degrees": lambda x: _scaled(x, 180 / math.pi),
    "divmod": lambda a, b: (xp.floor_divide(a, b), xp.remainder(a, b)),
    "fabs": lambda x: xp.abs(real_only(arr(x), "fabs")),
    "float_power": lambda a, b: xp.pow(_wide(a), _wide(b)),
    "fmax": _fmax,
    "fmin": _fmin,
    "frexp": _frexp,
    "matvec": lambda a, b: xp.matmul(a, xp.expand_dims(b, -1))[..., 0],
    "modf": _modf,
    "rad2deg": lambda x: _scaled(x, 180 / math.pi),
    "radians": lambda x: _scaled(x, math.pi / 180),
    "rint": lambda x: xp.round(floating(arr(x))),
    "vecdot": _vecdot,
    "vecmat": lambda a, b: xp.matmul(xp.expand_dims(xp.conj(a), -2), b)[..., 0, :],
}


def _fill() -> None:
    entries: dict[str, Callable[..., Any]] = {name: getattr(xp, operator) for name, operator in _NAMES.items()}
    entries |= {name: getattr(xp, name) for name in _SAME}
    entries |= {name: getattr(more, name) for name in _MORE}
    entries |= COMPOSED
    for name, call in entries.items():
        if hasattr(np, name):
            UFUNCS[getattr(np, name)] = call
    for name in _CONSTANT:
        if hasattr(np, name):
            UFUNCS[getattr(np, name)] = _constant(getattr(np, name))


_fill()
UFUNCS[np._core.umath.clip] = xp.clip  # type: ignore[attr-defined]  # behind ``array.clip(x)``, and nowhere public


# ----------------------------------------------------------------------------------------------------------- with options
def operand(value: Any) -> Any:
    """An argument as operators take it."""
    if isinstance(value, (Tensor, np.ndarray, np.generic, int, float, complex)):
        return value
    return arr(value)


def plain_call(
    ufunc: Any,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    signature: Any = None,
    order: str = "K",
    subok: bool = True,
    **core: Any,
) -> Any:
    """``ufunc(*inputs)`` with NumPy's options.

    `order` is accepted and says nothing (a Tensor promises no layout), and so does `subok`.  `core` are the options of
    ufuncs on vectors and matrices; of these only ``axis`` of ``vecdot`` is known.
    """
    values = [operand(x) for x in inputs]
    if dtype is not None or signature is not None:
        values = in_loop(ufunc, values, dtype, casting, signature)
    if core and not (ufunc.__name__ == "vecdot" and core.keys() <= {"axis"}):
        raise lesson(
            NotImplementedError,
            f"np.{ufunc.__name__} of Tensors does not know the options {', '.join(sorted(core))}",
            instead="np.moveaxis(x, ...) before, and np.expand_dims(...) after it.",
        )
    if where is not True:
        return _where(ufunc, values, out, where, casting)
    result = UFUNCS[ufunc](*values, **core)
    if out is None:
        return result
    if ufunc.nout == 1:
        return into(out, result, casting)
    return tuple([into(o, r, casting) for o, r in zip(out, result, strict=True)])


def in_loop(ufunc: Any, values: list[Any], dtype: Any, casting: str = "same_kind", signature: Any = None) -> list[Any]:
    """The arguments in the dtypes of the loop that ``dtype=`` or ``signature=`` chooses."""
    if signature is None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    given = [x.dtype if hasattr(x, "dtype") else type(x) for x in values]
    chosen = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), signature=signature, casting=casting)
    return [
        x if x.__class__ in (int, float, complex) else xp.astype(arr(x), kind, copy=False)
        for x, kind in zip(values, chosen, strict=False)
    ]


def _where(ufunc: Any, values: list[Any], out: Any, where: Any, casting: str) -> Any:
    """Computed only where the mask holds; elsewhere what stands in ``out=``, zeros where there is none."""
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise lesson(NotImplementedError, f"np.{ufunc.__name__} of Tensors does not know the option where")
    mask, target = np.asarray(bare(where), dtype=bool), out[0] if out else None
    spread = xp.broadcast_arrays(*[tensor(x) for x in values], mask)
    if target is not None and target.shape != spread[-1].shape:
        spread = [xp.broadcast_to(x, target.shape) for x in spread]
    key = key_of(spread[-1])
    part = UFUNCS[ufunc](*[read_at(x, key) if hasattr(v, "dtype") else v for x, v in zip(spread, values, strict=False)])
    if target is None:
        return index_put(xp.zeros_like(spread[0], dtype=part.dtype), key_of(spread[-1]).entries, part)
    if isinstance(target, np.ndarray):
        refuse_array(part, "out=")
    return into(target, index_put(xp.astype(tensor(target), target.dtype), key.entries, xp.astype(part, target.dtype)))
