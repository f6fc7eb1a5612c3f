"""Linear equations: with a matrix that is only known by its products, and over- or underdetermined ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.core.trees import leaves_of
from pullback.implicit.inverses import METHODS, Krylov, dense
from pullback.implicit.mapped import mapped
from pullback.implicit.problem import Problem
from pullback.implicit.theorem import Implicit
from pullback.ops.decompositions import qr
from pullback.ops.linalg import matmul
from pullback.ops.matrices import LinAlgError, conjugate_transpose
from pullback.ops.shapes import expand_dims, shape_of, squeeze
from pullback.ops.solving import solve_triangular


class SolveLinear(Implicit):
    """``x`` with ``A(θ) x = b``.  vjp: b̄ = A⁻ᴴ x̄, θ̄ = -(∂(A x)/∂θ)ᵀ b̄"""


@mapped
def solve_linear(
    matvec: Callable[..., Any],
    b: Any,
    *params: Any,
    solver: str = "gmres",
    tol: float | None = None,
    maxiter: int | None = None,
    M: Any = None,
) -> Any:
    """``x`` with ``matvec(x, *params) = b``, without the matrix, as a function of `b` and of the parameters.

    Parameters
    ----------
    matvec
        A linear function of x: takes an array of the shape of `b` and the parameters as Tensors, returns one of that shape.
        Tensors that it reads from elsewhere (a closure) get their gradients too.
    b
        The right-hand side: an array or a Tensor, real or complex, or tuples, lists and dicts of them.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    solver
        One of SciPy's iterative solvers: ``"gmres"`` for any matrix, ``"cg"`` for symmetric (Hermitian) positive definite
        ones, ``"bicgstab"``, ``"minres"`` ...; or ``"dense"``, which builds the matrix.
    tol, maxiter, M
        The solvers' ``rtol`` (1e-12 in double precision), the largest number of iterations, and a preconditioner: an
        approximate inverse on real vectors (of complex numbers: real and imaginary parts in turn).

    Returns
    -------
    ``x``, of the structure of `b`.

    Raises
    ------
    NotConverged
        By this function and by its derivatives, each of which solves with the transposed matrix.

    Examples
    --------
    >>> import pullback as pb
    >>> d = pb.tensor([2.0, 4.0], requires_grad=True)
    >>> x = pb.implicit.solve_linear(lambda x, d: d * x, pb.tensor([1.0, 1.0]), d, solver="cg")
    >>> x
    tensor([0.5 , 0.25], grad_fn=<SolveLinearBackward>)
    >>> pb.autograd.grad(x.sum(), d)
    (tensor([-0.25  , -0.0625]),)
    """
    if solver != "dense" and solver not in METHODS:
        raise lesson(
            ValueError,
            f"solve_linear knows no solver {solver!r}",
            instead=f'"dense", or one of {", ".join(METHODS)}.',
        )
    problem = Problem("solve_linear", b, (b, *params))
    options = {"rtol": tol, "maxiter": maxiter, "M": M}
    options = {name: value for name, value in options.items() if value is not None}
    product = problem.equations(lambda x, b, *rest: matvec(x, *rest))

    def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        right = leaves_of(problem.params.filled(inputs)[0])
        return [y - c for y, c in zip(product(unknowns, inputs), right, strict=True)]

    forth = problem.vector_of(product)
    _refuse_nonlinear(forth, problem.space.size, problem.space.eps)
    call = problem.call(product, np.zeros(problem.space.size))
    inverse = (
        dense(call, problem.space, "solve_linear")
        if solver == "dense"
        else Krylov(call, problem.space, "solve_linear", solver, options, forth)
    )
    vector = inverse.solve(problem.first, transposed=False)
    return problem.tree(problem.declare(residual, vector, lambda *_: inverse, SolveLinear))


def _refuse_nonlinear(f: Any, n: int, eps: float) -> None:
    """Compare ``f(u - 2 v)`` with ``f(u) - 2 f(v)``."""
    u, v = np.cos(np.arange(n)), np.sin(1 + 2 * np.arange(n) ** 1.5)
    left, first, second = f(u - 2 * v), f(u), f(v)
    gap, size = np.abs(left - first + 2 * second), np.abs(left) + np.abs(first) + 2 * np.abs(second)
    if np.any(gap > eps**0.5 * (np.max(size, initial=0.0))):
        raise lesson(
            ValueError,
            f"matvec is not linear: f(u - 2 v) differs from f(u) - 2 f(v) by {np.max(gap):.3g}",
            why="the iterative solvers, and the derivative, are those of linear equations.",
            instead="root(lambda x, b, *params: f(x, *params) - b, x0, b, *params) for equations that are not linear.",
        )


@mapped
def lstsq(a: Any, b: Any, /, *, rcond: float | None = None) -> Any:
    """The x of least length that makes ``|a x - b|`` least, for matrices of full rank.

    Parameters
    ----------
    a
        An array or Tensor of shape (..., m, n), real or complex.
    b
        Right-hand sides of shape (..., m, k), or one of shape (m,).
    rcond
        Singular values below `rcond` times the largest count as zero; by default ``max(m, n)`` times the precision.

    Returns
    -------
    The solution, of shape (..., n, k) or (..., n).

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a matrix has not full rank: the solution of least length then jumps when the matrix changes a little.

    Notes
    -----
    By QR: ``R x = Qᴴ b`` of tall matrices, ``x = Q R⁻ᴴ b`` with ``aᴴ = Q R`` of wide ones (Golub, Pereyra 1973).

    Examples
    --------
    >>> import pullback as pb
    >>> b = pb.tensor([1.0, 3.0, 5.0], requires_grad=True)
    >>> x = pb.implicit.lstsq(pb.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), b)
    >>> [round(v, 12) for v in x.tolist()]
    [1.0, 2.0]
    >>> [round(abs(v), 12) for v in pb.autograd.grad(x[1], b)[0].tolist()]
    [0.5, 0.0, 0.5]
    """
    shape = shape_of(a)
    if len(shape) < 2 or shape_of(b)[: 1 if len(shape_of(b)) == 1 else -1][-1:] != shape[-2:-1]:
        raise lesson(
            LinAlgError,
            f"lstsq of shapes {tuple(shape)} and {tuple(shape_of(b))}: expected (..., m, n) and (..., m, k) or (m,)",
        )
    _refuse_deficient(a, rcond)
    vector = len(shape_of(b)) == 1
    right = expand_dims(b, axis=-1) if vector else b
    if shape[-2] >= shape[-1]:
        q, r = qr(a)
        found = solve_triangular(r, matmul(conjugate_transpose(q), right), upper=True)
    else:
        q, r = qr(conjugate_transpose(a))
        found = matmul(q, solve_triangular(conjugate_transpose(r), right))
    return squeeze(found, axis=-1) if vector else found


def _refuse_deficient(a: Any, rcond: float | None) -> None:
    matrix = np.asarray(a._array if isinstance(a, Tensor) else a)
    m, n = matrix.shape[-2:]
    if not matrix.size:
        return
    eps = np.finfo(matrix.dtype if arrays.is_inexact(matrix.dtype) else float).eps
    sizes = np.linalg.svd(matrix, compute_uv=False)
    lost = sizes[..., -1] <= (max(m, n) * eps if rcond is None else rcond) * sizes[..., 0]
    if np.any(lost):
        index = tuple(np.argwhere(lost)[0].tolist())
        which = f" (matrix {index} of the stack)" if index else ""
        raise lesson(
            LinAlgError,
            f"lstsq of a matrix of shape {matrix.shape} that has not full rank{which}",
            why="the solution of least length jumps when such a matrix changes a little, so it has no derivative.",
            instead="pinv(a) @ b for matrices whose rank stays; or a little regularisation: solve(aᴴ a + eps I, aᴴ b).",
        )
