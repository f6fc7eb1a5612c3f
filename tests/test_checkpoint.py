"""Checkpoints save memory, also while the backward pass runs, nest, and replay what is random or refuse."""

import random
import tracemalloc

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad as fw
from pullback.autograd.checkpoint import (
    CheckpointError,
    checkpoint,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from pullback.autograd.graph import save_on_cpu, saved_tensors_hooks

UNIT = 1 << 18  #: bytes of every array, large beside all else


def segment(x):
    for _ in range(4):
        x = pb.sin(x) * 1.1
    return x


def peak_of(run):
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / UNIT
    finally:
        tracemalloc.stop()


def plain(x, count):
    for _ in range(count):
        x = segment(x)
    return x


def in_segments(x, count):
    for _ in range(count):
        x = checkpoint(segment, x)
    return x


def by_halves(x, count):
    if count == 1:
        return segment(x)
    half = count // 2
    return checkpoint(by_halves, checkpoint(by_halves, x, half), count - half)


@pytest.mark.parametrize(("way", "most"), [(plain, 200.0), (in_segments, 30.0), (by_halves, 15.0)])
def test_peak_memory_of_forward_and_backward(way, most):
    """16 segments of 4 saved arrays: more than 64 plain, 16 + 4 in segments, and fewer by halves."""
    x = pb.tensor(np.linspace(0.0, 1.0, UNIT // 8), requires_grad=True)
    found = []
    peak = peak_of(lambda: found.append(pb.autograd.grad(way(x, 16).sum(), x)[0]))
    assert peak < most
    assert way is not plain or peak > 60.0
    expected = pb.autograd.grad(plain(x, 16).sum(), x)[0]
    np.testing.assert_array_equal(found[0].numpy(), expected.numpy())


@pytest.mark.parametrize("way", [in_segments, by_halves])
def test_derivatives_of_any_order(way):
    x = pb.tensor([0.3, -0.7], dtype=pb.float64, requires_grad=True)

    def third(function):
        (a,) = pb.autograd.grad(function(x, 3).sum(), x, create_graph=True)
        (b,) = pb.autograd.grad(pb.sum(a * a), x, create_graph=True)
        return pb.autograd.grad(pb.sum(b), x)[0].numpy()

    np.testing.assert_allclose(third(way), third(plain), rtol=1e-12)


def test_an_outer_checkpoint_keeps_no_argument_of_an_inner_one():
    import weakref

    seen = []

    def inner(t):
        seen.append(weakref.ref(t._array))
        return pb.exp(t)

    def outer(t):
        return checkpoint(inner, pb.sin(t)) * 2.0

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = checkpoint(outer, x)
    assert seen[0]() is None
    (g,) = pb.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(g.numpy(), 2 * np.cos([1, 2]) * np.exp(np.sin([1, 2])))


def test_inside_other_hooks_the_arguments_go_through_them():
    packed = []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor.detach().clone()

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(pack, lambda t: t):
        y = checkpoint(lambda t: pb.exp(pb.sin(t)), x * 1.0)
    assert packed == [(2,)]
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1, 2]) * np.exp(np.sin([1, 2])))
    with save_on_cpu():
        checkpoint(lambda t: pb.exp(pb.sin(t)), x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([1, 2]) * np.exp(np.sin([1, 2])))


def test_random_numbers_of_numpy_are_replayed_and_others_noticed():
    x = pb.tensor(np.ones(50), requires_grad=True)

    def dropout(t):
        return t * t * (np.random.random(50) > 0.5)  # noqa: NPY002 - the global generator is what is replayed

    np.random.seed(3)  # noqa: NPY002
    y = checkpoint(dropout, x)
    after = np.random.random()  # noqa: NPY002
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * y.detach().numpy())
    np.random.seed(3)  # noqa: NPY002
    np.random.random(50)  # noqa: NPY002
    assert np.random.random() == after  # noqa: NPY002
    for source in (np.random.default_rng(0).random, lambda n: np.array([random.random() for _ in range(n)])):
        z = checkpoint(lambda t, source=source: pb.sin(t * (source(50) > 0.5)), x)
        with pytest.raises(CheckpointError, match="other values"):
            z.sum().backward()


def test_arrays_that_the_first_call_made_stay_those_of_the_first_call():
    """What is no Tensor is kept, not computed again, so there is nothing to compare: the gradient is that of the value."""
    rng = np.random.default_rng(0)
    x = pb.tensor(np.ones(50), requires_grad=True)
    y = checkpoint(lambda t: t * t * (rng.random(50) > 0.5), x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * y.detach().numpy())


def test_one_element_of_many_that_changed_is_noticed():
    calls = []

    def nearly(t):
        scale = np.ones(5000)
        scale[1234] = 2.0 + len(calls)
        calls.append(1)
        return pb.sin(t * scale)

    x = pb.tensor(np.ones(5000), requires_grad=True)
    with pytest.raises(CheckpointError, match="other values"):
        checkpoint(nearly, x).sum().backward()


def test_values_in_another_order_are_noticed():
    calls = []

    def shuffled(t):
        calls.append(1)
        return t[np.roll(np.arange(4), len(calls))] ** 2

    x = pb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with pytest.raises(CheckpointError):
        checkpoint(shuffled, x)[0].backward()


def test_lines_of_both_calls_in_debug_mode():
    calls = []

    def other(t):
        calls.append(1)
        if len(calls) == 1:
            return pb.exp(t)
        return pb.exp(pb.concat([t, t]))

    x = pb.tensor([1.0], requires_grad=True)
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(other, x)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    notes = "\n".join(caught.value.__notes__)
    assert "return pb.exp(t)" in notes
    assert "return pb.exp(pb.concat([t, t]))" in notes
    calls.clear()
    with pytest.raises(CheckpointError) as caught:
        checkpoint(other, x).sum().backward()
    assert "debug=True" in "\n".join(caught.value.__notes__)
    assert "return pb.exp(t)" not in "".join(n for n in caught.value.__notes__ if n.startswith("The first call"))


def test_the_second_call_ends_early():
    steps = []

    def function(t):
        steps.append("first")
        u = pb.exp(t) * t
        steps.append("last")
        return u * 3.0

    x = pb.tensor([1.0], requires_grad=True)
    checkpoint(function, x).sum().backward()
    assert steps == ["first", "last", "first"]
    steps.clear()
    with set_checkpoint_early_stop(False):
        y = checkpoint(function, x)
    y.sum().backward()
    assert steps == ["first", "last"] * 2


def test_the_end_of_the_second_call_is_no_error_to_the_function():
    caught = []

    def guarded(t):
        try:
            return pb.exp(t) * t
        except Exception as error:
            caught.append(error)
            raise

    x = pb.tensor([1.0], requires_grad=True)
    checkpoint(guarded, x).sum().backward()
    assert caught == []
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.e)


def test_only_what_is_still_needed_is_computed_again():
    """The part that ran in an earlier pass, without retain_graph, needs no values any more."""
    runs = []

    def two(t):
        runs.append("a")
        a = pb.exp(t)
        runs.append("b")
        return a, pb.sin(t) * t

    x = pb.tensor(1.0, requires_grad=True)
    a, b = checkpoint(two, x)
    b.backward()
    runs.clear()
    a.backward()
    assert runs == ["a"]
    assert x.grad.item() == pytest.approx(np.e + np.sin(1) + np.cos(1))


def test_forward_mode_in_and_around_checkpoints():
    with fw.dual_level():
        x = fw.make_dual(pb.tensor(1.0, requires_grad=True), pb.tensor(2.0))
        y = checkpoint(lambda t: checkpoint(pb.exp, pb.sin(t)), x)
        assert fw.unpack_dual(y).tangent.item() == pytest.approx(2 * np.cos(1) * np.exp(np.sin(1)))


def test_checkpoints_under_transformations():
    x = np.linspace(0.1, 1.2, 6).reshape(2, 3)
    function = lambda t: checkpoint(lambda u: pb.sum(pb.exp(pb.sin(u))), t)  # noqa: E731
    slope = np.cos(x) * np.exp(np.sin(x))
    np.testing.assert_allclose(pb.vmap(pb.grad(function))(x), slope)
    np.testing.assert_allclose(pb.grad(lambda t: pb.sum(pb.vmap(function)(t)))(x), slope)
    curvature = (np.cos(x[0]) ** 2 - np.sin(x[0])) * np.exp(np.sin(x[0]))
    np.testing.assert_allclose(pb.hessian(function)(x[0]), np.diag(curvature))
