"""``torch.linalg``: decompositions, solvers and norms."""

from __future__ import annotations

from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.ops.matrices import LinAlgError
from pullback.torch._dims import axes_of as _axes_of
from pullback.torch._dims import axis_of as _axis_of
from pullback.torch._dtypes import as_dtype as _as_dtype
from pullback.torch._export import numpy_names as _numpy_names
from pullback.torch._export import xp as _xp
from pullback.torch._missing import refuse as _refuse
from pullback.torch._promotion import together as _together

__all__ = ["LinAlgError"]


def _enter(call: Any) -> Any:
    name = call.__name__
    __all__.append(name)
    return _numpy_names(call, name)


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else _xp.astype(x, _as_dtype(dtype))


# ------------------------------------------------------------------------------------------------- norms
@_enter
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a vector, or of a matrix where `dim` names two axes or `ord` is a matrix norm."""
    x = _cast(A, dtype)
    matrix = (isinstance(dim, (tuple, list)) and len(dim) == 2) or (dim is None and ord is not None and x.ndim == 2)
    if isinstance(ord, str) or (matrix and ord is not None):
        return matrix_norm(x, "fro" if ord is None else ord, (-2, -1) if dim is None else dim, keepdim)
    return _xp.linalg.vector_norm(x, axis=_axes_of(x, dim), ord=2 if ord is None else ord, keepdims=keepdim)


@_enter
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors."""
    return _xp.linalg.vector_norm(_cast(x, dtype), axis=_axes_of(x, dim), ord=ord, keepdims=keepdim)


@_enter
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices."""
    x = _cast(A, dtype)
    first, second = (_axis_of(x, k) for k in dim)
    moved = (first, second) != (x.ndim - 2, x.ndim - 1)
    if moved:
        x = _xp.moveaxis(x, (first, second), (-2, -1))
    result = _xp.linalg.matrix_norm(x, ord=ord, keepdims=keepdim)
    return _xp.moveaxis(result, (-2, -1), (first, second)) if moved and keepdim else result


# ------------------------------------------------------------------------------------------------- by other names
def _same(name: str, doc: str) -> None:
    if not hasattr(_xp.linalg, name):  # what has no operator (yet) is missing here too, and says so
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_xp.linalg, name)(*args, **kwargs)

    call.__name__, call.__doc__ = name, doc
    globals()[name] = _enter(call)


_same("det", "The determinant.")
_same("slogdet", "Sign and logarithm of the absolute value of the determinant.")
_same("inv", "The inverse matrix.")
_same("eig", "Eigenvalues and eigenvectors.")
_same("eigvals", "Eigenvalues.")
_same("svdvals", "Singular values.")
_same("matrix_power", "A matrix multiplied with itself.")


@_enter
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The solution ``X`` of ``A X = B`` (``X A = B`` with ``left=False``)."""
    a, b = _together(A, B)
    if not left:
        return _xp.matrix_transpose(_xp.linalg.solve(_xp.matrix_transpose(a), _xp.matrix_transpose(b)))
    return _xp.linalg.solve(a, b)


@_enter
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The solution ``X`` of ``A X = B`` where A is a triangle; the other triangle of A is ignored."""
    a, b = _together(A, B)
    a = _xp.triu(a) if upper else _xp.tril(a)
    if unitriangular:
        a = a - a * _eye_like(a) + _eye_like(a)
    return solve(a, b, left=left)


def _eye_like(a: Any) -> Any:
    return _np.eye(a.shape[-1], dtype=a.dtype)


@_enter
def cholesky(A: Any, *, upper: bool = False) -> Any:
    """The Cholesky factor of a positive definite matrix."""
    return _xp.linalg.cholesky(A, upper=upper)


@_enter
def qr(A: Any, mode: str = "reduced") -> Any:
    """The QR decomposition."""
    return _xp.linalg.qr(A, mode=mode)


@_enter
def svd(A: Any, full_matrices: bool = True) -> Any:
    """``A = U diag(S) Vh``."""
    return _xp.linalg.svd(A, full_matrices=full_matrices)


@_enter
def eigh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix, of which one triangle is read."""
    return _xp.linalg.eigh(_hermitian(A, UPLO))


@_enter
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of a Hermitian matrix, of which one triangle is read."""
    return _xp.linalg.eigvalsh(_hermitian(A, UPLO))


def _hermitian(A: Any, UPLO: str) -> Any:
    if UPLO not in ("L", "U"):
        raise _lesson(RuntimeError, f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return A if UPLO == "L" else A.mH


@_enter
def pinv(A: Any, *, rtol: Any = None) -> Any:
    """The pseudo-inverse."""
    return _xp.linalg.pinv(A, rtol=rtol)


@_enter
def matmul(input: Any, other: Any) -> Any:
    """The matrix product."""
    return _xp.matmul(*_together(input, other))


@_enter
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along an axis, the first argument conjugated."""
    return _xp.vecdot(*_together(x, y), axis=dim)


@_enter
def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The cross product of vectors of length 3."""
    return _xp.linalg.cross(*_together(input, other), axis=dim)


@_enter
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return _xp.linalg.diagonal(A, offset=offset) if (dim1, dim2) == (-2, -1) else _xp.diagonal(A, offset, dim1, dim2)


@_enter
def multi_dot(tensors: Any) -> Any:
    """The product of several matrices."""
    product = tensors[0]
    for factor in tensors[1:]:
        product = _xp.matmul(*_together(product, factor))
    return product


def __getattr__(name: str) -> Any:
    _refuse("linalg", name)
