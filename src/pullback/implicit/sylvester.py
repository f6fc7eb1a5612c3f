"""Linear equations for matrices: Sylvester's, and Lyapunov's in continuous and discrete time."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.batching.batched import batch_of, padded, within
from pullback.batching.elementwise import again
from pullback.core import arrays
from pullback.core.batches import LIVE
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.matrices import LinAlgError, adjoint, conjugate_transpose
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import shape_of


def each(f: Any, *stacks: Any) -> Any:
    """``f`` on each matrix of stacks that broadcast, in double precision; the result in the dtype of the stacks."""
    batch = batch_of(stacks) if LIVE else None
    if batch is not None:  # one more leading axis
        ndim = max(len(x.shape) for x in stacks)
        return again(each(f, *[padded(within(x, batch), ndim) for x in stacks]), batch)
    xp = arrays.namespace(stacks[0])
    given = [np.asarray(x) for x in stacks]
    dtype = np.result_type(*given)
    wide = [x.astype(np.result_type(dtype, np.float64), copy=False) for x in given]
    lead = np.broadcast_shapes(*[x.shape[:-2] for x in wide])
    spread = [np.broadcast_to(x, lead + x.shape[-2:]) for x in wide]
    found = {index: f(*[x[index] for x in spread]) for index in np.ndindex(lead)}
    if not found:
        empty = np.zeros(lead + wide[-1].shape[-2:], dtype)
        return empty if xp is np else xp.asarray(empty)
    result = np.stack(list(found.values())).reshape(lead + next(iter(found.values())).shape).astype(dtype, copy=False)
    return result if xp is np else xp.asarray(result)


def check_square(name: str, *matrices: Any) -> None:
    """Refuse what is no stack of square matrices."""
    for x in matrices:
        shape = shape_of(x)
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise lesson(LinAlgError, f"{name} of shape {tuple(shape)}: expected square matrices (..., n, n)")


def _regular(name: str, sums: Any, scale: Any, equation: str) -> None:
    """Refuse where an eigenvalue of the equation itself, one of `sums`, is zero."""
    if sums.size and not np.min(np.abs(sums)) > sums.size * np.finfo(float).eps * scale:
        raise lesson(
            LinAlgError,
            f"{name} has no unique solution: {equation} for a pair of eigenvalues",
            why="the equation is singular there, and its solution jumps when the matrices change a little.",
            instead="shift one of the matrices: A + eps * I.",
        )


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    from scipy.linalg import solve_sylvester

    of_a, of_b = np.linalg.eigvals(a), np.linalg.eigvals(b)
    scale = np.max(np.abs(of_a), initial=0) + np.max(np.abs(of_b), initial=0)
    _regular("solve_sylvester", of_a[:, None] + of_b, scale, "λ(A) + λ(B) = 0")
    return solve_sylvester(a, b, q) if q.size else np.zeros(q.shape, q.dtype)


class SolveSylvester(Primitive):
    """``A X + X B = Q``.  vjp: Q̄ = Z with Aᴴ Z + Z Bᴴ = X̄, Ā = -Z Xᴴ, B̄ = -Xᴴ Z"""

    node_name = "SolveSylvesterBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, q: Any) -> Any:
        x = each(_sylvester, a, b, q)
        ctx.shapes = a.shape, b.shape, q.shape
        ctx.save_for_backward(a, b, x)
        return x

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a, b, x), xp = ctx.saved_tensors, ctx.xp
        z = SolveSylvester.apply(adjoint(xp, a), adjoint(xp, b), ct)
        turned = adjoint(xp, x)
        need_a, need_b, need_q = ctx.needs_input_grad
        grads = -(z @ turned) if need_a else None, -(turned @ z) if need_b else None, z if need_q else None
        return tuple([g if g is None else arrays.sum_to(g, s, xp) for g, s in zip(grads, ctx.shapes, strict=True)])


def solve_sylvester(a: Any, b: Any, q: Any, /) -> Any:
    """``X`` with ``A X + X B = Q``.

    Parameters
    ----------
    a, b, q
        Arrays or Tensors of shapes (..., m, m), (..., n, n) and (..., m, n), real or complex; leading axes broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where an eigenvalue of A and one of -B coincide.

    Examples
    --------
    >>> import pullback as pb
    >>> q = pb.tensor([[5.0]], requires_grad=True)
    >>> pb.implicit.solve_sylvester(pb.tensor([[2.0]]), pb.tensor([[3.0]]), q)
    tensor([[1.]], grad_fn=<SolveSylvesterBackward0>)
    """
    check_square("solve_sylvester", a, b)
    return SolveSylvester.apply(a, b, q)


def solve_continuous_lyapunov(a: Any, q: Any, /) -> Any:
    """``X`` with ``A X + X Aᴴ = Q``.

    Parameters
    ----------
    a, q
        Arrays or Tensors of shape (..., n, n), real or complex; leading axes broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where two eigenvalues of A have the sum 0, one of them conjugated.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor([[-0.5]], requires_grad=True)
    >>> x = pb.implicit.solve_continuous_lyapunov(a, pb.tensor([[-2.0]]))
    >>> x, pb.autograd.grad(x.sum(), a)
    (tensor([[2.]], grad_fn=<SolveSylvesterBackward0>), (tensor([[4.]]),))
    """
    check_square("solve_continuous_lyapunov", a, q)
    return SolveSylvester.apply(a, conjugate_transpose(a), q)


def _stein(a: Any, q: Any) -> Any:
    from scipy.linalg import solve_discrete_lyapunov

    of_a = np.linalg.eigvals(a)
    _regular("solve_discrete_lyapunov", np.multiply.outer(of_a, np.conj(of_a)) - 1, 1.0, "λ λ'* = 1")
    return solve_discrete_lyapunov(a, q) if q.size else np.zeros(q.shape, q.dtype)


class SolveDiscreteLyapunov(Primitive):
    """``X = A X Aᴴ + Q``.  vjp: Q̄ = Z with Z = Aᴴ Z A + X̄, Ā = Z A Xᴴ + Zᴴ A X"""

    node_name = "SolveDiscreteLyapunovBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, q: Any) -> Any:
        x = each(_stein, a, q)
        ctx.shapes = a.shape, q.shape
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a, x), xp = ctx.saved_tensors, ctx.xp
        z = SolveDiscreteLyapunov.apply(adjoint(xp, a), ct)
        grad_a = grad_q = None
        if ctx.needs_input_grad[0]:
            grad_a = arrays.sum_to(z @ a @ adjoint(xp, x) + adjoint(xp, z) @ a @ x, ctx.shapes[0], xp)
        if ctx.needs_input_grad[1]:
            grad_q = arrays.sum_to(z, ctx.shapes[1], xp)
        return grad_a, grad_q


def solve_discrete_lyapunov(a: Any, q: Any, /) -> Any:
    """``X`` with ``X = A X Aᴴ + Q``.

    Parameters
    ----------
    a, q
        Arrays or Tensors of shape (..., n, n), real or complex; leading axes broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where two eigenvalues of A have the product 1, one of them conjugated.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.implicit.solve_discrete_lyapunov(pb.tensor([[0.5]]), pb.tensor([[3.0]]))
    tensor([[4.]])
    """
    check_square("solve_discrete_lyapunov", a, q)
    return SolveDiscreteLyapunov.apply(a, q)


# ------------------------------------------------------------------------------------------------------------ registry
def _stable(make: Make, *shape: int) -> Any:
    """Matrices with eigenvalues in the right half of the plane."""
    return make(*shape, low=-0.5, high=0.5) + 2 * np.eye(shape[-1], dtype=make.dtype)


def _equations(make: Make) -> Any:
    for a, b in (((3, 3), (2, 2)), ((2, 2, 2), (2, 2)), ((0, 2, 2), (1, 1))):
        yield Sample((_stable(make, *a), _stable(make, *b), make(a[-1], b[-1])))


def _lyapunov(make: Make) -> Any:
    yield Sample((_stable(make, 3, 3), make(3, 3)))
    yield Sample((_stable(make, 2, 2), make(2, 2, 2)))


def _contractions(make: Make) -> Any:
    yield Sample((make(3, 3, low=-0.4, high=0.4), make(3, 3)))
    yield Sample((make(2, 2, 2, low=-0.5, high=0.5), make(2, 2)))


def _reference(name: str) -> Any:
    """A function of SciPy on each matrix of a stack."""

    def reference(*args: Any) -> Any:
        from scipy import linalg

        check_square(name, *args[:2])
        return each(getattr(linalg, name), *args)

    return reference


_private: dict[str, Any] = {"public": False}
for _name, _operator, _call, _samples in (
    ("solve_sylvester", SolveSylvester, solve_sylvester, _equations),
    ("solve_continuous_lyapunov", None, solve_continuous_lyapunov, _lyapunov),
    ("solve_discrete_lyapunov", SolveDiscreteLyapunov, solve_discrete_lyapunov, _contractions),
):
    register(_name, _operator, _samples, call=_call, reference=_reference(_name), **_private)
