"""``torch.linalg``: decompositions, solvers and norms."""

from __future__ import annotations

from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.core.tensor import wrap as _wrap
from pullback.ops.computed import computed as _computed
from pullback.ops.matrices import LinAlgError
from pullback.ops.matrix_functions import matrix_exp as _matrix_exp
from pullback.torch._dims import axes_of as _axes_of
from pullback.torch._dims import axis_of as _axis_of
from pullback.torch._dtypes import as_dtype as _as_dtype
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._export import numpy_names as _numpy_names
from pullback.torch._export import xp as _xp
from pullback.torch._functions_matrices import eliminated as _eliminated
from pullback.torch._functions_matrices import order_of as _order_of
from pullback.torch._functions_matrices import permutation as _permutation
from pullback.torch._functions_matrices import pivots_of as _pivots_of
from pullback.torch._missing import refuse as _refuse
from pullback.torch._promotion import together as _together
from pullback.torch._results import named as _named

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
    if x.ndim < 2:
        raise _lesson(
            RuntimeError, f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions, not {x.ndim}"
        )
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
    """The QR decomposition; ``mode="r"`` leaves Q empty."""
    if mode == "r":
        found = _xp.linalg.qr(A, mode="reduced")
        return type(found)(_wrap(type(A), _np.zeros((0,), dtype=A.dtype)), found.R)
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
def pinv(A: Any, rcond: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse: singular values up to ``max(atol, rtol * largest)`` count as zero."""
    rtol = rcond if rtol is None else rtol
    if atol is not None:
        largest = _np.linalg.svd(A._array, compute_uv=False).max(axis=-1, initial=0.0)
        bound = _np.asarray(getattr(atol, "_array", atol))
        relative = bound / _np.where(largest > 0, largest, 1.0)
        rtol = _np.maximum(relative, 0.0 if rtol is None else _np.asarray(getattr(rtol, "_array", rtol)))
        rtol = float(rtol) if rtol.ndim == 0 else rtol
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
    if len(tensors) < 2:
        raise _lesson(
            RuntimeError, "multi_dot(): expected at least 2 tensors but got fewer", instead="the matrix itself."
        )
    product = tensors[0]
    for factor in tensors[1:]:
        product = _xp.matmul(*_together(product, factor))
    return product


# ------------------------------------------------------------------------------------------------- with a status
def _info(A: Any) -> Any:
    """That nothing went wrong, for every matrix: what goes wrong raises here."""
    return _wrap(type(A), _np.zeros(tuple(A.shape[:-2]), dtype=_np.int32))


@_enter
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky`, and a status that is always 0: errors are raised."""
    return _named("linalg_cholesky_ex", "L info")(cholesky(A, upper=upper), _info(A))


@_enter
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """`inv`, and a status that is always 0: errors are raised."""
    return _named("linalg_inv_ex", "inverse info")(_xp.linalg.inv(A), _info(A))


@_enter
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and a status that is always 0: errors are raised."""
    return _named("linalg_solve_ex", "result info")(solve(A, B, left=left), _info(A))


# ------------------------------------------------------------------------------------------------- LU
def _pivots(A: Any, pivot: bool) -> Any:
    """The row that each step of elimination takes, counted from 0: as it stands, or the largest one."""
    if pivot:
        return _computed(_pivots_of, A)
    return _wrap(type(A), _np.tile(_np.arange(min(A.shape[-2:]), dtype=_np.int32), (*A.shape[:-2], 1)))


@_enter
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the row (counted from 1) that each step exchanged."""
    pivots = _pivots(A, pivot)
    L, U = _eliminated(A, pivots)
    m, n = A.shape[-2:]
    below = L if m <= n else L[..., :, :n]
    lower = _xp.tril(below, k=-1)
    if m < n:
        lower = _xp.concat([lower, _np.zeros((*lower.shape[:-1], n - m), dtype=A.dtype)], axis=-1)
    if m > n:
        U = _xp.concat([U, _np.zeros((*U.shape[:-2], m - n, n), dtype=A.dtype)], axis=-2)
    return _named("linalg_lu_factor", "LU pivots")(lower + U, pivots + 1)


@_enter
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`lu_factor`, and a status that is always 0."""
    return _named("linalg_lu_factor_ex", "LU pivots info")(*lu_factor(A, pivot=pivot), _info(A))


@_enter
def lu(A: Any, *, pivot: bool = True) -> Any:
    """``A = P L U`` with a permutation P and triangles L and U."""
    pivots = _pivots(A, pivot)
    L, U = _eliminated(A, pivots)
    P = _permutation(pivots, A.shape[-2], A.dtype)
    return _named("linalg_lu", "P L U")(P if pivot else P[:0, :0], L, U)


@_enter
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The solution ``X`` of ``A X = B`` (``X A = B``) from the LU factors of A."""
    if not left:
        turned = lu_solve(LU, pivots, _xp.conj(_xp.matrix_transpose(B)), adjoint=not adjoint)
        return _xp.conj(_xp.matrix_transpose(turned))
    n = LU.shape[-1]
    order = _computed(lambda rows: _order_of(rows - 1, n), pivots)
    L, U = _xp.tril(LU, k=-1) + _np.eye(n, dtype=LU.dtype), _xp.triu(LU)
    shape = _np.broadcast_shapes(tuple(LU.shape[:-2]), tuple(B.shape[:-2]))
    B = _xp.broadcast_to(B, (*shape, *B.shape[-2:]))
    if adjoint:
        X = _xp.linalg.solve(_xp.conj(_xp.matrix_transpose(U)), B)
        X = _xp.linalg.solve(_xp.conj(_xp.matrix_transpose(L)), X)
        order = _xp.argsort(order, axis=-1)
        return _rows_in_order(X, order)
    return _xp.linalg.solve(U, _xp.linalg.solve(L, _rows_in_order(B, order)))


def _rows_in_order(B: Any, order: Any) -> Any:
    return _xp.take_along_axis(B, _xp.broadcast_to(_xp.expand_dims(order, axis=-1), tuple(B.shape)), axis=-2)


# ------------------------------------------------------------------------------------------------- more of matrices
@_enter
def matrix_exp(A: Any) -> Any:
    """``Σ Aᵏ / k!``."""
    return _matrix_exp(A)


@_enter
def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """How many singular values are not (nearly) zero."""
    atol, rtol = (None if tol is None else _np.asarray(getattr(tol, "_array", tol)) for tol in (atol, rtol))
    if rtol is None:
        rtol = 0.0 if atol is not None and (atol > 0).all() else max(A.shape[-2:]) * _np.finfo(A.dtype).eps

    def find(matrix: Any) -> Any:
        values = _np.abs(_np.linalg.eigvalsh(matrix)) if hermitian else _np.linalg.svd(matrix, compute_uv=False)
        limit = _np.maximum(0.0 if atol is None else atol, rtol * values.max(axis=-1, initial=0.0))
        return _np.asarray((values > _np.asarray(limit)[..., None]).sum(axis=-1), dtype=_np.int64)

    return _computed(find, A)


@_enter
def cond(A: Any, p: Any = None) -> Any:
    """The condition number in a norm: that of A times that of its inverse."""
    if p in (None, 2, -2):
        values = _xp.linalg.svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    return matrix_norm(A, p) * matrix_norm(_xp.linalg.inv(A), p)


@_enter
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """The solution of least squares, with residuals, rank and singular values where the driver gives them."""
    a, b = _together(A, B)
    m, n = a.shape[-2:]
    limit = float(_np.finfo(a.dtype).eps) * max(m, n) if rcond is None else rcond
    vector = b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1])
    right = _xp.expand_dims(b, axis=-1) if vector else b
    solution = _xp.matmul(_xp.linalg.pinv(a, rtol=limit), right)
    values = _np.linalg.svd(a._array, compute_uv=False)
    rank = (values > limit * values.max(axis=-1, initial=0.0, keepdims=True)).sum(axis=-1)
    nothing = _wrap(type(a), _np.zeros((0,), dtype=a.dtype))
    residuals = nothing
    if m > n and (rank == n).all() and driver not in ("gelsy", None):
        gap = _xp.abs(right - _xp.matmul(a, solution))
        residuals = _xp.sum(gap * gap, axis=-2)
    singular = _wrap(type(a), values) if driver in ("gelsd", "gelss") else nothing
    ranks = _wrap(type(a), _np.asarray(rank, dtype=_np.int64) if driver != "gels" else _np.zeros((0,), dtype=_np.int64))
    if vector:
        solution = _xp.squeeze(solution, axis=-1)
        residuals = residuals if residuals is nothing else _xp.squeeze(residuals, axis=-1)
    kind = _named("linalg_lstsq", "solution residuals rank singular_values")
    return kind(solution, residuals, ranks, singular)


@_enter
def householder_product(A: Any, tau: Any) -> Any:
    """The first columns of the product of reflections."""
    return _FUNCTIONS["orgqr"](A, tau)


@_enter
def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of the linear map that `tensordot` with A is."""
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if _np.prod(rows) != _np.prod(columns) or ind < 1:
        raise _lesson(
            RuntimeError,
            f"Expected self to satisfy the requirement prod(shape[ind:]) == prod(shape[:ind]), but it is {list(A.shape)}",
        )
    n = int(_np.prod(rows))
    return _xp.reshape(_xp.linalg.inv(_xp.reshape(A, (n, n))), (*columns, *rows))


@_enter
def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """The solution X of ``tensordot(A, X) = B``."""
    if dims is not None:
        rest = [k for k in range(A.ndim) if k not in {_axis_of(A, d) for d in dims}]
        A = _xp.permute_dims(A, (*rest, *[_axis_of(A, d) for d in dims]))
    shape = tuple(A.shape[B.ndim :])
    n = int(_np.prod(shape))
    a, b = _together(A, B)
    found = _xp.linalg.solve(_xp.reshape(a, (n, n)), _xp.reshape(b, (-1, 1)))
    return _xp.reshape(found, shape)


@_enter
def vander(x: Any, N: Any = None) -> Any:
    """Powers 0, 1, ... of each element, as a new last axis."""
    n = x.shape[-1] if N is None else N
    if n < 2 and N is not None:
        raise _lesson(RuntimeError, f"N must be greater than 1, but it is {N}")
    return _xp.expand_dims(x, axis=-1) ** _wrap(type(x), _np.arange(n))


def __getattr__(name: str) -> Any:
    _refuse("linalg", name)
