"""Ordinary differential equations: the state at the end as a function of the start, of both times and of the parameters.

``dy/dt = f(t, y, θ)`` from ``y(t₀) = y₀`` to ``y₁ = y(t₁)``.  The pullback is an ordinary differential equation too, solved
from t₁ to t₀:

    da/dt = -(∂f/∂y)ᵀ a,  a(t₁) = ȳ₁;    dθ̄/dt = -(∂f/∂θ)ᵀ a,  θ̄(t₁) = 0
    ȳ₀ = a(t₀),    θ̄ = θ̄(t₀),    t̄₁ = ⟨ȳ₁, f(t₁, y₁)⟩,    t̄₀ = -⟨ȳ₀, f(t₀, y₀)⟩

(L. Pontryagin et al. 1962; R. Chen et al.: Neural Ordinary Differential Equations, 2018).  Together with that of y it is of the
same form, so the rule calls the operator itself, and every order follows.  In numbers y(t) comes from the interpolation of the
solution that was found on the way there: solving for y backwards as well would be unstable wherever the way there is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.dual import OPEN
from pullback.core.errors import lesson
from pullback.core.function import Function
from pullback.core.recorded import Recorded
from pullback.core.tensor import wrap
from pullback.implicit.inverses import NotConverged, jacobian
from pullback.implicit.packing import Packing, lent, number
from pullback.implicit.partial import Call, placeholder, recorded, unrecorded, zero_at, zero_like
from pullback.implicit.theorem import same_values

#: ``f(t, state, inputs)``, the derivative of the state.
Field = Callable[[Any, list[Any], list[Any]], list[Any]]
_IMPLICIT = ("Radau", "BDF", "LSODA")


class Motion:
    """One solution of a differential equation.

    Attributes
    ----------
    field
        The right-hand side.
    end
        The state at the end, bare arrays.
    path
        ``path(t)``, the state at a time between, as one vector.
    known
        How many entries of it are interpolated from an earlier solution.
    captured
        Edges to what the right-hand side depends on beside its arguments.
    values
        The right-hand side at the start, when it was solved.
    """

    __slots__ = ("captured", "end", "field", "kind", "known", "options", "path", "space", "values")

    def __init__(self, field: Field, state: Sequence[Any], kind: Any, options: dict[str, Any], parent: Any) -> None:
        self.field, self.kind, self.options = field, kind, options
        self.space = Packing([x._array for x in state])
        self.known = 0 if parent is None else parent.space.size
        self.path: Any = None if parent is None else parent.path
        self.captured: list[Any] = [] if parent is None else list(parent.captured)
        self.values: Any = None
        self.end: list[Any] = []

    # ------------------------------------------------------------------------------------------------------- in numbers
    def solve(self, t0: float, t1: float, start: Any, inputs: Sequence[Any]) -> None:
        """Fill in `end` and `path`."""
        known, before = self.known, self.path
        bare = [wrap(type(x), x._array) for x in inputs]
        collect = modes.is_grad_enabled() or OPEN

        def whole(t: float, rest: Any) -> Any:
            return np.concatenate([before(t), rest]) if known else rest

        def tensors(t: float, rest: Any) -> tuple[Any, list[Any]]:
            state = self.space.unpack(whole(t, rest))
            return number(t, state[0], self.kind), [wrap(self.kind, x) for x in state]

        def slope(t: float, rest: Any) -> Any:
            time, state = tensors(t, rest)
            with unrecorded():
                found = self.field(time, state, bare) if known or not collect else self.listen(time, state, bare)
            return self.space.pack([y._array for y in found])[known:]

        def matrix(t: float, rest: Any) -> Any:
            time, state = tensors(t, rest)
            call = Call(lambda own: self.field(time, own, bare), state)
            return jacobian(call, self.space, self.space)[known:, known:]

        rest, path = self._integrate(slope, matrix, t0, t1, self.space.pack(start)[known:])
        self.path = path if not known else (lambda t: np.concatenate([before(t), path(t)]))
        self.end = self.space.unpack(whole(t1, rest))

    def listen(self, t: Any, state: list[Any], inputs: list[Any]) -> list[Any]:
        """The right-hand side, and what it depends on here: it may read other Tensors at other times."""
        n = len(state)
        call = Call(lambda own: self.field(own[0], own[1 : 1 + n], own[1 + n :]), [t, *state, *inputs])
        call.refuse_captured_tangents("solve_ivp")
        self.captured += [edge for edge in call.captured if edge not in self.captured]
        return call.values

    def _integrate(self, slope: Any, matrix: Any, t0: float, t1: float, start: Any) -> tuple[Any, Any]:
        from scipy.integrate import solve_ivp

        if t0 == t1 or not start.size:
            return start, lambda t: start
        options = dict(self.options)
        if np.ndim(options["atol"]):  # of the state; the adjoint equation takes the smallest
            given = np.ravel(options["atol"])
            options["atol"] = given if given.size == start.size and not self.known else given.min()
        with lent(slope, matrix if options["method"] in _IMPLICIT else None) as (fun, jac):
            options |= {} if jac is None else {"jac": jac}
            found = solve_ivp(fun, (t0, t1), start, dense_output=True, **options)
        rest = found.y[:, -1]
        if found.status != 0 or not np.all(np.isfinite(rest)):
            what = "solve_ivp" if not self.known else "the adjoint equation of solve_ivp"
            why = found.message if found.status != 0 else "the solution is not finite"
            raise lesson(
                NotConverged,
                f"{what} stopped at t = {found.t[-1]:.6g} on the way from {t0:.6g} to {t1:.6g}: {why.rstrip('.')}",
                why="the solution may end there (a pole), or the equation is stiff, or noise makes the tolerance unreachable.",
                instead='method="Radau" for stiff equations; a shorter time; larger rtol and atol.',
                reached=self.space.unpack(np.concatenate([self.path(found.t[-1]), rest]) if self.known else rest),
                residual=abs(t1 - float(found.t[-1])),
            )
        return rest, found.sol

    # ---------------------------------------------------------------------------------------------------- derivatives
    def slope_at(self, t: Any, state: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The right-hand side, connected to everything."""
        with recorded() if modes.is_grad_enabled() else unrecorded():
            return self.field(t, list(state), list(inputs))

    def adjoint(self, wanted: Sequence[int]) -> Field:
        """The right-hand side of the equation for ``(y, a, θ̄, c̄)``; `wanted` are the positions of θ among the inputs."""
        n, captured = len(self.space.spaces), self.captured

        def field(t: Any, state: list[Any], inputs: list[Any]) -> list[Any]:
            call = Call(lambda own: self.field(own[0], own[1 : 1 + n], own[1 + n :]), [t, *state[:n], *inputs])
            found = call.pull(state[n : 2 * n], captured, record=modes.is_grad_enabled())
            call.connect()
            rest = found[1 + n : 1 + n + len(inputs)]
            pulled = [*found[1 : 1 + n], *[rest[k] for k in wanted], *found[1 + n + len(inputs) :]]
            return [*call.values, *[zero_like(x) if g is None else -g for g, x in zip(pulled, state[n:], strict=True)]]

        return field


class Flow(Function):
    """``y(t₁)`` with ``dy/dt = f(t, y, θ)``, ``y(t₀) = y₀``.  vjp: the adjoint equation, from t₁ to t₀"""

    @staticmethod
    def forward(ctx: Any, motion: Motion, t0: Any, t1: Any, *given: Any) -> Any:
        end = tuple([wrap(motion.kind, array) for array in motion.end])
        ctx.motion, ctx.count = motion, len(given) - len(motion.captured)
        ctx.save_for_backward(t0, t1, *end, *given[: ctx.count])
        return end

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        motion, n = ctx.motion, len(cotangents)
        t0, t1, *saved = ctx.saved_tensors
        end, start, inputs = saved[:n], saved[n : 2 * n], saved[2 * n :]
        needs = ctx.needs_input_grad[3 + n : 3 + n + len(inputs)]
        wanted = [k for k, need in enumerate(needs) if need]
        first = motion.slope_at(t0, start, inputs)
        same_values(motion, first, "solve_ivp")
        at_end = inner(cotangents, motion.slope_at(t1, end, inputs)) if ctx.needs_input_grad[2] else None
        if not any(need for k, need in enumerate(ctx.needs_input_grad) if k != 2):
            return (None, None, at_end, *[None] * (len(ctx.needs_input_grad) - 3))
        zeros = [zero_like(inputs[k]) for k in wanted]
        zeros += [zero_at(edge, end[0]) for edge in motion.captured]
        state = [*end, *cotangents, *zeros]
        found = flow(motion.adjoint(wanted), t1, t0, state, inputs, motion.kind, motion.options, motion)
        pulled, rest = found[n : 2 * n], found[2 * n :]
        of_inputs: list[Any] = [None] * len(inputs)
        for k, position in enumerate(wanted):
            of_inputs[position] = rest[k]
        at_start = -inner(pulled, first) if ctx.needs_input_grad[1] else None
        return (None, at_start, at_end, *pulled, *of_inputs, *rest[len(wanted) :])


def inner(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The real inner product."""
    xp, total = Recorded.xp, None
    for x, y in zip(a, b, strict=True):
        term = xp.sum(xp.real(xp.conj(x) * y) if arrays.is_complex(x.dtype) else x * y)
        total = term if total is None else total + term
    return total


def flow(
    field: Field,
    t0: Any,
    t1: Any,
    state: Sequence[Any],
    inputs: Sequence[Any],
    kind: Any,
    options: dict[str, Any],
    parent: Motion | None = None,
) -> list[Any]:
    """The state at `t1`, as a function of everything."""
    motion = Motion(field, state, kind, options, parent)
    motion.solve(float(t0._array), float(t1._array), [x._array for x in state], inputs)
    if modes.is_grad_enabled():
        bare = [wrap(type(x), x._array) for x in (t0, *state, *inputs)]
        motion.values = [
            np.asarray(y._array) for y in motion.listen(bare[0], bare[1 : 1 + len(state)], bare[1 + len(state) :])
        ]
    found = Flow.apply(motion, t0, t1, *state, *inputs, *[placeholder(edge) for edge in motion.captured])
    return list(found)
