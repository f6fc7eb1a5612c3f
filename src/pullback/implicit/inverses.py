"""Linear equations with the Jacobian of an equation at its solution, and with the transposed one.

A *strategy* is what builds such an inverse from the equation, once, when the first derivative is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.tensor import Tensor, wrap
from pullback.implicit.packing import Packing
from pullback.implicit.partial import Call


class NotConverged(RuntimeError):
    """A solver stopped before it had a solution.

    Attributes
    ----------
    reached
        The best point that it came to, as the user would have got it.
    residual
        How far the equation is from being satisfied there.
    """

    reached: Any = None
    residual: float = float("nan")


class Inverse(Protocol):
    """``J⁻¹`` on real vectors."""

    def solve(self, vector: Any, transposed: bool) -> Any:
        """``J⁻¹ v`` or ``J⁻ᵀ v``."""


class Transposed:
    """The inverse of ``Jᵀ``, by that of ``J``."""

    def __init__(self, inverse: Inverse) -> None:
        self.inverse = inverse

    def solve(self, vector: Any, transposed: bool) -> Any:
        return self.inverse.solve(vector, not transposed)


class Dense:
    """LU factors of a matrix: computed once, used for all right-hand sides and both directions."""

    def __init__(self, matrix: Any, name: str) -> None:
        from scipy.linalg.lapack import dgecon, dgetrf

        self.size = matrix.shape[0]
        if not self.size:
            return
        lu, pivots, info = dgetrf(matrix)
        rcond = dgecon(lu, np.abs(matrix).sum(axis=0).max())[0] if info == 0 else 0.0
        if not rcond > np.finfo(float).eps:
            raise singular(name, f"reciprocal condition number {rcond:.1e}")
        self.factors = lu, pivots

    def solve(self, vector: Any, transposed: bool) -> Any:
        from scipy.linalg import lu_solve

        return lu_solve(self.factors, vector, trans=int(transposed)) if self.size else vector


def singular(name: str, how: str) -> DerivativeRefused:
    """The refusal where the implicit function theorem says nothing."""
    return lesson(
        DerivativeRefused,
        f"the derivative of {name} is refused: the Jacobian of its equation is singular at the solution ({how})",
        why="the solution is then not isolated, or jumps, or moves infinitely fast: it is no differentiable function "
        "of the parameters.",
        instead="an equation with an isolated, simple solution; for a minimum, a strictly convex function (add a small "
        "multiple of sum(x * x)).",
    )


# ---------------------------------------------------------------------------------------------------------- strategies
def dense(call: Call, space: Packing, name: str) -> Inverse:
    """All of J, by LU."""
    return Dense(jacobian(call, space, space), name)


def jacobian(call: Call, results: Packing, space: Packing) -> Any:
    """The real Jacobian of the values of a call, `results`, with respect to its first arguments, those of `space`."""
    count, eye = len(space.spaces), np.eye(results.size)
    if results.size < 4:  # a batch has its own cost
        return np.reshape([_row(call, results, space, unit) for unit in eye], (results.size, space.size))
    rows = []
    step = max(1, _ENTRIES // max(results.size, space.size))
    for start in range(0, results.size, step):
        units = eye[start : start + step]
        weights = [wrap(kind_of(y), part) for y, part in zip(call.values, results.unpack_rows(units), strict=True)]
        found = call.pull(weights, retain=True, first=count, batched=True)
        missing = space.unpack_rows(np.zeros((len(units), space.size)))
        rows.append(
            space.pack_rows([z if g is None else g._array for g, z in zip(found, missing, strict=True)], len(units))
        )
    return np.concatenate(rows)


#: So many entries of cotangents are pulled back at once.
_ENTRIES = 2**20


def _row(call: Call, results: Packing, space: Packing, unit: Any) -> Any:
    return space.pack(filled(call.pull(tensors(call, results, unit), retain=True, first=len(space.spaces)), space))


def tensors(call: Call, space: Packing, vector: Any) -> list[Any]:
    """A vector as Tensors of the kinds of the values of a call."""
    return [wrap(kind_of(y), part) for y, part in zip(call.values, space.unpack(vector), strict=True)]


def kind_of(y: Any) -> Any:
    """The class of a Tensor; `Tensor` for anything else."""
    return type(y) if isinstance(y, Tensor) else Tensor


def filled(found: list[Any], space: Packing) -> list[Any]:
    """Bare arrays, zeros for ``None``."""
    missing = space.unpack(np.zeros(space.size))
    return [zero if x is None else x._array for x, zero in zip(found, missing, strict=True)]


class Krylov:
    """An iterative solver of SciPy's, which needs only products with J and with its transpose."""

    def __init__(
        self, call: Call, space: Packing, name: str, method: str, options: dict[str, Any], product: Any = None
    ) -> None:
        self.space, self.name, self.method, self.options = space, name, method, options
        self._product = product  # J v, where the equations are linear
        self.call = call
        self.count = len(space.spaces)
        self._pushed: Any = None

    def _back(self, vector: Any) -> Any:
        """``Jᵀ v``."""
        found = self.call.pull(tensors(self.call, self.space, vector), retain=True, first=self.count)
        return self.space.pack(filled(found, self.space))

    def _forth(self, vector: Any) -> Any:
        """``J v``: the map v → Jᵀ v is linear, and its own pullback is J."""
        if self._product is not None:
            return self._product(vector)
        if self._pushed is None:
            probe = tensors(self.call, self.space, np.zeros(self.space.size))

            def back(weights: list[Any]) -> list[Any]:
                found = self.call.pull(weights, record=True, first=self.count)
                return [zero if g is None else g for g, zero in zip(found, probe, strict=True)]

            self._pushed = Call(back, probe)
        found = self._pushed.pull(tensors(self._pushed, self.space, vector), retain=True)
        return self.space.pack(filled(found, self.space))

    def solve(self, vector: Any, transposed: bool) -> Any:
        from scipy.sparse.linalg import LinearOperator

        n = self.space.size
        if not np.any(vector):
            return np.zeros(n)
        forth, back = (self._back, self._forth) if transposed else (self._forth, self._back)
        operator = LinearOperator((n, n), matvec=forth, rmatvec=back, dtype=np.float64)
        return iterate(operator, vector, self.method, self.options, self.space.eps, self.name, transposed)


def iterate(
    operator: Any, vector: Any, method: str, options: dict[str, Any], eps: float, name: str, transposed: bool = False
) -> Any:
    """Call one of SciPy's iterative solvers, and see to it that it has converged."""
    from scipy.sparse import linalg

    options = {"rtol": max(64 * eps, 1e-12), **({} if method == "minres" else {"atol": 0.0}), **options}
    if transposed and options.get("M") is not None:
        options["M"] = linalg.aslinearoperator(options["M"]).H
    found, info = getattr(linalg, method)(operator, vector, **options)
    residual = float(np.linalg.norm(operator @ found - vector))
    if info != 0 or not residual <= max(10 * options["rtol"] * np.linalg.norm(vector), 10 * options.get("atol", 0.0)):
        raise lesson(
            NotConverged,
            f"{name}: {method} did not converge{' with the transposed matrix' if transposed else ''}: residual "
            f"{residual:.1e} beside a right-hand side of length {np.linalg.norm(vector):.1e}",
            why="what it reached is no solution, and every derivative would be wrong by as much.",
            instead='more iterations or a preconditioner (maxiter=, M=); another method ("gmres" for any matrix, "cg" for '
            'symmetric positive definite ones); or "dense".',
            reached=found,
            residual=residual,
        )
    return found


METHODS = ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "tfqmr")


def strategy(linear: Any, name: str, options: dict[str, Any] | None = None) -> Callable[..., Inverse]:
    """What the argument ``linear`` of the solvers means."""
    if linear == "dense":
        return dense
    if callable(linear):
        return linear
    if linear in METHODS:
        return lambda call, space, who: Krylov(call, space, who, linear, options or {})
    raise lesson(
        ValueError,
        f"{name} knows no linear solver {linear!r}",
        instead=f'"dense", or one of {", ".join(METHODS)}.',
    )
