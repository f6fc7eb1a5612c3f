"""The conditions at a minimum: the derivative of the Lagrange function is zero, the constraints hold, bounds are active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of
from pullback.implicit.inverses import filled, jacobian, kind_of
from pullback.implicit.packing import Packing, as_arrays
from pullback.implicit.partial import Call, unrecorded
from pullback.implicit.problem import Problem
from pullback.implicit.theorem import leave


class Stationary(Problem):
    """A function to minimise (or residuals, half of whose squares are to be summed), and what holds at its minimum.

    The unknowns are those of the user, then one multiplier for each constraint.

    Attributes
    ----------
    own
        The user's unknowns alone; the last two of its parameters are the bounds.
    count
        Of how many arrays they consist.
    active
        For each of these arrays -1 where the lower bound is active, 1 where the upper one is, 0 elsewhere.
    weak
        Whether a bound is just about to become active.
    """

    def __init__(self, name: str, f: Any, x0: Any, params: Any, bounds: Any, constraint: Any, squares: bool) -> None:
        lower, upper = (None, None) if bounds is None else bounds
        self.own = Problem(name, x0, (*params, lower, upper))
        self.f, self.constraint, self.squares, self.given = f, constraint, squares, params
        self.count = len(self.own.space.spaces)
        self.active = [np.zeros(shape, dtype=int) for shape, _, _ in self.own.space.spaces]
        self.weak = False
        self.conditions = Packing([])
        if constraint is not None:
            with unrecorded():
                found = self._conditions(self.own.unknowns(self.own.first), self.own.bare)
            self.conditions = Packing([c._array for c in found])
        multipliers = self.conditions.unpack(np.zeros(self.conditions.size))
        super().__init__(name, [*self.own.space.unpack(self.own.first), *multipliers], (*params, lower, upper))
        self.result_kind = self.own.result_kind
        self.kind = self.own.kind

    # ------------------------------------------------------------------------------------------ the user's functions
    def _arguments(self, y: list[Any], inputs: list[Any]) -> Any:
        return self.own.arguments(y, inputs)[:-2]

    def _conditions(self, y: list[Any], inputs: list[Any]) -> list[Any]:
        if self.constraint is None:
            return []
        return [self._tensor(c) for c in leaves_of(self.constraint(*self._arguments(y, inputs)))]

    def _objectives(self, y: list[Any], inputs: list[Any]) -> list[Any]:
        """The one value, or all residuals."""
        found = [self._tensor(r) for r in leaves_of(self.f(*self._arguments(y, inputs)))]
        if not self.squares and (len(found) != 1 or arrays.size(found[0]._array) != 1):
            shapes = ", ".join(str(tuple(r.shape)) for r in found)
            raise self._not("one real number", f"shape {shapes}", "reduce it, by .sum() for example; or least_squares.")
        if any(arrays.is_complex(r.dtype) for r in found):
            raise self._not("real numbers", "complex ones", "abs(z) ** 2, or the real and the imaginary part.")
        return found

    def _not(self, expected: str, found: str, instead: str) -> ValueError:
        return lesson(
            ValueError,
            f"the function given to {self.name} must return {expected}, but returned {found}",
            why="only real numbers have a minimum.",
            instead=instead,
        )

    def _tensor(self, value: Any) -> Any:
        return value if isinstance(value, Tensor) else wrap(self.own.kind, np.asarray(value, dtype=float))

    # ------------------------------------------------------------------------------------------ what holds at a minimum
    def residual(self, unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        """The derivative of the Lagrange function, or how far a variable is from its active bound; the constraints."""
        n = self.count
        y, multipliers = unknowns[:n], unknowns[n:]
        objectives = 0

        def values(own: list[Any]) -> list[Any]:
            nonlocal objectives
            found = self._objectives(own[:n], own[n:])
            objectives = len(found)
            return [*found, *self._conditions(own[:n], own[n:])]

        call = Call(values, [*y, *inputs])
        head, conditions = call.values[:objectives], call.values[objectives:]
        weights = head if self.squares else [_one(head[0])]
        weights = [*weights, *[_cast(m, c.dtype) for m, c in zip(multipliers, conditions, strict=True)]]
        slopes = call.pull(weights, record=modes.is_grad_enabled(), retain=True, first=n)
        call.connect()
        found = [
            wrap(kind_of(x), arrays.namespace(x._array).zeros_like(x._array)) if s is None else s
            for s, x in zip(slopes, y, strict=True)
        ]
        return [*self._bounded(found, y, inputs), *conditions]

    def _bounded(self, slopes: list[Any], y: list[Any], inputs: list[Any]) -> list[Any]:
        if not any(map(np.any, self.active)):
            return slopes
        xp, found = Recorded.xp, []
        lower, upper = (self._bound(b) for b in self.own.params.filled(inputs)[-2:])
        for s, x, low, high, active in zip(slopes, y, lower, upper, self.active, strict=True):
            for side, bound in ((-1, low), (1, high)):
                if np.any(active == side):
                    s = xp.where(wrap(type(x), active == side), x - bound, s)
            found.append(s)
        return found

    def _bound(self, tree: Any) -> list[Any]:
        """A bound for each array of unknowns."""
        leaves = leaves_of(tree)
        return leaves * self.count if len(leaves) == 1 else leaves

    # ------------------------------------------------------------------------------------------ for SciPy
    def start_at(self) -> Any:
        """The starting point, within the bounds."""
        return np.clip(self.own.first, *self.limits())

    def value_and_slope(self, vector: Any) -> tuple[float, Any]:
        """The value of the function, and its gradient."""
        call = self._call(self._objectives, vector)
        found = call.pull([_one(call.values[0])], first=self.count)
        return float(call.values[0]._array), self.own.space.pack(filled(found, self.own.space))

    def hessian_at(self, vector: Any, *_: Any) -> Any:
        """The second derivative of the function alone."""
        start = self.own.tree(self.own.unknowns(vector))
        free = Stationary(self.name, self.f, start, self.given, None, None, False)
        return free.jacobian_of(free.residual)(vector)

    def residuals_at(self, vector: Any) -> Any:
        with unrecorded():
            found = self._objectives(self.own.unknowns(vector), self.own.bare)
        return np.concatenate([np.zeros(0), *[np.ravel(np.asarray(r._array, dtype=float)) for r in found]])

    def jacobian_at(self, vector: Any) -> Any:
        """The Jacobian of the residuals."""
        call = self._call(self._objectives, vector)
        return jacobian(call, Packing([r._array for r in call.values]), self.own.space)

    def conditions_at(self, vector: Any) -> Any:
        with unrecorded():
            found = self._conditions(self.own.unknowns(vector), self.own.bare)
        return self.conditions.pack([c._array for c in found])

    def slopes_at(self, vector: Any) -> Any:
        """The Jacobian of the constraints."""
        return jacobian(self._call(self._conditions, vector), self.conditions, self.own.space)

    def _call(self, values: Callable[..., Any], vector: Any) -> Call:
        return Call(
            lambda own: values(own[: self.count], own[self.count :]), [*self.own.unknowns(vector), *self.own.bare]
        )

    def limits(self) -> tuple[Any, Any]:
        """The bounds as vectors."""
        limits = []
        for tree, missing in zip(self.own.params.filled(self.own.bare)[-2:], (-np.inf, np.inf), strict=True):
            leaves = self._bound(tree)
            if len(leaves) != self.count:
                raise lesson(
                    ValueError, f"bounds of {self.name} with {len(leaves)} arrays for {self.count} arrays of unknowns"
                )
            parts = [np.zeros(0)]
            for leaf, (shape, dtype, _) in zip(leaves, self.own.space.spaces, strict=True):
                if dtype.kind == "c":
                    if leaf is not None:
                        raise lesson(ValueError, "complex numbers have no order, so no bounds")
                    shape = (*shape, 2)
                values = np.asarray(missing if leaf is None else as_arrays(leaf, "bounds")[0], dtype=float)
                parts.append(np.ravel(np.broadcast_to(values, shape)))
            limits.append(np.concatenate(parts))
        return limits[0], limits[1]

    # ------------------------------------------------------------------------------------------ at the solution
    def with_multipliers(self, vector: Any) -> Any:
        """The vector of all unknowns: the multipliers are those that make the Lagrange function most nearly stationary."""
        if not self.conditions.size:
            return vector
        low, high = self.limits()
        inner = (vector > low) & (vector < high)
        slope, slopes = self.value_and_slope(vector)[1], self.slopes_at(vector)
        multipliers = np.linalg.lstsq(slopes[:, inner].T, -slope[inner], rcond=None)[0]
        return np.concatenate([vector, multipliers])

    def settle(self, vector: Any) -> Any:
        """Find out which bounds are active, and put the unknowns exactly there."""
        low, high = self.limits()
        if not np.any(np.isfinite(low) | np.isfinite(high)):
            return vector
        n = self.own.space.size
        y = vector[:n]
        slope = self.vector_of(self.residual)(vector)[:n]
        near, flat = self.space.eps**0.5 * (1 + np.abs(y)), self.space.eps**0.4 * (1 + np.max(np.abs(slope), initial=0))
        at_low, at_high = y - low <= near, high - y <= near
        self.weak = bool(np.any((at_low | at_high) & (np.abs(slope) <= flat)))
        active = np.where(at_low & (slope >= -flat), -1, np.where(at_high & (slope <= flat), 1, 0))
        parts = np.split(active, self.own.space.bounds[1:-1])  # a complex number is two entries, both without bounds
        self.active = [
            part.reshape(*shape, -1)[..., 0] if part.size else np.zeros(shape, dtype=int)
            for part, (shape, _, _) in zip(parts, self.own.space.spaces, strict=True)
        ]
        return np.concatenate([np.where(active == -1, low, np.where(active == 1, high, y)), vector[n:]])

    def guarded(self, strategy: Any) -> Any:
        """The strategy, unless a bound is only just active: there the minimum has a kink."""
        if not self.weak:
            return strategy

        def refuse(*_: Any) -> Any:
            raise lesson(
                DerivativeRefused,
                f"the derivative of {self.name} is refused: a bound is just about to become active, or inactive",
                why="on one side of this point the minimum stays at the bound, on the other it leaves it: it has a kink.",
                instead="move the bound or the parameters a little; or leave out a bound that has no effect.",
            )

        return refuse

    def value(self, x: list[Any]) -> Any:
        """The value of the function at the minimum, as a function of everything that it depends on."""
        tensors = [y if isinstance(y, Tensor) else wrap(self.kind, np.asarray(y)) for y in x]
        found = self._objectives(tensors, self.inputs)
        if self.squares:
            xp = Recorded.xp
            total = None
            for r in found:
                term = xp.sum(r * r) / 2
                total = term if total is None else total + term
        else:
            total = Recorded.xp.reshape(found[0], ())
        return leave([total], self.result_kind)[0]


def _one(y: Any) -> Any:
    return wrap(type(y), arrays.namespace(y._array).ones_like(y._array))


def _cast(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else Recorded.xp.astype(x, dtype)
