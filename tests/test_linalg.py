"""Products of arrays: shapes, what is saved, and derivatives that have a closed form."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.ops.linalg import _sum_of_products
from pullback.transforms import grad, hessian, jacobian, vjp


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def check_bilinear(f, a, b):
    """The vjp of a product against its value: f is linear in each argument, so ⟨f(v, b), w⟩ = ⟨v, ā⟩, and b̄
    likewise."""
    y, pull = vjp(f, a, b)
    w, v, u = numbers(*np.shape(y), seed=1), numbers(*a.shape, seed=2), numbers(*b.shape, seed=3)
    if np.iscomplexobj(y):
        w = w + 1j * numbers(*np.shape(y), seed=4)
    grad_a, grad_b = pull(w)
    assert grad_a.shape == a.shape
    assert grad_b.shape == b.shape
    inner = lambda p, q: np.sum(np.conj(p) * q).real  # noqa: E731
    np.testing.assert_allclose(inner(w, f(v, b)), inner(grad_a, v), atol=1e-12)
    np.testing.assert_allclose(inner(w, f(a, u)), inner(grad_b, u), atol=1e-12)


# -------------------------------------------------------------------------------------------------------------- matmul
STACKS = [(), (2,), (1,), (3, 2), (3, 1)]


@pytest.mark.parametrize(("left", "right"), list(itertools.product(STACKS, STACKS)))
def test_stacks_of_matrices_broadcast(left, right):
    check_bilinear(pb.matmul, numbers(*left, 2, 3), numbers(*right, 3, 4, seed=5))


@pytest.mark.parametrize("stack", STACKS)
def test_vectors_are_rows_on_the_left_and_columns_on_the_right(stack):
    check_bilinear(pb.matmul, numbers(3), numbers(*stack, 3, 2, seed=5))
    check_bilinear(pb.matmul, numbers(*stack, 2, 3), numbers(3, seed=5))
    check_bilinear(pb.matmul, numbers(3), numbers(3, seed=5))


def test_complex_factors_are_conjugated():
    a, b = numbers(2, 3) + 1j * numbers(2, 3, seed=7), numbers(3, 2, seed=5) + 1j * numbers(3, 2, seed=8)
    for f in (pb.matmul, lambda x, y: pb.tensordot(x, y, axes=1), lambda x, y: pb.einsum("ij,jk->ki", x, y)):
        check_bilinear(f, a, b)
    for f in (pb.outer, pb.kron):
        check_bilinear(f, a[0], b[:, 0])
    np.testing.assert_allclose(grad(lambda x: pb.real(pb.vecdot(x, b[:, 0])))(a[0]), b[:, 0])


def test_the_operator_takes_arrays_on_both_sides():
    a, b = numbers(2, 3), numbers(3, 2, seed=5)
    for y in (leaf(a) @ b, a @ leaf(b), leaf(a) @ leaf(b), leaf(a).matmul(b)):
        assert y.grad_fn.name() == "MatmulBackward0"
        np.testing.assert_allclose(y._array, a @ b)


def test_only_the_factor_that_is_needed_is_saved():
    a, b = numbers(2, 3), numbers(3, 2, seed=5)
    for f in (pb.matmul, lambda x, y: pb.tensordot(x, y, axes=1)):
        kept = f(leaf(a), b).grad_fn.saved_tensors
        assert kept[0] is None
        assert kept[1] is b


def test_a_quadratic_form_has_the_hessian_a_plus_its_transpose():
    a = numbers(3, 3)
    x = numbers(3, seed=5)
    np.testing.assert_allclose(hessian(lambda t: t @ pb.asarray(a) @ t)(x), a + a.T, atol=1e-14)
    np.testing.assert_allclose(hessian(lambda t: pb.einsum("i,ij,j", t, a, t))(x), a + a.T, atol=1e-14)
    assert not jacobian(hessian(lambda t: t @ pb.asarray(a) @ t))(x).any()


def test_a_mixed_derivative_of_a_product_of_three():
    """∂/∂A of tr(A B A) is (B A + A B)ᵀ; its derivative in B is again exact."""
    a, b = numbers(3, 3), numbers(3, 3, seed=5)
    f = lambda p, q: pb.trace(p @ q @ p)  # noqa: E731
    np.testing.assert_allclose(grad(f)(a, b), (b @ a + a @ b).T)
    mixed = jacobian(grad(f, 0), 1)(a, b)
    expected = np.einsum("lj,ki->ijkl", a, np.eye(3)) * 0
    for k, l in np.ndindex(3, 3):
        e = np.zeros((3, 3))
        e[k, l] = 1
        expected[:, :, k, l] = (e @ a + a @ e).T
    np.testing.assert_allclose(mixed, expected, atol=1e-14)


# ----------------------------------------------------------------------------------------------------------- tensordot
@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((2, 3), (3, 4), 1),
        ((2, 3), (2, 3), 2),
        ((2, 3), (4,), 0),
        ((2, 3, 4), (4, 2, 5), ((0, 2), (1, 0))),
        ((2, 3, 4), (4, 2, 5), ((-1, 0), (0, -2))),
        ((2, 3, 4, 5), (5, 3, 6), ((3, 1), (0, 1))),
        ((2, 3), (3, 2), (1, 0)),
        ((3,), (3,), ((0,), (0,))),
    ],
)
def test_tensordot_over_any_axes(a, b, axes):
    f = lambda x, y: pb.tensordot(x, y, axes=axes)  # noqa: E731
    x, y = numbers(*a), numbers(*b, seed=5)
    np.testing.assert_allclose(f(x, y), np.tensordot(x, y, axes))
    check_bilinear(f, x, y)


# -------------------------------------------------------------------------------------------------------------- einsum
@pytest.mark.parametrize(
    ("subscripts", "a", "b"),
    [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("ba,cb", (2, 3), (4, 2)),
        (" i j , j -> i ", (2, 3), (3,)),
        ("ij,ij->", (2, 3), (2, 3)),
        ("i,j->ji", (2,), (3,)),
        ("ii,jk->kj", (2, 2), (3, 2)),
        ("iij,j->i", (2, 2, 3), (3,)),
        ("iji,j->ij", (2, 3, 2), (3,)),
        ("iii,ij->j", (2, 2, 2), (2, 3)),
        ("ijk,l->l", (2, 3, 2), (3,)),
        ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
        ("...ij,...jk", (1, 2, 3), (5, 3, 4)),
        ("i...,i...->...", (2, 3), (2, 4, 3)),
        ("...,...", (2, 3), (3,)),
        ("ij,ij->i", (2, 3), (2, 1)),
        ("ij,ij->i", (1, 3), (2, 3)),
        ("ij,ij->j", (2, 1), (2, 3)),
    ],
)
def test_einsum_is_numpys_and_bilinear(subscripts, a, b):
    f = lambda x, y: pb.einsum(subscripts, x, y)  # noqa: E731
    x, y = numbers(*a), numbers(*b, seed=5)
    np.testing.assert_allclose(f(x, y), np.einsum(subscripts, x, y))
    check_bilinear(f, x, y)


@pytest.mark.parametrize("subscripts", ["ij,jk,kl->il", "ij,jk,kj->", "ij,jk,ki->ijk", "ji,kj,lk"])
def test_einsum_of_three(subscripts):
    xs = [numbers(3, 3, seed=k) for k in range(3)]
    np.testing.assert_allclose(pb.einsum(subscripts, *xs), np.einsum(subscripts, *xs))
    for k in range(3):

        def f(x, k=k):
            return pb.einsum(subscripts, *[x if j == k else v for j, v in enumerate(xs)])

        y, pull = vjp(f, xs[k])
        w, v = numbers(*np.shape(y), seed=8), numbers(3, 3, seed=9)
        np.testing.assert_allclose(np.sum(w * f(v)), np.sum(pull(w)[0] * v), atol=1e-13)


@pytest.mark.parametrize("subscripts", ["ij,jk->ki", "ij,j->", "i,j->ij", "ijk,kj->i", "ij,ij->ji", "ij->ji", ",i->i"])
def test_einsum_for_libraries_without_one(subscripts):
    lengths = {"i": 2, "j": 3, "k": 4}
    xs = [numbers(*[lengths[n] for n in term], seed=5) for term in subscripts.partition("->")[0].split(",")]
    np.testing.assert_allclose(_sum_of_products(np, subscripts, tuple(xs)), np.einsum(subscripts, *xs))


def test_large_einsums_are_planned_and_agree():
    xs = [numbers(70, 70, seed=k) for k in range(3)]
    np.testing.assert_allclose(pb.einsum("ij,jk,kl->il", *xs), xs[0] @ xs[1] @ xs[2])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("ij", np.ones(3)), "names 2 axes"),
        (("i,j", np.ones(3)), "names 2 operands"),
        (("ii", np.ones((2, 3))), "lengths 2 and 3"),
        (("i...k", np.ones(1)), "names"),
    ],
)
def test_einsum_says_what_does_not_fit(args, message):
    with pytest.raises(ValueError, match=message):
        pb.einsum(*args)


def test_einsum_wants_a_string():
    with pytest.raises(TypeError, match="string"):
        pb.einsum(np.ones(3), [0], [0])


# --------------------------------------------------------------------------------------------------- the other products
@pytest.mark.parametrize(("a", "b"), [((2, 3), (4, 5)), ((2,), (3, 2)), ((2, 1, 2), (3,)), ((), (2, 2)), ((3,), (3,))])
def test_kron_of_any_dimensions(a, b):
    x, y = numbers(*a), numbers(*b, seed=5)
    np.testing.assert_allclose(pb.kron(x, y), np.kron(x, y))
    check_bilinear(pb.kron, x, y)


@pytest.mark.parametrize(
    ("a", "b", "axis"), [((3,), (3,), -1), ((2, 3), (3,), -1), ((2, 1, 3), (4, 3), -1), ((3, 2), (3, 1), -2)]
)
def test_cross_products_broadcast(a, b, axis):
    f = lambda x, y: pb.cross(x, y, axis=axis)  # noqa: E731
    check_bilinear(f, numbers(*a), numbers(*b, seed=5))


@pytest.mark.parametrize(("a", "b", "axis"), [((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 2), (3, 1), -2)])
def test_inner_products_broadcast(a, b, axis):
    check_bilinear(lambda x, y: pb.vecdot(x, y, axis=axis), numbers(*a), numbers(*b, seed=5))


def test_outer_products():
    check_bilinear(pb.outer, numbers(2), numbers(3))


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_the_gradient_of_a_trace_is_a_shifted_identity(offset):
    np.testing.assert_array_equal(grad(lambda x: pb.trace(x, offset=offset))(numbers(3, 4)), np.eye(3, 4, offset))


def test_the_trace_of_a_stack_is_that_of_its_matrices():
    x = numbers(2, 3, 3)
    np.testing.assert_allclose(pb.trace(x), [np.trace(m) for m in x])


def test_off_the_diagonal_a_trace_has_structural_zeros():
    x = np.array([[4.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(grad(lambda t: pb.trace(pb.sqrt(t)))(x), [[0.25, 0], [0, 0.5]])
