"""``np.linalg``: equations, decompositions, norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.doors.numpy.tools import along, arr, bare, floating, kind_of, linalg, offers, wrapped, xp


def _same(name: str, options: str = "") -> None:
    """A function of one matrix whose operator knows the same options."""
    operator = getattr(linalg, name)
    allowed = options.split()

    def rule(a: Any, /, **given: Any) -> Any:
        unknown = given.keys() - allowed
        if unknown:
            raise TypeError(
                f"np.linalg.{name}() of Tensors got unexpected keyword arguments {', '.join(sorted(unknown))}"
            )
        return operator(arr(a), **given)

    offers(f"linalg.{name}")(rule)


for _name in ("det", "eigvals", "inv", "slogdet", "svdvals"):
    _same(_name)
_same("cholesky", "upper")
_same("trace", "offset dtype")
_same("matrix_norm", "keepdims ord")
_same("vector_norm", "axis keepdims ord")


@offers("linalg.eig")
def eig(a: Any) -> Any:
    """``np.linalg.eig``; real where NumPy's are."""
    found = linalg.eig(arr(a))
    values = bare(found[0])
    if values.dtype.kind == "c" and arr(a).dtype.kind != "c" and not np.iscomplexobj(np.linalg.eigvals(bare(a))):
        return type(found)(*[xp.real(part) for part in found])
    return found


def _lower(a: Any, UPLO: str) -> Any:
    """The matrix with the triangle that is meant below its diagonal."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    a = arr(a)
    return a if UPLO.upper() == "L" else xp.conj(xp.matrix_transpose(a))


@offers("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:
    """``np.linalg.eigh``."""
    return linalg.eigh(_lower(a, UPLO))


@offers("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """``np.linalg.eigvalsh``."""
    return linalg.eigvalsh(_lower(a, UPLO))


@offers("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """``np.linalg.qr``."""
    if mode == "r":
        return linalg.qr(arr(a)).R
    return linalg.qr(arr(a), mode=mode)


@offers("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``np.linalg.svd``."""
    if not compute_uv:
        return linalg.svdvals(arr(a))
    return linalg.svd(arr(a), full_matrices=full_matrices)


@offers("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """``np.linalg.pinv``."""
    given = rtol if rcond is None else rcond
    return linalg.pinv(arr(a), rtol=None if given is np._NoValue else bare(given))


@offers("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    """``np.linalg.solve``."""
    return linalg.solve(arr(a), arr(b))


@offers("linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """``np.linalg.lstsq``: solution, sums of squares left over, rank, singular values."""
    a, b = floating(arr(a)), floating(arr(b))
    m, n = a.shape
    eps = np.finfo(a.dtype).eps
    rcond = eps * max(m, n) if rcond is None else (eps if rcond == -1 else rcond)
    solution = xp.matmul(linalg.pinv(a, rtol=float(rcond)), b)
    singular = linalg.svdvals(a)
    values = bare(singular)
    rank = int(np.sum(values > rcond * values.max(initial=0.0)))
    if rank == n and m > n:
        left = xp.sum(xp.square(xp.abs(b - xp.matmul(a, solution))), axis=0)
        residuals = xp.reshape(left, (-1,))
    else:
        residuals = wrapped(kind_of([a, b]) or Tensor, np.zeros(0, dtype=values.dtype))
    return solution, residuals, rank, singular


@offers("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``."""
    return xp.norm(floating(arr(x)), ord, axis, keepdims=keepdims)


@offers("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    """``np.linalg.cond``."""
    x = arr(x)
    if p is None or p in (2, -2):
        s = linalg.svdvals(x)
        first, last = along(s, -1, 0), along(s, -1, -1)
        return last / first if p == -2 else first / last
    return xp.norm(x, p, (-2, -1)) * xp.norm(linalg.inv(x), p, (-2, -1))


@offers("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    """``np.linalg.matrix_power``."""
    return linalg.matrix_power(arr(a), n)


@offers("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    """``np.linalg.tensorinv``."""
    a = arr(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = tuple(a.shape)
    rows = math.prod(shape[ind:])
    return xp.reshape(linalg.inv(xp.reshape(a, (-1, rows))), shape[ind:] + shape[:ind])


@offers("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """``np.linalg.tensorsolve``."""
    a, b = arr(a), arr(b)
    if axes is not None:
        rest = [k for k in range(len(a.shape)) if k not in axes]
        a = xp.permute_dims(a, (*rest, *axes))
    shape = tuple(a.shape)[-(len(a.shape) - len(b.shape)) :]
    matrix = xp.reshape(a, (-1, math.prod(shape)))
    return xp.reshape(linalg.solve(matrix, xp.reshape(b, (-1,))), shape)
