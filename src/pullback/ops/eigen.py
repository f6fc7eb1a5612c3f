"""Eigenvalues and eigenvectors of matrices that need not be Hermitian: complex, and no orthonormal basis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.matrices import (
    ResultsNode,
    adjoint,
    as_numbers,
    bare,
    coinciding,
    columns,
    identity,
    imaginary_diagonal,
    lengths,
    outer_products,
    refuse,
    refuse_coinciding,
    refuse_phase,
    resolution,
    rows,
    run,
    wanted_vectors,
)
from pullback.ops.reductions import sum_
from pullback.ops.registry import Make, Sample, register
from pullback.ops.spectra import distinct


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


def _complex(xp: Any, x: Any) -> Any:
    """NumPy returns real results where no eigenvalue is complex; the dtype should not depend on the values."""
    dtype = arrays.dtype_of(bare(x))
    return x if arrays.is_complex(dtype) else arrays.cast(x, np.result_type(dtype, np.complex64), xp)


class Eig(Primitive):
    """``A V = V diag(w)``, the columns of V of length 1.

    vjp: Ā = V⁻ᴴ (diag(w̄) + F ∘ (Vᴴ V̄ - Vᴴ V Re diag(Vᴴ V̄))) Vᴴ; Fᵢⱼ = 1 / (wⱼ - wᵢ)*, 0 on the diagonal
    (Boeddeker, Hanebrink et al. 2017)
    """

    node_name = "LinalgEigBackward0"
    node_base = ResultsNode

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        w, v = [_complex(ctx.xp, part) for part in run(ctx.xp, "eig", x)]
        ctx.save_for_backward(w, v)
        return w, v

    @staticmethod
    def backward(ctx: Any, ct_w: Any, ct_v: Any) -> Any:
        (w, v), xp = ctx.saved_tensors, ctx.xp
        wanted_w, wanted_v = ctx.wanted
        if wanted_v is None:
            return _vjp_of_values(xp, v, ct_w)
        _refuse_defective(v)
        same = coinciding(w)
        refuse_coinciding(
            "eig",
            "eigenvalues",
            w,
            same,
            wanted_vectors(wanted_v, v, axis=-2),
            "eigvals, if only the values are needed; a function of the matrix itself (solve, matrix_power, trace).",
        )
        turned = adjoint(xp, v)
        inner = turned @ ct_v
        refuse_phase("eig", imaginary_diagonal(inner), lengths(ct_v))
        here = as_numbers(same, w)
        longer = xp.astype(xp.real(xp.linalg.diagonal(inner)), w.dtype)  # the columns keep their length
        inner = inner - (turned @ v) * columns(xp, longer)
        inner = inner * (xp.reciprocal(xp.conj(columns(xp, w) - rows(xp, w)) + here) * (1 - here))
        if wanted_w is not None:
            inner = inner + rows(xp, ct_w) * identity(v)
        return xp.linalg.solve(turned, inner @ turned)


class Eigvals(Primitive):
    """Eigenvalues of A.  vjp: Ā = V⁻ᴴ diag(w̄) Vᴴ"""

    node_name = "LinalgEigvalsBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return _complex(ctx.xp, run(ctx.xp, "eigvals", x))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x,), xp = ctx.saved_tensors, ctx.xp
        _, v = xp.linalg.eig(x)
        return _vjp_of_values(xp, _complex(xp, v), ct)


def _vjp_of_values(xp: Any, v: Any, ct: Any) -> Any:
    _refuse_defective(v)
    turned = adjoint(xp, v)
    return xp.linalg.solve(turned, rows(xp, ct) * turned)


def _refuse_defective(v: Any) -> None:
    """Refuse matrices whose eigenvectors are no basis."""
    s = arrays.namespace(bare(v)).linalg.svdvals(bare(v))
    refuse(
        "eig",
        arrays.namespace(s).any(s <= resolution(s), axis=-1),
        "the matrix is defective, its eigenvectors are no basis",
        "the slope of its eigenvalues is infinite, like that of a root at 0.",
        "det, trace or matrix_power, polynomials of the matrix that are differentiable everywhere.",
    )


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Returns
    -------
    eigenvalues
        Complex, (..., n), in the order that LAPACK finds them.
    eigenvectors
        Columns of length 1, complex, (..., n, n).  Each is unique up to a factor of absolute value 1; what is
        differentiated should not depend on it.

    Raises
    ------
    DerivativeRefused
        By a derivative through eigenvectors where eigenvalues coincide, or through their phase; by any derivative where
        the eigenvectors are no basis.

    Examples
    --------
    >>> import pullback as pb
    >>> w, v = pb.linalg.eig(pb.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    >>> w
    tensor([0.+1.j, 0.-1.j])
    """
    return EigResult(*Eig.apply(x))


def eigvals(x: Any, /) -> Any:
    """Eigenvalues of each matrix, complex, in the order that LAPACK finds them; see `eig`.

    >>> import pullback as pb
    >>> pb.linalg.eigvals(pb.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    return Eigvals.apply(x)


# ------------------------------------------------------------------------------------------------------------ registry
def _squares(make: Make) -> Any:
    for shape in ((3, 3), (2, 2, 2), (0, 2, 2)):
        yield Sample((distinct(make, *shape),))
    turning = np.asarray([[0, 4], [-4, 0]]).astype(make.dtype)  # complex eigenvalues, also of a real matrix
    yield Sample((make(2, 2, low=-0.5, high=0.5) + turning,))


def _numpy_eig(x: Any) -> Any:
    return [_complex(np, part) for part in np.linalg.eig(x)]


def _numpy_eigvals(x: Any) -> Any:
    return _complex(np, np.linalg.eigvals(x))


def _projections(result: EigResult) -> Any:
    return result[0], outer_products(result[1], result[1])


def _power_sums(w: Any) -> Any:
    return sum_(w, axis=-1), sum_(w * w, axis=-1), sum_(w * w * w, axis=-1)


register("eig", Eig, _squares, call=eig, reference=_numpy_eig, observe=_projections, public=False)
register("eigvals", Eigvals, _squares, call=eigvals, reference=_numpy_eigvals, observe=_power_sums, public=False)
