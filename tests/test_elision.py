"""``2 * x * g`` needs one new array; what anybody could still look at is never written to."""

import itertools
import operator
import tracemalloc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core import elision, recycling

SIZE = 2 * recycling.LARGE
X, G = np.random.default_rng(0).random((2, SIZE))


@pytest.fixture
def x():
    return pb.tensor(X)


@pytest.fixture
def g():
    return pb.tensor(G)


@pytest.fixture(autouse=True)
def nothing_waiting():
    recycling._waiting.clear()


def arrays_needed(compute, *args):
    """The most memory that a computation held at once, in arrays, once numbers have become arrays."""
    compute(*args)
    recycling._waiting.clear()
    tracemalloc.start()
    try:
        compute(*args)
        return round(tracemalloc.get_traced_memory()[1] / X.nbytes)
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not elision._ALONE, reason="this interpreter does not count references")
@pytest.mark.parametrize(
    ("compute", "needed"),
    [
        (lambda x, g: 2 * x * g, 1),  # the derivative of a square
        (lambda x, g: g * 2 * x, 1),
        (lambda x, g: g * (2 * x), 1),
        (lambda x, g: g - x / 3, 1),
        (lambda x, g: (x + g) * g - x, 1),
        (lambda x, g: x * g * 2 / 3, 1),
        (lambda x, g: (x * 2) * (g * 3), 2),
        (lambda x, g: [2 * x * part for part in (g,)], 1),
        (lambda x, g: (lambda: 2 * x * g)(), 1),
    ],
)
def test_a_temporary_becomes_the_result(x, g, compute, needed):
    assert arrays_needed(compute, x, g) == needed
    expected = compute(X, G)
    found = compute(x, g)
    if isinstance(found, list):
        (found,), (expected,) = found, expected
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal((x.numpy(), g.numpy()), (X, G))


def test_a_variable_stays(x, g):
    t = 2 * x
    product = t * g
    again = (u := 3 * x) * g
    np.testing.assert_array_equal(t.numpy(), 2 * X)
    np.testing.assert_array_equal(u.numpy(), 3 * X)
    np.testing.assert_array_equal(product.numpy(), 2 * X * G)
    np.testing.assert_array_equal(again.numpy(), 3 * X * G)


@pytest.mark.parametrize("first", [True, False])
def test_a_branch_that_ends_in_the_same_operator(x, g, first):
    kept = x + 1
    for choice in (first, not first, first):
        product = (kept if choice else 2 * x) * g
        np.testing.assert_array_equal(product.numpy(), ((X + 1) if choice else 2 * X) * G)
    np.testing.assert_array_equal(kept.numpy(), X + 1)


def holder(tensor):
    """An array of objects that holds one Tensor, and counts no reference when it calls an operator."""
    array = np.empty(1, object)
    array[0] = tensor
    return array


def test_arrays_of_objects_keep_what_they_hold(x):
    held = holder(x * 1.0)
    doubled = held * 2.0
    quadrupled = doubled * 2.0 * 1.0
    np.testing.assert_array_equal(held[0].numpy(), X)
    np.testing.assert_array_equal(doubled[0].numpy(), 2 * X)
    np.testing.assert_array_equal(quadrupled[0].numpy(), 4 * X)


def holders(*tensors):
    array = np.empty(len(tensors), object)
    array[:] = tensors
    return array


@pytest.mark.parametrize(
    "compute",
    [
        lambda held, others, x: others * (held * 2.0),
        lambda held, others, x: held * 2.0 * others,
        lambda held, others, x: others * (2.0 * (held if others.size else x)),
    ],
)
def test_what_an_array_of_objects_holds_may_be_used_again_for_every_entry(x, g, compute):
    """NumPy broadcasts it: the Tensor in `held * 2.0` is multiplied with each of the others."""
    results = compute(holders(x), holders(g, g + 1, g + 2), x)
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), 2 * X * (G + k))


def test_looking_at_variables_keeps_none_alive(x, g):
    part = x + 1
    watched = weakref.ref(part)
    product = 2 * part * g
    del part
    assert watched() is None
    np.testing.assert_array_equal(product.numpy(), 2 * (X + 1) * G)


def test_a_snapshot_of_variables_that_somebody_holds_stays(x, g):
    variables = locals()
    for _ in range(2):
        2 * x * g
    assert variables["x"] is x


def test_compiled_code_that_calls_an_operator_twice(x, g):
    pairs = [(x * 1.0, g)]
    results = [*itertools.starmap(operator.mul, pairs), *itertools.starmap(operator.mul, pairs)]
    results += map((x * 1.0).__mul__, [g, g])

    class Bound:
        __mul__ = (x * 1.0).__mul__

    results += [Bound() * g, Bound() * g]
    for result in results:
        np.testing.assert_array_equal(result.numpy(), X * G)


def test_results_of_another_kind_or_order_get_memory_of_their_own(g):
    whole, row = pb.arange(SIZE), pb.tensor(X.reshape(2, -1))
    np.testing.assert_array_equal((whole * 2 * g).numpy(), np.arange(SIZE) * 2 * G)
    np.testing.assert_array_equal((whole + whole * 1 / g).numpy(), np.arange(SIZE) + np.arange(SIZE) / G)
    turned = row * 2 * pb.tensor(np.asfortranarray(X.reshape(2, -1)))
    np.testing.assert_array_equal(turned.numpy(), 2 * X.reshape(2, -1) ** 2)
    assert (row[0] * 2 * row).shape == row.shape


def test_graphs_keep_their_values():
    x = pb.tensor(X, requires_grad=True)
    y = 2 * x * x * x
    (first,) = pb.autograd.grad(y, x, pb.ones_like(x), create_graph=True)
    (second,) = pb.autograd.grad(first, x, pb.ones_like(x))
    np.testing.assert_allclose(first.detach().numpy(), 6 * X**2)
    np.testing.assert_allclose(second.numpy(), 12 * X)
