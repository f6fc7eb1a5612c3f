"""Riccati's equations of optimal control, in continuous and discrete time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor
from pullback.implicit.mapped import mapped
from pullback.implicit.packing import Packing, Parameters, as_tensor
from pullback.implicit.sylvester import check_square
from pullback.implicit.theorem import Equation, Implicit, leave, state
from pullback.ops.linalg import matmul
from pullback.ops.matrices import LinAlgError, conjugate_transpose
from pullback.ops.solving import solve


class SolveContinuousAre(Implicit):
    """``Aᴴ X + X A - X B R⁻¹ Bᴴ X + Q = 0``.  vjp: by Lyapunov's equation of ``A - B R⁻¹ Bᴴ X``"""


class SolveDiscreteAre(Implicit):
    """``X = Aᴴ X A - Aᴴ X B (R + Bᴴ X B)⁻¹ Bᴴ X A + Q``.  vjp: by the discrete Lyapunov equation of ``A - B K``"""


class Lyapunov:
    """The inverse of ``dX → Fᴴ dX + dX F``, or of ``dX → dX - Fᴴ dX F``, where F is the closed loop."""

    def __init__(self, loop: Any, space: Packing, discrete: bool) -> None:
        self.loop, self.space, self.discrete = loop, space, discrete

    def solve(self, vector: Any, transposed: bool) -> Any:
        from scipy import linalg

        (right,) = self.space.unpack(vector)
        right = np.asarray(right)
        first = self.loop if transposed else self.loop.conj().T
        if self.discrete:
            found = linalg.solve_discrete_lyapunov(first, right)
        else:
            found = linalg.solve_sylvester(first, first.conj().T, right)
        return self.space.pack([found])


def _riccati(name: str, matrices: tuple[Any, ...], equation: Callable[..., Any], loop: Any, operator: Any) -> Any:
    """Solve by SciPy, and state the equation."""
    from scipy import linalg

    given = Parameters(*matrices)
    kind = given.kind or Tensor
    check_square(name, matrices[0], matrices[2], matrices[3])
    tensors = [as_tensor(m, kind, name) for m in matrices]
    dtype = np.result_type(*[t.dtype for t in tensors])
    bare = [np.asarray(t._array).astype(np.result_type(dtype, np.float64)) for t in tensors]
    try:
        found = getattr(linalg, name)(*bare)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise lesson(
            LinAlgError,
            f"{name} of shapes {', '.join(str(m.shape) for m in bare)}: {str(error).rstrip('.')}",
            why="only a system that can be stabilised, and is seen by its cost, has such a solution; q and r are Hermitian.",
        ) from None
    xp = arrays.namespace(tensors[0]._array)
    solution = [arrays.cast(xp.asarray(found), dtype, xp)]
    closed = loop(found, *bare)

    def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        a, b, q, r = (m if isinstance(m, Tensor) else t for m, t in zip(given.filled(inputs), tensors, strict=True))
        return [Recorded.xp.astype(equation(unknowns[0], a, b, q, r), dtype)]

    stated = Equation(
        residual, solution, lambda call, space, who: Lyapunov(closed, space, operator is SolveDiscreteAre), name, kind
    )
    return leave(state(stated, given.inputs, operator), given.kind)[0]


@mapped
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, /) -> Any:
    """The stabilising X with ``Aᴴ X + X A - X B R⁻¹ Bᴴ X + Q = 0``.

    Parameters
    ----------
    a, b, q, r
        Arrays or Tensors of shapes (n, n), (n, m), (n, n) and (m, m), real or complex; q and r are Hermitian, r regular.

    Returns
    -------
    X, Hermitian, of shape (n, n): ``R⁻¹ Bᴴ X`` is the gain of the optimal regulator.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where SciPy finds no stabilising solution.

    Notes
    -----
    The derivative solves Lyapunov's equation of the closed loop ``A - B R⁻¹ Bᴴ X``, which is stable, so it always exists
    (Kao, Hennequin 2020).  It is that with respect to every entry of q and r for itself.

    Examples
    --------
    >>> import pullback as pb
    >>> q = pb.tensor([[3.0]], requires_grad=True)
    >>> one = pb.tensor([[1.0]])
    >>> x = pb.implicit.solve_continuous_are(one, one, q, one)  # 2 x - x² + q = 0
    >>> round(x.item(), 10), round(pb.autograd.grad(x.sum(), q)[0].item(), 10)
    (3.0, 0.25)
    """

    def equation(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        half = matmul(x, b)
        gain = solve(r, conjugate_transpose(half))
        return matmul(conjugate_transpose(a), x) + matmul(x, a) - matmul(half, gain) + q

    def loop(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        return a - b @ np.linalg.solve(r, b.conj().T @ x)

    return _riccati("solve_continuous_are", (a, b, q, r), equation, loop, SolveContinuousAre)


@mapped
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, /) -> Any:
    """The stabilising X with ``X = Aᴴ X A - Aᴴ X B (R + Bᴴ X B)⁻¹ Bᴴ X A + Q``; see `solve_continuous_are`.

    Examples
    --------
    >>> import pullback as pb
    >>> q = pb.tensor([[1.5]], requires_grad=True)
    >>> one = pb.tensor([[1.0]])
    >>> x = pb.implicit.solve_discrete_are(one, one, q, one)  # x² - q x - q = 0
    >>> round(x.item(), 6), round(pb.autograd.grad(x.sum(), q)[0].item(), 6)
    (2.186141, 1.109272)
    """

    def equation(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        turned = conjugate_transpose(a)
        half = matmul(matmul(turned, x), b)
        inner = r + matmul(conjugate_transpose(b), matmul(x, b))
        right = matmul(matmul(conjugate_transpose(b), x), a)
        return x - matmul(matmul(turned, x), a) + matmul(half, solve(inner, right)) - q

    def loop(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        return a - b @ np.linalg.solve(r + b.conj().T @ x @ b, b.conj().T @ x @ a)

    return _riccati("solve_discrete_are", (a, b, q, r), equation, loop, SolveDiscreteAre)
