"""What SciPy's solvers take, from one function."""

import numpy as np
import pytest
from scipy import integrate, optimize

import pullback as pb
from pullback.bridges.scipy import for_least_squares, for_minimize, for_root, for_solve_ivp


def rosenbrock(x, a=100.0):
    return ((1 - x[:-1]) ** 2 + a * (x[1:] - x[:-1] ** 2) ** 2).sum()


@pytest.mark.parametrize(
    ("method", "second"),
    [("BFGS", None), ("L-BFGS-B", None), ("Newton-CG", "hessp"), ("trust-exact", "hess"), ("trust-ncg", "hessp")],
)
def test_minimize(method, second):
    found = optimize.minimize(x0=np.zeros(3), args=(10.0,), method=method, tol=1e-8, **for_minimize(rosenbrock, second))
    np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_derivatives_are_exact():
    x = np.array([0.3, -0.2, 0.7])
    arguments = for_minimize(rosenbrock, "hess")
    value, slope = arguments["fun"](x)
    assert type(value) is float
    np.testing.assert_allclose(value, optimize.rosen(x))
    np.testing.assert_allclose(slope, optimize.rosen_der(x))
    np.testing.assert_allclose(arguments["hess"](x), optimize.rosen_hess(x))
    np.testing.assert_allclose(for_minimize(rosenbrock, "hessp")["hessp"](x, x), optimize.rosen_hess_prod(x, x))


def test_what_is_captured_stays_out():
    """SciPy wants arrays, whatever else the function depends on."""
    w = pb.tensor(2.0, requires_grad=True)
    arguments = for_least_squares(lambda x: x * w - 1.0)
    assert type(arguments["fun"](np.ones(2))) is type(arguments["jac"](np.ones(2))) is np.ndarray
    assert type(for_minimize(lambda x: (x * w).sum())["fun"](np.ones(2))[1]) is np.ndarray
    np.testing.assert_allclose(optimize.least_squares(x0=np.ones(2), **arguments).x, 0.5)


def test_root_and_whole_numbers():
    found = optimize.root(x0=np.array([1, 1]), **for_root(lambda x: pb.stack([x[0] ** 2 - 4.0, x[0] * x[1] - 6.0])))
    np.testing.assert_allclose(found.x, [2.0, 3.0])


def test_further_arguments():
    t = np.linspace(0, 1, 8)
    arguments = for_least_squares(lambda x, t: x[0] * pb.exp(-x[1] * t))
    jac = arguments["jac"](np.array([2.0, 0.5]), t)
    np.testing.assert_allclose(jac, np.stack([np.exp(-0.5 * t), -2 * t * np.exp(-0.5 * t)], axis=1))


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_solve_ivp(method):
    arguments = for_solve_ivp(lambda t, y: pb.stack([y[1], -100.0 * y[1] - y[0]]))
    np.testing.assert_allclose(arguments["jac"](0.0, np.array([1.0, 2.0])), [[0.0, 1.0], [-1.0, -100.0]])
    found = integrate.solve_ivp(
        t_span=(0.0, 1.0), y0=np.array([1.0, 0.0]), method=method, rtol=1e-7, atol=1e-9, **arguments
    )
    assert found.success


def test_unknown():
    with pytest.raises(ValueError, match="knows no second='hesse'"):
        for_minimize(rosenbrock, "hesse")
