"""Determinants: polynomials, so all their derivatives exist everywhere, also at singular matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.matrices import ResultsNode, adjoint, bare, each_matrix, eps_of, identity, refuse, run
from pullback.ops.registry import Make, Sample, register
from pullback.ops.solving import regular


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Any
    logabsdet: Any


class Det(Primitive):
    """``y = det A``.  vjp: Ā = ȳ adj(A)ᴴ

    The adjugate is ``y A⁻¹`` where A is far from singular, and a polynomial of A's Schur complement elsewhere.
    """

    node_name = "LinalgDetBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = arrays.asarray(run(ctx.xp, "det", x), ctx.xp)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a, y), xp = ctx.saved_tensors, ctx.xp
        inverse = _inverse_if_accurate(xp, a)
        adjugate = each_matrix(xp, y) * inverse if inverse is not None else _adjugate(xp, a)
        return each_matrix(xp, ct) * adjoint(xp, adjugate)


class Slogdet(Primitive):
    """Phase and logarithm of the size of ``det A = s exp(l)``.

    vjp: Ā = (l̄ - i Im(s̄* s)) A⁻ᴴ; of a real A: Ā = l̄ A⁻ᵀ
    """

    node_name = "LinalgSlogdetBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        sign, logarithm = [arrays.asarray(value, ctx.xp) for value in run(ctx.xp, "slogdet", x)]
        ctx.save_for_backward(x, sign)
        return sign, logarithm

    @staticmethod
    def backward(ctx: Any, ct_sign: Any, ct_logarithm: Any) -> Any:
        (a, sign), xp = ctx.saved_tensors, ctx.xp
        wanted_sign, wanted_logarithm = ctx.wanted
        slope = None if wanted_logarithm is None else ct_logarithm
        if wanted_sign is not None and arrays.is_complex(a.dtype):
            turning = xp.conj(ct_sign) * sign
            turning = (xp.conj(turning) - turning) / 2  # -i Im
            slope = turning if slope is None else slope + turning
        if slope is None:
            return xp.zeros_like(a)
        a = _regular(xp, a, sign, ctx.wanted)
        return each_matrix(xp, slope) * adjoint(xp, xp.linalg.inv(a))


def _regular(xp: Any, a: Any, sign: Any, wanted: Any) -> Any:
    """`a`, with singular matrices refused, or replaced where nobody asks for them."""
    own = arrays.namespace(bare(sign))
    singular = bare(sign) == 0
    if not arrays.anywhere(singular):
        return a
    refuse(
        "slogdet",
        singular & _asked(wanted, singular),
        "the matrix is singular",
        "the logarithm of its determinant is -inf, a pole.",
        "det(A), which has all derivatives there; or where(sign != 0, logabsdet, ...) to leave such matrices out.",
    )
    return xp.where(each_matrix(own, singular), identity(a), a)


def _asked(wanted: Any, like: Any) -> Any:
    """Which matrices of the stack have a cotangent for any of the two results."""
    masks = [w for w in wanted if w is not None]
    if any(w is True for w in masks):
        return like == like
    return masks[0] if len(masks) == 1 else masks[0] | masks[1]


# ---------------------------------------------------------------------------------------------------------- adjugates
def _inverse_if_accurate(xp: Any, a: Any) -> Any:
    """``A⁻¹``, or ``None`` where a matrix of the stack is close to a singular one.

    Differentiating ``y A⁻¹`` n times loses n digits for each digit of the condition number: the terms of an adjugate, which
    is small, are then differences of large ones.
    """
    try:
        inverse = xp.linalg.inv(a)
    except Exception as error:
        if "ingular" not in str(error):
            raise
        return None
    own = arrays.namespace(bare(a))
    condition = own.linalg.matrix_norm(bare(a)) * own.linalg.matrix_norm(bare(inverse))
    return None if arrays.anywhere(condition > _largest_condition(a)) else inverse


def _largest_condition(a: Any) -> float:
    return eps_of(a) ** -0.25


def _adjugate(xp: Any, a: Any) -> Any:
    """The adjugate by block elimination: nothing that is close to singular is inverted.

    In the bases of the singular vectors, which count as constants, ``A = U B Vᴴ`` and B is close to diagonal.  Its last
    rows and columns belong to small singular values; the rest is eliminated, and what is left is Z.
    """
    own = arrays.namespace(bare(a))
    u, s, vh = own.linalg.svd(bare(a))
    n = a.shape[-1]
    small = own.count_nonzero(s * _largest_condition(a) <= s[..., :1], axis=-1)
    k = n - max(1, int(arrays.everything(small).max()))
    b = xp.matmul(xp.matmul(adjoint(own, u), a), adjoint(own, vh))
    z = b[..., k:, k:]
    if k == 0:
        found, _ = _polynomials(xp, z)
    else:
        inverse = xp.linalg.inv(b[..., :k, :k])
        right, left = inverse @ b[..., :k, k:], b[..., k:, :k] @ inverse
        rest, size = _polynomials(xp, z - b[..., k:, :k] @ right)
        top = xp.concat([inverse * size + right @ rest @ left, -right @ rest], axis=-1)
        bottom = xp.concat([-rest @ left, rest], axis=-1)
        found = xp.concat([top, bottom], axis=-2) * each_matrix(xp, xp.linalg.det(b[..., :k, :k]))
    turn = own.linalg.det(u) * own.linalg.det(vh)
    return xp.matmul(xp.matmul(adjoint(own, vh), found * each_matrix(own, turn)), adjoint(own, u))


def _polynomials(xp: Any, z: Any) -> tuple[Any, Any]:
    """Adjugate and determinant (as a 1 × 1 matrix) without a division by anything that may be zero (Faddeev, LeVerrier)."""
    one = identity(z)
    n = z.shape[-1]
    adjugate = xp.zeros_like(z) + one
    for k in range(1, n):
        product = z @ adjugate
        adjugate = each_matrix(xp, xp.linalg.trace(product)) / k * one - product
    return adjugate, each_matrix(xp, xp.linalg.trace(z @ adjugate)) / n


def det(x: Any, /) -> Any:
    """The determinant of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Returns
    -------
    Determinants of shape (...).  Their derivatives are exact to every order, also at singular matrices.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the matrices are not square.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    >>> pb.linalg.det(x).backward()
    >>> x.grad
    tensor([[ 4., -2.],
            [-2.,  1.]])
    """
    return Det.apply(x)


def slogdet(x: Any, /) -> SlogdetResult:
    """Sign and logarithm of the absolute value of the determinant of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Returns
    -------
    sign
        1, -1 or 0; of complex matrices a number on the unit circle.
    logabsdet
        ``-inf`` for a singular matrix.

    Raises
    ------
    DerivativeRefused
        By a derivative at a singular matrix.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.linalg.slogdet(pb.tensor([[2.0, 0.0], [0.0, -0.5]]))
    SlogdetResult(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return SlogdetResult(*Slogdet.apply(x))


# ------------------------------------------------------------------------------------------------------------ registry
def _matrices(make: Make) -> Any:
    yield Sample((regular(make, 3, 3),))
    yield Sample((regular(make, 2, 1, 2, 2),))
    yield Sample((regular(make, 1, 1),))
    yield Sample((regular(make, 0, 2, 2),))
    yield Sample((regular(make, 0, 0),))


def _and_singular(make: Make) -> Any:
    yield from _matrices(make)
    for rank in (0, 1, 2):
        yield Sample((make(3, rank) @ make(rank, 3),))
    yield Sample((np.stack([regular(make, 3, 3), make(3, 1) @ make(1, 3)]),))


register("det", Det, _and_singular, call=det, reference=np.linalg.det, public=False)
register("slogdet", Slogdet, _matrices, call=slogdet, reference=np.linalg.slogdet, public=False)
