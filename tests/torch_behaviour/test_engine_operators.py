"""Derivatives of operators at points, and of layouts, that engines get wrong."""

import math

import numpy as np
import pytest

from torch_behaviour.entry import entry


def checked(torch, function, *inputs):
    """First and second derivatives of `function` at `inputs` agree with differences."""
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


def values(torch, array):
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


@entry("B", "power_function", "pow_zero_tensor_gradient")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_zero_to_a_power(torch):
    a = torch.tensor([0.0, 0.0, 0.0])
    b = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    (a**b).sum().backward()
    assert b.grad.tolist() == [-math.inf, 0.0, 0.0]
    s = 0
    b = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    (s**b).sum().backward()
    assert b.grad.tolist() == [-math.inf, 0.0, 0.0]
    for shape in ((2, 2), ()):
        x = torch.zeros(shape, requires_grad=True)
        torch.pow(x, 2).sum().backward()
        assert torch.equal(x.grad, torch.zeros(shape))
        x.grad = None
        (x**0).sum().backward()
        assert torch.equal(x.grad, torch.zeros(shape))


@entry("B", "pow_real_negative_base_complex_exponent")
def test_a_negative_number_to_a_complex_power(torch):
    base = -torch.ones(2, dtype=torch.float64)
    x = torch.tensor([0.5 + 0.25j, 1.0 - 1.0j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.pow(base.to(torch.complex128), x), (x,))
    assert torch.autograd.gradcheck(lambda x: torch.pow(-1.0, x), (x,))


@entry("B", "atan2_zero_gradient")
def test_the_gradient_of_atan2_at_zero_is_zero(torch):
    a, b = values(torch, 0.0), values(torch, 0.0)
    torch.atan2(a, b).backward()
    assert (a.grad.item(), b.grad.item()) == (0.0, 0.0)


@entry("B", "trace_backward_nonsquare")
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 4), (3, 3)])
def test_the_trace_of_a_matrix_that_is_not_square(torch, shape):
    x = values(torch, np.arange(float(np.prod(shape))).reshape(shape))
    torch.trace(x).backward()
    assert x.grad.tolist() == np.eye(*shape).tolist()
    checked(torch, lambda x: torch.trace(x) ** 2, x)


@entry("B", "select_expanded_v", "slice_expanded_v", "diagonal_expanded_v", "select_sum")
def test_seeds_that_repeat_one_element_in_memory(torch):
    x = torch.rand(10, 10, requires_grad=True)
    value = torch.tensor([[3.0]])
    for function, shape, where in (
        (lambda x: x[4], (10,), np.s_[4]),
        (lambda x: x[2:5], (3, 10), np.s_[2:5]),
        (lambda x: x.diagonal(), (10,), (range(10), range(10))),
        (lambda x: x.select(1, 2), (10,), np.s_[:, 2]),
    ):
        seed = value.reshape(()).expand(shape)
        (found,) = torch.autograd.grad(function(x), x, seed)
        expected = np.zeros((10, 10))
        expected[where] = 3.0
        assert found.tolist() == expected.tolist()
    y = values(torch, np.arange(10.0))
    checked(torch, lambda x: x.select(0, 1).sum() * x.sum(), y)


@entry("B", "mv_grad_stride_0")
def test_a_product_with_a_repeated_vector(torch):
    matrix = values(torch, [[1.0, 2.0], [3.0, 4.0]])
    x = values(torch, [5.0])
    checked(torch, lambda m, x: torch.mv(m, x.expand(2)), matrix, x)


@entry("B", "indexing")
def test_indices_of_all_kinds(torch):
    def check(index, shape=(5, 5)):
        x = torch.tensor(np.arange(float(np.prod(shape))).reshape(shape), dtype=torch.float64, requires_grad=True)
        with torch.no_grad():
            expected = x.numpy()[index]
        index = tuple(torch.tensor(i) if isinstance(i, (list, np.ndarray)) else i for i in index)
        y = x[index if len(index) > 1 else index[0]]
        assert y.tolist() == expected.tolist()
        y.sum().backward()
        counts = np.zeros(shape)
        np.add.at(counts, tuple(i.numpy() if hasattr(i, "numpy") else i for i in index), 1.0)
        assert x.grad.tolist() == counts.tolist()

    for index in (
        *((1,), (-1,), (slice(None),), (slice(1, 3),), (Ellipsis,), (None,), (Ellipsis, 1), (1, slice(1, 3))),
        *((slice(None), 2), (slice(1, 4, 2), 2), (None, 1, None), ([0, 2],), ([2, 3], [0, 4]), (slice(None), [1, 1])),
        *(([[1, 2], [0, 0]],), (Ellipsis, [1, 2]), ([0, 1], None), ([True, False, True, False, True],)),
    ):
        check(index)
    for index in (
        (slice(None), [1, 2], [1, 2]),
        ([0, 1], slice(None), [1, 0]),
        (Ellipsis, 1, [0, 3]),
        (0, Ellipsis, 0),
    ):
        check(index, (4, 4, 4))
    mask = np.arange(25).reshape(5, 5) % 3 == 0
    check((mask,))


@entry("B", "indexing_duplicates")
def test_an_entry_taken_several_times_gets_all_gradients(torch):
    x = values(torch, np.arange(16.0).reshape(4, 4))
    index = torch.tensor([1, 1, 3, 2, 1, 2])
    x[index].sum().backward()
    assert x.grad.tolist() == [[0.0] * 4, [3.0] * 4, [2.0] * 4, [1.0] * 4]
    x = values(torch, np.arange(16.0).reshape(4, 4))
    x[torch.tensor([[1, 1], [3, 2]]), 2].sum().backward()
    expected = np.zeros((4, 4))
    expected[[1, 2, 3], 2] = [2.0, 1.0, 1.0]
    assert x.grad.tolist() == expected.tolist()


@entry("B", "var_mean_differentiable")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, (0, 1), (1, 2)])
def test_variance_and_mean_at_once(torch, dim, keepdim):
    x = values(torch, np.sin(np.arange(24.0)).reshape(2, 3, 4))

    def both(x):
        var, mean = torch.var_mean(x, dim=dim, keepdim=keepdim)
        return (var * mean).sum()

    def apart(x):
        return (torch.var(x, dim=dim, keepdim=keepdim) * torch.mean(x, dim=dim, keepdim=keepdim)).sum()

    assert torch.allclose(both(x), apart(x))
    first, second = torch.autograd.grad(both(x), x)[0], torch.autograd.grad(apart(x), x)[0]
    assert torch.allclose(first, second)


@entry("B", "where_functional", "where_scalar")
def test_where_with_broadcasting_and_numbers(torch):
    condition = torch.tensor([[True], [False], [True]])
    x, y = values(torch, [[1.0, 2.0]]), values(torch, [[3.0], [4.0], [5.0]])
    checked(torch, lambda x, y: torch.where(condition, x, y), x, y)
    checked(torch, lambda x: torch.where(condition, x, 2.0), x)
    checked(torch, lambda x: torch.where(condition, 2.0, x), x)
    assert torch.where(condition, 1.0, 2.0).tolist() == [[1.0], [2.0], [1.0]]


@entry("B", "min_max_median_backprops_to_all_values")
@pytest.mark.parametrize("name", ["min", "max", "amin", "amax"])
def test_ties_share_the_gradient(torch, name):
    for array in ([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [float("nan")] * 6):
        x = torch.tensor(array, requires_grad=True)
        y = getattr(torch, name)(x)
        if math.isnan(array[0]):
            assert math.isnan(y.item())
            continue
        y.backward()
        assert x.grad.sum().item() == pytest.approx(1.0)
        assert sorted(set(x.grad.tolist())) == [0.0, pytest.approx(1 / 3)]


@entry("B", "min_max_median_backprops_to_all_values")
def test_the_median_has_a_gradient(torch):
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    torch.median(x).backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0]


@entry("B", "non_differentiable_ops")
def test_results_of_comparisons_have_no_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for result in (
        torch.eq(x, x),
        x == 1,
        x > 1,
        torch.isin(x, torch.tensor([1.0])),
        torch.isnan(x),
        torch.isfinite(x),
    ):
        assert not result.requires_grad
        assert result.dtype == torch.bool
