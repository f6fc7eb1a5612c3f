"""``torch.testing``: Tensors that have to be close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.core.tensor import Tensor as _Base
from pullback.torch._dtypes import as_dtype as _as_dtype
from pullback.torch._functions_creation import as_tensor as _as_tensor
from pullback.torch._missing import refuse as _refuse
from pullback.torch.random import Generator as _Generator
from pullback.torch.random import default_generator as _default

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

#: dtype: relative and absolute tolerance.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: Any = None,
    atol: Any = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise an AssertionError unless ``|actual - expected| <= atol + rtol |expected|`` everywhere.

    Parameters
    ----------
    actual, expected
        Tensors, arrays, numbers; or sequences and mappings of them.
    rtol, atol
        Both or none; those of the less precise dtype when left out.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise _lesson(
            ValueError, f"rtol and atol must both be specified or both be unspecified, but got {rtol=}, {atol=}"
        )
    options = (rtol, atol, equal_nan, check_dtype, check_stride)
    _compare(actual, expected, options, "", msg)


def _compare(actual: Any, expected: Any, options: Any, place: str, msg: Any) -> None:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if set(actual) != set(expected):
            _fail(f"The keys of the mappings do not match: {sorted(actual)} and {sorted(expected)}", place, msg)
        for key in expected:
            _compare(actual[key], expected[key], options, f"{place}[{key!r}]", msg)
    elif _is_sequence(expected) and _is_sequence(actual):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place, msg)
        for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, options, f"{place}[{k}]", msg)
    elif expected is None or actual is None:
        if expected is not actual:
            _fail(f"None mismatch: {actual} is not {expected}", place, msg)
    else:
        _compare_tensors(actual, expected, options, place, msg)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _compare_tensors(actual: Any, expected: Any, options: Any, place: str, msg: Any) -> None:
    rtol, atol, equal_nan, check_dtype, check_stride = options
    kinds = (_Base, _np.ndarray, _np.generic, int, float, complex)
    if not (isinstance(actual, kinds) and isinstance(expected, kinds)):
        raise _lesson(
            TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        )
    numbers = not (isinstance(actual, _Base) and isinstance(expected, _Base))
    a, b = (_as_tensor(value).detach() for value in (actual, expected))
    if tuple(a.shape) != tuple(b.shape):
        _fail(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.", place, msg)
    if check_dtype and not numbers and a.dtype != b.dtype:
        _fail(f"The values for attribute 'dtype' do not match: torch.{a.dtype} != torch.{b.dtype}.", place, msg)
    if check_stride and a.stride() != b.stride():
        _fail(f"The values for attribute 'stride' do not match: {a.stride()} != {b.stride()}.", place, msg)
    if rtol is None:
        found = (
            [(1e-7, 1e-7)]
            if numbers and a.dtype.kind in "fc"
            else [_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)]
        )
        rtol, atol = max(r for r, _ in found), max(t for _, t in found)
    mine, other = _np.asarray(a._array), _np.asarray(b._array)
    close = _np.isclose(mine.astype(_wide(mine)), other.astype(_wide(other)), rtol, atol, equal_nan)
    if not close.all():
        gap = _np.abs(mine.astype(_wide(mine)) - other.astype(_wide(other)))
        wrong = int(close.size - close.sum())
        if not close.ndim:
            _fail(f"Scalars are not close! Expected {other} but got {mine}. Absolute difference: {gap}", place, msg)
        _fail(
            f"Tensor-likes are not close! Mismatched elements: {wrong} / {close.size} ({100 * wrong / close.size:.1f}%). "
            f"Greatest absolute difference: {_np.nanmax(gap)} at index "
            f"{tuple(map(int, _np.unravel_index(int(_np.nanargmax(gap)), gap.shape)))} (up to {atol} allowed, and {rtol} "
            "relative to the expected value).",
            place,
            msg,
        )


def _wide(array: Any) -> Any:
    return _np.complex128 if array.dtype.kind == "c" else _np.float64


def _fail(text: str, place: str, msg: Any) -> None:
    text = f"{text} The failure occurred for item {place}" if place else text
    raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


def assert_allclose(
    actual: Any, expected: Any, rtol: Any = None, atol: Any = None, equal_nan: bool = True, msg: Any = ""
) -> None:
    """Old form of `assert_close`, which does not compare dtypes."""
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: Any = None,
    high: Any = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A Tensor of random numbers, from -9 to 9 (whole ones from -9 to 9, or from 0) unless `low` and `high` say otherwise."""
    numbers = (_default if isinstance(_default, _Generator) else _Generator())._numbers
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    dtype = _as_dtype(dtype)
    if dtype.kind == "b":
        values: Any = numbers.integers(0, 2, size).astype(dtype)
    elif dtype.kind in "iu":
        values = numbers.integers(
            (0 if dtype.kind == "u" else -9) if low is None else low, 10 if high is None else high, size
        )
    else:
        low, high = -9 if low is None else low, 9 if high is None else high
        values = numbers.uniform(low, high, size)
        values = values + 1j * numbers.uniform(low, high, size) if dtype.kind == "c" else values
    values = _np.asarray(values).astype(dtype)
    if exclude_zero:
        values = _np.where(values == 0, _np.ones((), dtype=dtype), values)
    if noncontiguous and values.ndim:
        values = _np.repeat(values, 2, axis=-1)[..., ::2]
    found = _as_tensor(values)
    return found.requires_grad_() if requires_grad else found


def __getattr__(name: str) -> Any:
    _refuse("testing", name)
