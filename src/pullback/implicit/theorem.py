"""The implicit function theorem, as one Function that all solvers use.

``F(y, θ) = 0`` with a regular ``J = ∂F/∂y`` makes y a function of θ, whose pullback is

    λ = J⁻ᵀ ȳ,    θ̄ = -(∂F/∂θ)ᵀ λ

(U. Dini; see A. Griewank, A. Walther: Evaluating Derivatives, 2nd ed., ch. 15; M. Blondel et al.: Efficient and Modular Implicit
Differentiation, 2022).  λ is itself defined by an equation, ``Jᵀ(y, θ) λ - ȳ = 0``, linear in λ.  So the rule states it with
the same Function, and every order follows from the first one.  The inverse of J is computed once and serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.dual import OPEN
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.function import Function
from pullback.core.tensor import Tensor, wrap
from pullback.implicit.inverses import Inverse, Transposed
from pullback.implicit.packing import Packing
from pullback.implicit.partial import Call, placeholder

Residual = Callable[[list[Any], list[Any]], list[Any]]


class Equation:
    """``residual(unknowns, inputs) = 0`` at a solution.

    Attributes
    ----------
    residual
        As many Tensors as there are unknowns, of their shapes.
    solution
        Bare arrays.
    strategy
        ``strategy(call, space, name)`` builds an `Inverse` of J from a recorded call of the residual.
    captured
        Edges to what the residual depends on beside its arguments.
    values
        The residual at the solution when it was stated: the same must come out when it is differentiated.
    """

    __slots__ = ("_inverse", "captured", "kind", "name", "residual", "solution", "space", "strategy", "values")

    def __init__(
        self, residual: Residual, solution: Sequence[Any], strategy: Callable[..., Inverse], name: str, kind: Any
    ) -> None:
        self.residual, self.solution, self.strategy, self.name, self.kind = residual, solution, strategy, name, kind
        self.space = Packing(solution)
        self.captured: list[Any] = []
        self.values: list[Any] | None = None
        self._inverse: Inverse | None = None

    def call(self, unknowns: Sequence[Any], inputs: Sequence[Any]) -> Call:
        """The residual, recorded on variables of its own; checked to be the one that was solved."""
        n = len(unknowns)
        call = Call(lambda own: self.residual(own[:n], own[n:]), [*unknowns, *inputs])
        same_values(self, call.values, self.name)
        return call

    def inverse(self, unknowns: Sequence[Any], inputs: Sequence[Any]) -> Inverse:
        """That of J, built when it is first asked for."""
        if self._inverse is None:
            bare = [wrap(type(x), x._array) for x in (*unknowns, *inputs)]
            call = self.call(bare[: len(unknowns)], bare[len(unknowns) :])
            self._inverse = self.strategy(call, self.space, self.name)
        return self._inverse

    def adjoint(self, cotangents: Sequence[Any], unknowns: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """``λ = J⁻ᵀ ȳ``, as a function of ȳ, y and θ."""
        inverse = self.inverse(unknowns, inputs)
        vector = self.space.pack([c._array for c in cotangents])
        found = self.space.unpack(inverse.solve(vector, transposed=True))
        n = len(cotangents)

        def transposed(weights: list[Any], given: list[Any]) -> list[Any]:
            call = self.call(given[n : 2 * n], given[2 * n :])
            pulled = call.pull(weights, record=modes.is_grad_enabled(), first=n)
            call.connect()
            return [-c if g is None else g - c for g, c in zip(pulled, given[:n], strict=True)]

        return state(
            Equation(transposed, found, lambda *_: Transposed(inverse), f"the adjoint of {self.name}", self.kind),
            [*cotangents, *unknowns, *inputs],
            Adjoint,
        )

    def pull_back(self, cotangents: Sequence[Any], unknowns: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs, then of what was captured."""
        weights = self.adjoint(cotangents, unknowns, inputs)
        call = self.call(unknowns, inputs)
        found = call.pull([-w for w in weights], self.captured, record=modes.is_grad_enabled())
        call.connect()
        return found[len(unknowns) :]


def same_values(known: Any, found: Sequence[Any], name: str) -> None:
    """Refuse a function that gives other values now than ``known.values``, those when it was solved."""
    values = [np.asarray(y._array if isinstance(y, Tensor) else y) for y in found]
    if known.values is None:
        known.values = values
    elif not all(map(_agree, known.values, values)):
        raise lesson(
            DerivativeRefused,
            f"the derivative of {name} is refused: its function gives other values than when it was solved",
            why="the derivative is computed from the function at the solution; something that it reads was changed, or it "
            "is random.",
            instead=f"hand over what changes as a parameter of {name}; differentiate before changing it.",
        )


def _agree(old: Any, new: Any) -> bool:
    """Equal up to what another order of summation can do."""
    if old.shape != new.shape:
        return False
    slack = float(np.finfo(old.dtype).eps) ** 0.75 if old.dtype.kind in "fc" else 0.0
    return bool(
        np.all((np.abs(old - new) <= slack * (1 + np.abs(old))) | (old == new) | (np.isnan(old) & np.isnan(new)))
    )


class Implicit(Function):
    """``y`` with ``F(y, θ) = 0``.  vjp: θ̄ = -(∂F/∂θ)ᵀ J⁻ᵀ ȳ, J = ∂F/∂y"""

    @staticmethod
    def forward(ctx: Any, equation: Equation, *inputs: Any) -> Any:
        y = tuple([wrap(equation.kind, array) for array in equation.solution])
        ctx.equation, ctx.count = equation, len(inputs) - len(equation.captured)
        ctx.save_for_backward(*y, *inputs[: ctx.count])
        return y

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        equation, saved = ctx.equation, ctx.saved_tensors
        n = len(equation.solution)
        return (None, *equation.pull_back(cotangents, saved[:n], saved[n:]))


class Adjoint(Implicit):
    """``λ`` with ``Jᵀ λ = ȳ``, the adjoint equation of an implicit function."""


def state(equation: Equation, inputs: Sequence[Any], operator: Any = Implicit) -> list[Any]:
    """The solution as a differentiable function of the inputs, and of whatever the residual reads besides."""
    if modes.is_grad_enabled() or OPEN:
        unknowns = [wrap(equation.kind, array) for array in equation.solution]
        call = equation.call(unknowns, inputs)
        call.refuse_captured_tangents(equation.name)
        equation.captured = call.captured if modes.is_grad_enabled() else []
    found = operator.apply(equation, *inputs, *[placeholder(edge) for edge in equation.captured])
    return list(found)


def leave(found: Sequence[Any], kind: Any) -> list[Any]:
    """Results as the caller gets them: bare arrays if no Tensor took part."""
    if kind is not None or any(x.requires_grad for x in found):
        return list(found)
    return [x._array if arrays.namespace(x._array) is not np or x._array.ndim else x._array[()] for x in found]
