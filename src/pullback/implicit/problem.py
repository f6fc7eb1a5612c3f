"""A user's function of unknowns and parameters, as SciPy wants to call it and as the implicit function theorem needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of, refilled
from pullback.implicit.inverses import NotConverged, jacobian
from pullback.implicit.packing import Packing, Parameters, as_arrays
from pullback.implicit.partial import Call, unrecorded
from pullback.implicit.theorem import Equation, leave, state


class Problem:
    """Unknowns of the structure of `start`, and a function of them and of parameters.

    Attributes
    ----------
    space
        How the unknowns are one vector.
    inputs, bare
        The Tensors among the parameters, and their values.
    """

    def __init__(self, name: str, start: Any, params: tuple[Any, ...]) -> None:
        self.name, self.start = name, start
        first = as_arrays(start, f"the starting point of {name}")
        self.space = Packing(first)
        self.first = self.space.pack(first)
        self.params = Parameters(*params)
        self.inputs, self.bare = self.params.inputs, self.params.bare()
        self.result_kind = Parameters(start, *params).kind
        self.kind = self.result_kind or Tensor

    def tree(self, leaves: Any) -> Any:
        """Unknowns in the structure of the starting point."""
        return refilled(self.start, leaves)

    def arguments(self, unknowns: list[Any], inputs: list[Any]) -> tuple[Any, ...]:
        """What the user's function is called with."""
        return (self.tree(unknowns), *self.params.filled(inputs))

    def unknowns(self, vector: Any) -> list[Any]:
        """A vector as Tensors that stand in no graph."""
        return [wrap(self.kind, part) for part in self.space.unpack(vector)]

    def equations(self, f: Callable[..., Any]) -> Any:
        """``residual(unknowns, inputs)`` of a function that returns one number per unknown."""

        def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
            found = leaves_of(f(*self.arguments(unknowns, inputs)))
            if len(found) != len(self.space.spaces):
                raise self._wrong(f"{len(found)} arrays", f"{len(self.space.spaces)} (one per array of unknowns)")
            return [self._fitted(y, *space) for y, space in zip(found, self.space.spaces, strict=True)]

        return residual

    def _fitted(self, y: Any, shape: Any, dtype: Any, xp: Any) -> Any:
        if not isinstance(y, Tensor):
            y = wrap(self.kind, xp.asarray(y) if not arrays.is_array(y) else y)
        if tuple(y.shape) != shape:
            raise self._wrong(f"shape {tuple(y.shape)}", f"{shape}, that of the unknowns")
        if y.dtype == dtype:
            return y
        if arrays.is_complex(y.dtype) and not arrays.is_complex(dtype):
            raise self._wrong(str(y.dtype), f"{dtype}; a complex starting point asks for complex solutions")
        return Recorded.xp.astype(y, dtype)

    def _wrong(self, found: str, expected: str) -> ValueError:
        return lesson(
            ValueError,
            f"the function given to {self.name} returned {found}, expected {expected}",
            why="there must be one equation for each unknown.",
            instead="return an array of the shape of the unknowns.",
        )

    def vector_of(self, residual: Any) -> Callable[[Any], Any]:
        """The residual as a function of one real vector."""

        def value(vector: Any) -> Any:
            with unrecorded():
                found = residual(self.unknowns(vector), self.bare)
            return self.space.pack([y._array for y in found])

        return value

    def jacobian_of(self, residual: Any) -> Callable[[Any], Any]:
        """Its real Jacobian."""
        return lambda vector: jacobian(self.call(residual, vector), self.space, self.space)

    def call(self, residual: Any, vector: Any) -> Call:
        """The residual, recorded at a vector."""
        unknowns = self.unknowns(vector)
        n = len(unknowns)
        return Call(lambda own: residual(own[:n], own[n:]), [*unknowns, *self.bare])

    def refine(self, residual: Any, vector: Any, strategy: Any, steps: int = 5) -> tuple[Any, float, float]:
        """Newton's steps as long as they help: the vector, the length of the residual, and that of the last step.

        The last step is NaN where the Jacobian is singular.
        """
        value = self.vector_of(residual)
        now, inverse = value(vector), None
        size, step = float(np.linalg.norm(now)), 0.0
        for _ in range(steps):
            if size == 0.0 or not np.isfinite(size):
                break
            length = 1 + float(np.linalg.norm(vector))
            try:
                if inverse is None or step > self.space.eps**0.25 * length:  # near the solution one Jacobian is enough
                    inverse = strategy(self.call(residual, vector), self.space, self.name)
                delta = inverse.solve(now, False)
            except (DerivativeRefused, NotConverged):
                return vector, size, float("nan")
            step = float(np.linalg.norm(delta))
            if not step <= 0.1 * length:
                break  # this is no refinement: it leads elsewhere
            moved = self.space.pack(self.space.unpack(vector - delta))
            then = value(moved)
            if not np.linalg.norm(then) < size:
                break
            vector, now, size = moved, then, float(np.linalg.norm(then))
        return vector, size, step

    def accept(self, vector: Any, size: float, step: float, success: bool, message: str) -> None:
        """Raise `NotConverged` unless a solver succeeded, or Newton's steps show that the solution is near."""
        limit = self.space.eps**0.5 * (1 + float(np.linalg.norm(vector)))
        near = step <= limit or (np.isnan(step) and size <= limit)  # no step: the solution is not isolated
        if np.isfinite(size) and (near or success):
            return
        reached = leave([wrap(self.kind, part) for part in self.space.unpack(vector)], None)
        raise lesson(
            NotConverged,
            f"{self.name} did not converge: the residual is {size:.3g} (2-norm) at the best point reached"
            + (f"; {message.rstrip('.')}" if message else ""),
            why="what was reached is no solution, and no derivative of it means anything.",
            instead="another starting point or method, more iterations; look at error.reached and error.residual.",
            reached=self.tree(reached),
            residual=size,
        )

    def declare(self, residual: Any, vector: Any, strategy: Any, operator: Any, solution: Any = None) -> list[Any]:
        """The solution, as a differentiable function of the parameters."""
        solution = self.space.unpack(vector) if solution is None else solution
        equation = Equation(residual, solution, strategy, self.name, self.kind)
        return leave(state(equation, self.inputs, operator), self.result_kind)
