"""What the operators on stacks of matrices share: errors that name the operator, and the points they refuse.

Decompositions are not unique.  A derivative of eigenvectors, singular vectors or of a QR factor is one of what all
choices have in common; where the cotangent asks for more, there is no derivative, and it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.engine import current_pass
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.masked import Masked
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.tensor import Tensor
from pullback.ops.axes import conj
from pullback.ops.complexes import conj as conjugate
from pullback.ops.shapes import expand_dims, matrix_transpose


class LinAlgError(np.linalg.LinAlgError, RuntimeError):
    """A matrix that an operator of linear algebra cannot take: singular, not square, not positive definite."""


#: A word of the library's message -> why it matters, what to write instead.
_LESSONS = {
    "ingular": (
        "a singular matrix has no inverse, and its equations have no or many solutions.",
        "pinv(A) @ b for the solution of least length; solve(A + eps * eye(n), b) for a regularised one.",
    ),
    "positive": (
        "only positive definite matrices have a Cholesky factor; rounding can make a semidefinite one indefinite.",
        "cholesky(A + eps * eye(n)); eigvalsh(A) shows which eigenvalues are not positive.",
    ),
    "square": ("the operator is defined for matrices of shape (..., n, n).", "pinv, svd or qr for other shapes."),
    "dimensional": ("matrices stand in the last two axes.", "expand_dims(x, axis=-1) makes a column of a vector."),
    "onverge": ("NaN and infinite entries do not converge.", "look at isfinite(A) first."),
    "unsupported": ("LAPACK knows single and double precision.", "astype(A, float32)."),
}


def run(xp: Any, name: str, *args: Any, **options: Any) -> Any:
    """``xp.linalg.name(...)``; what it raises is raised again as a lesson that names the operator.

    Options are thresholds and flags, in which the result is piecewise constant: a Tensor counts as its value.
    """
    options = {key: value._array if isinstance(value, Tensor) else value for key, value in options.items()}
    try:
        return getattr(xp.linalg, name)(*args, **options)
    except (ValueError, TypeError) as error:  # NumPy's LinAlgError is a ValueError
        raise _worded(error, name, args) from None


def _worded(error: Exception, name: str, args: Any) -> Exception:
    text = str(error).rstrip(".")
    why, instead = next((advice for word, advice in _LESSONS.items() if word in text), ("", ""))
    shapes = ", ".join(str(tuple(x.shape)) for x in args if hasattr(x, "shape"))
    kind = LinAlgError if isinstance(error, np.linalg.LinAlgError) else type(error)
    return lesson(kind, f"{name} of shape {shapes}: {text}", why=why, instead=instead)


# ------------------------------------------------------------------------------------------------------------- algebra
def bare(x: Any) -> Any:
    """The array of a Tensor; arrays as they are."""
    return x._array if isinstance(x, Tensor) else x


def adjoint(xp: Any, x: Any) -> Any:
    """``Xᴴ``."""
    return conj(xp, xp.matrix_transpose(x))


def conjugate_transpose(x: Any) -> Any:
    """``Xᴴ`` outside of rules, of a Tensor or an array."""
    return conjugate(matrix_transpose(x))


def outer_products(left: Any, right: Any) -> Any:
    """``leftₖ rightₖᴴ`` for each column k: all that is unique about vectors with a free sign or phase."""
    return expand_dims(left, axis=-2) * conjugate(expand_dims(right, axis=-3))


def hermitian_part(xp: Any, x: Any) -> Any:
    """``(X + Xᴴ) / 2``."""
    return (x + adjoint(xp, x)) / 2


def each_matrix(xp: Any, numbers: Any) -> Any:
    """One number per matrix of a stack, in a shape that multiplies the matrices."""
    return xp.expand_dims(xp.expand_dims(numbers, axis=-1), axis=-1)


def columns(xp: Any, numbers: Any) -> Any:
    """Numbers (..., n) in the shape that multiplies the columns of matrices (..., m, n)."""
    return xp.expand_dims(numbers, axis=-2)


def rows(xp: Any, numbers: Any) -> Any:
    """Numbers (..., n) in the shape that multiplies the rows of matrices (..., n, m)."""
    return xp.expand_dims(numbers, axis=-1)


def lengths(x: Any) -> Any:
    """The lengths of the columns, bare."""
    x = bare(x)
    return arrays.namespace(x).linalg.vector_norm(x, axis=-2)


def imaginary_diagonal(x: Any) -> Any:
    """The imaginary parts of the diagonal, bare; zeros of a real matrix."""
    x = bare(x)
    xp = arrays.namespace(x)
    diagonal = xp.linalg.diagonal(x)
    return xp.imag(diagonal) if arrays.is_complex(x.dtype) else xp.zeros_like(diagonal)


def identity(like: Any, n: int | None = None) -> Any:
    """A bare identity matrix of the library and dtype of `like`."""
    like = bare(like)
    return arrays.namespace(like).eye(like.shape[-1] if n is None else n, dtype=like.dtype)


def as_numbers(mask: Any, like: Any) -> Any:
    """A bare boolean array as ones and zeros of the dtype of `like`."""
    return arrays.cast(mask, arrays.dtype_of(bare(like)), arrays.namespace(mask))


def eps_of(x: Any) -> float:
    """The distance from 1 to the next number of the precision of `x`."""
    return float(np.finfo(arrays.dtype_of(bare(x))).eps)


def on_hermitian(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` of the Hermitian part of its argument, for the registry.

    The derivative of a function of Hermitian matrices is a Hermitian matrix, one of the same space; difference quotients
    have to stay in that space too.
    """

    @wraps(call)
    def symmetric(x: Any, /, **options: Any) -> Any:
        return call((x + conjugate_transpose(x)) / 2, **options)

    return symmetric


# ------------------------------------------------------------------------------------------------- what is asked for
class ResultsNode(PrimitiveNode):
    """The ctx of an operator with several results: it knows which of them have a cotangent.

    Attributes
    ----------
    wanted
        In backward, per result: ``None`` without a cotangent, ``True`` with one, or a bare boolean array that is False
        where the cotangent is structurally zero.
    """

    __slots__ = ()

    @property
    def wanted(self) -> tuple[Any, ...]:
        return _wanted.get()

    def _pull_generally(self, cotangents: list[Any], task: Any) -> Any:
        token = _wanted.set(
            tuple([c.mask if c.__class__ is Masked else None if c is None else True for c in cotangents])
        )
        try:
            return super()._pull_generally(cotangents, task)
        finally:
            _wanted.reset(token)


#: Of the rule that is running; not on its ctx, which two threads may pull through at the same time.
_wanted: ContextVar[tuple[Any, ...]] = ContextVar("wanted", default=(True,))


def wanted_vectors(wanted: Any, vectors: Any, axis: int) -> Any:
    """Which columns (``axis=-2``) or rows (``axis=-1``) of a result have a cotangent: a bare boolean array."""
    vectors = bare(vectors)
    xp = arrays.namespace(vectors)
    if wanted is not None and wanted is not True:
        return xp.any(wanted, axis=axis)
    shape = vectors.shape[:-1] if axis == -1 else (*vectors.shape[:-2], vectors.shape[-1])
    return xp.full(shape, wanted is True, dtype=arrays.from_numpy_dtype(np.dtype(bool), xp))


# ------------------------------------------------------------------------------------------------------------ refusing
def coinciding(values: Any) -> Any:
    """Which pairs of values are equal to rounding, each with itself too: a bare boolean array (..., n, n)."""
    values = bare(values)
    xp = arrays.namespace(values)
    apart = xp.abs(xp.expand_dims(values, axis=-1) - xp.expand_dims(values, axis=-2))
    return apart <= xp.expand_dims(resolution(values), axis=-1)


def resolution(values: Any) -> Any:
    """What is zero to rounding beside bare values (..., n): a number per row, as (..., 1)."""
    xp = arrays.namespace(values)
    n = values.shape[-1]
    size = xp.abs(values)
    largest = xp.max(size, axis=-1, keepdims=True) if n else size
    return n * eps_of(values) * largest


def refuse(operator: str, where: Any, point: str, why: str, instead: str) -> None:
    """Raise `DerivativeRefused` if the bare boolean array `where`, with one entry per matrix, is True anywhere."""
    if not arrays.anywhere(where):
        return
    index = tuple(np.argwhere(arrays.everything(where))[0].tolist())
    which = f" (matrix {index} of the stack)" if index else ""
    raise lesson(
        DerivativeRefused,
        f"the derivative of {operator} is refused: {point}{which}",
        why=why,
        instead=instead,
        operator=operator,
        matrix=index,
    )


def is_probing() -> bool:
    """True while forward mode asks how a rule depends on its cotangents: their values say nothing about a function then."""
    task = current_pass()
    return task is not None and task.probing


def refuse_coinciding(operator: str, what: str, values: Any, same: Any, asked: Any, instead: str) -> None:
    """Refuse the vectors of repeated `values` (..., n), where `asked` (..., n) says that they have a cotangent."""
    xp = arrays.namespace(same)
    pairs = same & (xp.eye(same.shape[-1]) == 0) & (xp.expand_dims(asked, axis=-1) | xp.expand_dims(asked, axis=-2))
    if not arrays.anywhere(pairs):
        return
    *matrix, i, j = np.argwhere(arrays.everything(pairs))[0].tolist()
    value = arrays.everything(bare(values))[(*matrix, i)]
    refuse(
        operator,
        xp.any(pairs, axis=(-2, -1)),
        f"{what} {i} and {j} coincide, at {value:.6g}",
        f"the vectors of repeated {what} are any basis of a subspace: they jump when the matrix changes a little.",
        instead,
    )


def refuse_phase(operator: str, turned: Any, sizes: Any) -> None:
    """Refuse a cotangent that asks how complex vectors turn: `turned` (..., n) is the part of it along the phase."""
    if is_probing():
        return
    turned, sizes = bare(turned), bare(sizes)
    xp = arrays.namespace(turned)
    refuse(
        operator,
        xp.any(xp.abs(turned) > eps_of(turned) ** 0.25 * sizes, axis=-1),
        "the result is differentiated through the phase of its vectors",
        "complex vectors are unique only up to a factor exp(iφ), so a function that depends on φ has no derivative.",
        "a function that does not: abs(V), V f(w) Vᴴ, V * conj(V[..., :1, :]), ...",
    )


def complement(xp: Any, operator: str, vectors: Any, others: Any, ct_others: Any) -> Any:
    """What the cotangent of an orthogonal complement adds to that of the `vectors` it is a complement of.

    The complement turns with them: ``dU₂ = -U₁ dU₁ᴴ U₂``, up to a rotation within itself, which a function of the
    subspace does not see.
    """
    across = adjoint(xp, ct_others) @ others
    turned, size = bare(across), bare(ct_others)
    own = arrays.namespace(turned)
    loose = own.max(own.abs(turned - adjoint(own, turned)), axis=(-2, -1))
    limit = eps_of(turned) ** 0.25 * own.max(own.abs(size), axis=(-2, -1))
    refuse(
        operator,
        loose > (np.inf if is_probing() else limit),
        "the result is differentiated through the basis of a complement",
        "the columns beyond the rank are any basis of a subspace; a function that depends on the choice has no derivative.",
        "the reduced form (full_matrices=False, mode='reduced'); or a function of the subspace: U₂ U₂ᴴ.",
    )
    return -others @ (adjoint(xp, ct_others) @ vectors)
