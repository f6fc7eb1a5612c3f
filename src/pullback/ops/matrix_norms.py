"""Numbers that measure matrices: norms and rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.matrices import run
from pullback.ops.named import named
from pullback.ops.norms import vector_norm
from pullback.ops.reductions import max_, min_, sum_
from pullback.ops.registry import COUNTS, Make, Sample, register
from pullback.ops.shapes import expand_dims, moveaxis, shape_of
from pullback.ops.solving import regular
from pullback.ops.spectra import svdvals

#: Norms that are sums of absolute values along one axis, reduced: ord -> axis of the sum, reduction.
_OF_SUMS: dict[Any, Any] = {1: (-2, max_), -1: (-2, min_), np.inf: (-1, max_), -np.inf: (-1, min_)}
#: Norms that reduce the singular values.
_OF_SINGULAR_VALUES: dict[Any, Any] = {2: max_, -2: min_, "nuc": sum_}


@named
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., m, n), real or complex.
    keepdims
        Keep the last two axes, with length 1.
    ord
        ``"fro"``: root of the sum of squares (Frobenius).  ``"nuc"``: sum of the singular values.  2, -2: the largest,
        the smallest of them.  1, -1: the largest, smallest sum of a column's absolute values; inf, -inf: of a row's.

    Notes
    -----
    Ties share the gradient equally.  A singular value 0 has the slope 0, so at a matrix without full rank the gradient
    of the nuclear norm is the subgradient of least length.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> pb.linalg.matrix_norm(x), pb.linalg.matrix_norm(x, ord="nuc"), pb.linalg.matrix_norm(x, ord=2)
    (tensor(5.), tensor(7.), tensor(4.))
    """
    shape = shape_of(x)
    if len(shape) < 2:
        what = f"matrix_norm of shape {shape}: a matrix has two axes"
        raise lesson(np.exceptions.AxisError, what, instead="vector_norm(x).")
    without_entries = 0 in shape[-2:] and ord in (1, 2, np.inf, "nuc")  # then all of these are 0
    if ord == "fro" or ord is None or without_entries:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in _OF_SUMS:
        axis, reduction = _OF_SUMS[ord]
        return reduction(vector_norm(x, axis=axis, keepdims=True, ord=1), axis=(-2, -1), keepdims=keepdims)
    if ord in _OF_SINGULAR_VALUES:
        found = _OF_SINGULAR_VALUES[ord](svdvals(x), axis=-1)
        return expand_dims(expand_dims(found, axis=-1), axis=-1) if keepdims else found
    raise lesson(
        ValueError,
        f"matrix_norm has no ord={ord!r}",
        instead="'fro', 'nuc', 1, -1, 2, -2, inf or -inf; vector_norm(x, axis=(-2, -1), ord=...) for all entries.",
    )


@named
def norm(x: Any, /, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:
    """A vector or matrix norm with the conventions of ``numpy.linalg.norm``.

    Parameters
    ----------
    x
        An array or Tensor, real or complex.
    ord
        ``None``: the 2-norm of all entries.  For vectors any number, see `vector_norm`.  For matrices ``"fro"``, 1
        (largest column sum), -1 (smallest), inf (largest row sum), -inf (smallest), 2 (largest singular value), -2
        (smallest), ``"nuc"`` (their sum).
    axis
        An axis: norms of vectors.  Two axes: norms of matrices.  ``None``: `x` is one vector or matrix.
    keepdims
        Keep the reduced axes, with length 1.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.norm(pb.tensor([[3.0, 0.0], [4.0, 1.0]]), 1)
    tensor(7.)
    """
    ndim = len(x.shape)
    if ord is None or ord == "fro":
        if ord == "fro" and (ndim if axis is None else np.size(axis)) != 2:
            raise ValueError("the Frobenius norm needs a matrix: two dimensions, or two axes")
        return vector_norm(x, axis=axis, keepdims=keepdims)
    if axis is None:
        if ndim not in (1, 2):
            raise ValueError(f"norm of an array of {ndim} dimensions needs an axis, or no ord")
        axis = tuple(range(ndim))
    if np.size(axis) == 1:
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    found = matrix_norm(moveaxis(x, tuple(axis), (-2, -1)), ord=ord, keepdims=keepdims)
    return moveaxis(found, (-2, -1), tuple(axis)) if keepdims else found


class MatrixRank(Primitive):
    """How many singular values are not zero to rounding.  Not differentiable."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, rtol: Any = None) -> Any:
        return run(ctx.xp, "matrix_rank", x, rtol=rtol)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """The rank of each matrix: how many singular values exceed `rtol` times the largest.  Has no derivative.

    >>> import pullback as pb
    >>> pb.linalg.matrix_rank(pb.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    return MatrixRank.apply(x, rtol=rtol)


# ------------------------------------------------------------------------------------------------------------ registry
def _norms(make: Make) -> Any:
    for which in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield Sample((regular(make, 2, 3),), {"ord": which})
    yield Sample((regular(make, 2, 3, 2),), {"ord": "nuc", "keepdims": True})
    yield Sample((regular(make, 2, 3, 2),), {"ord": 1, "keepdims": True})
    yield Sample((regular(make, 0, 3, 2),))


def _numpy_norms(make: Make) -> Any:
    yield Sample((make(3),), {})
    yield Sample((make(2, 3),), {"ord": "fro"})
    yield Sample((make(2, 3),), {"ord": 1})
    yield Sample((make(2, 2, 3),), {"ord": -np.inf, "axis": (0, 2), "keepdims": True})
    yield Sample((make(2, 3),), {"ord": 3, "axis": 0})
    yield Sample((regular(make, 2, 3, 2),), {"ord": "nuc", "axis": (0, 2)})
    yield Sample((regular(make, 2, 3, 2),), {"ord": 2, "axis": (2, 1), "keepdims": True})


def _ranks(make: Make) -> Any:
    yield Sample((make(3, 2),))
    yield Sample((np.stack([make(3, 1) @ make(1, 3), make(3, 3)]),))
    yield Sample((regular(make, 2, 2),), {"rtol": 10.0})


register("matrix_norm", None, _norms, call=matrix_norm, reference=np.linalg.matrix_norm, public=False)
register(
    "matrix_rank",
    MatrixRank,
    _ranks,
    call=matrix_rank,
    reference=np.linalg.matrix_rank,
    public=False,
    differentiable=False,
    reason=COUNTS,
)
register("norm", None, _numpy_norms, call=norm, reference=np.linalg.norm)
