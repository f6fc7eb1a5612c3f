"""The arguments that SciPy's solvers take, from one function: the function itself, and its exact derivatives.

Each returns a dict for ``**``.  What the solvers get is NumPy's and connected to nothing; to differentiate their results, see
`pullback.implicit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.modes import no_grad
from pullback.core.tensor import Tensor
from pullback.transforms import hessian, hvp, jacobian, value_and_grad

__all__ = ["for_least_squares", "for_minimize", "for_root", "for_solve_ivp"]


def _bare(value: Any) -> Any:
    return np.asarray(value._array if isinstance(value, Tensor) else value)


def _out(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays of floating-point numbers going in, and a NumPy array coming out."""

    def outside(*args: Any, **kwargs: Any) -> Any:
        with no_grad():
            floats = [np.asarray(a, dtype=float) if _is_whole(a) else a for a in args]
            return _bare(function(*floats, **kwargs))

    return outside


def _is_whole(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "iub"


def for_minimize(f: Callable[..., Any], second: str | None = None) -> dict[str, Any]:
    """``fun`` and ``jac`` of ``scipy.optimize.minimize``, and the second derivative if wanted.

    Parameters
    ----------
    f
        ``f(x, *args)`` returns one real number; x is an array.
    second
        ``"hess"`` for the Hessian, which ``trust-exact`` and others take; ``"hessp"`` for its products with vectors, which
        ``Newton-CG``, ``trust-ncg`` and others take.

    Returns
    -------
    dict with ``fun``, which returns value and gradient from one evaluation, ``jac`` = True, and what `second` says.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from scipy.optimize import minimize
    >>> def rosenbrock(x):
    ...     return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()
    >>> found = minimize(x0=np.zeros(4), method="trust-exact", **pb.bridges.scipy.for_minimize(rosenbrock, "hess"))
    >>> bool(found.success), np.round(found.x, 3)
    (True, array([1., 1., 1., 1.]))
    """
    both = value_and_grad(f)

    def fun(x: Any, *args: Any) -> tuple[float, Any]:
        with no_grad():
            value, slope = both(np.asarray(x, dtype=float), *args)
        return float(_bare(value)), _bare(slope)

    derivatives = {"hess": lambda: _out(hessian(f)), "hessp": lambda: _out(hvp(f))}
    if second is not None and second not in derivatives:
        raise lesson(ValueError, f"for_minimize knows no second={second!r}", instead='None, "hess" or "hessp".')
    return {"fun": fun, "jac": True} | ({} if second is None else {second: derivatives[second]()})


def for_least_squares(f: Callable[..., Any]) -> dict[str, Any]:
    """``fun`` and ``jac`` of ``scipy.optimize.least_squares``.

    Parameters
    ----------
    f
        ``f(x, *args)`` returns the residuals, a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from scipy.optimize import least_squares
    >>> t, data = np.array([0.0, 1.0, 2.0]), np.array([2.0, 1.0, 0.5])
    >>> def residuals(x):
    ...     return x[0] * pb.exp(-x[1] * t) - data
    >>> found = least_squares(x0=np.ones(2), **pb.bridges.scipy.for_least_squares(residuals))
    >>> np.round(found.x, 6)
    array([2.      , 0.693147])
    """
    return {"fun": _out(f), "jac": _out(jacobian(f))}


def for_root(f: Callable[..., Any]) -> dict[str, Any]:
    """``fun`` and ``jac`` of ``scipy.optimize.root``.

    Parameters
    ----------
    f
        ``f(x, *args)`` returns as many numbers as x has.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from scipy.optimize import root
    >>> found = root(x0=np.ones(2), **pb.bridges.scipy.for_root(lambda x: x**2 - np.array([4.0, 9.0])))
    >>> np.round(found.x, 6)
    array([2., 3.])
    """
    return {"fun": _out(f), "jac": _out(jacobian(f))}


def for_solve_ivp(f: Callable[..., Any]) -> dict[str, Any]:
    """``fun`` and ``jac`` of ``scipy.integrate.solve_ivp``, for its methods ``Radau``, ``BDF`` and ``LSODA``.

    Parameters
    ----------
    f
        ``f(t, y, *args)`` returns the derivative of y.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from scipy.integrate import solve_ivp
    >>> stiff = pb.bridges.scipy.for_solve_ivp(lambda t, y: -1000.0 * (y - pb.cos(t)))
    >>> found = solve_ivp(t_span=(0.0, 1.0), y0=np.array([0.0]), method="Radau", rtol=1e-8, atol=1e-8, **stiff)
    >>> np.round(found.y[:, -1], 6)
    array([0.541143])
    """
    return {"fun": _out(f), "jac": _out(jacobian(f, argnums=1))}
