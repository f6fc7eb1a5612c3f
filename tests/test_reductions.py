"""Sums, products, extrema, statistics, norms: their special points, dtypes and empty cases.

Values and derivatives at ordinary points are tested for every operator at once; here is what makes reductions delicate.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import pullback as pb
from pullback.core.errors import DerivativeRefused
from pullback.ops.reductions import _accumulate
from pullback.transforms import grad, hessian, jacobian, jvp


def leaf(values, dtype=float):
    return pb.tensor(np.array(values, dtype=dtype), requires_grad=True)


def derivative(f, order):
    """All derivatives of one order, as an array with `order` axes."""
    for _ in range(order):
        f = jacobian(f)
    return f


# -------------------------------------------------------------------------------------------------------- dtype, empty
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "var", "std", "cumulative_sum", "cumulative_prod"]
)
def test_dtypes_are_numpys(name, dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    old = {"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}.get(name, name)
    assert getattr(pb, name)(pb.tensor(x)).dtype == getattr(np, old)(x).dtype


def test_dtype_option_casts_the_result_and_the_gradient_keeps_the_dtype_of_the_argument():
    x = leaf([1.0, 2.0], np.float32)
    for y in (pb.sum(x, dtype=np.float64), pb.prod(x, dtype=np.float64), pb.cumulative_sum(x, dtype=np.float64).sum()):
        assert y.dtype == np.float64
        (g,) = pb.autograd.grad(y, x)
        assert g.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "value"), [("sum", 0.0), ("prod", 1.0), ("logsumexp", -math.inf), ("vector_norm", 0.0)]
)
def test_an_empty_reduction_gives_the_neutral_element_and_an_empty_gradient(name, value):
    x = leaf(np.zeros((2, 0)))
    y = getattr(pb, name)(x, axis=1)
    assert y.tolist() == [value, value]
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    assert g.shape == (2, 0)


@pytest.mark.parametrize("name", ["max", "min", "argmax"])
def test_extrema_of_nothing_raise(name):
    with pytest.raises(ValueError, match=r"empty|zero-size"):
        getattr(pb, name)(leaf(np.zeros((2, 0))), axis=1)


# ----------------------------------------------------------------------------------------------------------------- sum
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (0, -1), "keepdims": True}])
def test_the_gradient_of_sum_is_a_view_of_one_number_until_somebody_gets_it(options):
    x = leaf(np.ones((3, 4, 5)))
    strides = []
    y = x * 1
    y.register_hook(lambda g: strides.append(g._array.strides))
    (g,) = pb.autograd.grad(pb.sum(y, **options), x, pb.ones_like(pb.sum(y, **options)))
    assert strides[0][0] == 0
    assert g.shape == (3, 4, 5)
    g += 1  # the result is the caller's own
    assert g.tolist() == np.full((3, 4, 5), 2.0).tolist()


def test_structural_zeros_pass_through_a_reduction():
    """Row 1 is not read, so the infinite slope of sqrt at 0 in it does not matter."""
    x = leaf([[1.0, 4.0], [0.0, 1.0]])
    (g,) = pb.autograd.grad(pb.sum(pb.sqrt(x), axis=1)[0], x)
    assert g.tolist() == [[0.5, 0.25], [0.0, 0.0]]


# ------------------------------------------------------------------------------------------------------------- product
def product_derivative(x, indices):
    """∂ prod(x) / ∂x_i ∂x_j ...: the product of all others, 0 where an index repeats."""
    if len(set(indices)) < len(indices):
        return 0.0
    return math.prod(v for k, v in enumerate(x) if k not in indices)


@pytest.mark.parametrize("x", [[2.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 5.0, 3.0, 7.0], [0.0], [2.0, 3.0]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_products_with_zeros_are_exact_to_any_order(x, order):
    found = derivative(pb.prod, order)(np.array(x))
    for indices in itertools.product(range(len(x)), repeat=order):
        assert found[indices] == product_derivative(x, indices)


def test_the_hessian_of_a_product_of_two_zeros():
    found = hessian(pb.prod)(np.array([2.0, 3.0, 0.0, 0.0]))
    assert found[2, 3] == found[3, 2] == 6
    assert np.count_nonzero(found) == 2


def test_products_do_not_divide_by_their_entries():
    """y / x would be 0 / 1e-200 or overflow on the way."""
    assert grad(pb.prod)(np.array([1e-200, 1e-200, 1e200])).tolist() == [1.0, 1.0, 0.0]


def test_products_over_axes_in_any_order():
    x = leaf(np.arange(24.0).reshape(2, 3, 4) - 3)
    for axis in ((2, 0), (0, 2), (-1, 0)):
        (g,) = pb.autograd.grad(pb.prod(x, axis=axis).sum(), x)
        for i, j, k in np.ndindex(2, 3, 4):
            others = [x._array[a, j, c] for a in range(2) for c in range(4) if (a, c) != (i, k)]
            assert g._array[i, j, k] == math.prod(others)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_running_products_with_zeros_are_exact_to_any_order(order):
    x = [2.0, 0.0, 0.0, 5.0]
    for k in range(len(x)):
        found = derivative(grad(lambda t, k=k: pb.cumulative_prod(t)[k]), order - 1)(np.array(x))
        for indices in itertools.product(range(len(x)), repeat=order):
            expected = product_derivative(x[: k + 1], indices) if max(indices) <= k else 0.0
            assert found[indices] == expected


def test_running_sums_also_with_an_old_numpy():
    """NumPy 2.0 has cumsum only."""
    old = SimpleNamespace(cumsum=np.cumsum)
    assert _accumulate(old, "cumulative_sum", "cumsum", np.ones(3), 0, None).tolist() == [1, 2, 3]


def test_running_operations_of_several_axes_need_one():
    with pytest.raises(ValueError, match="needs an axis"):
        pb.cumulative_sum(leaf(np.ones((2, 2))))


# ------------------------------------------------------------------------------------------------------------- extrema
@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_equally_and_the_shares_sum_to_one(name):
    x = leaf([[1.0, 1.0, 1.0], [2.0, 5.0, 5.0], [2.0, 2.0, 5.0]])
    (g,) = pb.autograd.grad(getattr(pb, name)(x, axis=1).sum(), x)
    third = 1 / 3
    shares = {
        "max": [[third] * 3, [0, 0.5, 0.5], [0, 0, 1]],
        "min": [[third] * 3, [1, 0, 0], [0.5, 0.5, 0]],
    }
    assert g.tolist() == shares[name]


def test_ties_over_several_axes():
    x = leaf([[1.0, 7.0], [7.0, 7.0]])
    (g,) = pb.autograd.grad(pb.max(x), x)
    np.testing.assert_allclose(g._array, [[0, 1 / 3], [1 / 3, 1 / 3]])


def test_an_extremum_of_nan_belongs_to_the_nan():
    x = leaf([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    (g,) = pb.autograd.grad(pb.max(x, axis=1).sum(), x)
    assert g.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_what_is_not_the_extremum_gets_a_structural_zero():
    """sqrt has an infinite slope at 0, but 0 is not the maximum."""
    assert grad(lambda x: pb.max(pb.sqrt(x)))(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


# ----------------------------------------------------------------------------------------------------------- logsumexp
def test_logsumexp_does_not_overflow():
    x = leaf([[1000.0, 1000.0], [-1000.0, -1001.0]])
    y = pb.logsumexp(x, axis=1)
    np.testing.assert_allclose(y._array, [1000 + math.log(2), -1000 + math.log1p(math.exp(-1))])
    (g,) = pb.autograd.grad(y.sum(), x)
    share = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(g._array, [[0.5, 0.5], [share, 1 - share]])


def test_rows_of_minus_infinity():
    inf = math.inf
    x = leaf([[-inf, -inf], [-inf, 1.0], [0.0, 0.0]])
    y = pb.logsumexp(x, axis=1)
    assert y.tolist() == [-inf, 1.0, math.log(2)]
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [[0, 0], [0, 1], [0.5, 0.5]]
    (h,) = pb.autograd.grad(g[:, 0].sum(), x)
    assert h.tolist() == [[0, 0], [0, 0], [0.25, -0.25]]


def test_rows_with_infinity_belong_to_it():
    inf = math.inf
    x = leaf([[inf, 700.0, -inf], [inf, inf, 0.0], [0.0, 0.0, -inf]])
    y = pb.logsumexp(x, axis=1)
    assert y.tolist() == [inf, inf, math.log(2)]
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    (h,) = pb.autograd.grad(g[:, 0].sum(), x)
    assert h.tolist() == [[0, 0, 0], [0, 0, 0], [0.25, -0.25, 0]]


# ---------------------------------------------------------------------------------------------------------- statistics
@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_variance_and_deviation_with_a_correction(correction):
    x = np.array([1.0, 2.0, 4.0, 8.0])
    freedom, away = 4 - correction, x - x.mean()
    deviation = math.sqrt((away**2).sum() / freedom)
    np.testing.assert_allclose(grad(lambda t: pb.var(t, correction=correction))(x), 2 * away / freedom)
    np.testing.assert_allclose(grad(lambda t: pb.std(t, correction=correction))(x), away / freedom / deviation)
    expected = 2 / freedom * (np.eye(4) - 1 / 4)
    np.testing.assert_allclose(hessian(lambda t: pb.var(t, correction=correction))(x), expected, atol=1e-15)


def test_no_degrees_of_freedom_is_nan_and_no_crash():
    x = leaf([3.0])
    y = pb.std(x, correction=1)
    (g,) = pb.autograd.grad(y, x)
    assert math.isnan(y.item())
    assert math.isnan(g.item())


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e8 / 3])
def test_the_deviation_of_equal_entries_is_exactly_zero(value):
    """NumPy's own is about 1e-17 for 0.1, because a mean of equal numbers is rounded; a slope of noise would follow."""
    x = np.full(3, value)
    assert pb.std(pb.tensor(x)).item() == 0
    assert grad(pb.std)(x).tolist() == [0, 0, 0]


def test_the_square_of_a_deviation_is_smooth_where_it_is_zero():
    x = np.full(3, 0.1)
    np.testing.assert_allclose(hessian(lambda t: pb.std(t) ** 2)(x), hessian(pb.var)(x), atol=1e-15)
    with pytest.raises(DerivativeRefused, match="std"):
        hessian(pb.std)(x)


def test_moments_of_complex_numbers():
    z = np.array([1 + 2j, 3 - 1j, 0.5j])
    away = z - z.mean()
    np.testing.assert_allclose(grad(pb.var)(z), 2 * away / 3)
    np.testing.assert_allclose(grad(pb.std)(z), away / 3 / np.std(z))


# ---------------------------------------------------------------------------------------------------------------- norms
ORDERS = [0, 0.5, 1, 1.5, 2, 3, 4, math.inf, -math.inf]


@pytest.mark.parametrize("p", ORDERS)
def test_the_subgradient_of_a_norm_at_zero_is_zero(p):
    assert grad(lambda x: pb.vector_norm(x, ord=p))(np.zeros(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("p", [p for p in ORDERS if p != 0])
def test_a_second_derivative_at_the_zero_vector_is_refused(p):
    with pytest.raises(DerivativeRefused, match="vector_norm"):
        hessian(lambda x: pb.vector_norm(x, ord=p))(np.zeros(3))


def test_the_zero_norm_is_a_constant():
    assert not hessian(lambda x: pb.vector_norm(x, ord=0) * x[0])(np.ones(2)).any()


@pytest.mark.parametrize(
    "square",
    [
        lambda y: y**2,
        lambda y: y * y,
        lambda y: pb.square(y),
        lambda y: 3 * y**2 - 2 * (y * y),
        lambda y: y**3 / y if y else y**2,
        lambda y: -(-y * y),
    ],
)
def test_the_square_of_a_norm_is_smooth_at_zero(square):
    """Its gradient there is 0 and its Hessian 2 I: the kink cancels."""
    f = lambda x: square(pb.vector_norm(x))  # noqa: E731
    zero = np.zeros(3)
    assert grad(f)(zero).tolist() == [0, 0, 0]
    np.testing.assert_allclose(hessian(f)(zero), 2 * np.eye(3))
    assert not derivative(f, 3)(zero).any()


def test_smooth_functions_of_the_squared_norm_are_right_to_fourth_order_at_zero():
    zero = np.zeros(2)
    for order in (1, 2, 3, 4):
        found = derivative(lambda x: pb.exp(-(pb.vector_norm(x) ** 2)), order)(zero)
        expected = derivative(lambda x: pb.exp(-(x * x).sum()), order)(zero)
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_squared_norms_of_rows_some_of_which_are_zero():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = hessian(lambda t: pb.sum(pb.vector_norm(t, axis=1) ** 2))(x)
    np.testing.assert_allclose(found, 2 * np.eye(4).reshape(2, 2, 2, 2), atol=1e-15)


def test_squared_complex_norms():
    z = leaf([0j, 0j], complex)
    (g,) = pb.autograd.grad(pb.vector_norm(z) ** 2, z, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(pb.real(g)) + 2 * pb.sum(pb.imag(g)), z)
    assert h.tolist() == [2 + 4j, 2 + 4j]


@pytest.mark.parametrize(
    "f",
    [
        lambda y, x: y * x[0],
        lambda y, x: pb.cos(y),  # smooth, but the graph does not show it
        lambda y, x: y + y**2,
        lambda y, x: pb.sin(y) * pb.sin(y) * 0 + y,
    ],
)
def test_where_the_kink_is_not_seen_to_cancel_the_hessian_is_refused(f):
    with pytest.raises(DerivativeRefused, match="vector_norm"):
        hessian(lambda x: f(pb.vector_norm(x), x))(np.zeros(2))


def test_the_third_power_of_a_norm_has_two_derivatives_and_no_third():
    f = lambda x: pb.vector_norm(x) ** 3  # noqa: E731
    assert not hessian(f)(np.zeros(2)).any()
    with pytest.raises(DerivativeRefused):
        derivative(f, 3)(np.zeros(2))


def test_a_zero_row_that_is_not_asked_for_refuses_nothing():
    x = leaf([[0.0, 0.0], [3.0, 4.0]])
    (g,) = pb.autograd.grad(pb.vector_norm(x, axis=1).sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g[1, 0], x, retain_graph=True)
    np.testing.assert_allclose(h._array, [[0, 0], [16 / 125, -12 / 125]])
    with pytest.raises(DerivativeRefused, match=r"\(0, 1\)"):
        pb.autograd.grad(g[0, 1], x)


def test_the_jvp_of_a_norm_at_zero_is_its_subgradient():
    """The second pullback of a jvp goes along the cotangent, not through the kink."""
    assert jvp(pb.vector_norm, (np.zeros(2),), (np.ones(2),)) == (0.0, 0.0)


@pytest.mark.parametrize("p", [1.5, 0.5, 1.01])
def test_a_zero_entry_has_an_infinite_second_derivative_below_two(p):
    f = lambda x: pb.vector_norm(x, ord=p)  # noqa: E731
    assert grad(f)(np.array([0.0, 1.0]))[0] == 0
    with pytest.raises(DerivativeRefused):
        hessian(f)(np.array([0.0, 1.0]))


def test_even_norms_are_polynomials_also_at_a_zero_entry():
    found = derivative(lambda x: pb.vector_norm(x, ord=4) ** 4, 4)(np.array([0.0, 1.0]))
    np.testing.assert_allclose(found[0, 0, 0, 0], 24)


@pytest.mark.parametrize("p", [2.5, 3, 5])
def test_norms_above_two_have_a_second_derivative_at_a_zero_entry(p):
    found = hessian(lambda x: pb.vector_norm(x, ord=p))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(found, np.zeros((2, 2)), atol=1e-15)


@pytest.mark.parametrize("ord", [None, "fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norms_are_numpys(ord, keepdims):
    x = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    found = pb.norm(pb.tensor(x), ord, keepdims=keepdims)
    expected = np.linalg.norm(x, ord, keepdims=keepdims)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found._array, expected)
    stack = np.stack([x, 2 * x])
    np.testing.assert_allclose(pb.norm(stack, ord, (1, 2)), np.linalg.norm(stack, ord, (1, 2)))


def test_norms_that_do_not_exist_say_what_else_there_is():
    with pytest.raises(ValueError, match="ord=3") as caught:
        pb.norm(leaf(np.eye(2)), 3)
    assert "vector_norm" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(("args", "shape"), [(("fro",), (3,)), ((2,), (2, 2, 2))])
def test_norms_of_the_wrong_number_of_dimensions(args, shape):
    with pytest.raises(ValueError, match="dimensions"):
        pb.norm(np.ones(shape), *args)


# ------------------------------------------------------------------------------------------------------ sort and search
def test_descending_order_is_stable():
    x = pb.tensor([1.0, 2.0, 1.0, 2.0])
    assert pb.argsort(x, descending=True).tolist() == [1, 3, 0, 2]
    assert pb.argsort(x).tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize("descending", [False, True])
def test_cotangents_of_sorted_entries_go_to_where_they_came_from(descending):
    x = leaf([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    weights = pb.tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    for axis in (0, 1):
        (g,) = pb.autograd.grad((pb.sort(x, axis, descending=descending) * weights).sum(), x)
        order = np.argsort(-x._array if descending else x._array, axis=axis)
        expected = np.zeros((2, 3))
        np.put_along_axis(expected, order, weights._array, axis)
        np.testing.assert_array_equal(g._array, expected)


def test_a_median_by_sorting_has_structural_zeros():
    assert grad(lambda x: pb.sort(pb.sqrt(x))[1])(np.array([0.0, 9.0, 4.0])).tolist() == [0, 0, 0.25]


# --------------------------------------------------------------------------------------------------------------- names
@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("sum", "SumBackward0"),
        ("mean", "MeanBackward0"),
        ("prod", "ProdBackward0"),
        ("var", "VarBackward0"),
        ("std", "StdBackward0"),
        ("max", "AmaxBackward0"),
        ("min", "AminBackward0"),
        ("logsumexp", "LogsumexpBackward0"),
        ("cumulative_sum", "CumsumBackward0"),
        ("cumulative_prod", "CumprodBackward0"),
        ("sort", "SortBackward0"),
        ("vector_norm", "LinalgVectorNormBackward0"),
    ],
)
def test_nodes_are_called_as_torch_calls_them(name, node):
    assert getattr(pb, name)(leaf([1.0, 2.0])).grad_fn.name() == node


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "max", "min", "amax", "amin", "logsumexp"])
def test_reductions_are_methods_that_take_the_axis_by_position(name):
    x = leaf([[1.0, 2.0], [3.0, 5.0]])
    function = getattr(pb, name.removeprefix("a"))
    assert getattr(x, name)(1).tolist() == function(x, axis=1).tolist()
    assert getattr(x, name)(axis=0, keepdims=True).shape == (1, 2)
