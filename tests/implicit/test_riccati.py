"""Riccati's equations: SciPy's values, three orders of derivatives, refusals."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit

A = np.array([[0.2, 1.0, 0.0], [-0.4, 0.1, 0.5], [0.3, 0.0, -0.6]])
B = np.array([[0.0, 0.3], [1.0, 0.0], [0.2, 0.8]])
Q = np.array([[2.0, 0.1, 0.0], [0.1, 1.0, 0.2], [0.0, 0.2, 1.5]])
R = np.array([[1.0, 0.2], [0.2, 2.0]])


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
@pytest.mark.parametrize("factor", [0.0, 0.3j])
def test_to_third_order(name, factor):
    a = A + factor * np.eye(3)[::-1]
    f = getattr(implicit, name)
    np.testing.assert_allclose(f(a, B, Q, R), getattr(scipy.linalg, name)(a, B, Q, R), atol=1e-12)

    def symmetric(a, b, q, r):
        return f(a, b, (q + pb.conj(q).T) / 2, (r + pb.conj(r).T) / 2)

    check_orders(symmetric, a, B, Q, R, tolerance=1e-6, orders=3 if not factor else 2)


def test_gain_of_a_regulator_in_its_cost():
    """One state: 2 a x - x² b² / r + q = 0."""

    def x(q):
        return implicit.solve_continuous_are(np.array([[1.0]]), np.array([[1.0]]), q.reshape(1, 1), np.array([[1.0]]))[
            0, 0
        ]

    assert x(np.asarray(3.0)) == pytest.approx(3.0)
    assert pb.grad(x)(np.asarray(3.0)) == pytest.approx(1 / 4)  # x = 1 + sqrt(1 + q)
    assert pb.grad(pb.grad(x))(np.asarray(3.0)) == pytest.approx(-1 / 32)


def test_mapped_torch_and_single_precision():
    import pullback.torch as torch

    stack = np.stack([Q, 2 * Q])
    found = pb.vmap(lambda q: implicit.solve_discrete_are(A, B, q, R))(stack)
    np.testing.assert_allclose(found, [scipy.linalg.solve_discrete_are(A, B, q, R) for q in stack])
    q = torch.tensor(Q, dtype=torch.float32, requires_grad=True)
    x = implicit.solve_continuous_are(
        *[torch.tensor(m, dtype=torch.float32) for m in (A, B)], q, torch.tensor(R).float()
    )
    assert (type(x), x.dtype) == (torch.Tensor, torch.float32)
    x.sum().backward()
    assert q.grad.dtype == torch.float32


def test_refused():
    with pytest.raises(np.linalg.LinAlgError, match="solve_continuous_are of shapes"):
        implicit.solve_continuous_are(np.eye(2), np.zeros((2, 1)), np.eye(2), np.eye(1))
    with pytest.raises(np.linalg.LinAlgError, match="expected square matrices"):
        implicit.solve_discrete_are(np.ones((2, 3)), np.ones((2, 1)), np.eye(2), np.eye(1))
