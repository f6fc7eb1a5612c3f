"""solve_linear, lstsq, solve_sparse, sparse_product, eigsh."""

import numpy as np
import pytest
from scipy import sparse

import pullback as pb
from implicit_orders import check_orders
from pullback import implicit
from pullback.implicit import NotConverged

D, B = np.array([4.0, 5.0, 3.5, 4.5, 6.0]), np.array([1.0, -2.0, 0.5, 3.0, -1.0])


def laplace(x, d):
    return d * x - pb.roll(x, 1) * 0.5 - pb.roll(x, -1) * 0.5


def shift(x, d):
    return d * x - pb.roll(x, 1) * 0.7


@pytest.mark.parametrize("solver", ["cg", "gmres", "minres", "dense"])
def test_solve_linear_to_third_order(solver):
    check_orders(lambda b, d: implicit.solve_linear(laplace, b, d, solver=solver), B, D)


@pytest.mark.parametrize("solver", ["gmres", "lgmres", "dense"])
def test_solve_linear_without_symmetry(solver):
    check_orders(lambda b, d: implicit.solve_linear(shift, b, d, solver=solver), B, D, orders=2)
    check_orders(lambda b, d: implicit.solve_linear(shift, b, d, solver=solver), B * (1 + 1j), D - 0.5j, orders=2)


def test_solve_linear_of_structures_and_captured_tensors():
    def solve(b, d):
        found = implicit.solve_linear(
            lambda x: {"u": d * x["u"] + x["v"], "v": 3 * x["v"] - x["u"].sum()}, {"u": b, "v": 1.0}
        )
        return found["u"] * found["v"]

    check_orders(solve, B, D, orders=2)


def test_preconditioner_and_iterations():
    d = np.logspace(0, 8, 40)
    jacobi = np.diag(1 / d)
    x = implicit.solve_linear(
        lambda x, d: d * x, pb.tensor(np.ones(40)), pb.tensor(d, requires_grad=True), solver="cg", M=jacobi
    )
    x.sum().backward()
    np.testing.assert_allclose(x.detach().numpy(), 1 / d, rtol=1e-12)
    with pytest.raises(NotConverged, match="cg did not converge: residual"):
        implicit.solve_linear(lambda x, d: d * x, np.ones(40), d, solver="cg", maxiter=5)
    with pytest.raises(NotConverged, match="cg did not converge"):
        implicit.solve_linear(shift, B, D / 4, solver="cg")


@pytest.mark.parametrize("f", [lambda x: x * x + x, lambda x: x + 1, pb.abs])
def test_what_is_not_linear_is_refused(f):
    with pytest.raises(ValueError, match="matvec is not linear"):
        implicit.solve_linear(f, B)


def test_unknown_solver():
    with pytest.raises(ValueError, match="knows no solver 'lu'"):
        implicit.solve_linear(laplace, B, D, solver="lu")


# ----------------------------------------------------------------------------------------------------------------- lstsq
@pytest.mark.parametrize(
    ("a", "b"), [((4, 2), (4,)), ((2, 4), (2,)), ((3, 3), (3, 2)), ((3, 4, 2), (3, 4, 2)), ((2, 2, 3), (2, 1))]
)
@pytest.mark.parametrize("factor", [1.0, 1 + 0.5j])
def test_lstsq(a, b, factor, rng):
    a, b = rng.normal(size=a) * factor, rng.normal(size=b)
    if a.ndim == 2:
        np.testing.assert_allclose(implicit.lstsq(a, b), np.linalg.lstsq(a, b)[0], atol=1e-14)
    check_orders(implicit.lstsq, a, b, tolerance=1e-6)


def test_lstsq_refuses_what_jumps():
    with pytest.raises(np.linalg.LinAlgError, match="has not full rank"):
        implicit.lstsq(np.ones((3, 2)), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError, match="matrix \\(1,\\) of the stack"):
        implicit.lstsq(np.stack([np.eye(2), np.zeros((2, 2))]), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="expected"):
        implicit.lstsq(np.eye(3), np.ones(2))
    a = np.diag([1.0, 1e-6])
    with pytest.raises(np.linalg.LinAlgError, match="full rank"):
        implicit.lstsq(a, np.ones(2), rcond=1e-3)


# ---------------------------------------------------------------------------------------------------------------- sparse
A = sparse.csr_array(np.array([[3.0, 0, 0.5, 0], [0, 2.5, 0, -1.0], [0.7, 0, 4.0, 0], [0, 0.3, -0.2, 2.0]]))


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
@pytest.mark.parametrize("factors", [(1.0, 1.0), (1 + 0.5j, 1.0), (1.0, 1j), (1 - 1j, 1 + 2j)])
def test_solve_sparse_to_third_order(shape, factors, rng):
    values, b = A.data * factors[0], rng.normal(size=shape) * factors[1]
    x = implicit.solve_sparse(values, A, b)
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray() * factors[0], b), atol=1e-14)
    check_orders(lambda v, b: implicit.solve_sparse(v, A, b), values, b)
    check_orders(lambda v, b: implicit.sparse_product(v, A, b), values, b)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_patterns(kind):
    matrix = kind(A)
    expected = np.linalg.solve(A.toarray(), np.ones(4))
    np.testing.assert_allclose(implicit.solve_sparse(matrix.data, matrix, np.ones(4)), expected)
    coo = matrix.tocoo()
    np.testing.assert_allclose(implicit.solve_sparse(coo.data, (coo.row, coo.col), np.ones(4)), expected)


def test_entries_at_one_place_are_added_and_the_matrix_need_not_be_square():
    pattern = implicit.Pattern([0, 0, 1], [0, 0, 2], (2, 3))
    values = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(implicit.sparse_product(values, pattern, np.ones(3)), [3.0, 4.0])
    check_orders(lambda v, x: implicit.sparse_product(v, pattern, x), values, np.array([1.0, 2.0, 3.0]), orders=2)


def test_one_factorisation_serves_all_orders(monkeypatch):
    import scipy.sparse.linalg as linalg

    calls = []
    splu = linalg.splu
    monkeypatch.setattr(linalg, "splu", lambda *args: calls.append(1) or splu(*args))
    v = pb.tensor(A.data, requires_grad=True)
    (g,) = pb.autograd.grad((implicit.solve_sparse(v, A, B[:4]) ** 2).sum(), v, create_graph=True)
    (h,) = pb.autograd.grad(g.sum(), v, create_graph=True)
    h.sum().backward()
    assert len(calls) == 1


def test_sparse_agrees_with_dense_on_a_large_grid():
    n = 2000
    laplacian = sparse.diags_array([-np.ones(n - 1), 2.1 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    v, b = pb.tensor(laplacian.data, requires_grad=True), pb.tensor(np.ones(n), requires_grad=True)
    x = implicit.solve_sparse(v, laplacian, b)
    x.sum().backward()
    coo = laplacian.tocoo()
    adjoint = sparse.linalg.spsolve(laplacian.T.tocsc(), np.ones(n))
    np.testing.assert_allclose(b.grad.numpy(), adjoint)
    np.testing.assert_allclose(v.grad.numpy(), -adjoint[coo.row] * x.detach().numpy()[coo.col])


def test_sparse_single_precision_and_torch():
    import pullback.torch as torch

    v = torch.tensor(A.data, dtype=torch.float32, requires_grad=True)
    x = implicit.solve_sparse(v, A, torch.ones(4))
    assert (type(x), x.dtype) == (torch.Tensor, torch.float32)
    x.sum().backward()
    assert (type(v.grad), v.grad.dtype) == (torch.Tensor, torch.float32)


def test_sparse_errors():
    with pytest.raises(np.linalg.LinAlgError, match="sparse matrix of shape \\(2, 2\\) is singular"):
        implicit.solve_sparse(np.zeros(2), ([0, 1], [0, 1]), np.ones(2))
    with pytest.raises(ValueError, match="values of shape \\(3,\\) for a pattern of 2 rows"):
        implicit.solve_sparse(np.ones(3), ([0, 1], [0, 1]), np.ones(2))
    with pytest.raises(ValueError, match="right-hand side of shape \\(3,\\)"):
        implicit.solve_sparse(np.ones(2), ([0, 1], [0, 1]), np.ones(3))
    with pytest.raises(ValueError, match="with an array of shape \\(3,\\)"):
        implicit.sparse_product(np.ones(2), ([0, 1], [0, 1]), np.ones(3))


# ----------------------------------------------------------------------------------------------------------------- eigsh
def _symmetric(n=7):
    dense = (
        np.diag(np.arange(1.0, n + 1))
        + np.diag(0.4 + 0.1 * np.arange(n - 1), 1)
        + np.diag(0.4 + 0.1 * np.arange(n - 1), -1)
    )
    matrix = sparse.csr_array(dense)
    twins = (
        sparse.csr_array((np.arange(matrix.nnz) + 1, matrix.indices, matrix.indptr), shape=matrix.shape).T.tocsr().data
        - 1
    )
    return matrix, twins


def test_eigsh_to_third_order():
    matrix, twins = _symmetric()

    def solve(values):
        w, v = implicit.eigsh((values + values[twins]) / 2, matrix, k=2, which="SA")
        return w, v[:, 0] * v[0, 0], v[:, 1] * v[0, 1]

    np.testing.assert_allclose(solve(matrix.data)[0], np.linalg.eigvalsh(matrix.toarray())[:2])
    check_orders(solve, matrix.data)


def test_eigsh_agrees_with_eigh():
    matrix, _ = _symmetric()
    coo = matrix.tocoo()
    values = pb.tensor(matrix.data, requires_grad=True)
    dense = pb.tensor(matrix.toarray(), requires_grad=True)
    implicit.eigsh(values, matrix, k=1, which="LA").eigenvalues.sum().backward()
    pb.linalg.eigvalsh(dense)[-1].backward()
    np.testing.assert_allclose(values.grad.numpy(), dense.grad.numpy()[coo.row, coo.col], atol=1e-12)


def test_eigsh_refuses():
    diagonal = (list(range(4)), list(range(4)))
    values = pb.tensor([1.0, 1.0, 2.0, 3.0], requires_grad=True)
    w, _ = implicit.eigsh(values, diagonal, k=1, which="SA")
    with pytest.raises(pb.DerivativeRefused, match="the eigenvalue coincides with another"):
        w.sum().backward()
    rotation, _ = np.linalg.qr(np.arange(16.0).reshape(4, 4) ** 0.7 + np.eye(4))
    matrix = sparse.csr_array(rotation @ np.diag([1.0, 1.0, 2.0, 3.0]) @ rotation.T)  # equal but for rounding
    matrix = (matrix + matrix.T).tocsr() / 2
    w, _ = implicit.eigsh(pb.tensor(matrix.data, requires_grad=True), matrix, k=1, which="SA")
    with pytest.raises(pb.DerivativeRefused, match="the eigenvalue coincides with another"):
        w.sum().backward()
    with pytest.raises(ValueError, match="needs a real symmetric matrix"):
        implicit.eigsh(np.array([1.0, 2.0, 3.0]), ([0, 1, 0], [0, 1, 1]), k=1)
