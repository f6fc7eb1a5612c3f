"""minimize and least_squares: free, bounded, constrained; values, three orders, refusals."""

import numpy as np
import pytest

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit
from pullback.implicit import NotConverged

P = np.array([1.0, 10.0])
Q = np.array([1.0, 0.5])


def valley(y, p):
    return (p[0] - y[0]) ** 2 + p[1] * (y[1] - y[0] ** 2) ** 2 + 0.1 * (y**4).sum()


@pytest.mark.parametrize(
    "method", [None, "CG", "Newton-CG", "L-BFGS-B", "trust-exact", "trust-ncg", "Nelder-Mead", "SLSQP"]
)
def test_every_method_finds_the_same_minimum_to_the_last_digits(method):
    x, value = implicit.minimize(valley, np.zeros(2), pb.tensor(P), method=method)
    slope = pb.grad(valley)(x.numpy(), pb.tensor(P))
    np.testing.assert_allclose(np.asarray(slope), 0, atol=1e-13)
    assert value.item() == valley(x, pb.tensor(P)).item()


@pytest.mark.parametrize("linear", ["dense", "cg"])
def test_minimum_to_third_order(linear):
    check_orders(lambda p: implicit.minimize(valley, np.zeros(2), p, linear=linear), P)


def test_closed_form_and_the_envelope():
    a = pb.tensor(2.0, requires_grad=True)
    x, value = implicit.minimize(lambda y, a: (y - a) ** 2 + y**2, 0.0, a)  # y = a/2, value a²/2
    (first,) = pb.autograd.grad(value, a, create_graph=True)
    assert (x.item(), value.item(), first.item()) == (1.0, 2.0, 2.0)
    assert pb.autograd.grad(first, a)[0].item() == pytest.approx(1.0)


def test_captured_tensors():
    check_orders(lambda p: implicit.minimize(lambda y: valley(y, p * 1.0), np.zeros(2)), P, orders=2)


def test_constraint_to_third_order():
    def solve(q):
        return implicit.minimize(
            lambda y, q: (y**2).sum() + q[1] * y[0], np.ones(2), q, constraint=lambda y, q: y[0] ** 2 + y[1] - q[0]
        )

    q = np.array([0.3, 0.5])
    x = solve(q).x
    assert x[0] ** 2 + x[1] == pytest.approx(q[0], abs=1e-14)
    check_orders(solve, q)


def test_constraint_of_two_arrays_and_a_structure():
    def f(y, q):
        return (y["u"] ** 2).sum() + y["v"] ** 4 + y["v"]

    def constraint(y, q):
        return [y["u"][0] - q[0] * y["v"], pb.stack([y["u"][1] + y["u"][2] - q[1]])]

    def solve(q):
        return implicit.minimize(f, {"u": np.ones(3), "v": 0.1}, q, constraint=constraint).x

    assert set(solve(Q)) == {"u", "v"}
    check_orders(solve, Q, orders=2)


def test_active_bounds_move_the_minimum():
    def solve(q, b):
        return implicit.minimize(
            lambda y, q: ((y - q) ** 2).sum() + y[0] * y[1], np.zeros(2), q, bounds=(None, pb.stack([b, b * 10]))
        )

    x = solve(pb.tensor(Q), pb.tensor(0.5)).x
    np.testing.assert_allclose(x.numpy(), [0.5, 0.25], rtol=1e-14)
    check_orders(solve, Q, np.asarray(0.5))


def test_bounds_and_constraint_together():
    def solve(q):
        return implicit.minimize(
            lambda y, q: ((y - q[0]) ** 2).sum(),
            np.zeros(3),
            q,
            bounds=(None, 0.3),
            constraint=lambda y, q: y[0] - y[1] * q[1],
        )

    np.testing.assert_allclose(solve(Q).x, [0.15, 0.3, 0.3], atol=1e-14)
    check_orders(solve, Q, orders=2)


def test_bounds_that_do_not_matter():
    free = implicit.minimize(valley, np.zeros(2), P).x
    np.testing.assert_allclose(implicit.minimize(valley, np.zeros(2), P, bounds=(-5.0, 5.0)).x, free, rtol=1e-12)


def test_a_bound_at_the_free_minimum_is_a_kink():
    a = pb.tensor(1.0, requires_grad=True)
    x, _ = implicit.minimize(lambda y, a: (y - a) ** 2, 0.0, a, bounds=(None, 1.0))
    assert x.item() == 1.0
    with pytest.raises(pb.DerivativeRefused, match="a bound is just about to become active"):
        x.backward()


def test_flat_minimum_has_no_derivative():
    a = pb.tensor(1.0, requires_grad=True)
    x, _ = implicit.minimize(lambda y, a: (y[0] - a) ** 2, np.ones(2), a)
    with pytest.raises(pb.DerivativeRefused, match="Jacobian of its equation is singular"):
        x.sum().backward()


def test_a_valley_without_a_lowest_point_has_a_value_all_the_same():
    x, value = implicit.minimize(lambda y, a: (y[0] + 2 * y[1] - a) ** 2 + 1.0, np.zeros(2), 3.0)
    assert value == pytest.approx(1.0, abs=1e-12)
    assert x[0] + 2 * x[1] == pytest.approx(3.0, abs=1e-6)


def test_least_squares_to_third_order():
    t = np.linspace(0, 1, 6)
    data = np.exp(-1.3 * t) * 2 + 0.05 * np.cos(9 * t)

    def fit(d):
        return implicit.least_squares(lambda y, d: y["a"] * pb.exp(-y["k"] * t) - d, {"a": 1.0, "k": 1.0}, d)

    check_orders(fit, data)


def test_least_squares_of_a_line_is_linear_algebra():
    t, d = np.arange(4.0), np.array([1.0, 3.0, 2.0, 5.0])
    x, value = implicit.least_squares(lambda y, d: y[0] + y[1] * t - d, [0.0, 0.0], d)
    matrix = np.stack([np.ones(4), t], axis=1)
    expected, squares = np.linalg.lstsq(matrix, d)[:2]
    np.testing.assert_allclose(x, expected)
    assert value == pytest.approx(squares[0] / 2)
    jacobian = pb.jacobian(lambda d: implicit.least_squares(lambda y, d: y[0] + y[1] * t - d, [0.0, 0.0], d).x)(d)
    np.testing.assert_allclose(jacobian, np.linalg.pinv(matrix), atol=1e-14)


def test_least_squares_within_bounds():
    check_orders(
        lambda d: (
            implicit.least_squares(lambda y, d: y * np.array([1.0, 2.0]) - d, np.zeros(2), d, bounds=(0.0, 1.0)).x
        ),
        np.array([0.5, 5.0]),
        orders=2,
    )


def test_errors():
    with pytest.raises(NotConverged, match="minimize did not converge"):
        implicit.minimize(lambda y: -(y**2), 1.0)
    with pytest.raises(ValueError, match=r"must return one real number, but returned shape \(3,\)"):
        implicit.minimize(lambda y: y, np.zeros(3))
    with pytest.raises(ValueError, match="must return real numbers, but returned complex ones"):
        implicit.minimize(lambda y: y * 1j, 1.0)
    with pytest.raises(ValueError, match="complex numbers have no order"):
        implicit.minimize(lambda y: pb.abs(y), 1j, bounds=(0.0, 1.0))
    with pytest.raises(ValueError, match="with 2 arrays for 1 arrays of unknowns"):
        implicit.minimize(lambda y: y**2, 1.0, bounds=((0.0, 1.0), None))


def test_complex_unknowns():
    check_orders(
        lambda z: implicit.minimize(lambda y, z: pb.abs(y - z) ** 2 + pb.real(y) ** 4, 0j, z), np.asarray(1 + 2j)
    )


@pytest.mark.jax
def test_jax_agrees_on_a_hessian():
    """The minimiser by Newton's steps in JAX, differentiated through them."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def f(y, p):
        return (p[0] - y[0]) ** 2 + p[1] * (y[1] - y[0] ** 2) ** 2 + 0.1 * (y**4).sum()

    def solve(p):
        y = jnp.array([0.8, 0.6])
        for _ in range(10):
            y = y - jnp.linalg.solve(jax.hessian(f)(y, p), jax.grad(f)(y, p))
        return y.sum()

    own = pb.hessian(lambda p: implicit.minimize(valley, np.zeros(2), p).x.sum())(P)
    np.testing.assert_allclose(own, jax.hessian(solve)(P), rtol=1e-9)
