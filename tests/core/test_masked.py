"""Cotangents that know their structural zeros: sums, masks made late, and how nodes unpack them."""

import tracemalloc

import numpy as np
import pytest

import pullback as pb
from core.helpers import Square, leaf, values
from pullback.autograd import grad
from pullback.core.masked import Masked, unmask


def masked(value, mask):
    return Masked(np.array(value, dtype=float), np.array(mask))


def test_it_has_the_shape_and_dtype_of_its_value():
    ct = masked([1.0, 0.0], [True, False])
    assert (ct.shape, ct.dtype) == ((2,), np.float64)
    assert unmask(ct) is ct.value
    assert unmask(ct.value) is ct.value
    assert unmask(None) is None


def test_a_mask_is_made_once_and_only_when_it_is_asked_for():
    made = []

    def mask():
        made.append(1)
        return np.array([True, False])

    ct = Masked(np.array([1.0, 0.0]), mask)
    assert not made
    assert ct.mask is ct.mask
    assert made == [1]


def test_a_sum_of_masked_is_masked_where_both_are():
    total = masked([1.0, 0.0, 0.0], [True, False, False]) + masked([0.0, 2.0, 0.0], [False, True, False])
    assert isinstance(total, Masked)
    np.testing.assert_array_equal(total.value, [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(total.mask, [True, True, False])


def test_a_sum_with_a_plain_cotangent_is_plain():
    ct, plain = masked([1.0, 0.0], [True, False]), np.array([5.0, 6.0])
    for total in (ct + plain, plain + ct, np.add(plain, ct)):
        assert type(total) is np.ndarray
        np.testing.assert_array_equal(total, [6.0, 6.0])
    np.testing.assert_array_equal(plain, [5.0, 6.0])
    np.testing.assert_array_equal(ct.value, [1.0, 0.0])


def test_adding_in_place():
    plain = np.array([5.0, 6.0])
    same = plain
    same += masked([1.0, 0.0], [True, False])
    assert same is plain
    np.testing.assert_array_equal(plain, [6.0, 6.0])
    total = masked([1.0, 0.0], [True, False])
    value = total.value
    total += masked([0.0, 1.0], [False, True])
    assert isinstance(total, Masked)
    assert total.value is value
    np.testing.assert_array_equal(total.mask, [True, True])
    total += np.array([1.0, 1.0])
    assert type(total) is np.ndarray
    np.testing.assert_array_equal(total, [2.0, 2.0])


def test_scalars_and_tensors_add_too():
    ct = Masked(np.float64(2.0), np.bool_(True))
    assert ct + np.float64(1.0) == 3.0
    assert np.float64(1.0) + ct == 3.0
    tensor = Masked(pb.tensor([1.0]), np.array([True]))
    assert (tensor + pb.tensor([2.0])).item() == 3.0
    assert (pb.tensor([2.0]) + tensor.value).item() == 3.0


@pytest.mark.parametrize("in_place", [False, True])
def test_the_mask_of_thousands_of_terms_needs_no_recursion(in_place):
    total = masked([0.0] * 5, [False] * 5)
    for k in range(5000):
        term = Masked(np.eye(5)[k % 4], lambda k=k: np.eye(5, dtype=bool)[k % 4])
        if in_place:
            total += term
        else:
            total = total + term
    np.testing.assert_array_equal(total.mask, [True] * 4 + [False])
    np.testing.assert_array_equal(total.value, [1250.0] * 4 + [0.0])


def test_a_sum_does_not_keep_its_terms():
    size = 100_000
    tracemalloc.start()
    try:
        total = Masked(np.zeros(size), np.zeros(size, dtype=bool))
        for _ in range(50):
            total = total + Masked(np.zeros(size), np.zeros(size, dtype=bool))
        assert tracemalloc.get_traced_memory()[0] < 52 * size + 3 * 8 * size
    finally:
        tracemalloc.stop()


class Gives(pb.Primitive):
    """The identity whose cotangent says that its last entry is a structural zero."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, ct):
        zero = np.array([1.0, 0.0]) if isinstance(ct, np.ndarray) else pb.tensor([1.0, 0.0])
        return Masked(ct * zero, np.array([True, False]))


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_structural_zero_stops_an_infinite_slope(create_graph):
    x = leaf([2.0, 0.0])
    with np.errstate(all="ignore"):
        y = Gives.apply(1 / x) + Gives.apply(1 / x)
        (g,) = grad(y, x, pb.tensor([1.0, 1.0]), create_graph=create_graph)
    np.testing.assert_array_equal(values([g])[0], [-0.5, 0.0])


def test_a_computed_zero_does_not():
    x = leaf([2.0, 0.0])
    with np.errstate(all="ignore"):
        (g,) = grad((1 / x) * pb.tensor([1.0, 0.0]), x, pb.tensor([1.0, 1.0]))
    assert np.isnan(g.numpy()[1])


class GivesBroadcast(pb.Primitive):
    """a + b, whose cotangents say that the last row of the sum is a structural zero."""

    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, ct):
        keep = np.array([[1.0], [0.0]])
        ct = ct * (keep if isinstance(ct, np.ndarray) else pb.tensor(keep))
        mask = np.array([[True, True], [False, False]])
        return Masked(ct, mask), Masked(ct, mask)


@pytest.mark.parametrize("create_graph", [False, True])
def test_structural_zeros_come_through_broadcasting(create_graph):
    a, b = leaf([[1.0], [0.0]]), leaf([2.0, 4.0])
    with np.errstate(all="ignore"):
        y = GivesBroadcast.apply(1 / a, 1 / b)
        ga, gb = grad(y, [a, b], pb.tensor(np.ones((2, 2))), create_graph=create_graph)
    np.testing.assert_array_equal(values([ga])[0], [[-2.0], [0.0]])
    np.testing.assert_array_equal(values([gb])[0], [-0.25, -0.0625])


@pytest.mark.parametrize("create_graph", [False, True])
def test_users_never_see_the_mask(create_graph):
    seen = []
    x = leaf([2.0, 3.0])
    a = Square.apply(x)
    a.register_hook(lambda g: seen.append(type(g)))
    a.grad_fn.register_prehook(lambda g: seen.append(type(g[0])))
    (ga, gx) = grad(Gives.apply(a), [a, x], pb.tensor([1.0, 1.0]), create_graph=create_graph)
    assert seen == [pb.Tensor, pb.Tensor]
    assert type(ga) is type(gx) is pb.Tensor
    np.testing.assert_array_equal(values([ga, gx]), [[1.0, 0.0], [4.0, 0.0]])
    y = Gives.apply(x)
    y.backward(pb.tensor([1.0, 1.0]))
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 0.0])
