"""Roots and fixed points, as functions of the parameters of their equations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.implicit.inverses import strategy
from pullback.implicit.mapped import mapped
from pullback.implicit.packing import as_arrays, lent
from pullback.implicit.problem import Problem
from pullback.implicit.theorem import Implicit

#: SciPy's solvers that take a Jacobian.
_WITH_JACOBIAN = ("hybr", "lm")
_WITHOUT_JACOBIAN = (
    *("anderson", "broyden1", "broyden2", "df-sane", "diagbroyden", "excitingmixing", "krylov"),
    "linearmixing",
)

#: An iteration with steps longer than this has diverged.
_FAR = 1e100


class Root(Implicit):
    """``y`` with ``f(y, θ) = 0``.  vjp: θ̄ = -(∂f/∂θ)ᵀ λ, (∂f/∂y)ᵀ λ = ȳ"""


class FixedPoint(Implicit):
    """``y = f(y, θ)``.  vjp: θ̄ = (∂f/∂θ)ᵀ λ, (I - ∂f/∂y)ᵀ λ = ȳ"""


@mapped
def solution(condition: Callable[..., Any], y: Any, *params: Any, linear: Any = "dense", **options: Any) -> Any:
    """Declare that `y`, found by whatever solver, satisfies ``condition(y, *params) = 0``: a differentiable function of `params`.

    Parameters
    ----------
    condition
        Takes the unknowns and the parameters, returns arrays of the shapes of the unknowns.  It may read further Tensors,
        in a closure for example: they get their gradients too.
    y
        The solution: an array, a Tensor or a number, or tuples, lists and dicts of them.  Its own graph is not used.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    linear
        How equations with the Jacobian of the condition are solved: ``"dense"`` (all of it, by LU, once), or the name of an
        iterative solver of SciPy, such as ``"gmres"`` or ``"cg"``, with its `options` (``rtol``, ``maxiter``, ``M``).

    Returns
    -------
    The values of `y`, in its structure, connected to the Tensors of `params`.

    Raises
    ------
    ValueError
        Where `y` is no solution: the Newton step there is not small.
    DerivativeRefused
        By a derivative where the Jacobian is singular.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor(9.0, requires_grad=True)
    >>> y = pb.implicit.solution(lambda y, a: y * y - a, 3.0, a)
    >>> pb.autograd.grad(y, a)[0].item()
    0.166666666...
    """
    problem = Problem("solution", y, params)
    chosen = strategy(linear, "solution", options)
    residual = problem.equations(condition)
    _, size, step = problem.refine(residual, problem.first, chosen, steps=1)
    if not step <= problem.space.eps**0.5 * (1 + float(np.linalg.norm(problem.first))):
        raise lesson(
            ValueError,
            f"y does not satisfy the condition: its residual is {size:.3g}, and Newton's next step is {step:.3g} long",
            why="the derivative of a solution is computed from its equation, which has to hold.",
            instead="solve more accurately; or root(condition, y, *params).",
        )
    return problem.tree(problem.declare(residual, problem.first, chosen, Implicit, as_arrays(y, "y")))


@mapped
def root(
    f: Callable[..., Any],
    x0: Any,
    *params: Any,
    method: str = "hybr",
    tol: float | None = None,
    linear: Any = "dense",
    options: dict[str, Any] | None = None,
) -> Any:
    """``y`` with ``f(y, *params) = 0``, near `x0`, as a differentiable function of the parameters.

    ``scipy.optimize.root`` finds it, with the exact Jacobian; Newton's steps refine it to the last digits.

    Parameters
    ----------
    f
        Takes unknowns and parameters as Tensors, returns arrays of the shapes of the unknowns.  Tensors that it reads from
        elsewhere (a closure) get their gradients too.
    x0
        Where to begin: an array, a Tensor, a number, or tuples, lists and dicts of them, real or complex.  The solution has
        its structure, shapes and dtypes, and does not depend on it otherwise.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    method, tol, options
        As for ``scipy.optimize.root``; methods other than ``"hybr"`` and ``"lm"`` use no Jacobian.
    linear
        How equations with the Jacobian are solved in derivatives: ``"dense"``, or an iterative solver (``"gmres"``, ...).

    Returns
    -------
    The solution, of the structure of `x0`: Tensors if any argument or captured value is one, otherwise arrays.

    Raises
    ------
    NotConverged
        Where no solution was found; ``error.reached`` and ``error.residual`` tell what was.
    DerivativeRefused
        By a derivative where the Jacobian is singular: at a multiple root, for example.

    Notes
    -----
    Assumes that f is differentiable and its Jacobian regular at the solution.  The rule is the implicit function theorem,
    see ``docs/implicit.md``.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor(2.0, requires_grad=True)
    >>> y = pb.implicit.root(lambda y, a: y**3 + y - a, 1.0, a)
    >>> y
    tensor(1., grad_fn=<RootBackward>)
    >>> pb.autograd.grad(y, a)
    (tensor(0.25),)
    """
    problem = Problem("root", x0, params)
    residual = problem.equations(f)
    return _solve(problem, residual, method, tol, strategy(linear, "root"), options, Root)


@mapped
def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *params: Any,
    method: str = "iteration",
    tol: float | None = None,
    maxiter: int = 1000,
    linear: Any = "dense",
    options: dict[str, Any] | None = None,
) -> Any:
    """``y = f(y, *params)``, as a differentiable function of the parameters.

    Parameters
    ----------
    f, x0, params, linear
        As for `root`.
    method
        ``"iteration"`` repeats ``y = f(y)``, and converges where f is a contraction; any method of `root` solves ``y - f(y)
        = 0`` (``"anderson"``, ``"hybr"``, ``"krylov"``, ...).
    tol
        The iteration ends when a step is not longer than ``tol * (1 + |y|)``; by default at the limit of the precision.
    maxiter
        The largest number of iterations.

    Returns
    -------
    The fixed point, of the structure of `x0`.

    Raises
    ------
    NotConverged, DerivativeRefused
        As for `root`.

    Notes
    -----
    Assumes that ``I - ∂f/∂y`` is regular at the fixed point, which it is for a contraction.  No step of the iteration is
    recorded: the memory does not grow with their number.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor(1.0, requires_grad=True)
    >>> y = pb.implicit.fixed_point(lambda y, a: pb.cos(a * y), 0.5, a)
    >>> round(y.item(), 6), round(pb.autograd.grad(y, a)[0].item(), 6)
    (0.739085, -0.297474)
    """
    problem = Problem("fixed_point", x0, params)
    image = problem.equations(f)

    def residual(unknowns: list[Any], inputs: list[Any]) -> list[Any]:
        return [y - z for y, z in zip(unknowns, image(unknowns, inputs), strict=True)]

    chosen = strategy(linear, "fixed_point")
    if method != "iteration":
        return _solve(problem, residual, method, tol, chosen, options, FixedPoint)
    step = problem.vector_of(image)
    tol = 8 * problem.space.eps if tol is None else tol
    now, length = problem.first, float("inf")
    for _ in range(maxiter):
        then = step(now)
        before, length = length, float(np.linalg.norm(then - now))
        now = then
        limit = 1 + float(np.linalg.norm(now))
        stuck = length >= before and length <= problem.space.eps**0.75 * limit  # rounding goes round in circles
        if length <= tol * limit or stuck or not length < _FAR:
            break
    message = f"{maxiter} iterations at most" if length < _FAR else "the iteration runs away"
    problem.accept(now, float(np.linalg.norm(step(now) - now)), length, False, message)
    return problem.tree(problem.declare(residual, now, chosen, FixedPoint))


def _solve(
    problem: Problem, residual: Any, method: str, tol: float | None, chosen: Any, options: Any, operator: Any
) -> Any:
    """By ``scipy.optimize.root``, then by Newton."""
    from scipy import optimize
    from scipy.linalg import LinAlgWarning

    if method not in _WITH_JACOBIAN + _WITHOUT_JACOBIAN:
        known = ", ".join(_WITH_JACOBIAN + _WITHOUT_JACOBIAN)
        raise lesson(ValueError, f"{problem.name} knows no method {method!r}", instead=f"one of {known}.")
    value, vector, success, message = problem.vector_of(residual), problem.first, True, ""
    if problem.space.size:
        jac = problem.jacobian_of(residual) if method in _WITH_JACOBIAN else None
        tol = problem.space.eps ** (0.67 if jac else 0.5) if tol is None else tol
        with warnings.catch_warnings(), lent(value, jac) as (fun, slope):
            warnings.simplefilter("ignore", LinAlgWarning)  # of its quasi-Newton methods; the result is judged below
            found = optimize.root(fun, vector, jac=slope, method=method, tol=tol, options=options)
        vector, success, message = found.x, bool(found.success), str(found.message)
    vector, size, step = problem.refine(residual, vector, chosen)
    problem.accept(vector, size, step, success, message)
    return problem.tree(problem.declare(residual, vector, chosen, operator))
