"""Linear algebra that stands in ``torch`` and is used less often: sums with products, factors, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import wrap
from pullback.ops.computed import computed
from pullback.ops.matrix_functions import matrix_exp
from pullback.torch._export import FUNCTIONS, METHODS, both, function, in_place, xp
from pullback.torch._functions_linalg import plus
from pullback.torch._promotion import together
from pullback.torch._results import named


# ------------------------------------------------------------------------------------------------- sums with products
@both("addr")
def _addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha *`` all products of the elements of two vectors."""
    return plus(input, FUNCTIONS["outer"](vec1, vec2), beta, alpha)


@both("addbmm")
def _addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha *`` the sum of the products of two stacks of matrices."""
    return plus(input, xp.sum(FUNCTIONS["bmm"](batch1, batch2), axis=0), beta, alpha)


for _name in ("addr", "addbmm", "addmm", "addmv", "baddbmm"):
    METHODS[f"{_name}_"] = in_place(METHODS[_name], _name)
FUNCTIONS["addmv_"] = METHODS["addmv_"]


@function("chain_matmul")
def _chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices."""
    product = matrices[0]
    for factor in matrices[1:]:
        product = xp.matmul(*together(product, factor))
    return product


both("matrix_exp")(matrix_exp)


# ------------------------------------------------------------------------------------------------- factors
@both("cholesky_inverse")
def _cholesky_inverse(input: Any, upper: bool = False) -> Any:
    """The inverse of the matrix that has this Cholesky factor."""
    eye = wrap(type(input), np.broadcast_to(np.eye(input.shape[-1], dtype=input.dtype), tuple(input.shape)).copy())
    return FUNCTIONS["cholesky_solve"](eye, input, upper)


def _householder(input: Any, tau: Any, columns: int) -> Any:
    """The first columns of the product of reflections, one from each column of `input` below its diagonal."""
    m = input.shape[-2]
    lower = xp.tril(input, k=-1)
    eye: Any = np.eye(m, dtype=input.dtype)
    found = wrap(type(input), np.broadcast_to(eye[:, :columns], (*input.shape[:-2], m, columns)).copy())
    for k in reversed(range(tau.shape[-1])):
        v = xp.expand_dims(lower[..., k] + eye[:, k], axis=-1)
        row = xp.matmul(xp.conj(xp.matrix_transpose(v)), found)
        found = found - xp.matmul(v * tau[..., k][..., None, None], row)
    return found


@both("orgqr")
def _orgqr(input: Any, tau: Any) -> Any:
    """The orthogonal factor from reflections, as `torch.linalg.householder_product`."""
    if input.ndim < 2 or input.shape[-2] < input.shape[-1] or tau.shape[-1] > input.shape[-1]:
        raise lesson(
            RuntimeError,
            f"householder_product: A must have at least as many rows as columns, and as many columns as tau has elements, but "
            f"they are {list(input.shape)} and {list(tau.shape)}",
        )
    return _householder(input, tau, input.shape[-1])


@both("ormqr")
def _ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """`other` times the orthogonal factor from reflections."""
    factor = _householder(input, tau, input.shape[-2])
    if transpose:
        factor = xp.conj(xp.matrix_transpose(factor))
    return xp.matmul(factor, other) if left else xp.matmul(other, factor)


# ------------------------------------------------------------------------------------------------- LU
def pivots_of(array: Any) -> Any:
    """The row that each step of Gaussian elimination takes, counted from 0, for bare matrices."""
    rows = np.array(array)
    steps = min(rows.shape[-2:])
    flat = rows.reshape(-1, *rows.shape[-2:])
    found = np.zeros((len(flat), steps), dtype=np.int32)
    for matrix, pivots in zip(flat, found, strict=True):
        for k in range(steps):
            p = k + int(np.abs(matrix[k:, k]).argmax())
            pivots[k] = p
            matrix[[k, p]] = matrix[[p, k]]
            if matrix[k, k] != 0:
                matrix[k + 1 :] -= np.outer(matrix[k + 1 :, k] / matrix[k, k], matrix[k])
    return found.reshape(*rows.shape[:-2], steps)


def order_of(pivots: Any, m: int) -> Any:
    """The rows in the order that these exchanges leave them in."""
    flat = np.asarray(pivots).reshape(-1, pivots.shape[-1])
    found = np.tile(np.arange(m), (len(flat), 1))
    for order, row in zip(found, flat, strict=True):
        for k, p in enumerate(row):
            order[[k, p]] = order[[p, k]]
    return found.reshape(*pivots.shape[:-1], m)


def eliminated(A: Any, pivots: Any) -> tuple[Any, Any]:
    """L and U of the matrices with their rows exchanged; recorded step by step, so right to any order."""
    m, n = A.shape[-2:]
    order = computed(lambda rows: order_of(rows, m), pivots)
    U = xp.take_along_axis(A, xp.broadcast_to(xp.expand_dims(order, axis=-1), tuple(A.shape)), axis=-2)
    columns = []
    for k in range(min(m, n)):
        below = (np.arange(m) > k)[:, None]
        pivot = U[..., k : k + 1, k : k + 1]
        factor = xp.where(below, U[..., :, k : k + 1] / pivot, 0.0)
        columns.append(factor)
        U = U - factor * U[..., k : k + 1, :]
    L = xp.concat(columns, axis=-1) if columns else A[..., :, :0]
    return L + np.eye(m, min(m, n), dtype=A.dtype), xp.triu(U[..., : min(m, n), :])


def permutation(pivots: Any, m: int, dtype: Any) -> Any:
    """The matrix P of ``A = P L U``."""
    found = computed(lambda rows: np.swapaxes(np.eye(m, dtype=int)[order_of(rows, m)], -1, -2).copy(), pivots)
    return xp.astype(found, dtype)


@function("lu_unpack")
def _lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from compact LU factors."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    kind = type(LU_data)
    empty = wrap(kind, np.zeros((0,), dtype=LU_data.dtype))
    P, L, U = empty, empty, empty
    if unpack_pivots:
        P = permutation(LU_pivots - 1, m, LU_data.dtype)
    if unpack_data:
        L = xp.tril(LU_data[..., :, :k], k=-1) + np.eye(m, k, dtype=LU_data.dtype)
        U = xp.triu(LU_data[..., :k, :])
    return named("lu_unpack", "P L U")(P, L, U)


# ------------------------------------------------------------------------------------------------- old norms
@function("frobenius_norm")
def _frobenius_norm(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The root of the sum of squares."""
    return FUNCTIONS["norm"](input, 2, dim, keepdim)


@function("norm_except_dim")
def _norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """Norms over all axes but one."""
    if dim == -1:
        return FUNCTIONS["norm"](v, pow)
    others = tuple([k for k in range(v.ndim) if k != dim % v.ndim])
    return xp.linalg.vector_norm(v, axis=others, ord=pow, keepdims=True)
