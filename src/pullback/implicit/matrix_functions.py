"""Functions of matrices: exponential, logarithm, powers, sine, cosine, sign; ``ops/matrix_functions.py`` has the derivative."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.implicit.sylvester import SolveSylvester, check_square, each
from pullback.ops.axes import conj
from pullback.ops.matrices import LinAlgError, adjoint, bare
from pullback.ops.matrix_functions import MatrixExp, corner
from pullback.ops.registry import Make, Sample, register


def _by_scipy(name: str, *options: Any) -> Callable[[Any], Any]:
    """A function of SciPy on one matrix, which must not leave the real numbers."""

    def value(x: Any) -> Any:
        from scipy import linalg

        if not x.size:
            return x
        if not np.all(np.isfinite(x)):
            return np.full_like(x, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns by guess, here the result is checked
            found = getattr(linalg, name)(x, *options)
        if np.iscomplexobj(found) and not np.iscomplexobj(x):
            if np.max(np.abs(found.imag)) > 1e-8 * np.max(np.abs(found)):
                raise lesson(
                    LinAlgError,
                    f"{name} of a real matrix with an eigenvalue that is not positive",
                    why="its value is complex there, and the dtype of a result should not depend on the values.",
                    instead=f"{name}(astype(A, complex128)), whose result is complex.",
                )
            found = found.real
        return found

    return value


def _sign(x: Any) -> Any:
    s = _by_scipy("signm")(x)
    if (
        x.size
        and np.all(np.isfinite(x))
        and not np.max(np.abs(s @ s - np.eye(len(s)))) <= 1e-6 * np.max(np.abs(s)) ** 2
    ):
        raise lesson(
            LinAlgError,
            "signm of a matrix with an eigenvalue on the imaginary axis",
            why="like sign(x) at 0, it jumps there.",
            instead="signm(A - shift * I), with a shift between the real parts of the eigenvalues.",
        )
    return s


def _operator(name: str, doc: str, value: Any = None) -> Any:
    """The Primitive of one function, with its rule."""
    value = value or _by_scipy(name)

    class Operator(Primitive):
        node_name = f"{name.capitalize()}Backward0"

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return each(value, x)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            (x,), xp = ctx.saved_tensors, ctx.xp
            return corner(xp, Operator.apply, adjoint(xp, x), ct)

    Operator.__name__ = Operator.__qualname__ = name.capitalize()
    Operator.__doc__ = doc
    return Operator


Logm = _operator("logm", "``Y``, the principal logarithm: ``exp Y = A``.  vjp: Ā = L(Aᴴ, Ȳ)")
Sinm = _operator("sinm", "``sin A``.  vjp: Ā = L(Aᴴ, Ȳ)")
Cosm = _operator("cosm", "``cos A``.  vjp: Ā = L(Aᴴ, Ȳ)")
Signm = _operator("signm", "``S``, S S = I, with the eigenvectors of A.  vjp: Ā = L(Aᴴ, Ȳ)", _sign)


class Sqrtm(Primitive):
    """``Y Y = A``, the principal square root.  vjp: Ā with Yᴴ Ā + Ā Yᴴ = Ȳ"""

    node_name = "SqrtmBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = each(_root, x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (y,), xp = ctx.saved_tensors, ctx.xp
        turned = adjoint(xp, y)
        try:
            return SolveSylvester.apply(turned, turned, ct)
        except LinAlgError:
            raise lesson(
                DerivativeRefused,
                "the derivative of sqrtm is refused: the matrix is singular",
                why="like sqrt(x) at 0, the square root of a singular matrix has an infinite slope.",
                instead="sqrtm(A + eps * I).",
            ) from None


def _root(x: Any) -> Any:
    y = _by_scipy("sqrtm")(x)
    if not x.size or not np.all(np.isfinite(x)):
        return y
    if not np.all(np.isfinite(y)) or np.max(np.abs(y @ y - x)) > 1e-6 * np.max(np.abs(y)) ** 2:
        raise lesson(LinAlgError, f"a singular matrix of shape {x.shape} has no square root that sqrtm could find")
    return y


class FractionalMatrixPower(Primitive):
    """``Aᵖ``, the principal power.  vjp: Ā = L(Aᴴ, Ȳ), p̄ = Σ Re Ȳ ∘ (Aᵖ log A)*"""

    node_name = "FractionalMatrixPowerBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, p: Any) -> Any:
        ctx.save_for_backward(x, p if hasattr(p, "dtype") else None)
        ctx.p = None if hasattr(p, "dtype") else p
        return each(_by_scipy("fractional_matrix_power", float(p)), x)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (x, p), xp = ctx.saved_tensors, ctx.xp
        p = ctx.p if p is None else p
        need_x, need_p = ctx.needs_input_grad
        grad_x = grad_p = None
        if need_x:
            grad_x = corner(xp, lambda big: FractionalMatrixPower.apply(big, p), adjoint(xp, x), ct)
        if need_p:
            slope = FractionalMatrixPower.apply(x, p) @ Logm.apply(x)
            grad_p = xp.sum(conj(xp, slope) * ct)
            grad_p = xp.real(grad_p) if arrays.is_complex(arrays.dtype_of(bare(grad_p))) else grad_p
        return grad_x, grad_p


# ------------------------------------------------------------------------------------------------------ public functions
def expm(x: Any, /) -> Any:
    """The exponential of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[0.0, 1.0], [0.0, 0.0]], requires_grad=True)
    >>> y = pb.implicit.expm(x)
    >>> y
    tensor([[1., 1.],
            [0., 1.]], grad_fn=<LinalgMatrixExpBackward0>)
    >>> pb.autograd.grad(y[0, 0], x)
    (tensor([[1. , 0. ],
            [0.5, 0. ]]),)
    """
    check_square("expm", x)
    return MatrixExp.apply(x)


def logm(x: Any, /) -> Any:
    """The principal logarithm of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a real matrix has an eigenvalue that is not positive real or one of a complex pair: pass a complex matrix.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.implicit.logm(pb.tensor([[1.0, 2.0], [0.0, 1.0]]))
    tensor([[0., 2.],
            [0., 0.]])
    """
    check_square("logm", x)
    return Logm.apply(x)


def sqrtm(x: Any, /) -> Any:
    """The principal square root of each matrix.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a real matrix has no real principal square root, because of a negative eigenvalue: pass a complex matrix.
    DerivativeRefused
        By a derivative at a singular matrix, where it is infinite.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[4.0, 0.0], [0.0, 9.0]], requires_grad=True)
    >>> y = pb.implicit.sqrtm(x)
    >>> y
    tensor([[2., 0.],
            [0., 3.]], grad_fn=<SqrtmBackward0>)
    >>> pb.autograd.grad(y.sum(), x)
    (tensor([[0.25      , 0.2       ],
            [0.2       , 0.16666667]]),)
    """
    check_square("sqrtm", x)
    return Sqrtm.apply(x)


def sinm(x: Any, /) -> Any:
    """The sine of each matrix (..., n, n), real or complex.

    >>> import pullback as pb
    >>> pb.implicit.sinm(pb.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[0., 1.],
            [0., 0.]])
    """
    check_square("sinm", x)
    return Sinm.apply(x)


def cosm(x: Any, /) -> Any:
    """The cosine of each matrix (..., n, n), real or complex.

    >>> import pullback as pb
    >>> pb.implicit.cosm(pb.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_square("cosm", x)
    return Cosm.apply(x)


def signm(x: Any, /) -> Any:
    """The sign of each matrix: eigenvalues with positive real part become 1, those with negative real part -1.

    ``(I + signm(A - c I)) / 2`` is the projection onto the invariant subspace of the eigenvalues beyond c.  Its derivative
    exists, and is right, also where eigenvalues on one side coincide, which that of eigenvectors does not.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where an eigenvalue lies on the imaginary axis.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([[2.0, 0.0], [0.0, -2.0]], requires_grad=True)
    >>> y = pb.implicit.signm(x)
    >>> y
    tensor([[ 1.,  0.],
            [ 0., -1.]], grad_fn=<SignmBackward0>)
    >>> pb.autograd.grad(y[0, 1], x)
    (tensor([[0. , 0.5],
            [0. , 0. ]]),)
    """
    check_square("signm", x)
    return Signm.apply(x)


def fractional_matrix_power(x: Any, p: Any, /) -> Any:
    """The principal power of each matrix, for any real exponent.

    Parameters
    ----------
    x
        An array or Tensor of shape (..., n, n), real or complex.
    p
        A number, or a Tensor with one: it has a derivative too.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a real matrix has an eigenvalue that is not positive real or one of a complex pair: pass a complex matrix.

    Examples
    --------
    >>> import pullback as pb
    >>> p = pb.tensor(0.5, requires_grad=True)
    >>> y = pb.implicit.fractional_matrix_power(pb.tensor([[4.0]]), p)
    >>> y.item(), pb.autograd.grad(y.sum(), p)[0].item()
    (2.0, 2.7725887222397...)
    """
    check_square("fractional_matrix_power", x)
    value = p._array if isinstance(p, Tensor) else p
    if np.ndim(value) != 0 or np.iscomplexobj(np.asarray(value)):
        raise lesson(
            ValueError,
            "fractional_matrix_power needs one real exponent for all matrices",
            instead="stack([fractional_matrix_power(x, p[k]) for k in range(len(p))]).",
        )
    return FractionalMatrixPower.apply(x, p)


# ------------------------------------------------------------------------------------------------------------ registry
def _any(make: Make) -> Any:
    for shape in ((2, 2), (2, 1, 1), (0, 2, 2)):
        yield Sample((make(*shape, low=-0.7, high=0.7),))


def _positive(make: Make) -> Any:
    for shape in ((2, 2), (2, 1, 1), (0, 2, 2)):
        yield Sample((make(*shape, low=-0.4, high=0.4) + np.diag(np.arange(2.0, 2 + shape[-1])).astype(make.dtype),))


def _two_sides(make: Make) -> Any:
    for shape in ((2, 2), (2, 1, 1), (0, 2, 2)):
        sides = 2.0 * (-1.0) ** np.arange(shape[-1])
        yield Sample((make(*shape, low=-0.4, high=0.4) + np.diag(sides).astype(make.dtype),))


def _powers(make: Make) -> Any:
    for sample, p in zip(_positive(make), (0.3, -1.5, 0.5), strict=True):
        yield Sample((*sample.args, p))


def _reference(name: str) -> Any:
    def reference(x: Any, *options: Any) -> Any:
        check_square(name, x)
        return each(_by_scipy(name, *options), x)

    return reference


_private: dict[str, Any] = {"public": False}
for _name, _operation, _call, _samples in (
    ("logm", Logm, logm, _positive),
    ("sqrtm", Sqrtm, sqrtm, _positive),
    ("sinm", Sinm, sinm, _any),
    ("cosm", Cosm, cosm, _any),
    ("signm", Signm, signm, _two_sides),
    ("fractional_matrix_power", FractionalMatrixPower, fractional_matrix_power, _powers),
):
    register(_name, _operation, _samples, call=_call, reference=_reference(_name), **_private)
