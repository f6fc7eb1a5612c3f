"""The generalised eigenvalue problem of Hermitian matrices."""

from __future__ import annotations

from typing import Any

from pullback.implicit.sylvester import check_square
from pullback.ops.decompositions import cholesky
from pullback.ops.matrices import conjugate_transpose
from pullback.ops.solving import solve
from pullback.ops.spectra import EighResult
from pullback.ops.spectra import eigh as standard


def eigh(a: Any, b: Any = None, /) -> EighResult:
    """``a v = w b v`` for Hermitian a and positive definite b, the w ascending.

    Parameters
    ----------
    a, b
        Arrays or Tensors of shape (..., n, n), Hermitian, whose leading axes broadcast; b is the identity by default.

    Returns
    -------
    eigenvalues
        Real, ascending, (..., n).
    eigenvectors
        Columns with ``vᴴ b v = 1``, (..., n, n), each unique up to its sign or phase.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where b is not positive definite.
    DerivativeRefused
        By a derivative through eigenvectors where eigenvalues coincide, as for ``pullback.linalg.eigh``.

    Notes
    -----
    With ``b = L Lᴴ`` (Cholesky) it is the standard problem of ``L⁻¹ a L⁻ᴴ``, and ``v = L⁻ᴴ u``.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor([[2.0, 0.0], [0.0, 12.0]], requires_grad=True)
    >>> w, v = pb.implicit.eigh(a, pb.tensor([[1.0, 0.0], [0.0, 4.0]]))
    >>> w
    tensor([2., 3.], grad_fn=<LinalgEighBackward0>)
    >>> pb.autograd.grad(w[1], a)[0].tolist()
    [[0.0, 0.0], [0.0, 0.25]]
    """
    if b is None:
        return standard(a)
    check_square("eigh", a, b)
    factor = cholesky(b)
    half = conjugate_transpose(solve(factor, a))
    w, u = standard(conjugate_transpose(solve(factor, half)))
    return EighResult(w, solve(conjugate_transpose(factor), u))
