"""Triangular factors: Cholesky and QR."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.joining import concat
from pullback.ops.linalg import matmul
from pullback.ops.matrices import (
    ResultsNode,
    adjoint,
    bare,
    complement,
    conjugate_transpose,
    hermitian_part,
    identity,
    on_hermitian,
    refuse,
    run,
)
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import shape_of
from pullback.ops.solving import regular


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


def _mirrored(xp: Any, x: Any) -> Any:
    """The Hermitian matrix with the lower triangle of `x`, and the real part of its diagonal."""
    lower = xp.tril(x, k=-1)
    return lower + adjoint(xp, lower) + hermitian_part(xp, x) * identity(x)


class Cholesky(Primitive):
    """``A = L Lᴴ``, with ``L`` lower triangular, or its adjoint.

    vjp: Ā = L⁻ᴴ K L⁻¹ / 2, K the Hermitian matrix with the lower triangle of Lᴴ L̄   (Murray 2016)
    """

    node_name = "LinalgCholeskyExBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, upper: bool = False) -> Any:
        y = run(ctx.xp, "cholesky", x, upper=upper)
        ctx.upper = upper
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (y,), xp = ctx.saved_tensors, ctx.xp
        turned = y if ctx.upper else adjoint(xp, y)  # Lᴴ
        inner = turned @ (adjoint(xp, ct) if ctx.upper else ct)
        half = adjoint(xp, xp.linalg.solve(turned, _mirrored(xp, inner)))  # K L⁻¹
        return hermitian_part(xp, xp.linalg.solve(turned, half)) / 2


class QR(Primitive):
    """``A = Q R`` of matrices that are at least as tall as wide: Q with orthonormal columns, R upper triangular.

    vjp: Ā = (Q̄ + Q K) R⁻ᴴ, K the Hermitian matrix with the lower triangle of R R̄ᴴ - Q̄ᴴ Q   (Walter, Lehmann 2010)
    """

    node_name = "LinalgQrBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any, *, mode: str) -> Any:
        q, r = run(ctx.xp, "qr", x, mode=mode)
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, ct_q: Any, ct_r: Any) -> Any:
        (q, r), xp = ctx.saved_tensors, ctx.xp
        wanted_q, wanted_r = ctx.wanted
        n, width = r.shape[-1], q.shape[-1]
        _refuse_dependent(r)
        own, others = q, None
        if width > n:  # the complete form: more columns, which span the complement
            own, others, r = q[..., :n], q[..., n:], r[..., :n, :]
        outer, inner = None, None
        if wanted_q is not None:
            outer = ct_q[..., :n]
            if others is not None:
                outer = outer + complement(xp, "qr", own, others, ct_q[..., n:])
            inner = -(adjoint(xp, outer) @ own)
        if wanted_r is not None:
            term = r @ adjoint(xp, ct_r[..., :n, :])
            inner = term if inner is None else inner + term
        found = own @ _mirrored(xp, inner)
        found = found if outer is None else found + outer
        return adjoint(xp, xp.linalg.solve(r, adjoint(xp, found)))


def _refuse_dependent(r: Any) -> None:
    """Refuse matrices whose columns are linearly dependent: Q is then any basis that contains their span."""
    r = bare(r)
    n = r.shape[-1]
    own = arrays.namespace(r)
    refuse(
        "qr",
        own.any((own.abs(r[..., :n, :]) == 0) & (own.eye(n) == 1), axis=(-2, -1)),
        "the columns are linearly dependent",
        "some columns of Q are then arbitrary: they jump when the matrix changes a little.",
        "pinv, or svd, whose singular values are differentiable at any rank.",
    )


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor L of each positive definite matrix: ``A = L Lᴴ``.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), symmetric or Hermitian.  Only one triangle is read, the lower one unless
        `upper`; the derivative is the Hermitian matrix that holds for Hermitian changes of `x`, as in torch.
    upper
        Return ``Lᴴ`` instead, an upper triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a matrix is not positive definite, or not square.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.cholesky(pb.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return Cholesky.apply(x, upper=bool(upper))


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """The QR decomposition of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., m, n), real or complex.
    mode
        ``"reduced"``, or ``"complete"`` for a square Q.

    Returns
    -------
    Q
        Orthonormal columns, (..., m, min(m, n)) or (..., m, m).  Their signs are those that LAPACK chooses: the diagonal
        of R is real.
    R
        Upper triangles, (..., min(m, n), n) or (..., m, n).

    Raises
    ------
    DerivativeRefused
        By a derivative where the first ``min(m, n)`` columns are linearly dependent, and by one that depends on the
        basis which the complete form chooses for the orthogonal complement.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.qr(pb.tensor([[3.0], [4.0]])).R
    tensor([[-5.]])
    """
    if mode not in ("reduced", "complete"):
        raise lesson(ValueError, f"qr has no mode {mode!r}", instead='"reduced" or "complete".')
    shape = shape_of(x)
    m = shape[-2] if len(shape) > 1 else 0
    if len(shape) < 2 or m >= shape[-1]:
        return QRResult(*QR.apply(x, mode=mode))
    q, r = QR.apply(x[..., :m], mode="reduced")  # the columns after the m-th add nothing to Q
    return QRResult(q, concat([r, matmul(conjugate_transpose(q), x[..., m:])], axis=-1))


# ------------------------------------------------------------------------------------------------------------ registry
def positive_definite(make: Make, *shape: int) -> Any:
    """Hermitian matrices with eigenvalues from 1 on."""
    x = make(*shape) / 2
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])


def _positive(make: Make) -> Any:
    yield Sample((positive_definite(make, 3, 3),))
    yield Sample((positive_definite(make, 3, 3),), {"upper": True})
    yield Sample((positive_definite(make, 2, 1, 2, 2),))
    yield Sample((positive_definite(make, 0, 2, 2),))


def _columns(make: Make) -> Any:
    for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 2, 2), (2, 0)):
        yield Sample((regular(make, *shape),))
    yield Sample((regular(make, 4, 2),), {"mode": "complete"})
    yield Sample((regular(make, 2, 3),), {"mode": "complete"})


def _without_basis(result: Any) -> Any:
    """Q and R, with the columns of the complement replaced by the projection onto it."""
    q, r = result
    n = min(q.shape[-1], r.shape[-1])
    rest = q[..., n:]
    return q[..., :n], r, matmul(rest, conjugate_transpose(rest))


register("cholesky", Cholesky, _positive, call=on_hermitian(cholesky), reference=np.linalg.cholesky, public=False)
register("qr", QR, _columns, call=qr, reference=np.linalg.qr, public=False, observe=_without_basis)
