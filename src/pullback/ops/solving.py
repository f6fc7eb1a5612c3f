"""Linear equations: inverses, solutions, powers, and the inverse of what has none."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.linalg import matmul
from pullback.ops.matrices import LinAlgError, adjoint, identity, run
from pullback.ops.named import named
from pullback.ops.registry import Make, Sample, register
from pullback.ops.selection import where
from pullback.ops.shapes import clone, shape_of, tril, triu


# ------------------------------------------------------------------------------------------------------------- inverses
class Inv(Primitive):
    """``Y = A⁻¹``.  vjp: Ā = -Yᴴ Ȳ Yᴴ"""

    node_name = "LinalgInvExBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = run(ctx.xp, "inv", x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (y,) = ctx.saved_tensors
        turned = adjoint(ctx.xp, y)
        return -(turned @ ct @ turned)


class Pinv(Primitive):
    """The pseudo-inverse ``P``, among matrices of the same rank.

    vjp: Ā = -Pᴴ P̄ Pᴴ + (I - A P) P̄ᴴ P Pᴴ + Pᴴ P P̄ᴴ (I - P A)   (Golub, Pereyra 1973)
    """

    node_name = "LinalgPinvBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, rtol: Any = None) -> Any:
        y = run(ctx.xp, "pinv", x, rtol=rtol)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a, p), xp = ctx.saved_tensors, ctx.xp
        ct, turned = adjoint(xp, ct), adjoint(xp, p)  # from here on P̄ᴴ
        first = ct @ (p @ turned)
        last = (turned @ p) @ ct
        return first - a @ (p @ first) + last - (last @ p) @ a - turned @ (adjoint(xp, ct) @ turned)


class Solve(Primitive):
    """``Y = A⁻¹ B``.  vjp: B̄ = A⁻ᴴ Ȳ, Ā = -B̄ Yᴴ"""

    node_name = "LinalgSolveExBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        y = run(ctx.xp, "solve", a, b)
        ctx.shapes = (a.shape, b.shape)
        ctx.save_for_backward(a, y if ctx.needs_input_grad[0] else None)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a, y), xp = ctx.saved_tensors, ctx.xp
        (need_a, need_b), (shape_a, shape_b) = ctx.needs_input_grad, ctx.shapes
        vector = len(shape_b) == 1  # one right-hand side, for every matrix of a stack
        found = xp.linalg.solve(adjoint(xp, a), xp.expand_dims(ct, axis=-1) if vector else ct)
        grad_a = grad_b = None
        if need_a:
            y = xp.expand_dims(y, axis=-1) if vector else y
            grad_a = arrays.sum_to(-(found @ adjoint(xp, y)), shape_a, xp)
        if need_b:
            grad_b = arrays.sum_to(found, (*shape_b, 1) if vector else shape_b, xp)
            grad_b = xp.squeeze(grad_b, axis=-1) if vector else grad_b
        return grad_a, grad_b


def inv(x: Any, /) -> Any:
    """The inverse of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a matrix is singular, or not square.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.inv(pb.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return Inv.apply(x)


def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse of each matrix (Moore, Penrose).

    Parameters
    ----------
    x
        An array or Tensor of shape (..., m, n), real or complex.
    rtol
        Singular values below `rtol` times the largest count as zero; by default ``max(m, n)`` times the precision.

    Returns
    -------
    Matrices of shape (..., n, m).  Where the rank is not full, the pseudo-inverse jumps when the rank changes; its
    derivative is that along matrices of the same rank.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.pinv(pb.tensor([[3.0], [4.0]]))
    tensor([[0.12, 0.16]])
    """
    return Pinv.apply(x, rtol=rtol)


def solve(x1: Any, x2: Any, /) -> Any:
    """The solution ``Y`` of ``A Y = B`` for each matrix ``A = x1``.

    Parameters
    ----------
    x1
        An array or Tensor of shape (..., n, n), real or complex.
    x2
        Right-hand sides of shape (..., n, k), whose leading axes broadcast with those of `x1`; or one of shape (n,).

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a matrix is singular, or not square.

    Examples
    --------
    >>> import pullback as pb
    >>> b = pb.tensor([2.0, 4.0], requires_grad=True)
    >>> y = pb.linalg.solve(pb.tensor([[2.0, 0.0], [0.0, 4.0]]), b)
    >>> y
    tensor([1., 1.], grad_fn=<LinalgSolveExBackward0>)
    >>> pb.autograd.grad(y, b, pb.tensor([1.0, 1.0]))
    (tensor([0.5 , 0.25]),)
    """
    return Solve.apply(x1, x2)


def solve_triangular(a: Any, b: Any, /, *, upper: bool = False) -> Any:
    """The solution ``Y`` of ``A Y = B`` where A is one triangle of `a`; the other one is not read and has no gradient."""
    return solve(triu(a) if upper else tril(a), b)


@named
def matrix_power(x: Any, n: int, /) -> Any:
    """Each matrix multiplied `n` times with itself; its inverse for a negative `n`, the identity for 0.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., m, m), real or complex.
    n
        A whole number.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.matrix_power(pb.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise lesson(LinAlgError, f"matrix_power of shape {shape}: only square matrices have powers")
    n = operator.index(n)
    if n == 0:  # no derivative comes through a branch that is nowhere taken
        one = identity(x)
        return where(one != one, x, one)
    if n < 0:
        x, n = inv(x), -n
    if n == 1:
        return clone(x)
    power = None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            power = x if power is None else matmul(power, x)
        if n:
            x = matmul(x, x)
    return power


# ------------------------------------------------------------------------------------------------------------ registry
def regular(make: Make, *shape: int) -> Any:
    """Matrices far from singular ones: small entries beside a diagonal from 2 on."""
    n = min(shape[-2:])
    x = make(*shape, low=-0.8, high=0.8)
    x[..., range(n), range(n)] += np.arange(2, n + 2)
    return x


def _regulars(make: Make) -> Any:
    yield Sample((regular(make, 3, 3),))
    yield Sample((regular(make, 2, 1, 2, 2),))
    yield Sample((regular(make, 0, 2, 2),))
    yield Sample((regular(make, 0, 0),))


def _equations(make: Make) -> Any:
    for a, b in (
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 2, 2), (2,)),
        ((2, 2, 2), (2, 1)),
        ((2, 2), (3, 2, 2)),
        ((2, 1, 2, 2), (3, 2, 1)),
        ((0, 2, 2), (2,)),
    ):
        yield Sample((regular(make, *a), make(*b)))


def _triangles(make: Make) -> Any:
    yield Sample((regular(make, 3, 3), make(3)))
    yield Sample((regular(make, 2, 2, 2), make(2, 2)), {"upper": True})


def _powers(make: Make) -> Any:
    for n in (0, 1, 2, 3, 5, -1, -2):
        yield Sample((regular(make, 2, 2), n))
    yield Sample((regular(make, 2, 3, 3), 3))


def _rectangles(make: Make) -> Any:
    for shape in ((3, 2), (2, 3), (2, 2), (2, 3, 2)):
        yield Sample((regular(make, *shape),))
    yield Sample((regular(make, 3, 2),), {"rtol": 1e-3})


def _numpy_pinv(x: Any, rtol: Any = None) -> Any:
    return np.linalg.pinv(x, rtol=rtol)


def _numpy_triangular(a: Any, b: Any, upper: bool = False) -> Any:
    return np.linalg.solve(np.triu(a) if upper else np.tril(a), b)


register("inv", Inv, _regulars, call=inv, reference=np.linalg.inv, public=False)
register("matrix_power", None, _powers, call=matrix_power, reference=np.linalg.matrix_power, public=False)
register("pinv", Pinv, _rectangles, call=pinv, reference=_numpy_pinv, public=False)
register("solve", Solve, _equations, call=solve, reference=np.linalg.solve, public=False)
register("solve_triangular", None, _triangles, call=solve_triangular, reference=_numpy_triangular, public=False)
