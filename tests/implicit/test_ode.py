"""solve_ivp: values, derivatives in start, times and parameters, to third order; what is captured, what is refused."""

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad as fw
from implicit_orders import check_orders
from pullback import implicit
from pullback.implicit import NotConverged

P, Y0 = np.array([0.7, 0.3]), np.array([1.0, 0.2])
TIGHT = {"rtol": 1e-11, "atol": 1e-13}


def oscillator(t, y, p):
    return pb.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0] + p[1] * pb.sin(t)])


def test_scalar_to_third_order_in_everything():
    def end(y0, k, t0, t1):
        return implicit.solve_ivp(lambda t, y, k: -k * y * t, (t0, t1), y0, k, **TIGHT).y[-1]

    check_orders(end, np.asarray(2.0), np.asarray(0.5), np.asarray(0.2), np.asarray(1.0))
    k, t1 = 0.5, 1.0
    exact = 2.0 * np.exp(-k * (t1**2 - 0.04) / 2)
    assert end(2.0, k, 0.2, t1) == pytest.approx(exact, rel=1e-11)
    assert pb.grad(end, 1)(2.0, k, 0.2, t1) == pytest.approx(-0.48 * exact, rel=1e-10)
    assert pb.grad(end, 3)(2.0, k, 0.2, t1) == pytest.approx(-k * t1 * exact, rel=1e-10)
    assert pb.grad(end, 2)(2.0, k, 0.2, t1) == pytest.approx(k * 0.2 * exact, rel=1e-10)


def test_system_to_second_order():
    check_orders(lambda p, y0: implicit.solve_ivp(oscillator, (0.0, 1.0), y0, p, **TIGHT).y[:, -1], P, Y0, orders=2)


def test_times_between():
    def states(p, times):
        return implicit.solve_ivp(oscillator, (0.0, 1.0), Y0, p, t_eval=times, **TIGHT).y

    times = np.array([0.0, 0.3, 1.0])
    from scipy.integrate import solve_ivp

    def bare(t, y):
        return np.array([y[1], P[0] * (1 - y[0] ** 2) * y[1] - y[0] + P[1] * np.sin(t)])

    expected = solve_ivp(bare, (0.0, 1.0), Y0, t_eval=times, rtol=1e-12, atol=1e-13).y
    np.testing.assert_allclose(states(P, times), expected, atol=1e-9)
    check_orders(lambda p, times: states(p, times), P, np.array([0.1, 0.3, 0.9]), orders=1)


def test_backwards_in_time_returns():
    end = implicit.solve_ivp(oscillator, (0.0, 1.0), Y0, P, **TIGHT).y[:, -1]
    start = implicit.solve_ivp(oscillator, (1.0, 0.0), end, P, **TIGHT).y[:, -1]
    np.testing.assert_allclose(start, Y0, atol=1e-9)
    check_orders(lambda y: implicit.solve_ivp(oscillator, (1.0, 0.0), y, P, **TIGHT).y, end, orders=1)


def test_structures_and_complex_states():
    def f(t, y, w):
        return {"z": 1j * w * y["z"], "x": [pb.real(y["z"]) - y["x"][0]]}

    def states(w, x):
        found = implicit.solve_ivp(f, (0.0, 1.0), {"z": 1 + 0j, "x": [x]}, w, **TIGHT).y
        return found["z"][-1], found["x"][0][-1]

    z, _ = states(2.0, 0.5)
    assert z == pytest.approx(np.exp(2j), abs=1e-10)
    check_orders(states, np.asarray(2.0), np.asarray(0.5), orders=2)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_methods(method):
    k = pb.tensor(1.5, requires_grad=True)
    y = implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), 1.0, k, method=method, rtol=1e-7, atol=1e-9).y[-1]
    (g,) = pb.autograd.grad(y, k)
    assert y.item() == pytest.approx(np.exp(-1.5), rel=1e-5)
    assert g.item() == pytest.approx(-np.exp(-1.5), rel=1e-5)


def test_stiff_equations_have_stable_derivatives():
    """Solved backwards, this y would grow by exp(1000)."""

    def end(k):
        return implicit.solve_ivp(
            lambda t, y, k: -k * (y - pb.cos(t)), (0.0, 1.0), 2.0, k, method="Radau", rtol=1e-9, atol=1e-11
        ).y[-1]

    k = 1000.0  # y(t) ≈ (k² cos t + k sin t) / (k² + 1)
    slope = ((2 * k * np.cos(1) + np.sin(1)) * (k**2 + 1) - (k**2 * np.cos(1) + k * np.sin(1)) * 2 * k) / (
        k**2 + 1
    ) ** 2
    assert pb.grad(end)(k) == pytest.approx(slope, rel=1e-4)


def test_captured_tensors_at_any_time():
    first, second = pb.tensor(0.3, requires_grad=True), pb.tensor(0.7, requires_grad=True)
    y = implicit.solve_ivp(lambda t, y: y * first if t < 0.5 else y * second, (0.0, 1.0), 1.0).y[-1]
    grads = pb.autograd.grad(y, [first, second])
    np.testing.assert_allclose([g.item() for g in grads], np.exp(0.5) / 2, rtol=1e-6)
    check_orders(
        lambda a: (lambda b: implicit.solve_ivp(lambda t, y: -b * y**2, (0.0, 1.0), 1.0, **TIGHT).y[-1])(a * 2),
        np.asarray(0.5),
        orders=2,
    )


def test_forward_mode_and_transforms():
    def end(k):
        return implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), np.array([1.0, 2.0]), k).y[:, -1]

    _, tangent = pb.jvp(end, (1.5,), (1.0,))
    np.testing.assert_allclose(tangent, -np.exp(-1.5) * np.array([1.0, 2.0]), rtol=1e-7)
    with fw.dual_level():
        y = end(fw.make_dual(pb.tensor(1.5), pb.tensor(1.0)))
        np.testing.assert_allclose(fw.unpack_dual(y).tangent.numpy(), tangent, rtol=1e-7)
    np.testing.assert_allclose(pb.hessian(lambda k: end(k).sum())(1.5), 3 * np.exp(-1.5), rtol=1e-7)


def test_single_precision_and_torch():
    import pullback.torch as torch

    k = torch.tensor(1.5, requires_grad=True)
    _, y = implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), torch.ones(2), k, rtol=1e-5, atol=1e-6)
    assert (type(y), y.dtype, tuple(y.shape)) == (torch.Tensor, torch.float32, (2, 2))
    y[:, -1].sum().backward()
    assert k.grad.item() == pytest.approx(-2 * np.exp(-1.5), rel=1e-4)


def test_what_comes_in_goes_out():
    t, y = implicit.solve_ivp(lambda t, y: -y, (0, 1), 1)
    assert type(t) is type(y) is np.ndarray
    np.testing.assert_allclose(t, [0.0, 1.0])
    np.testing.assert_allclose(y, [1.0, np.exp(-1)])


def test_refused():
    with pytest.raises(NotConverged, match=r"solve_ivp stopped at t = 1 on the way from 0 to 2"):
        implicit.solve_ivp(lambda t, y: y * y, (0.0, 2.0), 1.0)
    with pytest.raises(ValueError, match="does not go from 0 to 1 in one direction"):
        implicit.solve_ivp(lambda t, y: y, (0.0, 1.0), 1.0, t_eval=[0.5, 0.2])
    with pytest.raises(ValueError, match="returned shape \\(2,\\), expected \\(\\)"):
        implicit.solve_ivp(lambda t, y: pb.stack([y, y]), (0.0, 1.0), 1.0)
    w = pb.tensor(3.0, requires_grad=True)
    y = implicit.solve_ivp(lambda t, y: y * w, (0.0, 1.0), 1.0).y
    with pb.no_grad():
        w *= 2
    with pytest.raises(pb.DerivativeRefused, match="gives other values than when it was solved"):
        y.sum().backward()
    with fw.dual_level():
        a = fw.make_dual(pb.tensor(2.0), pb.tensor(1.0))
        with pytest.raises(RuntimeError, match="solve_ivp uses a Tensor with a tangent that is not an argument"):
            implicit.solve_ivp(lambda t, y: y * a, (0.0, 1.0), 1.0)


@pytest.mark.jax
def test_jax_agrees_on_a_hessian():
    """JAX, through the steps of its own Runge-Kutta solver."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.ode import odeint

    jax.config.update("jax_enable_x64", True)

    def f(y, t, p):
        return jnp.stack([y[1], p[0] * (1 - y[0] ** 2) * y[1] - y[0] + p[1] * jnp.sin(t)])

    def other(p):
        return odeint(f, jnp.asarray(Y0), jnp.array([0.0, 1.0]), p, rtol=1e-11, atol=1e-12)[-1].sum()

    own = pb.grad(lambda p: implicit.solve_ivp(oscillator, (0.0, 1.0), Y0, p, **TIGHT).y[:, -1].sum())
    np.testing.assert_allclose(own(P), jax.grad(other)(P), rtol=1e-7)
