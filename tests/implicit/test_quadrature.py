"""quad and fixed_quad: Leibniz's rule to third order, infinite limits, structures, refusals."""

import numpy as np
import pytest
import scipy.special

import pullback as pb
import pullback.autograd.forward_ad as fw
from implicit_orders import check_orders
from pullback import implicit
from pullback.implicit import NotConverged


def damped(x, k):
    return pb.exp(-k[0] * x) * pb.sin(k[1] * x)


def test_to_third_order_in_limits_and_parameters():
    check_orders(lambda a, b, k: implicit.quad(damped, a, b, k), np.asarray(0.2), np.asarray(1.5), np.array([1.0, 2.0]))


def test_infinite_limits_to_second_order():
    def gauss(k):
        return implicit.quad(lambda x, k: pb.exp(-k * x * x), -np.inf, np.inf, k)

    k = 2.0
    assert gauss(k) == pytest.approx(np.sqrt(np.pi / k), rel=1e-10)
    assert pb.grad(gauss)(k) == pytest.approx(-np.sqrt(np.pi) / 2 * k**-1.5, rel=1e-9)
    assert pb.grad(pb.grad(gauss))(k) == pytest.approx(3 * np.sqrt(np.pi) / 4 * k**-2.5, rel=1e-8)
    b = pb.tensor(np.inf, requires_grad=True)
    with pytest.raises(pb.DerivativeRefused, match="with respect to its upper limit is refused: the limit is infinite"):
        implicit.quad(lambda x: pb.exp(-x), 0.0, b).backward()


def test_structures_and_complex_values():
    def both(k):
        found = implicit.quad(lambda x: {"a": pb.stack([k * x, k * k]), "b": pb.exp(1j * k * x)}, 0, 1.0)
        return found["a"], found["b"]

    _, b = both(2.0)
    assert b == pytest.approx((np.exp(2j) - 1) / 2j, abs=1e-12)
    check_orders(both, np.asarray(2.0), orders=2)


def test_captured_tensors_anywhere():
    left, right = pb.tensor(1.0, requires_grad=True), pb.tensor(1.0, requires_grad=True)
    y = implicit.quad(lambda x: x * left if x < 0.5 else x * right, 0.0, 1.0, points=[0.5])
    np.testing.assert_allclose([g.item() for g in pb.autograd.grad(y, [left, right])], [1 / 8, 3 / 8])


def test_singular_at_a_limit():
    assert implicit.quad(lambda x: x**-0.5, 0.0, 1.0) == pytest.approx(2.0, rel=1e-9)

    def fresnel(k):
        return implicit.quad(lambda x, k: pb.exp(-k * x) / pb.sqrt(x), 0.0, 1.0, k)

    # √(π/k) erf √k
    root = np.sqrt(2.0)
    slope = -np.sqrt(np.pi / 2) / 4 * scipy.special.erf(root) + np.exp(-2.0) / 2
    assert pb.grad(fresnel)(2.0) == pytest.approx(slope, rel=1e-8)


def test_a_moving_jump_is_a_limit():
    def area(c):  # 1 up to c, then 3
        return implicit.quad(lambda x: 1.0 + 0 * x, 0.0, c) + implicit.quad(lambda x: 3.0 + 0 * x, c, 1.0)

    assert pb.grad(area)(0.3) == pytest.approx(-2.0)


def test_forward_mode():
    with fw.dual_level():
        y = implicit.quad(lambda x, k: pb.exp(-k * x), 0.0, 1.0, fw.make_dual(pb.tensor(2.0), pb.tensor(1.0)))
        assert fw.unpack_dual(y).tangent.item() == pytest.approx((3 * np.exp(-2) - 1) / 4)
    assert pb.jvp(lambda b: implicit.quad(lambda x: x**2, 0.0, b), (2.0,), (1.0,))[1] == pytest.approx(4.0)


def test_what_comes_in_goes_out():
    assert type(implicit.quad(lambda x: x, 0, 1)) is np.float64
    np.testing.assert_allclose(implicit.quad(lambda x: np.array([1.0, 2.0]), 0, 2.0), [2.0, 4.0])
    b = pb.tensor(1.0, dtype=pb.float32, requires_grad=True)
    y = implicit.quad(lambda x: x, 0.0, b)
    assert pb.autograd.grad(y, b)[0].dtype == pb.float32
    assert implicit.quad(lambda x: x > 0.25, 0.0, 1.0, points=[0.25]) == pytest.approx(
        0.75
    )  # a truth value counts as 1
    assert implicit.quad(lambda x: x, 1.0, 1.0) == 0.0
    assert implicit.quad(lambda x: x, 1.0, 0.0) == pytest.approx(-0.5)


def test_refused():
    with pytest.raises(NotConverged, match="quad from 0 to 1 did not converge"):
        implicit.quad(lambda x: 1 / x, 0.0, 1.0, limit=50)
    with pytest.raises(ValueError, match="the limit b of quad must be one real number"):
        implicit.quad(lambda x: x, 0.0, np.ones(2))


@pytest.mark.parametrize("n", [1, 3, 7])
def test_fixed_quad(n):
    y = implicit.fixed_quad(lambda x: x ** (2 * n - 1), 0.0, 2.0, n=n)
    assert y == pytest.approx(2.0 ** (2 * n) / (2 * n))
    check_orders(
        lambda a, b, k: implicit.fixed_quad(lambda x, k: pb.stack([pb.exp(k * x), x * k]), a, b, k, n=n),
        np.asarray(0.2),
        np.asarray(1.5),
        np.asarray(1.0),
    )
