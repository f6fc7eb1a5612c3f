"""The matrix exponential, and how a function of a matrix is differentiated.

A function that is analytic at the eigenvalues of A has the derivative L(A, E) in a direction E, its Fréchet derivative, which
stands in the corner of the same function of a larger matrix:

    f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]

(R. Mathias 1996; N. Higham: Functions of Matrices, 2008, theorem 3.6.)  Its adjoint is ``L(Aᴴ, ·)``.  So the rule calls the
operator itself, and is right to any order; each order doubles the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.matrices import LinAlgError, adjoint, bare, identity
from pullback.ops.registry import Make, Sample, register

#: Coefficients of the Padé approximant of order 13, and the norm up to which it is exact to double precision
#: (Higham 2005, "The scaling and squaring method for the matrix exponential revisited").
_PADE = tuple([float(math.factorial(26 - k) * math.comb(13, k) // math.factorial(13)) for k in range(14)])
_REACH = 5.371920351148152


def _expm(xp: Any, a: Any) -> Any:
    """``exp(A)`` of bare matrices: of ``A / 2ˢ``, squared s times."""
    if not arrays.size(a):
        return a
    norm = float(np.max(np.sum(np.abs(np.asarray(_whole(a))), axis=-2), initial=0.0))
    squarings = max(math.ceil(math.log2(norm / _REACH)), 0) if 0 < norm < math.inf else 0
    a = a / 2**squarings
    eye, c = identity(a), _PADE
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * eye
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * eye
    odd = a @ odd
    found = xp.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        found = found @ found
    return found


def corner(xp: Any, f: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """``L(A, E)``, from f of the larger matrix.

    It is linear in E, which is given the size of A: of a large E the methods for f would see nothing but its size.
    """
    n = a.shape[-1]
    lead = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(e.shape[:-2]))
    a = xp.broadcast_to(a, (*lead, n, n))
    own, other = _largest(a), _largest(e)
    scale = other / (own or 1.0) if own < math.inf and 0 < other < math.inf else 1.0
    upper = xp.concat([a, e / scale], axis=-1)
    lower = xp.concat([xp.zeros_like(a), a], axis=-1)
    return f(xp.concat([upper, lower], axis=-2))[..., :n, n:] * scale


def _largest(x: Any) -> float:
    """The largest absolute value, in all of a batch."""
    return float(np.max(np.abs(np.asarray(_whole(bare(x)))), initial=0.0))


def _whole(x: Any) -> Any:
    """The numbers of all entries of a batch: they share a scale."""
    while hasattr(x, "batches"):
        x = x.value
    return x


class MatrixExp(Primitive):
    """``exp(A)``.  vjp: Ā = L(Aᴴ, Ȳ), the upper right block of ``exp([[Aᴴ, Ȳ], [0, Aᴴ]])``"""

    node_name = "LinalgMatrixExpBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
            raise LinAlgError(f"matrix_exp: A must be batches of square matrices, but its shape is {tuple(a.shape)}")
        ctx.save_for_backward(a)
        return _expm(ctx.xp, a)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (a,), xp = ctx.saved_tensors, ctx.xp
        return corner(xp, MatrixExp.apply, adjoint(xp, a), ct)


def matrix_exp(x: Any, /) -> Any:
    """``Σ Xᵏ / k!`` of each matrix.

    >>> import pullback as pb
    >>> from pullback.ops.matrix_functions import matrix_exp
    >>> matrix_exp(pb.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return MatrixExp.apply(x)


def _squares(make: Make) -> Any:
    yield Sample((make(2, 2),))
    yield Sample((make(2, 2, 2, low=-6.0, high=6.0),))
    yield Sample((make(1, 1),))
    yield Sample((make(0, 0),))


def _reference(x: Any) -> Any:
    """By eigenvalues, which sample matrices have apart."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError("not square")
    if not x.size:
        return x
    values, vectors = np.linalg.eig(x)
    found = (vectors * np.exp(values)[..., None, :]) @ np.linalg.inv(vectors)
    return found if np.iscomplexobj(x) else found.real


register("matrix_exp", MatrixExp, _squares, call=matrix_exp, reference=_reference, public=False)
