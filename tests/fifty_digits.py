"""Operators on arrays of mpmath's numbers: values and derivatives to fifty digits, from definitions alone.

NumPy adds, multiplies and moves objects of any kind, so its own functions compute most of it; what it has for floating-point
numbers only is written here with mpmath's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

DIGITS = 50


def exact(x: Any) -> Any:
    """An array of floating-point numbers as mpmath's numbers of the same values."""
    make = mp.mpc if x.dtype.kind == "c" else mp.mpf
    return _each(lambda v: make(complex(v)) if x.dtype.kind == "c" else make(float(v)))(x)


def _each(function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
    """An elementwise function of arrays of mpmath's numbers; Python numbers and arrays of them may stand beside."""
    of_objects = np.frompyfunc(function, count, 1)

    def of_arrays(*arrays: Any) -> Any:
        return np.asarray(of_objects(*[_plain(a) for a in arrays]), dtype=object)

    return of_arrays


def _plain(value: Any) -> Any:
    """NumPy's floating-point numbers become Python's, which mpmath takes."""
    return np.asarray(value).astype(object) if isinstance(value, (np.ndarray, np.generic)) else value


def _round(x: Any) -> Any:
    return mp.mpc(mp.nint(x.real), mp.nint(x.imag)) if isinstance(x, mp.mpc) else mp.nint(x)


real = _each(lambda x: mp.re(x))
imag = _each(lambda x: mp.im(x))
conj = _each(lambda x: mp.conj(x) if isinstance(x, mp.mpc) else x)
size = _each(lambda x: mp.fabs(x))
root = _each(lambda x: mp.sqrt(x))
exp = _each(lambda x: mp.exp(x))
log = _each(lambda x: mp.log(x))


def _sinc(x: Any) -> Any:
    return mp.mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def _clip(x: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = named.get("min", low), named.get("max", high)
    x = x if low is None else ORACLES["maximum"](x, low)
    return x if high is None else ORACLES["minimum"](x, high)


def log_of_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return log(np.sum(exp(x), axis=axis, keepdims=keepdims))


def softmax(x: Any, axis: int = -1, **_: Any) -> Any:
    return exp(x) / np.sum(exp(x), axis=axis, keepdims=True)


def var(x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    mean = np.mean(x, axis=axis, keepdims=True)
    n = x.size // mean.size
    return np.sum(size(x - mean) ** 2, axis=axis, keepdims=keepdims) / mp.mpf(n - correction)


def running(function: Any, start: int) -> Any:
    def run(x: Any, axis: int = 0, include_initial: bool = False) -> Any:
        y = function(x, axis=axis)
        return np.insert(y, 0, mp.mpf(start), axis=axis) if include_initial else y

    return run


def in_order(x: Any) -> Any:
    """The entries, all different, sorted (complex ones first by their real parts)."""
    return x.ravel()[np.argsort(x.astype(complex).ravel())]


# -------------------------------------------------------------------------------------------------------------- norms
def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norms of vectors, from their definition."""
    found = size(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(found, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(_each(lambda v: mp.mpf(int(v != 0)))(x), axis=axis, keepdims=keepdims)
    power = mp.mpf(ord)
    total = np.sum(_each(lambda v: v**power)(found), axis=axis, keepdims=keepdims)
    return _each(lambda v: v ** (1 / power))(total)


def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of matrices, from their definition."""
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(size(x), axis=-2 if abs(ord) == 1 else -1)
        found = (np.max if ord > 0 else np.min)(sums, axis=-1)
    else:
        values = svdvals(x)
        found = np.sum(values, axis=-1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
    return np.asarray(found)[..., None, None] if keepdims else np.asarray(found)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``."""
    if axis is None and ord is None:
        return vector_norm(x, tuple(range(x.ndim)), keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 2 and ord not in (None, "fro"):
        found = matrix_norm(np.moveaxis(x, axes, (-2, -1)), ord=ord)
        return np.expand_dims(found, axes) if keepdims else found
    return vector_norm(x, axes, keepdims, 2 if ord in (None, "fro") else ord)


# ----------------------------------------------------------------------------------------------------------- matrices
def stacked(function: Callable[..., Any], *matrices: Any) -> Any:
    """A function of mpmath's matrices, applied to stacks of them."""
    lead = np.broadcast_shapes(*[m.shape[:-2] for m in matrices])
    wide = [np.broadcast_to(m, (*lead, *m.shape[-2:])) for m in matrices]
    found = {k: function(*[mp.matrix(m[k].tolist()) for m in wide]) for k in itertools.product(*map(range, lead))}
    if not lead:
        return _entries(found[()])
    parts = [_entries(v) for v in found.values()]
    return np.stack(parts).reshape((*lead, *parts[0].shape))


def _entries(value: Any) -> Any:
    """A matrix, a list of numbers or a number of mpmath's as an array of objects."""
    if isinstance(value, mpmath.matrix):
        value = value.tolist()
    found = np.empty(np.shape(value), dtype=object)
    found[...] = value
    return found


def hermitian(function: Any) -> Any:
    """Of the Hermitian part, as the registered samples are."""

    def of_part(x: Any) -> Any:
        return function((x + conj(np.swapaxes(x, -1, -2))) / 2)

    return of_part


def _cholesky(a: Any) -> Any:
    """The factor of a Hermitian matrix, row by row (mpmath's own refuses complex rounding)."""
    n = a.rows
    found = mp.matrix(n, n)
    for i, j in itertools.product(range(n), range(n)):
        if j <= i:
            rest = a[i, j] - mp.fsum(found[i, k] * mp.conj(found[j, k]) for k in range(j))
            found[i, j] = mp.sqrt(mp.re(rest)) if i == j else rest / found[j, j]
    return found


def cholesky(x: Any, upper: bool = False) -> Any:
    found = hermitian(lambda a: stacked(_cholesky, a))(x)
    return conj(np.swapaxes(found, -1, -2)) if upper else found


def solve(a: Any, b: Any) -> Any:
    column = b.ndim == 1
    found = stacked(lambda p, q: mp.inverse(p) * q, a, b[:, None] if column else b)
    return found[..., 0] if column else found


def slogdet(x: Any) -> Any:
    found = stacked(mp.det, x)
    return found / size(found), log(size(found))


def pinv(x: Any, rtol: Any = None) -> Any:
    """``(AᴴA)⁻¹Aᴴ`` or ``Aᴴ(AAᴴ)⁻¹``: of full rank."""
    tall = x.shape[-2] >= x.shape[-1]
    return stacked(lambda a: mp.inverse(a.H * a) * a.H if tall else a.H * mp.inverse(a * a.H), x)


def svdvals(x: Any) -> Any:
    """Roots of the eigenvalues of ``AAᴴ`` or ``AᴴA``, whichever is smaller, descending."""
    wide = x.shape[-2] < x.shape[-1]
    squares = stacked(lambda a: sorted(mp.eighe(a * a.H if wide else a.H * a, eigvals_only=True), reverse=True), x)
    return root(squares)


def matrix_power(x: Any, n: int) -> Any:
    return stacked(lambda a: a**n, x)


def triangular(a: Any, b: Any, upper: bool = False, **_: Any) -> Any:
    return solve((np.triu if upper else np.tril)(a), b)


# --------------------------------------------------------------------------------------------------------- transforms
def fourier(x: Any, n: Any = None, axis: int = -1, norm: Any = None, sign: int = -1) -> Any:
    """The definition of the transform: a sum of exponentials."""
    length = x.shape[axis] if n is None else n
    x = np.moveaxis(x, axis, -1)[..., :length]
    x = np.concatenate([x, np.full((*x.shape[:-1], length - x.shape[-1]), mp.mpf(0), object)], axis=-1)
    waves = [[mp.expjpi(mp.mpf(2 * sign * j * k) / length) for k in range(length)] for j in range(length)]
    factor = {"ortho": 1 / mp.sqrt(length), "forward": mp.mpf(1) / length if sign < 0 else 1}.get(norm)
    if factor is None:
        factor = mp.mpf(1) / length if sign > 0 else 1
    return np.moveaxis(x @ np.asarray(waves, dtype=object) * factor, -1, axis)


def inverse(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return fourier(x, n, axis, norm, 1)


def halved(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    y = fourier(x, n, axis, norm)
    return np.take(y, range(y.shape[axis] // 2 + 1), axis=axis)


def from_half(x: Any, n: Any = None, axis: int = -1, norm: Any = None, transform: Any = inverse) -> Any:
    """The transform of half of a Hermitian sequence, whose other half is mirrored; real."""
    length = 2 * (x.shape[axis] - 1) if n is None else n
    x = np.moveaxis(x, axis, -1)[..., : length // 2 + 1]
    missing = length // 2 + 1 - x.shape[-1]
    x = np.concatenate([x, np.full((*x.shape[:-1], missing), mp.mpf(0), object)], axis=-1)
    ends = [0, length // 2] if length % 2 == 0 else [0]
    x = x.copy()
    x[..., ends] = real(x[..., ends])
    mirrored = conj(x[..., 1 : (length + 1) // 2][..., ::-1])
    return np.moveaxis(real(transform(np.concatenate([x, mirrored], axis=-1), length, -1, norm)), -1, axis)


def several(first: Any, others: Any = None) -> Any:
    """The transform along several axes, the last one by `first`."""

    def transform(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        axes = tuple(range(x.ndim)) if axes is None else axes
        lengths = s or [None] * len(axes)
        before = others in (inverse,) and first is from_half
        for n, axis in list(zip(lengths, axes, strict=True))[:-1] if before else []:
            x = others(x, n, axis, norm)
        x = first(x, lengths[-1], axes[-1], norm)
        for n, axis in [] if before else list(zip(lengths, axes, strict=True))[:-1]:
            x = (others or first)(x, n, axis, norm)
        return x

    return transform


def hermitian_transform(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return from_half(x, n, axis, norm, fourier)


def half_inverse(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    y = inverse(x, n, axis, norm)
    return np.take(y, range(y.shape[axis] // 2 + 1), axis=axis)


#: Functions of numbers, under the names of the operators.
OF_ONE: dict[str, Any] = {
    **{n: getattr(mp, n) for n in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1")},
    **{n: getattr(mp, n) for n in ("log", "log10", "sin", "sinh", "sqrt", "tan", "tanh", "ceil", "floor", "cbrt")},
    "abs": mp.fabs,
    "angle": mp.arg,
    "conj": lambda x: mp.conj(x) if isinstance(x, mp.mpc) else x,
    "exp2": lambda x: mp.power(2, x),
    "imag": mp.im,
    "log1p": lambda x: mp.log(1 + x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "real": mp.re,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: x if x > 0 else mp.mpf(0),
    "round": _round,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "sign": lambda x: x / mp.fabs(x),
    "sinc": _sinc,
    "trunc": lambda x: mp.sign(x) * mp.floor(mp.fabs(x)),
}
OF_TWO: dict[str, Any] = {
    "atan2": mp.atan2,
    "copysign": lambda a, b: mp.fabs(a) * (1 if b >= 0 else -1),
    "floor_divide": lambda a, b: mp.floor(a / b),
    "fmod": lambda a, b: a - b * mp.sign(a / b) * mp.floor(mp.fabs(a / b)),
    "heaviside": lambda a, b: mp.mpf(a > 0) if a else b,
    "hypot": lambda a, b: mp.sqrt(a * a + b * b),
    "ldexp": lambda a, b: a * mp.mpf(2) ** int(b),
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "logaddexp2": lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b)) / mp.log(2),
    "maximum": max,
    "minimum": min,
    "pow": lambda a, b: mp.mpf(1) if b == 0 else mp.power(a, b),
    "remainder": lambda a, b: a - b * mp.floor(a / b),
}
#: The function of arrays of mpmath's numbers for each operator that NumPy's reference cannot compute on them.
ORACLES: dict[str, Callable[..., Any]] = {
    **{name: _each(function) for name, function in OF_ONE.items()},
    **{name: _each(function, 2) for name, function in OF_TWO.items()},
    "clip": _clip,
    "cumulative_prod": running(np.cumprod, 1),
    "cumulative_sum": running(np.cumsum, 0),
    "log_softmax": lambda x, axis=-1: log(softmax(x, axis)),
    "logsumexp": log_of_sum,
    "softmax": softmax,
    "std": lambda x, **options: root(var(x, **options)),
    "var": var,
    "vecdot": lambda a, b, axis=-1: np.sum(conj(a) * b, axis=axis),
    "cholesky": cholesky,
    "det": lambda x: stacked(mp.det, x),
    "eigvalsh": hermitian(lambda x: stacked(lambda a: list(mp.eighe(a, eigvals_only=True)), x)),
    "inv": lambda x: stacked(mp.inverse, x),
    "matrix_norm": matrix_norm,
    "matrix_power": matrix_power,
    "norm": norm,
    "pinv": pinv,
    "slogdet": slogdet,
    "solve": solve,
    "solve_triangular": triangular,
    "svdvals": svdvals,
    **{f"unique_{found}": in_order for found in ("all", "counts", "inverse", "values")},
    "vector_norm": vector_norm,
    "fft.fft": fourier,
    "fft.fftn": several(fourier),
    "fft.hfft": hermitian_transform,
    "fft.ifft": inverse,
    "fft.ifftn": several(inverse),
    "fft.ihfft": half_inverse,
    "fft.irfft": from_half,
    "fft.irfftn": several(from_half, inverse),
    "fft.rfft": halved,
    "fft.rfftn": several(halved, fourier),
}
