"""Functions of matrices: identities, other libraries, special points.  The registry tests values and orders."""

import mpmath
import numpy as np
import pytest

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit

A = np.array([[0.3, -0.5, 0.2], [0.7, 0.1, -0.4], [0.0, 0.6, 0.8]])
P = A @ A.T + np.eye(3)


def test_inverse_functions():
    np.testing.assert_allclose(implicit.expm(implicit.logm(P)), P, atol=1e-13)
    np.testing.assert_allclose(implicit.sqrtm(P) @ implicit.sqrtm(P), P, atol=1e-13)
    np.testing.assert_allclose(implicit.fractional_matrix_power(P, 0.5), implicit.sqrtm(P), atol=1e-13)
    np.testing.assert_allclose(
        implicit.sinm(A) @ implicit.sinm(A) + implicit.cosm(A) @ implicit.cosm(A), np.eye(3), atol=1e-13
    )


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm", "sinm", "cosm"])
def test_values_in_higher_precision(name):
    expected = getattr(mpmath, name)(mpmath.matrix(P.tolist()))
    np.testing.assert_allclose(getattr(implicit, name)(P), np.array(expected.tolist(), dtype=complex).real, atol=1e-12)


def test_exponential_of_commuting_directions_is_elementary():
    t = pb.tensor(0.7, requires_grad=True)
    y = implicit.expm(t * pb.tensor(A)).sum()
    (first,) = pb.autograd.grad(y, t, create_graph=True)
    (second,) = pb.autograd.grad(first, t)
    whole = implicit.expm(0.7 * A)
    assert first.item() == pytest.approx((A @ whole).sum())
    assert second.item() == pytest.approx((A @ A @ whole).sum())


def test_the_power_in_its_exponent():
    check_orders(lambda a, p: implicit.fractional_matrix_power(a, p), P, np.asarray(0.7))
    check_orders(lambda a, p: implicit.fractional_matrix_power(a, p), P + 0.3j * A, np.asarray(-0.4), orders=2)


def test_defective_matrices_have_derivatives():
    jordan = np.array([[2.0, 1.0], [0.0, 2.0]])
    for f in (implicit.expm, implicit.logm, implicit.sqrtm):
        check_orders(f, jordan)


def test_real_matrices_stay_real_or_are_refused():
    rotation = np.array([[0.0, -1.0], [1.0, 0.0]])  # eigenvalues ±i: the logarithm is real
    np.testing.assert_allclose(implicit.logm(rotation), np.pi / 2 * rotation, atol=1e-14)
    for f in (implicit.logm, implicit.sqrtm, lambda x: implicit.fractional_matrix_power(x, 0.5)):
        with pytest.raises(np.linalg.LinAlgError, match="real matrix with an eigenvalue that is not positive"):
            f(np.diag([-1.0, 2.0]))
    np.testing.assert_allclose(implicit.sqrtm(np.diag([-1.0 + 0j, 4.0])), np.diag([1j, 2.0]), atol=1e-15)


def test_square_roots_of_singular_matrices():
    x = pb.tensor(np.diag([0.0, 4.0]), requires_grad=True)
    y = implicit.sqrtm(x)
    np.testing.assert_allclose(y.detach().numpy(), np.diag([0.0, 2.0]))
    with pytest.raises(pb.DerivativeRefused, match="derivative of sqrtm is refused: the matrix is singular"):
        y.sum().backward()
    with pytest.raises(np.linalg.LinAlgError, match="has no square root"):
        implicit.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))


def test_zero_cotangents_and_zero_matrices():
    x = pb.tensor(np.zeros((2, 2)), requires_grad=True)
    (g,) = pb.autograd.grad(implicit.expm(x).sum() * 0.0, x)
    np.testing.assert_array_equal(g.numpy(), np.zeros((2, 2)))
    (g,) = pb.autograd.grad(implicit.expm(x)[0, 1], x)
    np.testing.assert_allclose(g.numpy(), [[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_the_size_of_the_cotangent_costs_no_digits(size):
    """The larger matrix holds the cotangent; a method that looks at its norm must not be led astray."""
    for f in (implicit.expm, implicit.logm, implicit.sinm):
        x = pb.tensor(P, requires_grad=True)
        (expected,) = pb.autograd.grad(f(x).sum(), x)
        (found,) = pb.autograd.grad(f(x).sum() * size, x)
        np.testing.assert_allclose(found.numpy() / size, expected.numpy(), rtol=1e-12)
    x = pb.tensor(np.zeros((2, 2)), requires_grad=True)
    (found,) = pb.autograd.grad(implicit.expm(x).sum() * size, x)
    np.testing.assert_allclose(found.numpy() / size, 1.0, rtol=1e-12)


def test_equations_without_solution():
    with pytest.raises(np.linalg.LinAlgError, match="solve_sylvester has no unique solution"):
        implicit.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="solve_discrete_lyapunov has no unique solution"):
        implicit.solve_discrete_lyapunov(np.diag([2.0, 0.5]), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="expected square matrices"):
        implicit.expm(np.ones((2, 3)))
    with pytest.raises(ValueError, match="one real exponent"):
        implicit.fractional_matrix_power(P, np.ones(2))


def test_single_precision():
    x = pb.tensor(P, dtype=pb.float32, requires_grad=True)
    for f in (implicit.expm, implicit.logm, implicit.sqrtm, implicit.sinm):
        y = f(x)
        assert (y.dtype, pb.autograd.grad(y.sum(), x)[0].dtype) == (pb.float32, pb.float32)


@pytest.mark.torch
def test_torch_agrees_on_the_exponential():
    import torch

    x, z = pb.tensor(A, requires_grad=True), torch.tensor(A, requires_grad=True)
    (g,) = pb.autograd.grad((implicit.expm(x) ** 2).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((torch.linalg.matrix_exp(z) ** 2).sum(), z, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), h.detach().numpy(), rtol=1e-11)
    np.testing.assert_allclose(
        pb.autograd.grad((g**2).sum(), x)[0].numpy(), torch.autograd.grad((h**2).sum(), z)[0].numpy(), rtol=1e-10
    )


@pytest.mark.jax
def test_jax_agrees_on_expm_and_sqrtm():
    import jax
    import jax.scipy.linalg as linalg

    jax.config.update("jax_enable_x64", True)
    for own, other in ((implicit.expm, linalg.expm), (implicit.sqrtm, lambda x: linalg.sqrtm(x).real)):
        expected = jax.jacobian(other)(P) if own is implicit.expm else None
        if expected is not None:
            np.testing.assert_allclose(pb.jacobian(own)(P), expected, atol=1e-11)
        np.testing.assert_allclose(own(P), other(P), atol=1e-12)
