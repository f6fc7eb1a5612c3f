"""Matrix products and the linear algebra that stands in ``torch`` itself."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.torch._export import both, function, need_tensor, xp
from pullback.torch._functions_reductions import total_dtype
from pullback.torch._promotion import as_dtype_of, category, result_type, together


def _product(a: Any, b: Any) -> Any:
    return xp.matmul(*together(a, b))


def _check_axes(name: str, ndim: int, input: Any, other: Any) -> None:
    if input.ndim != ndim or other.ndim != ndim:
        raise lesson(
            RuntimeError,
            f"{name}: both Tensors must have {ndim} axes, they have {input.ndim} and {other.ndim}",
            instead="a @ b (torch.matmul), which takes any number of axes.",
        )


@both("mm")
def _mm(input: Any, mat2: Any) -> Any:
    """The matrix product of two matrices."""
    _check_axes("mm", 2, input, mat2)
    return _product(input, mat2)


@both("bmm")
def _bmm(input: Any, mat2: Any) -> Any:
    """The matrix products of two stacks of matrices."""
    _check_axes("bmm", 3, input, mat2)
    return _product(input, mat2)


@both("dot")
def _dot(input: Any, tensor: Any) -> Any:
    """The inner product of two vectors."""
    _check_axes("dot", 1, input, tensor)
    return _product(input, tensor)


@both("matmul")
def _matmul(input: Any, other: Any) -> Any:
    """The matrix product, with broadcasting over leading axes."""
    return _product(input, other)


@both("mv")
def _mv(input: Any, vec: Any) -> Any:
    """Matrix times vector."""
    return _product(input, vec)


@both("vdot")
def _vdot(input: Any, other: Any) -> Any:
    """The inner product of two vectors, the first one conjugated."""
    return xp.vecdot(*together(input, other))


@both("inner")
def _inner(input: Any, other: Any) -> Any:
    """Sums of products over the last axes."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return xp.tensordot(*together(input, other), axes=((-1,), (-1,)))


@both("outer", "ger")
def _outer(input: Any, vec2: Any) -> Any:
    """All products of the elements of two vectors."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise lesson(RuntimeError, f"outer: Expected 1-D arguments, but got {input.ndim}-D and {vec2.ndim}-D")
    return xp.expand_dims(input, axis=1) * xp.expand_dims(vec2, axis=0)


@function("einsum")
def _einsum(equation: str, *operands: Any) -> Any:
    """Sums of products, as an equation of letters says; or operands each with a list of numbers of its axes."""
    if not isinstance(equation, str):
        equation, operands = _in_letters([equation, *operands])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    dtype = result_type(*operands)
    result = xp.einsum(equation, *[as_dtype_of(operand, dtype) for operand in operands])
    return result if result.dtype == dtype else as_dtype_of(result, total_dtype(result))


def _in_letters(given: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The equation that numbers of axes stand for."""
    result = given.pop() if len(given) % 2 else None
    letters = ["".join(["..." if k is Ellipsis else (string.ascii_letters)[k] for k in axes]) for axes in given[1::2]]
    arrow = (
        "" if result is None else "->" + "".join(["..." if k is Ellipsis else string.ascii_letters[k] for k in result])
    )
    return ",".join(letters) + arrow, tuple(given[::2])


@function("tensordot")
def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sums of products over pairs of axes."""
    axes = dims if isinstance(dims, int) else tuple([tuple(d) for d in dims])
    return xp.tensordot(*together(a, b), axes=axes)


@both("kron")
def _kron(input: Any, other: Any) -> Any:
    """The Kronecker product."""
    need_tensor(other, "kron")
    return xp.kron(*together(input, other))


def plus(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * product``."""
    return (input if beta == 1 else input * beta) + (product if alpha == 1 else product * alpha)


@both("addmm")
def _addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return plus(input, _mm(mat1, mat2), beta, alpha)


@both("baddbmm")
def _baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (batch1 @ batch2)``."""
    return plus(input, _bmm(batch1, batch2), beta, alpha)


@both("addmv")
def _addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat @ vec)``."""
    return plus(input, _product(mat, vec), beta, alpha)


@both("trace")
def _trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise lesson(RuntimeError, "trace: expected a matrix", instead="torch.linalg.diagonal(x).sum(-1).")
    return xp.linalg.trace(input, dtype=total_dtype(input))


@both("det")
def _det(input: Any) -> Any:
    """The determinant."""
    return xp.linalg.det(input)


@both("logdet")
def _logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where that is negative."""
    sign, value = xp.linalg.slogdet(input)
    if category(input.dtype) == 3:
        return xp.log(sign) + value
    return xp.where(sign >= 0, value, value * np.nan)


@both("slogdet")
def _slogdet(input: Any) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
    return xp.linalg.slogdet(input)


@both("inverse")
def _inverse(input: Any) -> Any:
    """The inverse matrix."""
    return xp.linalg.inv(input)


@both("pinverse")
def _pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """The pseudo-inverse."""
    return xp.linalg.pinv(input, rtol=rcond)


@both("matrix_power")
def _matrix_power(input: Any, n: int) -> Any:
    """A matrix multiplied with itself."""
    return xp.linalg.matrix_power(input, n)


@both("cholesky")
def _cholesky(input: Any, upper: bool = False) -> Any:
    """The Cholesky factor of a positive definite matrix."""
    return xp.linalg.cholesky(input, upper=upper)


@both("cholesky_solve")
def _cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:
    """The solution ``X`` of ``A X = input``, where `L` is the Cholesky factor of ``A``."""
    factor = xp.matrix_transpose(xp.conj(xp.triu(L))) if upper else xp.tril(L)
    middle = xp.linalg.solve(factor, input)
    return xp.linalg.solve(xp.matrix_transpose(xp.conj(factor)), middle)


@both("svd")
def _svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """``input = U diag(S) V^H``; returns U, S, V (not V^H)."""
    if not compute_uv:
        return xp.linalg.svdvals(input)
    U, S, Vh = xp.linalg.svd(input, full_matrices=not some)
    return U, S, Vh.mH


@both("qr")
def _qr(input: Any, some: bool = True) -> Any:
    """The QR decomposition."""
    return xp.linalg.qr(input, mode="reduced" if some else "complete")


@both("cross")
def _cross(input: Any, other: Any, dim: Any = None) -> Any:
    """The cross product of vectors of length 3, along the first axis of this length where `dim` is left out."""
    if dim is None:
        shape = np.broadcast_shapes(tuple(input.shape), tuple(other.shape))
        if 3 not in shape:
            raise lesson(RuntimeError, "no dimension of size 3 in input", instead="vectors of length 3.")
        dim = shape.index(3) - len(shape)
    return xp.linalg.cross(*together(input, other), axis=dim)


@function("trapezoid", "trapz")
def _trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral by the trapezoidal rule along `dim`."""
    y = xp.moveaxis(y, dim, -1)
    middle = (y[..., 1:] + y[..., :-1]) / 2
    return xp.sum(middle * (dx if x is None else x[..., 1:] - x[..., :-1]), axis=-1)


@function("cdist")
def _cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """Distances between all rows of two matrices."""
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise lesson(
            RuntimeError,
            f"cdist takes matrices with the same number of columns, got {list(x1.shape)} and {list(x2.shape)}",
        )
    return xp.linalg.vector_norm(xp.expand_dims(x1, axis=-2) - xp.expand_dims(x2, axis=-3), axis=-1, ord=p)
