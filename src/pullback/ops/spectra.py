"""Eigenvalues and singular values, and the vectors that belong to them.

The values are differentiable wherever they are distinct.  Where they coincide, by rule, equal ones share their
cotangent equally, like other ties; what depends on all of them alike is exact.  The vectors are not differentiable
there, nor are second derivatives of the values; both are refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.kinks import Kink, guarded
from pullback.ops.linalg import matmul
from pullback.ops.matrices import (
    ResultsNode,
    adjoint,
    as_numbers,
    bare,
    coinciding,
    columns,
    complement,
    conjugate_transpose,
    each_matrix,
    hermitian_part,
    identity,
    imaginary_diagonal,
    lengths,
    on_hermitian,
    outer_products,
    refuse,
    refuse_coinciding,
    refuse_phase,
    resolution,
    rows,
    run,
    wanted_vectors,
)
from pullback.ops.registry import Make, Sample, register
from pullback.ops.solving import regular

_INSTEAD = (
    "eigvalsh or svdvals, if only the values are needed; a function of the matrix itself (solve, matrix_power, trace), "
    "which needs no vectors; or break the tie: A + diag(small numbers)."
)


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


def shared(xp: Any, ct: Any, values: Any) -> Any:
    """The cotangent of sorted values (..., n), shared among equal ones: then it does not depend on LAPACK's vectors."""
    values = bare(values)
    own = arrays.namespace(values)
    if values.shape[-1] < 2 or not arrays.anywhere(values[..., 1:] == values[..., :-1]):
        return ct
    equal = as_numbers(rows(own, values) == columns(own, values), values)
    return xp.sum(columns(xp, ct) * (equal / own.sum(equal, axis=-1, keepdims=True)), axis=-1)


# --------------------------------------------------------------------------------------------------------- eigenvalues
class Eigh(Primitive):
    """``A V = V diag(w)`` of a Hermitian A, w ascending.

    vjp: Ā = V (diag(w̄) + F ∘ Vᴴ V̄) Vᴴ, its Hermitian part; Fᵢⱼ = 1 / (wⱼ - wᵢ), 0 on the diagonal   (Giles 2008)
    """

    node_name = "LinalgEighBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        w, v = run(ctx.xp, "eigh", x)
        ctx.save_for_backward(w, v)
        return w, v

    @staticmethod
    def backward(ctx: Any, ct_w: Any, ct_v: Any) -> Any:
        (w, v), xp = ctx.saved_tensors, ctx.xp
        wanted_w, wanted_v = ctx.wanted
        turned = adjoint(xp, v)
        if wanted_w is not None:
            ct_w = shared(xp, ct_w, w)
        if wanted_v is None:
            return hermitian_part(xp, (v * columns(xp, ct_w)) @ turned)
        same = coinciding(w)
        refuse_coinciding("eigh", "eigenvalues", w, same, wanted_vectors(wanted_v, v, axis=-2), _INSTEAD)
        inner = turned @ ct_v
        refuse_phase("eigh", imaginary_diagonal(inner), lengths(ct_v))
        here = as_numbers(same, w)
        inner = inner * (xp.reciprocal(columns(xp, w) - rows(xp, w) + here) * (1 - here))
        if wanted_w is not None:
            inner = inner + rows(xp, ct_w) * identity(v)
        return hermitian_part(xp, v @ inner @ turned)


class Eigvalsh(Primitive):
    """Eigenvalues of a Hermitian A, ascending.  vjp: Ā = V diag(w̄) Vᴴ"""

    node_name = "LinalgEigvalshBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return run(ctx.xp, "eigvalsh", x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,), xp = ctx.saved_tensors, ctx.xp
        w, v = xp.linalg.eigh(x)
        return hermitian_part(xp, (v * columns(xp, shared(xp, ct, w))) @ adjoint(xp, v))


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues and eigenvectors of each Hermitian matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), symmetric or Hermitian.  Only the lower triangle is read; the derivative
        is the Hermitian matrix that holds for Hermitian changes of `x`, as in torch.

    Returns
    -------
    eigenvalues
        Real, ascending, (..., n).
    eigenvectors
        Orthonormal columns, (..., n, n).  Each is unique up to its sign, or a complex factor of absolute value 1; what is
        differentiated should not depend on it.

    Raises
    ------
    DerivativeRefused
        By a derivative through eigenvectors where eigenvalues coincide, or through the phase of complex ones.
    numpy.linalg.LinAlgError
        Where the matrices are not square.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[2.0, 1.0], [1.0, 2.0]], requires_grad=True)
    >>> w, v = pb.linalg.eigh(x)
    >>> w
    tensor([1., 3.], grad_fn=<LinalgEighBackward0>)
    >>> pb.autograd.grad(w[1], x)
    (tensor([[0.5, 0.5],
            [0.5, 0.5]]),)
    """
    return EighResult(*Eigh.apply(x))


def eigvalsh(x: Any, /) -> Any:
    """Eigenvalues of each Hermitian matrix, ascending; see `eigh`.

    Eigenvalues that coincide share their cotangent equally; sums over all equal ones are exact.

    >>> import pullback as pb
    >>> pb.linalg.eigvalsh(pb.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    return Eigvalsh.apply(x)


# ----------------------------------------------------------------------------------------------------- singular values
class SVD(Primitive):
    """``A = U S Vᴴ``, S = diag(s), s descending.

    vjp: Ā = U (Kᵤ ∘ F + Kᵥ ∘ G + diag(s̄)) Vᴴ + (I - U Uᴴ) Ū S⁻¹ Vᴴ + U S⁻¹ V̄ᴴ (I - V Vᴴ), where Kᵤ = Uᴴ Ū - Ūᴴ U, Kᵥ is the
    same of V, Fᵢⱼ = sⱼ / (sⱼ² - sᵢ²) and 1 / 2sᵢ on the diagonal, Gᵢⱼ = sᵢ / (sⱼ² - sᵢ²) and 0 on the diagonal
    (Townsend 2016; of complex matrices: Wan, Zhang 2019)
    """

    node_name = "LinalgSvdBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any, *, full_matrices: bool) -> Any:
        u, s, vh = run(ctx.xp, "svd", x, full_matrices=full_matrices)
        ctx.save_for_backward(u, s, vh)
        return u, s, vh

    @staticmethod
    def backward(ctx: Any, ct_u: Any, ct_s: Any, ct_vh: Any) -> Any:
        (u, s, vh), xp = ctx.saved_tensors, ctx.xp
        wanted_u, wanted_s, wanted_v = ctx.wanted
        found = None
        if wanted_u is not None or wanted_v is not None:
            found = _vjp_of_vectors(ctx, ct_u, ct_vh)
        if wanted_s is not None:
            k = s.shape[-1]
            term = _vjp_of_values(xp, u[..., :k], s, vh[..., :k, :], ct_s, wanted_s)
            found = term if found is None else found + term
        return found


class Svdvals(Primitive):
    """Singular values of A, descending.  vjp: Ā = U diag(s̄) Vᴴ"""

    node_name = "LinalgSvdvalsBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return run(ctx.xp, "svdvals", x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,), xp = ctx.saved_tensors, ctx.xp
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return _vjp_of_values(xp, u, s, vh, ct, ctx.wanted[0])


def _vjp_of_values(xp: Any, u: Any, s: Any, vh: Any, ct: Any, wanted: Any) -> Any:
    """``U diag(s̄) Vᴴ``.  A singular value 0 is the tip of a cone, like abs(x) at 0: there its slope is 0, by rule."""
    slope = (u * columns(xp, shared(xp, ct, s) * xp.sign(s))) @ vh
    own = arrays.namespace(bare(s))
    zero = bare(s) == 0 if wanted is True else (bare(s) == 0) & wanted
    if not arrays.anywhere(zero) or not isinstance(slope, Tensor) or slope._edge is None:
        return slope
    at_kink = own.broadcast_to(each_matrix(own, own.any(zero, axis=-1)), slope.shape)
    return guarded(slope, ZeroValue(slope, at_kink, "svd"))


class ZeroValue(Kink):
    """Stands behind the slope of singular values; refuses its derivative for matrices with a singular value 0."""

    __slots__ = ()

    def refusal(self, at_kink: Any) -> DerivativeRefused:
        index = tuple(np.argwhere(arrays.everything(at_kink))[0, :-2].tolist())
        which = f" (matrix {index} of the stack)" if index else ""
        return lesson(
            DerivativeRefused,
            f"the second derivative of singular values is refused: one is zero{which}",
            why="a singular value is never negative, so at 0 it has a kink, and no second derivative.",
            instead="eigvalsh(Aᴴ A), the squares; sum(A * A), the sum of the squares.",
            operator=self.operator_name,
            matrix=index,
            node=self,
        )


def _vjp_of_vectors(ctx: Any, ct_u: Any, ct_vh: Any) -> Any:
    (u, s, vh), xp = ctx.saved_tensors, ctx.xp
    wanted_u, _, wanted_v = ctx.wanted
    asked_u, asked_v = wanted_vectors(wanted_u, u, axis=-2), wanted_vectors(wanted_v, vh, axis=-1)
    same, tiny = _refuse_vectors(u, s, vh, asked_u, asked_v)
    inverse = xp.reciprocal(s + tiny) * (1 - tiny)
    gaps = xp.reciprocal((columns(xp, s) - rows(xp, s)) * (columns(xp, s) + rows(xp, s)) + same) * (1 - same)
    k = s.shape[-1]
    left, right = u[..., :k], adjoint(xp, vh[..., :k, :])
    middle, outside, phase, sizes = [], [], [], []
    if wanted_u is not None:
        ct, inner = _side(xp, left, u[..., k:], ct_u, asked_u)
        weight = columns(xp, s) * gaps + rows(xp, inverse / 2) * identity(s, k)
        middle.append((inner - adjoint(xp, inner)) * weight)
        if left.shape[-2] > k:
            outside.append(((ct - left @ inner) * columns(xp, inverse)) @ adjoint(xp, right))
        phase.append(imaginary_diagonal(inner))
        sizes.append(lengths(ct))
    if wanted_v is not None:
        ct, inner = _side(xp, right, adjoint(xp, vh[..., k:, :]), adjoint(xp, ct_vh), asked_v)
        middle.append((inner - adjoint(xp, inner)) * (rows(xp, s) * gaps))
        if right.shape[-2] > k:
            outside.append((left * columns(xp, inverse)) @ adjoint(xp, ct - right @ inner))
        phase.append(imaginary_diagonal(inner))
        sizes.append(lengths(ct))
    refuse_phase("svd", sum(phase), sum(sizes))
    found = left @ sum(middle[1:], start=middle[0]) @ adjoint(xp, right)
    return sum(outside, start=found)


def _side(xp: Any, vectors: Any, others: Any, ct: Any, asked: Any) -> tuple[Any, Any]:
    """The cotangent of `vectors`, with what that of their complement adds, and its coordinates among them."""
    k = vectors.shape[-1]
    own = ct[..., :k]
    if others.shape[-1] and arrays.anywhere(asked[..., k:]):
        own = own + complement(xp, "svd", vectors, others, ct[..., k:])
    return own, adjoint(xp, vectors) @ own


def _refuse_vectors(u: Any, s: Any, vh: Any, asked_u: Any, asked_v: Any) -> tuple[Any, Any]:
    """Refuse singular vectors that are not unique; which pairs of values coincide, and which values are 0, as numbers."""
    xp = arrays.namespace(asked_u)
    k = s.shape[-1]
    same = coinciding(s)
    refuse_coinciding("svd", "singular values", s, same, asked_u[..., :k] | asked_v[..., :k], _INSTEAD)
    tiny = xp.abs(bare(s)) <= resolution(bare(s))
    loose = tiny != tiny
    # a null space of one dimension has a unique vector, up to its sign, if nothing ties it to that of the other side
    for vectors, asked in ((bare(u), asked_u), (bare(vh).mT, asked_v)):
        if vectors.shape[-2] > k or arrays.is_complex(vectors.dtype):
            beyond = xp.any(asked[..., k:], axis=-1, keepdims=True)
            loose = loose | (tiny & (asked[..., :k] | beyond))
    refuse(
        "svd",
        xp.any(loose, axis=-1),
        "a singular value is zero",
        "the vectors of singular values 0 are any basis of a null space: they jump when the matrix changes a little.",
        "svdvals, if only the values are needed; eigh(Aᴴ A) or eigh(A Aᴴ), if one side is enough; pinv.",
    )
    return as_numbers(same, s), as_numbers(tiny, s)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., m, n), real or complex.
    full_matrices
        Return square matrices of vectors; the columns beyond the k-th, k = min(m, n), are any basis of a complement.

    Returns
    -------
    U
        Left singular vectors, the columns, (..., m, m) or (..., m, k).
    S
        Singular values, descending, (..., k).
    Vh
        Right singular vectors, conjugated, the rows, (..., n, n) or (..., k, n).  Each pair of vectors is unique up to its
        sign, or a complex factor of absolute value 1; what is differentiated should not depend on it.

    Raises
    ------
    DerivativeRefused
        By a derivative through vectors where singular values coincide or are zero, through the phase of complex vectors,
        or through the basis of a complement.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[3.0, 0.0], [0.0, -2.0]], requires_grad=True)
    >>> u, s, vh = pb.linalg.svd(x)
    >>> s
    tensor([3., 2.], grad_fn=<LinalgSvdBackward0>)
    >>> pb.autograd.grad(s[1], x)
    (tensor([[ 0.,  0.],
            [ 0., -1.]]),)
    """
    return SVDResult(*SVD.apply(x, full_matrices=bool(full_matrices)))


def svdvals(x: Any, /) -> Any:
    """Singular values of each matrix, descending; see `svd`.

    Singular values that coincide share their cotangent equally; sums over all equal ones are exact.

    >>> import pullback as pb
    >>> pb.linalg.svdvals(pb.tensor([[3.0, 0.0], [0.0, -2.0]]))
    tensor([3., 2.])
    """
    return Svdvals.apply(x)


# ------------------------------------------------------------------------------------------------------------ registry
def distinct(make: Make, *shape: int) -> Any:
    """Square matrices whose eigenvalues are far from each other."""
    return make(*shape, low=-0.8, high=0.8) + np.diag(2 * np.arange(shape[-1])).astype(make.dtype)


def _hermitian(make: Make) -> Any:
    for shape in ((3, 3), (2, 1, 2, 2), (1, 1), (0, 2, 2), (0, 0)):
        x = distinct(make, *shape)
        yield Sample(((x + np.conj(np.swapaxes(x, -1, -2))) / 2,))


def _rectangles(make: Make) -> Any:
    for shape in ((3, 3), (3, 2), (2, 3), (2, 2, 3), (0, 2, 2), (2, 0)):
        yield Sample((regular(make, *shape),))


def _full_and_reduced(make: Make) -> Any:
    for sample in _rectangles(make):
        yield sample
        yield Sample(sample.args, {"full_matrices": False})


def _projections(result: EighResult) -> Any:
    return result[0], outer_products(result[1], result[1])


def _dyads(result: SVDResult) -> Any:
    """Singular values, dyads of left and right vectors, projections onto the complements."""
    u, s, vh = result
    v = conjugate_transpose(vh)
    k = s.shape[-1]
    rest_u, rest_v = u[..., k:], v[..., k:]
    both = outer_products(u[..., :k], v[..., :k])
    return s, both, matmul(rest_u, conjugate_transpose(rest_u)), matmul(rest_v, conjugate_transpose(rest_v))


_private: dict[str, Any] = {"public": False}
register("eigh", Eigh, _hermitian, call=on_hermitian(eigh), reference=np.linalg.eigh, observe=_projections, **_private)
register("eigvalsh", Eigvalsh, _hermitian, call=on_hermitian(eigvalsh), reference=np.linalg.eigvalsh, **_private)
register("svd", SVD, _full_and_reduced, call=svd, reference=np.linalg.svd, observe=_dyads, **_private)
register("svdvals", Svdvals, _rectangles, call=svdvals, reference=np.linalg.svdvals, **_private)
