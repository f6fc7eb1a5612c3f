"""The generalised eigenvalue problem, and projections onto invariant subspaces where eigenvalues coincide."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit

A = np.array([[2.0, 0.5, -0.3], [0.5, 3.0, 0.4], [-0.3, 0.4, 5.0]])
B = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])


def _pairs(a, b):
    w, v = implicit.eigh((a + pb.conj(a).T) / 2, (b + pb.conj(b).T) / 2)
    return w, [v[:, k : k + 1] @ pb.conj(v[:, k : k + 1]).T for k in range(3)]


@pytest.mark.parametrize("factor", [0.0, 1j])
def test_generalised_problem_to_third_order(factor):
    skew = np.array([[0.0, 0.2, -0.1], [-0.2, 0.0, 0.3], [0.1, -0.3, 0.0]]) * factor
    a = A + skew
    w, v = implicit.eigh(a, B)
    np.testing.assert_allclose(w, scipy.linalg.eigh(a, B, eigvals_only=True))
    np.testing.assert_allclose(v.conj().T @ B @ v, np.eye(3), atol=1e-14)
    check_orders(_pairs, a, B, tolerance=1e-6)


def test_without_the_second_matrix_it_is_the_standard_problem():
    np.testing.assert_array_equal(implicit.eigh(A).eigenvalues, pb.linalg.eigh(A).eigenvalues)


def test_refused():
    with pytest.raises(np.linalg.LinAlgError, match="cholesky"):
        implicit.eigh(A, -B)
    x = pb.tensor(np.eye(3), requires_grad=True)
    with pytest.raises(pb.DerivativeRefused):
        implicit.eigh(x, np.eye(3)).eigenvectors[0, 1].backward()


def test_projection_onto_a_subspace_of_equal_eigenvalues():
    """``(I + signm(A - c I)) / 2`` has a derivative where that of the eigenvectors is refused."""
    rotation, _ = np.linalg.qr(np.arange(16.0).reshape(4, 4) ** 0.7 + np.eye(4))
    a = rotation @ np.diag([1.0, 1.0, 3.0, 3.0]) @ rotation.T
    eye = np.eye(4)
    projection = rotation[:, 2:] @ rotation[:, 2:].T
    np.testing.assert_allclose((eye + implicit.signm(a - 2 * eye)) / 2, projection, atol=1e-14)
    check_orders(lambda a: (eye + implicit.signm(a - 2 * eye)) / 2, a)
    with pytest.raises(np.linalg.LinAlgError, match="imaginary axis"):
        implicit.signm(a - eye)
