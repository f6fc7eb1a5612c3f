"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.doors.numpy.linear import lstsq
from pullback.doors.numpy.products import convolve
from pullback.doors.numpy.shapes import atleast_1d
from pullback.doors.numpy.tools import arr, bare, floating, kind_of, linalg, offers, take_at, wrapped, xp


@offers("vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """``np.vander``: powers side by side."""
    x = arr(x)
    if len(x.shape) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(x.shape[0] if N is None else N)
    return xp.pow(xp.expand_dims(x, 1), powers if increasing else powers[::-1])


@offers("poly")
def poly(seq_of_zeros: Any) -> Any:
    """``np.poly``: the polynomial with these zeros, or the characteristic polynomial of a matrix."""
    zeros = atleast_1d(seq_of_zeros)
    if len(zeros.shape) == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = linalg.eigvals(zeros)
    found: Any = np.ones(
        (1,), dtype=np.result_type(zeros.dtype, np.float64) if zeros.dtype.kind in "biu" else zeros.dtype
    )
    for zero in xp.unstack(zeros):
        found = convolve(found, xp.stack([xp.ones_like(zero), -zero]))
    values = bare(zeros)
    if found.dtype.kind == "c" and np.all(np.sort(values) == np.sort(values.conj())):
        found = xp.real(found)
    return found


@offers("polyval")
def polyval(p: Any, x: Any) -> Any:
    """``np.polyval``, by Horner's scheme."""
    p, x = arr(p), arr(x)
    y: Any = xp.zeros_like(x)
    for coefficient in xp.unstack(p) if p.shape[0] else ():
        y = y * x + coefficient
    return y


def _aligned(a: Any, b: Any) -> tuple[Any, Any]:
    """Both with as many coefficients, zeros before the shorter one."""
    a, b = atleast_1d(a), atleast_1d(b)
    missing = a.shape[0] - b.shape[0]
    if missing > 0:
        b = xp.concat([np.zeros(missing, dtype=b.dtype), b])
    elif missing < 0:
        a = xp.concat([np.zeros(-missing, dtype=a.dtype), a])
    return a, b


@offers("polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    """``np.polyadd``."""
    return xp.add(*_aligned(a1, a2))


@offers("polysub")
def polysub(a1: Any, a2: Any) -> Any:
    """``np.polysub``."""
    return xp.subtract(*_aligned(a1, a2))


@offers("polymul")
def polymul(a1: Any, a2: Any) -> Any:
    """``np.polymul``."""
    return convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


def _without_leading_zeros(p: Any) -> Any:
    p = atleast_1d(p)
    nonzero = np.flatnonzero(bare(p))
    start = int(nonzero[0]) if nonzero.size else p.shape[0] - 1
    return take_at(p, slice(start, None)) if start else p


@offers("polydiv")
def polydiv(u: Any, v: Any) -> Any:
    """``np.polydiv``: quotient and remainder."""
    u, v = floating(atleast_1d(u)), floating(atleast_1d(v))
    m, n = u.shape[0] - 1, v.shape[0] - 1
    scale = 1.0 / take_at(v, 0)
    quotient, rest = [], u + np.zeros(1, dtype=v.dtype)
    for k in range(m - n + 1):
        factor = scale * take_at(rest, k)
        quotient.append(factor)
        padded = xp.concat([np.zeros(k, dtype=v.dtype), v, np.zeros(m - n - k, dtype=v.dtype)])
        rest = rest - factor * padded
    values = bare(rest)
    start = 0
    while start < m and np.allclose(values[start], 0, rtol=1e-14):
        start += 1
    whole = xp.stack(quotient) if quotient else wrapped(kind_of([u, v]) or Tensor, np.zeros(1, dtype=rest.dtype))
    return whole, take_at(rest, slice(start, None))


@offers("polyder")
def polyder(p: Any, m: int = 1) -> Any:
    """``np.polyder``: the derivative polynomial, `m` times."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = arr(p)
    for _ in range(int(m)):
        p = take_at(p, slice(None, -1)) * np.arange(p.shape[0] - 1, 0, -1, dtype=int)
    return p


@offers("polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """``np.polyint``: an integral polynomial, `m` times, with the constants `k`."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p, m = arr(p), int(m)
    constants = atleast_1d(np.zeros(m) if k is None else k)
    if constants.shape[0] == 1 and m > 1:
        constants = xp.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for j in range(m):
        constant = xp.reshape(take_at(constants, j), (1,))
        p = xp.concat([p / np.arange(p.shape[0], 0, -1), xp.astype(constant, np.result_type(constant.dtype, float))])
    return p


@offers("roots")
def roots(p: Any) -> Any:
    """``np.roots``: eigenvalues of the companion matrix."""
    p = atleast_1d(p)
    nonzero = np.flatnonzero(bare(p))
    if not nonzero.size:
        return wrapped(kind_of([p]) or Tensor, np.array([]))
    trailing = p.shape[0] - int(nonzero[-1]) - 1
    p = floating(take_at(p, slice(int(nonzero[0]), int(nonzero[-1]) + 1)))
    if p.shape[0] < 2:
        return wrapped(kind_of([p]) or Tensor, np.zeros(trailing))
    first = -take_at(p, slice(1, None)) / take_at(p, 0)
    n = first.shape[0]
    companion = xp.concat([xp.reshape(first, (1, n)), np.eye(n - 1, n, dtype=first.dtype)], axis=0)
    found = linalg.eigvals(companion)
    if not np.any(np.imag(bare(found))) and first.dtype.kind != "c":
        found = xp.real(found)
    return xp.concat([found, np.zeros(trailing, dtype=found.dtype)]) if trailing else found


@offers("polyfit")
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """``np.polyfit``: the polynomial that is nearest to some points."""
    x, y = arr(x) + 0.0, arr(y) + 0.0
    if np.ndim(bare(deg)):
        raise lesson(
            NotImplementedError,
            "np.polyfit of Tensors takes one degree, not a list of powers",
            instead="np.linalg.lstsq(x[:, None] ** powers, y)[0].",
        )
    order = int(deg) + 1
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = vander(x, order), y
    if w is not None:
        weights = arr(w) + 0.0
        left = left * xp.expand_dims(weights, 1)
        right = right * (xp.expand_dims(weights, 1) if len(y.shape) == 2 else weights)
    scale = xp.sqrt(xp.sum(xp.square(left), axis=0))
    c, residuals, rank, singular = lstsq(left / scale, right, rcond)
    c = c / (xp.expand_dims(scale, 1) if len(y.shape) == 2 else scale)
    if full:
        return c, residuals, rank, singular, rcond
    if not cov:
        return c
    scaled = left / scale
    base = linalg.inv(xp.matmul(xp.matrix_transpose(scaled), scaled)) / xp.matmul(
        xp.expand_dims(scale, 1), xp.expand_dims(scale, 0)
    )
    factor = 1.0
    if cov != "unscaled":
        if x.shape[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (x.shape[0] - order)
    if len(y.shape) == 1:
        return c, base * factor
    return c, xp.expand_dims(base, 2) * factor
