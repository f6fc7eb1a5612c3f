"""Dense linear algebra: closed forms, points where a derivative needs a rule or is refused, what only one triangle gives.

Values and derivatives of three orders on ordinary matrices are in ``test_every_op.py``.
"""

import inspect
import itertools
import sys
import threading

import array_api_strict
import numpy as np
import pytest

import pullback as pb
from numeric import directions_like, inner, slope
from pullback.core.errors import DerivativeRefused
from pullback.ops.solving import solve_triangular
from pullback.transforms import grad, hessian, jacobian, vjp

linalg = pb.linalg


def numbers(*shape, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if dtype is complex else x


def regular(n, seed=0, dtype=float):
    return numbers(n, n, seed=seed, dtype=dtype) + np.diag(2.0 * np.arange(1, n + 1))


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def with_spectrum(values, n=None, seed=3, dtype=float):
    """A Hermitian matrix with these eigenvalues; or one with n columns and the first n of these singular values."""
    q = np.linalg.qr(numbers(len(values), len(values), seed=seed, dtype=dtype)).Q
    if n is None:
        return hermitian(q @ np.diag(values) @ adjoint(q))
    p = np.linalg.qr(numbers(n, n, seed=seed + 1, dtype=dtype)).Q
    return q[:, :n] @ np.diag(values[:n]) @ p


def shaped(kind, stack=(), dtype=float):
    """A matrix of a kind, its eigenvalues or singular values far from each other."""
    shape = {"tall": (4, 3), "wide": (2, 4)}.get(kind, (3, 3))
    x = numbers(*stack, *shape, dtype=dtype) + np.eye(*shape) * np.arange(2, 2 * shape[1] + 1, 2)
    return hermitian(x) if kind in ("hermitian", "positive") else x


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def bare(x):
    return np.asarray(x.detach()._array)


def sensitivities(f, x, order, seed=1):
    """Gradients of f, of a random contraction of its gradient, and so on."""
    x = leaf(x)
    y, found = f(x), []
    for k in range(order):
        (g,) = pb.autograd.grad(y, x, create_graph=True, materialize_grads=True)
        found.append(bare(g))
        y = pb.sum(pb.real(g * numbers(*x.shape, seed=seed + k)))
    return found


def check_slope(f, x, direction, tolerance=1e-8):
    """The gradient of a scalar function, in a direction, is that of difference quotients."""
    (g,) = sensitivities(f, x, 1)
    expected = slope(lambda t: float(np.asarray(f(x + t * direction))))
    np.testing.assert_allclose(inner([g], [direction]), expected, rtol=tolerance, atol=tolerance)


def refused(f, x, *words):
    """`f` has a value at x, but its derivative is refused with these words."""
    y = f(leaf(x))
    with pytest.raises(DerivativeRefused) as caught:
        pb.sum(pb.real(y)).backward()
    for word in words:
        assert word in str(caught.value)
    assert len(caught.value.__notes__) >= 2
    return caught.value


KINDS = pytest.mark.parametrize("dtype", [float, complex])


# -------------------------------------------------------------------------------------------------------- determinants
def leibniz(x):
    """The determinant as a sum over permutations: a polynomial, whose derivatives need no rule."""
    n = x.shape[-1]
    total = 0
    for order in itertools.permutations(range(n)):
        term = round(np.linalg.det(np.eye(n)[list(order)]))
        for row, column in enumerate(order):
            term = x[..., row, column] * term
        total = term + total
    return total


def low_rank(n, rank, seed=0, dtype=float):
    return numbers(n, rank, seed=seed, dtype=dtype) @ numbers(rank, n, seed=seed + 1, dtype=dtype)


POINTS = {
    "regular": regular(4),
    "rank 3": low_rank(4, 3),
    "rank 2": low_rank(4, 2),
    "rank 1": low_rank(4, 1),
    "rank 0": np.zeros((4, 4)),
    "exactly singular": np.arange(16.0).reshape(4, 4),
    "almost singular": low_rank(4, 3) + 1e-9 * numbers(4, 4, seed=7),
    "twice almost singular": low_rank(4, 2) + 1e-6 * numbers(4, 4, seed=7),
    "graded": np.diag([1.0, 1e-2, 1e-4, 1e-6]) @ numbers(4, 4, seed=8),
    "complex, rank 2": low_rank(4, 2, dtype=complex),
    "1 x 1 zero": np.zeros((1, 1)),
    "a stack": np.stack([regular(3), low_rank(3, 2), low_rank(3, 1), np.zeros((3, 3))]),
}


@pytest.mark.parametrize("name", POINTS)
def test_a_determinant_has_all_derivatives_of_the_polynomial_that_it_is(name):
    x = POINTS[name]
    found = sensitivities(lambda a: pb.sum(pb.real(linalg.det(a))), x, 4)
    expected = sensitivities(lambda a: pb.sum(pb.real(leibniz(a))), x, 4)
    for k, (f, e) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(f, e, rtol=0, atol=1e-9 * max(1.0, abs(e).max()), err_msg=f"order {k + 1}")


def test_the_gradient_of_a_determinant_is_the_matrix_of_cofactors():
    np.testing.assert_allclose(grad(linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])), [[4, -2], [-2, 1]], atol=1e-15)
    x = regular(3)
    np.testing.assert_allclose(grad(linalg.det)(x), np.linalg.det(x) * np.linalg.inv(x).T)


def test_the_hessian_of_the_logarithm_of_a_determinant():
    x = regular(3)
    y = np.linalg.inv(x)
    np.testing.assert_allclose(
        hessian(lambda a: linalg.slogdet(a).logabsdet)(x), -np.einsum("jk,li->ijkl", y, y), atol=1e-14
    )


def test_the_sign_of_a_real_determinant_is_constant():
    x = leaf(regular(3))
    (g,) = pb.autograd.grad(linalg.slogdet(x).sign, x, create_graph=True)
    assert not bare(g).any()


def test_the_phase_of_a_complex_determinant_turns():
    check_slope(lambda a: pb.real(linalg.slogdet(a).sign * (2 - 1j)), regular(3, dtype=complex), numbers(3, 3, seed=5))


def test_slogdet_is_refused_at_a_singular_matrix_unless_nobody_asks():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    error = refused(lambda a: linalg.slogdet(a).logabsdet, np.stack([np.eye(2), singular]), "slogdet", "singular")
    assert error.operator == "slogdet"
    assert error.matrix == (1,)
    x = leaf(np.stack([singular, 2 * np.eye(2)]))
    sign, logarithm = linalg.slogdet(x)
    pb.sum(pb.where(sign != 0, logarithm, 0.0)).backward()
    np.testing.assert_allclose(x.grad._array, np.stack([np.zeros((2, 2)), np.eye(2) / 2]))


# ----------------------------------------------------------------------------------------------------------- equations
@KINDS
@pytest.mark.parametrize("stack_a", [(), (2,), (3, 1), (3, 2)])
@pytest.mark.parametrize("stack_b", [(), (2,), (1,), (3, 1)])
def test_stacks_of_equations_broadcast(stack_a, stack_b, dtype):
    """⟨A⁻¹ v, w⟩ = ⟨v, b̄⟩, and the slope in A."""
    a = numbers(*stack_a, 3, 3, dtype=dtype) + 4 * np.eye(3)
    b, v = numbers(*stack_b, 3, 2, seed=1, dtype=dtype), numbers(*stack_b, 3, 2, seed=2, dtype=dtype)
    y, pull = vjp(linalg.solve, a, b)
    np.testing.assert_allclose(np.matmul(a, y), np.broadcast_to(b, y.shape), atol=1e-14)
    w, u = numbers(*y.shape, seed=3, dtype=dtype), numbers(*a.shape, seed=4, dtype=dtype)
    grad_a, grad_b = pull(w)
    np.testing.assert_allclose(inner([np.linalg.solve(a, v)], [w]), inner([v], [grad_b]), atol=1e-12)
    step = -np.linalg.solve(a, u @ y)
    np.testing.assert_allclose(inner([step], [w]), inner([u], [grad_a]), atol=1e-12)


def test_one_vector_for_a_stack_of_matrices():
    a, b = numbers(2, 3, 3) + 4 * np.eye(3), numbers(3, seed=1)
    y, pull = vjp(linalg.solve, a, b)
    assert y.shape == (2, 3)
    grad_a, grad_b = pull(np.ones((2, 3)))
    assert grad_a.shape == a.shape
    np.testing.assert_allclose(grad_b, np.linalg.inv(a).sum(axis=(0, 1)))


def test_a_triangle_is_solved_and_the_other_one_has_no_gradient():
    a, b = regular(3), numbers(3, 2, seed=1)
    for upper, triangle in ((False, np.tril), (True, np.triu)):
        x = leaf(a)
        y = solve_triangular(x, b, upper=upper)
        np.testing.assert_allclose(y._array, np.linalg.solve(triangle(a), b))
        pb.sum(y).backward()
        np.testing.assert_array_equal(x.grad._array, triangle(x.grad._array))


def test_powers_of_a_matrix():
    x = regular(3)
    for n in (2, 3, 6, 7, -3):

        def f(a, n=n):
            return pb.sum(linalg.matrix_power(a, n))

        def product(a, n=n):
            return pb.sum(_product([a] * n if n > 0 else [linalg.inv(a)] * -n))

        for found, expected in zip(sensitivities(f, x, 3), sensitivities(product, x, 3), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def _product(factors):
    found = factors[0]
    for factor in factors[1:]:
        found = found @ factor
    return found


def test_power_zero_is_the_identity_with_derivative_zero_even_of_infinite_entries():
    x = leaf(np.full((2, 2, 2), np.inf))
    y = linalg.matrix_power(x, 0)
    np.testing.assert_array_equal(y._array, np.broadcast_to(np.eye(2), (2, 2, 2)))
    pb.sum(y).backward()
    np.testing.assert_array_equal(x.grad._array, np.zeros((2, 2, 2)))


def test_power_one_is_a_copy():
    x = np.eye(2)
    linalg.matrix_power(x, 1)[0, 0] = 5
    assert x[0, 0] == 1


@KINDS
def test_a_pseudo_inverse_along_matrices_of_the_same_rank(dtype):
    """Where the rank is not full the rank stays what it is if the factors move: then difference quotients exist."""
    left, right = numbers(4, 2, dtype=dtype), numbers(2, 3, seed=1, dtype=dtype)
    w = numbers(3, 4, seed=2, dtype=dtype)

    def f(p):
        return pb.sum(pb.real(linalg.pinv(p @ right, rtol=1e-10) * w))

    check_slope(f, left, numbers(4, 2, seed=3, dtype=dtype))


# ----------------------------------------------------------------------------------------------------- what multiplies
def cholesky_product(x):
    l = linalg.cholesky(x)
    return l @ pb.conj(l.mT)


def upper_product(x):
    u = linalg.cholesky(x, upper=True)
    return pb.conj(u.mT) @ u


def qr_product(x):
    q, r = linalg.qr(x)
    return q @ r


def complete_product(x):
    q, r = linalg.qr(x, mode="complete")
    return q @ r


def eigh_product(x):
    w, v = linalg.eigh(x)
    return (v * w) @ pb.conj(v.mT)


def eig_product(x):
    w, v = linalg.eig(x)
    return (v * w[..., None, :]) @ linalg.inv(v)


def svd_product(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * s) @ vh


def full_product(x):
    """With the square factors: the cotangents of their columns beyond the rank are zeros, but computed ones."""
    u, s, vh = linalg.svd(x)
    k = s.shape[-1]
    return ((u @ np.eye(len(x), k)) * s) @ (np.eye(k, x.shape[1]) @ vh)


def cubes(x):
    """A function that is not linear, so that derivatives of the factors matter at every order."""
    return pb.sum(pb.real(pb.conj(x) * x * x))


@KINDS
@pytest.mark.parametrize(
    ("product", "kind"),
    [
        (cholesky_product, "positive"),
        (upper_product, "positive"),
        (eigh_product, "hermitian"),
        (eig_product, "square"),
        (qr_product, "square"),
        (qr_product, "tall"),
        (qr_product, "wide"),
        (complete_product, "tall"),
        (complete_product, "wide"),
        (svd_product, "square"),
        (svd_product, "tall"),
        (svd_product, "wide"),
        (full_product, "tall"),
        (full_product, "wide"),
    ],
)
def test_the_product_of_the_factors_has_the_derivatives_of_the_matrix(product, kind, dtype):
    """``Q R``, ``V diag(w) Vᴴ``, ... are the matrix, so to every order their derivatives are those of the identity."""
    x = shaped(kind, dtype=dtype)
    project = (lambda a: (a + pb.conj(a.mT)) / 2) if kind in ("hermitian", "positive") else (lambda a: a)
    found = sensitivities(lambda a: cubes(product(project(a))), x, 3)
    expected = sensitivities(lambda a: cubes(project(a)), x, 3)
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=0, atol=1e-11 * max(1.0, abs(e).max()))


@pytest.mark.parametrize("f", [linalg.cholesky, lambda x: linalg.eigh(x).eigenvectors, linalg.eigvalsh])
def test_only_the_lower_triangle_is_read_and_the_gradient_is_hermitian(f):
    """Garbage above the diagonal changes neither the value nor the gradient, which belongs to the Hermitian matrix."""
    for dtype in (float, complex):
        x = with_spectrum([1.0, 2.0, 4.0], dtype=dtype)
        lower = np.tril(x) + np.triu(numbers(3, 3, seed=9), 1)
        found = []
        for a in (x, lower):
            a = leaf(a)
            y = f(a)
            found.append(y._array)
            pb.sum(pb.abs(y) ** 2 * numbers(*y.shape, seed=4)).backward()
            found.append(a.grad._array)
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[3])
        np.testing.assert_array_equal(found[1], adjoint(found[1]))


def test_the_upper_triangle_is_read_for_an_upper_factor():
    x = with_spectrum([1.0, 2.0, 4.0])
    np.testing.assert_allclose(linalg.cholesky(np.triu(x), upper=True), linalg.cholesky(np.tril(x)).T, atol=1e-15)


# ------------------------------------------------------------------------------------------------------------------ qr
def test_qr_is_refused_where_columns_are_dependent():
    x = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    refused(lambda a: linalg.qr(a).Q, x, "qr", "linearly dependent")
    refused(lambda a: linalg.qr(a).R, np.zeros((2, 2)), "qr", "linearly dependent")


def test_the_complement_of_a_complete_qr_is_differentiated_as_a_subspace():
    x, w = numbers(4, 2), hermitian(numbers(4, 4, seed=5))

    def outside(a):
        q = linalg.qr(a, mode="complete").Q[:, 2:]
        return pb.sum(q @ q.T * w)

    def inside(a):
        q = linalg.qr(a).Q
        return np.trace(w) - pb.sum(q @ q.T * w)

    for found, expected in zip(sensitivities(outside, x, 3), sensitivities(inside, x, 3), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11)
    refused(lambda a: linalg.qr(a, mode="complete").Q * numbers(4, 4, seed=6), x, "qr", "basis of a complement")


# --------------------------------------------------------------------------------------------------------- eigenvalues
@KINDS
def test_the_slope_of_a_simple_eigenvalue_is_its_projection(dtype):
    x = with_spectrum([1.0, 2.0, 2.0, 5.0], dtype=dtype)
    v = np.linalg.eigh(x).eigenvectors[:, :1]
    for f in (linalg.eigvalsh, lambda a: linalg.eigh(a).eigenvalues):
        np.testing.assert_allclose(grad(lambda a, f=f: f(a)[0])(x), v @ adjoint(v), atol=1e-14)


def test_the_jacobian_of_all_eigenvalues():
    x = with_spectrum([1.0, 2.0, 4.0])
    v = np.linalg.eigh(x).eigenvectors
    np.testing.assert_allclose(jacobian(linalg.eigvalsh)(x), np.einsum("ik,jk->kij", v, v), atol=1e-14)


@KINDS
def test_sums_over_repeated_eigenvalues_have_exact_gradients(dtype):
    """The trace, the trace of the square, and the sum over a whole eigenspace."""
    x = with_spectrum([1.0, 2.0, 2.0], dtype=dtype)
    np.testing.assert_allclose(grad(lambda a: pb.sum(linalg.eigvalsh(a)))(x), np.eye(3), atol=1e-14)
    np.testing.assert_allclose(grad(lambda a: pb.sum(linalg.eigvalsh(a) ** 2))(x), 2 * x, atol=1e-14)
    np.testing.assert_allclose(grad(lambda a: pb.sum(linalg.eigh(a)[0][1:]))(x), x - np.eye(3), atol=1e-14)


def test_values_that_coincide_share_their_cotangent():
    """So the gradient of the largest of them does not depend on the basis, and is the shortest subgradient."""
    x = np.diag([2.0, 1.0, 2.0, 2.0])
    for f in (linalg.eigvalsh, lambda a: linalg.eigh(a).eigenvalues, linalg.svdvals, lambda a: linalg.svd(a).S):
        for largest in (pb.max, lambda v: pb.sort(v)[-1]):
            g = grad(lambda a, f=f, largest=largest: largest(f(a)))(x)
            np.testing.assert_allclose(g, np.diag([1, 0, 1, 1]) / 3, atol=1e-15)
    np.testing.assert_allclose(grad(lambda a: linalg.matrix_norm(a, ord=2))(np.eye(3)), np.eye(3) / 3)


@pytest.mark.parametrize("x", [np.eye(3), np.zeros((2, 2)), with_spectrum([1.0, 1.0, 3.0])])
def test_eigenvectors_of_repeated_eigenvalues_are_refused(x):
    """Also where rounding keeps them apart: then the digits of the vectors are noise."""
    error = refused(lambda a: linalg.eigh(a).eigenvectors, x, "eigh", "eigenvalues 0 and 1 coincide")
    assert error.operator == "eigh"
    refused(lambda a: linalg.eigh(a).eigenvectors * 0, x, "eigh")


def test_other_eigenvectors_of_the_same_matrix_are_given():
    """The vector of the simple eigenvalue has a derivative, and so has the matrix of the stack that is asked for."""
    x = with_spectrum([1.0, 1.0, 3.0])
    w = hermitian(numbers(3, 3, seed=5))

    def f(a):
        v = linalg.eigh((a + a.mT) / 2).eigenvectors[:, 2]
        return v @ pb.asarray(w) @ v

    check_slope(f, x, numbers(3, 3, seed=6))
    stack = np.stack([np.eye(2), np.diag([1.0, 2.0])])
    a = leaf(stack)
    pb.sum(pb.abs(linalg.eigh(a).eigenvectors[1])).backward()
    assert np.isfinite(a.grad._array).all()
    error = refused(lambda a: linalg.eigh(a).eigenvectors, stack[::-1], "matrix (1,)")
    assert error.matrix == (1,)


def test_the_second_derivative_of_repeated_eigenvalues_is_refused():
    """It would be 0/0: the Hessian of tr A², 2, and of tr A, 0, both look the same to the rule."""
    for f in (linalg.eigvalsh, lambda a: linalg.eigh(a).eigenvalues):
        x = leaf(np.eye(2))
        (g,) = pb.autograd.grad(pb.sum(f(x) ** 2), x, create_graph=True)
        np.testing.assert_allclose(bare(g), 2 * np.eye(2))
        with pytest.raises(DerivativeRefused, match="eigenvalues 0 and 1 coincide"):
            pb.sum(g).backward()


def test_the_phase_of_complex_eigenvectors_is_refused():
    x = with_spectrum([1.0, 2.0, 4.0], dtype=complex)
    refused(lambda a: pb.real(linalg.eigh(a).eigenvectors), x, "eigh", "phase")
    refused(lambda a: pb.real(linalg.eig(a).eigenvectors), regular(3, dtype=complex), "eig", "phase")
    a = leaf(x)
    pb.sum(pb.abs(linalg.eigh(a).eigenvectors)).backward()  # no phase, no refusal
    assert a.grad._array.any()


def test_the_sign_that_lapack_chose_does_not_matter():
    """Differentiated through real eigenvectors, a function that is even in each of them has the right slope."""
    x = with_spectrum([1.0, 2.0, 4.0])

    def f(a):
        return pb.sum(linalg.eigh((a + a.mT) / 2).eigenvectors ** 4 * numbers(3, 3, seed=8))

    check_slope(f, x, numbers(3, 3, seed=6))


def test_general_eigenvalues_at_the_points_that_are_special():
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    refused(linalg.eigvals, jordan, "eig", "defective")
    refused(lambda a: linalg.eig(a).eigenvalues, jordan, "eig", "defective")
    refused(lambda a: linalg.eig(a).eigenvectors, np.eye(2), "eig", "eigenvalues 0 and 1 coincide")
    x = regular(3)
    np.testing.assert_allclose(grad(lambda a: pb.real(pb.sum(linalg.eigvals(a) ** 3)))(x), 3 * (x @ x).T, rtol=1e-12)


def test_eigenvalues_are_complex_whatever_they_are():
    for x in (np.diag([1.0, 2.0]), np.diag([1.0, 2.0]).astype(np.float32)):
        expected = np.result_type(x.dtype, np.complex64)
        assert linalg.eigvals(x).dtype == linalg.eig(x).eigenvectors.dtype == expected


# ----------------------------------------------------------------------------------------------------- singular values
@pytest.mark.parametrize("x", [np.eye(2), np.eye(3, 2), with_spectrum([3.0, 3.0, 1.0], 3), np.zeros((2, 2))])
def test_singular_vectors_of_repeated_values_are_refused(x):
    for take in (lambda r: r.U, lambda r: r.Vh):
        refused(lambda a, take=take: take(linalg.svd(a, full_matrices=False)), x, "svd", "coincide")


@KINDS
def test_singular_vectors_of_a_zero_are_refused_where_they_are_not_unique(dtype):
    x = with_spectrum([3.0, 0.0, 0.0], 2, dtype=dtype)  # 3 x 2: the null space of Aᴴ has two dimensions, that of A one
    refused(lambda a: pb.abs(linalg.svd(a, full_matrices=False).U), x, "svd", "a singular value is zero")
    if dtype is complex:
        square = with_spectrum([3.0, 1.0, 0.0], 3, dtype=dtype)
        refused(lambda a: pb.abs(linalg.svd(a).Vh), square, "svd", "a singular value is zero")


@pytest.mark.parametrize("shape", [(3, 3), (3, 2)])
def test_singular_vectors_of_a_zero_are_given_where_they_are_unique(shape):
    """The null vector of a real matrix whose null space is a line."""
    m, n = shape
    x = numbers(m, n - 1) @ numbers(n - 1, n, seed=1)
    w = hermitian(numbers(n, n, seed=5))

    def f(a):
        v = linalg.svd(a, full_matrices=False).Vh[n - 1]
        return v @ pb.asarray(w) @ v

    check_slope(f, x, numbers(m, n, seed=6))


def test_a_singular_value_zero_has_slope_zero_and_no_second_derivative():
    x = np.diag([2.0, 0.0])
    for f in (linalg.svdvals, lambda a: linalg.svd(a).S):
        np.testing.assert_allclose(grad(lambda a, f=f: pb.sum(f(a)))(x), np.diag([1.0, 0.0]))
        a = leaf(np.stack([np.diag([2.0, 1.0]), x]))
        (g,) = pb.autograd.grad(pb.sum(f(a)), a, create_graph=True)
        assert np.isfinite(bare(pb.autograd.grad(pb.sum(g[0] ** 2), a, retain_graph=True)[0])).all()
        with pytest.raises(DerivativeRefused, match=r"one is zero \(matrix \(1,\) of the stack\)") as caught:
            pb.sum(g).backward()
        assert caught.value.matrix == (1,)


def test_a_singular_value_zero_that_was_left_out_does_not_matter():
    """Neither `where` nor a slice that leaves it out asks for its second derivative."""
    x = np.diag([2.0, 0.0])
    for f in (linalg.svdvals, lambda a: linalg.svd(a).S):
        for take in (lambda s: s[0], lambda s: pb.sum(pb.where(s > 0, s, 0.0))):
            second = sensitivities(lambda a, f=f, take=take: take(f(a)), x, 2)[1]
            expected = sensitivities(lambda a: pb.sqrt(a[0, 0] ** 2 + a[0, 1] ** 2 + a[1, 0] ** 2), x, 2)[1]
            np.testing.assert_allclose(second, expected, atol=1e-14)


def test_an_infinite_slope_at_a_singular_value_zero_is_no_number():
    with np.errstate(divide="ignore", invalid="ignore"):
        found = sensitivities(lambda a: pb.sum(pb.sqrt(linalg.svdvals(a))), np.diag([1.0, 0.0]), 1)[0]
    assert np.isnan(found).any()


def test_complements_of_singular_vectors_are_differentiated_as_subspaces():
    x, w = numbers(5, 2), hermitian(numbers(5, 5, seed=5))

    def outside(a):
        u = linalg.svd(a).U[:, 2:]
        return pb.sum(u @ u.T * w)

    def inside(a):
        u = linalg.svd(a, full_matrices=False).U
        return np.trace(w) - pb.sum(u @ u.T * w)

    for found, expected in zip(sensitivities(outside, x, 3), sensitivities(inside, x, 3), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    refused(lambda a: outside(a + 0), with_spectrum([3.0, 0.0, 0.0, 0.0, 0.0], 2), "svd", "a singular value is zero")
    refused(lambda a: linalg.svd(a).U * numbers(5, 5, seed=6), x, "svd", "basis of a complement")
    refused(lambda a: linalg.svd(a).Vh * numbers(5, 5, seed=6), x.T, "svd", "basis of a complement")


def test_columns_that_nobody_used_do_not_matter():
    """Slicing the square U gives what the reduced one gives."""
    x = numbers(4, 2)
    w = numbers(4, 2, seed=3)

    def sliced(a):
        return pb.sum(linalg.svd(a).U[:, :2] ** 2 * w)

    def reduced(a):
        return pb.sum(linalg.svd(a, full_matrices=False).U ** 2 * w)

    for found, expected in zip(sensitivities(sliced, x, 2), sensitivities(reduced, x, 2), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_phase_of_complex_singular_vectors_is_refused():
    x = numbers(3, 2, dtype=complex)
    refused(lambda a: pb.real(linalg.svd(a, full_matrices=False).U), x, "svd", "phase")

    def f(a):
        u, _, vh = linalg.svd(a, full_matrices=False)
        return pb.real(pb.sum(u[:, 0] * vh[0, 0]))

    check_slope(f, x, numbers(3, 2, seed=4, dtype=complex))  # U and Vᴴ turn in opposite directions


def test_two_threads_may_pull_through_one_decomposition():
    """What each of them asks for is its own: columns with a derivative in one, refused ones in the other."""
    x = leaf(with_spectrum([1.0, 1.0, 3.0]))
    v = linalg.eigh(x).eigenvectors
    simple, repeated = pb.sum(v[:, 2] ** 4), pb.sum(v[:, 0] ** 4)
    wrong = []

    def pull(y, is_refused):
        for _ in range(200):
            try:
                pb.autograd.grad(y, x, retain_graph=True)
                if is_refused:
                    wrong.append("given")
            except DerivativeRefused:
                if not is_refused:
                    wrong.append("refused")

    threads = [threading.Thread(target=pull, args=args) for args in ((simple, False), (repeated, True))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


# ------------------------------------------------------------------------------------------------------ norms and rank
@KINDS
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norms_are_those_of_numpy(ord, keepdims, dtype):
    x = numbers(2, 3, 4, dtype=dtype)
    found, expected = (f.matrix_norm(x, ord=ord, keepdims=keepdims) for f in (linalg, np.linalg))
    np.testing.assert_allclose(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, np.inf])
def test_norms_of_matrices_without_entries_are_zero(ord):
    for shape in ((0, 3), (3, 0), (2, 0, 0)):
        np.testing.assert_array_equal(linalg.matrix_norm(np.ones(shape), ord=ord), np.zeros(shape[:-2]))


def test_the_nuclear_norm_of_a_matrix_without_full_rank_has_the_shortest_subgradient():
    for x in (np.zeros((2, 3)), np.diag([3.0, 0.0])):
        np.testing.assert_array_equal(grad(lambda a: linalg.matrix_norm(a, ord="nuc"))(x), np.sign(x))


def test_a_norm_that_does_not_exist_names_those_that_do():
    with pytest.raises(ValueError, match="matrix_norm has no ord=3") as caught:
        linalg.matrix_norm(np.eye(2), ord=3)
    assert "'nuc'" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match="matrix_norm"):
        linalg.matrix_norm(np.ones(2))


def test_a_rank_is_a_number_without_a_derivative():
    rank = linalg.matrix_rank(leaf(low_rank(4, 2)))
    assert rank._array == 2
    assert not rank.requires_grad
    assert rank.dtype.kind == "i"


# -------------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("name", "x", "word"),
    [
        ("inv", np.zeros((2, 2)), "ingular"),
        ("inv", np.ones((2, 3)), "square"),
        ("det", np.ones((2, 3)), "square"),
        ("slogdet", np.ones(3), "dimension"),
        ("cholesky", -np.eye(2), "positive definite"),
        ("eigh", np.ones((2, 3)), "square"),
        ("eigvals", np.full((2, 2), np.nan), "infs or NaNs"),
        ("svd", np.full((2, 2), np.nan), "onverge"),
        ("svdvals", np.ones(2), "dimension"),
        ("pinv", np.ones(2), "dimension"),
        ("matrix_power", np.ones((2, 3)), "square"),
        ("qr", np.ones(2), "dimension"),
    ],
)
def test_errors_are_numpys_and_name_the_operator_and_the_shape(name, x, word):
    args = (2,) if name == "matrix_power" else ()
    for value in (x, leaf(x)):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            getattr(linalg, name)(value, *args)
        assert str(caught.value).startswith(f"{name} of shape {x.shape}: ")
        assert word in str(caught.value)
        assert isinstance(caught.value, RuntimeError)  # what torch raises


def test_errors_of_two_arguments_name_both_shapes():
    with pytest.raises(np.linalg.LinAlgError, match=r"solve of shape \(2, 2\), \(2,\): Singular matrix") as caught:
        linalg.solve(np.zeros((2, 2)), leaf(np.ones(2)))
    assert "pinv(A) @ b" in "".join(caught.value.__notes__)
    with pytest.raises(ValueError, match=r"solve of shape \(2, 2\), \(3,\)"):
        linalg.solve(np.eye(2), leaf(np.ones(3)))


def test_half_precision_is_refused_by_name():
    with pytest.raises(TypeError, match="inv of shape") as caught:
        linalg.inv(leaf(np.eye(2, dtype=np.float16)))
    assert "float32" in "".join(caught.value.__notes__)


def test_a_mode_that_qr_does_not_have():
    with pytest.raises(ValueError, match="qr has no mode 'raw'"):
        linalg.qr(np.eye(2), mode="raw")


# ------------------------------------------------------------------------------------------------------- the namespace
def test_several_results_have_the_names_of_the_standard():
    x = leaf(np.diag([1.0, 2.0]))
    for name in ("eig", "eigh", "qr", "slogdet", "svd"):
        found = getattr(linalg, name)(x)
        assert found._fields == type(getattr(np.linalg, name)(np.eye(2)))._fields
        assert all(isinstance(part, pb.Tensor) for part in found)
        assert all(isinstance(part, (np.ndarray, np.generic)) for part in getattr(linalg, name)(np.eye(2)))


STANDARD = [name for name in linalg.__all__ if hasattr(array_api_strict.linalg, name)]


@pytest.mark.parametrize("name", STANDARD)
def test_parameters_are_those_of_the_standard(name):
    ours, standard = (inspect.signature(getattr(f, name)).parameters for f in (linalg, array_api_strict.linalg))

    def names(parameters):
        return [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]

    assert set(names(standard)) <= set(names(ours))

    def count(parameters):
        return sum(p.kind is not p.KEYWORD_ONLY for p in parameters.values())

    assert count(standard) <= count(ours)


def test_the_whole_extension_is_there():
    assert {name for name in array_api_strict.linalg.__all__ if name[0] != "_"} <= {*linalg.__all__, "annotations"}


def test_functions_of_the_extension_are_no_functions_of_the_library():
    assert not hasattr(pb, "det")
    assert not hasattr(pb, "svd")


def test_diagonals_are_those_of_the_last_two_axes():
    x = numbers(2, 3, 4)
    for offset in (0, 1, -1):
        np.testing.assert_array_equal(linalg.diagonal(x, offset=offset), np.linalg.diagonal(x, offset=offset))


def test_whole_numbers_become_real_ones():
    np.testing.assert_allclose(linalg.det(pb.tensor([[1, 2], [3, 4]]))._array, -2.0)


# --------------------------------------------------------------------------------------------------------------- torch
CALLS = {
    "det": (lambda l, x: l.det(x), "square"),
    "slogdet": (lambda l, x: tuple(l.slogdet(x)), "square"),
    "inv": (lambda l, x: l.inv(x), "square"),
    "pinv": (lambda l, x: l.pinv(x), "tall"),
    "pinv wide": (lambda l, x: l.pinv(x), "wide"),
    "matrix_power": (lambda l, x: l.matrix_power(x, -3), "square"),
    "cholesky": (lambda l, x: l.cholesky(x), "positive"),
    "upper": (lambda l, x: l.cholesky(x, upper=True), "positive"),
    "qr": (lambda l, x: tuple(l.qr(x)), "tall"),
    "qr wide": (lambda l, x: tuple(l.qr(x)), "wide"),
    "eigvalsh": (lambda l, x: l.eigvalsh(x), "positive"),
    "eigh": (lambda l, x: _projections(*l.eigh(x)), "positive"),
    "eigvals": (lambda l, x: l.eigvals(x), "square"),
    "eig": (lambda l, x: _projections(*l.eig(x)), "square"),
    "svdvals": (lambda l, x: l.svdvals(x), "tall"),
    "svd": (lambda l, x: _dyads(*l.svd(x, full_matrices=False)), "tall"),
    "svd wide": (lambda l, x: _dyads(*l.svd(x, full_matrices=False)), "wide"),
    "nuc": (lambda l, x: l.matrix_norm(x, ord="nuc"), "tall"),
    "spectral": (lambda l, x: l.matrix_norm(x, ord=2), "wide"),
}


def _projections(w, v):
    return _dyads(v, w, pb.conj(v.mT) if isinstance(v, pb.Tensor) else v.mH)


def _dyads(u, s, vh):
    return s, u[..., :, None, :] * vh.mT[..., None, :, :]


@pytest.mark.torch
@KINDS
@pytest.mark.parametrize("stack", [(), (2,)])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_two_derivatives_are_those_of_torch(name, stack, dtype):
    """Those of Hermitian matrices in their own space: torch's complex Cholesky gradient has a part outside."""
    torch = pytest.importorskip("torch")
    call, kind = CALLS[name]
    x = shaped(kind, stack, dtype)
    mine, theirs = leaf(x), torch.tensor(x, requires_grad=True)
    found, expected = call(linalg, mine), call(torch.linalg, theirs)
    for order in range(3):
        found, expected = ([r] if hasattr(r, "dtype") else list(r) for r in (found, expected))
        for f, e in zip(found, expected, strict=True):
            e = e.detach().resolve_conj().numpy(force=True)
            if kind == "positive" and order:
                e = hermitian(e)
            np.testing.assert_allclose(bare(f), e, rtol=0, atol=1e-11 * max(1.0, abs(e).max()), err_msg=str(order))
        weights = directions_like([bare(f) for f in found], np.random.default_rng(order))
        if kind == "positive" and order:
            weights = [hermitian(w) for w in weights]
        found = pb.autograd.grad(found, mine, [pb.tensor(w) for w in weights], create_graph=True)
        expected = torch.autograd.grad(expected, theirs, [torch.tensor(w) for w in weights], create_graph=True)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_threshold_may_be_a_tensor(requires_grad):
    a = pb.tensor([[1.0, 0.0], [0.0, 0.1]], requires_grad=True)
    rtol = pb.tensor(0.5, requires_grad=requires_grad)
    np.testing.assert_allclose(pb.linalg.pinv(a, rtol=rtol).detach().numpy(), [[1.0, 0.0], [0.0, 0.0]], atol=1e-15)
    assert pb.linalg.matrix_rank(a, rtol=rtol).item() == 1
