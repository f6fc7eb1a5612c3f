"""Minima as functions of parameters: free, within bounds, under equations; and fits by least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.implicit.inverses import strategy
from pullback.implicit.mapped import mapped
from pullback.implicit.stationary import Stationary
from pullback.implicit.theorem import Implicit


class Minimum(NamedTuple):
    """What `minimize` and `least_squares` return: where the minimum is, and how deep."""

    x: Any
    value: Any


class Minimize(Implicit):
    """``y = argmin f(y, θ)``, by ``∂f/∂y = 0``.  vjp: θ̄ = -(∂²f/∂θ∂y) H⁻¹ ȳ, H = ∂²f/∂y²"""


class LeastSquares(Implicit):
    """``y = argmin |r(y, θ)|²``, by ``Jᵀ r = 0``.  vjp: as of a minimum"""


@mapped
def minimize(
    f: Callable[..., Any],
    x0: Any,
    *params: Any,
    method: str | None = None,
    tol: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    constraint: Callable[..., Any] | None = None,
    linear: Any = "dense",
    options: dict[str, Any] | None = None,
) -> Minimum:
    """A local minimum of ``f(y, *params)`` over y, near `x0`: where it is and its value, as functions of the parameters.

    ``scipy.optimize.minimize`` finds it, with exact derivatives; Newton's steps refine it to the last digits.

    Parameters
    ----------
    f
        Takes unknowns and parameters as Tensors, returns one real number.  Tensors that it reads from elsewhere (a closure)
        get their gradients too.
    x0
        Where to begin: an array, a Tensor, a number, or tuples, lists and dicts of them.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    method, tol, options
        As for ``scipy.optimize.minimize``; by default ``"BFGS"``, ``"L-BFGS-B"`` with bounds, ``"SLSQP"`` with a constraint.
    bounds
        A pair ``(lower, upper)``; each is ``None``, a number, or of the structure of `x0`.  Tensors are parameters too.
    constraint
        ``constraint(y, *params)`` returns what has to be zero: an array, or several.
    linear
        How equations with the Hessian are solved in derivatives: ``"dense"``, or an iterative solver (``"cg"``, ...).

    Returns
    -------
    x
        The minimiser, of the structure of `x0`.
    value
        ``f(x, *params)``, whose derivative is that of the minimum (the envelope theorem is not assumed, it comes out).

    Raises
    ------
    NotConverged
        Where no minimum was found; ``error.reached`` and ``error.residual`` tell what was.
    DerivativeRefused
        By a derivative where the Hessian (with the constraints: the matrix of Karush, Kuhn and Tucker) is singular, or where
        a bound is just about to become active.

    Notes
    -----
    Assumes that f is twice differentiable, the minimum isolated, the gradients of the constraints independent, and that each
    active bound has a multiplier other than zero.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor(2.0, requires_grad=True)
    >>> x, value = pb.implicit.minimize(lambda y, a: (y - a) ** 2 + y**2, 0.0, a)
    >>> x.item(), pb.autograd.grad(x, a, retain_graph=True)[0].item()
    (1.0, 0.5)
    >>> pb.autograd.grad(value, a)[0].item()
    2.0
    """
    from scipy import optimize

    problem = Stationary("minimize", f, x0, params, bounds, constraint, squares=False)
    chosen = strategy(linear, "minimize")
    found, success, message = problem.first, True, ""
    if problem.own.space.size:
        method = method or ("SLSQP" if constraint is not None else "BFGS" if bounds is None else "L-BFGS-B")
        arguments: dict[str, Any] = {"method": method, "options": options}
        arguments["tol"] = (
            problem.space.eps ** (0.75 if method in ("SLSQP", "L-BFGS-B") else 0.6) if tol is None else tol
        )
        if bounds is not None:
            arguments["bounds"] = optimize.Bounds(*problem.limits())
        if constraint is not None:
            arguments["constraints"] = {"type": "eq", "fun": problem.conditions_at, "jac": problem.slopes_at}
        if method in ("Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"):
            arguments["hess"] = problem.hessian_at
        if method in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
            result = optimize.minimize(lambda v: problem.value_and_slope(v)[0], problem.start_at(), **arguments)
        else:
            result = optimize.minimize(problem.value_and_slope, problem.start_at(), jac=True, **arguments)
        found, success, message = problem.with_multipliers(result.x), bool(result.success), str(result.message)
    return _finish(problem, found, success, message, chosen, Minimize)


@mapped
def least_squares(
    f: Callable[..., Any],
    x0: Any,
    *params: Any,
    method: str = "trf",
    tol: float | None = None,
    bounds: tuple[Any, Any] | None = None,
    linear: Any = "dense",
    options: dict[str, Any] | None = None,
) -> Minimum:
    """The fit that makes the residuals ``f(y, *params)`` least, half the sum of their squares, as a function of the data.

    ``scipy.optimize.least_squares`` finds it, with the exact Jacobian; Newton's steps refine it to the last digits.

    Parameters
    ----------
    f
        Takes unknowns and parameters (the data) as Tensors, returns the residuals: real arrays of any shapes.
    x0, params, bounds, linear
        As for `minimize`.
    method, tol, options
        As for ``scipy.optimize.least_squares``; `tol` is its ``ftol``, ``xtol``, ``gtol``, `options` are what else it takes.

    Returns
    -------
    x
        The fitted parameters, of the structure of `x0`.
    value
        Half the sum of squares there.

    Raises
    ------
    NotConverged, DerivativeRefused
        As for `minimize`.

    Notes
    -----
    The derivative is that of the minimum, with all of the Hessian: not that of Gauss and Newton, which is right only where
    the residuals vanish.

    Examples
    --------
    >>> import pullback as pb
    >>> t, data = pb.tensor([0.0, 1.0, 2.0]), pb.tensor([1.0, 3.0, 5.0], requires_grad=True)
    >>> fit = pb.implicit.least_squares(lambda y, data: y[0] + y[1] * t - data, [0.0, 0.0], data)
    >>> [abs(g) for g in pb.autograd.grad(fit.x[1], data)[0].tolist()]
    [0.5, 0.0, 0.5]
    """
    from scipy import optimize

    x0 = (
        np.asarray(x0, dtype=float)
        if isinstance(x0, (list, tuple)) and all(type(x) in (int, float) for x in x0)
        else x0
    )
    problem = Stationary("least_squares", f, x0, params, bounds, None, squares=True)
    chosen = strategy(linear, "least_squares")
    found, success, message = problem.first, True, ""
    if problem.own.space.size:
        tol = 16 * problem.space.eps if tol is None else tol
        arguments: dict[str, Any] = {"method": method, "ftol": tol, "xtol": tol, "gtol": tol, **(options or {})}
        if bounds is not None:
            arguments["bounds"] = problem.limits()
        result = optimize.least_squares(problem.residuals_at, problem.start_at(), problem.jacobian_at, **arguments)
        found, success, message = result.x, bool(result.success), str(result.message)
    return _finish(problem, found, success, message, chosen, LeastSquares)


def _finish(problem: Stationary, vector: Any, success: bool, message: str, chosen: Any, operator: Any) -> Minimum:
    """Settle which bounds are active, refine, declare; the value is computed at the minimum by the user's function."""
    vector = problem.settle(vector)
    vector, size, step = problem.refine(problem.residual, vector, chosen)
    problem.accept(vector, size, step, success, message)
    x = problem.declare(problem.residual, vector, problem.guarded(chosen), operator)[: problem.count]
    value = problem.value(x)
    return Minimum(problem.own.tree(x), value)
