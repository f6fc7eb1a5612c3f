"""Curves through points: SciPy's values, derivatives in places, points and values to third order."""

import numpy as np
import pytest
from scipy import interpolate

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit

X = np.array([0.0, 0.7, 1.5, 2.1, 3.3, 4.0])
Y = np.array([0.3, 1.0, 0.2, -0.5, 0.9, 1.4])
Q = np.array([-0.3, 0.1, 0.75, 1.9, 2.05, 3.0, 3.9, 4.3])
ENDS = ["not-a-knot", "natural", "clamped", ((1, 0.5), (2, -1.0)), ("clamped", "natural"), ("not-a-knot", (1, 0.3))]


@pytest.mark.parametrize("bc_type", ENDS, ids=str)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_cubic_spline_is_that_of_scipy(n, bc_type):
    own, other = implicit.CubicSpline(X[:n], Y[:n], bc_type), interpolate.CubicSpline(X[:n], Y[:n], bc_type=bc_type)
    for nu in range(5):
        np.testing.assert_allclose(own(Q, nu), other(Q, nu), atol=1e-12)


def test_periodic_spline():
    y = np.append(Y[:-1], Y[0])
    own, other = implicit.CubicSpline(X, y, "periodic"), interpolate.CubicSpline(X, y, bc_type="periodic")
    np.testing.assert_allclose(own(Q[1:-1]), other(Q[1:-1]), atol=1e-13)
    with pytest.raises(ValueError, match="needs equal first and last values"):
        implicit.CubicSpline(X, Y, "periodic")
    free = pb.tensor(Y[:-1], requires_grad=True)
    assert pb.gradcheck(lambda f: implicit.CubicSpline(X, pb.concat([f, f[:1]]), "periodic")(Q), (free,))


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("name", ["PchipInterpolator", "Akima1DInterpolator"])
def test_other_curves_are_those_of_scipy(name, n):
    for y in (Y, np.array([0.0, 1.0, 1.0, 2.0, 2.0, 0.0]), np.arange(6.0)):
        other = getattr(interpolate, name)(X[:n], y[:n], extrapolate=True)
        np.testing.assert_allclose(getattr(implicit, name)(X[:n], y[:n])(Q), other(Q), atol=1e-12)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_to_third_order_in_everything(name):
    check_orders(lambda x, y, q: getattr(implicit, name)(x, y)(q), X, Y, Q)


def test_ends_are_parameters():
    check_orders(
        lambda y, v, w: implicit.CubicSpline(X, y, ((1, v), (2, w)))(Q), Y, np.asarray(0.3), np.asarray(-0.4), orders=2
    )


def test_shapes(rng):
    y = rng.normal(size=(6, 2, 3))
    found = implicit.CubicSpline(X, y * (1 + 1j))(Q.reshape(2, 4))
    np.testing.assert_allclose(found, interpolate.CubicSpline(X, y * (1 + 1j))(Q.reshape(2, 4)))
    check_orders(lambda y: implicit.Akima1DInterpolator(X, y)(Q.reshape(2, 4)), Y[:, None] + 0.1 * y[:, 0], orders=1)
    assert implicit.CubicSpline(X, Y)(0.5).shape == ()


def test_its_own_derivative_is_that_of_autograd():
    for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
        curve = getattr(implicit, name)(X, Y)
        q = pb.tensor(Q, requires_grad=True)
        value = curve(q)
        for nu in (1, 2, 3):
            (value,) = pb.autograd.grad(value.sum(), q, create_graph=True)
            np.testing.assert_allclose(value.detach().numpy(), curve(Q, nu), atol=1e-10)


def test_level_chords_of_pchip_have_slope_zero():
    y = pb.tensor([0.0, 1.0, 1.0, 2.0, 2.0, 0.0], requires_grad=True)
    curve = implicit.PchipInterpolator(X, y)
    np.testing.assert_array_equal(curve.slopes.detach().numpy()[1:3], 0)
    (g,) = pb.autograd.grad(curve(Q).sum(), y)
    assert np.all(np.isfinite(g.numpy()))


def test_single_precision_and_torch():
    import pullback.torch as torch

    y = torch.tensor(Y, dtype=torch.float32, requires_grad=True)
    found = implicit.CubicSpline(torch.tensor(X, dtype=torch.float32), y)(torch.tensor(Q, dtype=torch.float32))
    assert (type(found), found.dtype) == (torch.Tensor, torch.float32)
    found.sum().backward()
    assert y.grad.dtype == torch.float32


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 1.0], [0, 0], "places of CubicSpline do not increase"),
        ([1.0, 2.0], [0, 0, 0], "got 2 places and values of shape"),
        ([1.0], [1.0], "at least two real places"),
    ],
)
def test_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        implicit.CubicSpline(x, y)


def test_kinds_that_are_refused():
    with pytest.raises(ValueError, match="knows no condition 'weird'"):
        implicit.CubicSpline(X, Y, "weird")
    with pytest.raises(ValueError, match="needs real values"):
        implicit.PchipInterpolator(X, Y * 1j)
