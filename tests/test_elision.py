"""Memory of temporaries is reused; memory that anybody can still see is not."""

import functools
import operator
import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback.ops import elision

SIZE = 2 * elision.LARGE
X, G = np.random.default_rng(0).random((2, SIZE))


@pytest.fixture
def x():
    return pb.tensor(X)


@pytest.fixture
def g():
    return pb.tensor(G)


def peak(compute):
    """The result of a computation, and the most memory it held at once, in arrays."""
    tracemalloc.start()
    try:
        result = compute()
        return result, tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


needs_elision = pytest.mark.skipif(not elision._TEMPORARY, reason="this interpreter does not tell temporaries apart")


@needs_elision
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x, g: 2 * x * g, 2 * X * G),
        (lambda x, g: x * g + x - g, X * G + X - G),
        (lambda x, g: (x + g) / 3, (X + G) / 3),
    ],
)
def test_a_chain_of_operators_needs_one_new_array(x, g, compute, expected):
    result, arrays = peak(lambda: compute(x, g))
    np.testing.assert_array_equal(result.numpy(), expected)
    assert arrays < 1.1
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(g.numpy(), G)


def keep_in_variable(t):
    return t, t + 1


def keep_in_closure(t):
    def later():
        return t

    return later(), t * 2


def keep_in_list(t):
    kept = [t]
    return kept[0], [a * 2 for a in kept]


def keep_in_attribute(t):
    class Holder:
        pass

    holder = Holder()
    holder.t = t
    return holder.t, holder.t * 2


def keep_by_walrus(t):
    product = (kept := t * 1) * 2
    return kept, product


def keep_array(t):
    kept = t.detach()
    return kept, t * 2


def keep_view(t):
    view = t[1:]
    return t, view * 2


def call_method(t):
    return t, t.__mul__(2)


def call_operator_module(t):
    return t, operator.mul(t, 2)


def reduce(t):
    return t, functools.reduce(operator.mul, [t, t, t])


def from_generator(t):
    def numbers():
        yield t

    return t, [y + 1 for y in numbers()]


def augmented(t):
    kept = t
    t = t * 2
    return kept, t


@pytest.mark.parametrize(
    "keep",
    [
        keep_in_variable,
        keep_in_closure,
        keep_in_list,
        keep_in_attribute,
        keep_by_walrus,
        keep_array,
        keep_view,
        call_method,
        call_operator_module,
        reduce,
        from_generator,
        augmented,
    ],
)
def test_what_can_still_be_seen_is_left_alone(x, g, keep):
    kept, _ = keep(x * g)
    np.testing.assert_array_equal(kept.numpy(), X * G)


def test_an_array_that_somebody_holds_is_left_alone(x, g):
    kept = []

    def look(t):
        kept.append(t._array)
        return t

    look(x * g) * 2
    np.testing.assert_array_equal(kept[0], X * G)


def test_shapes_and_dtypes_that_do_not_fit_get_an_array_of_their_own():
    column, row = pb.tensor(np.ones((SIZE, 1))), pb.tensor(np.ones((1, 2)))
    assert ((column * 2) * row).shape == (SIZE, 2)
    single = pb.tensor(np.ones(SIZE, dtype=np.float32))
    assert ((single * 2) * pb.tensor(np.ones(SIZE))).dtype == np.float64


def test_recorded_results_are_left_alone(x):
    w = pb.tensor(G, requires_grad=True)
    y = w * 2 * w
    y.backward(x)
    np.testing.assert_allclose(w.grad.numpy(), 4 * G * X)


def test_a_leaf_takes_over_memory_that_nobody_else_holds_and_copies_the_rest():
    w = pb.tensor(G, requires_grad=True)
    seen = []
    w.register_hook(lambda grad: seen.append(grad))
    seed = pb.tensor(np.ones(SIZE))
    (w * 1).backward(seed)
    (w + 0).backward(seed)
    w.grad.zero_()
    np.testing.assert_array_equal(seed.numpy(), 1.0)
    np.testing.assert_array_equal(seen[0].numpy(), 1.0)
    np.testing.assert_array_equal(seen[1].numpy(), 1.0)
