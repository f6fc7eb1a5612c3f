"""Saved values that are kept elsewhere: copied, on disk, or copied only when somebody writes to them."""

import gc

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch_names
from core.helpers import Square, leaf, teaches
from pullback.autograd import grad
from pullback.autograd.graph import allow_mutation_on_saved_tensors, save_on_cpu, save_on_disk
from pullback.core import modes, views


class Keeps(pb.Function):
    """Keeps an input, its result and an intermediate."""

    @staticmethod
    def forward(ctx, x):
        ctx.half = x / 2
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (x + ctx.half * 2) + 0 * y


def loss(x):
    return pb.sum(Keeps.apply(pb.exp(x)) * pb.sin(x) / (x + 3) + x**3)


VALUES = {
    "vector": [0.5, 1.5],
    "number": 0.7,
    "empty": np.empty((0, 3)),
    "transposed": np.arange(1.0, 7.0).reshape(2, 3).T,
    "single": np.array([0.5, 1.5], dtype=np.float32),
}


# ------------------------------------------------------------------------------------------------ in memory, on disk
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("context", [save_on_cpu, save_on_disk, allow_mutation_on_saved_tensors])
def test_derivatives_are_the_same(context, value):
    value = np.asarray(VALUES[value])
    x, same = leaf(value), leaf(value)
    (expected,) = grad(loss(same), same, create_graph=True)
    (second,) = grad(expected.sum(), same)
    with context():
        (found,) = grad(loss(x), x, create_graph=True)
        (found_second,) = grad(found.sum(), x)
    np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
    np.testing.assert_array_equal(found_second.numpy(), second.numpy())
    assert found.dtype == expected.dtype
    assert modes.current() is modes.ON


def test_files_are_where_they_were_asked_for_and_go_with_the_values(tmp_path):
    x = leaf([1.0, 2.0])
    with save_on_disk(tmp_path):
        y = pb.sum(pb.sin(x) * x)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sizes == [16] * 3
    y.backward()
    assert list(tmp_path.iterdir()) == []
    with save_on_disk(tmp_path):
        y = pb.sum(pb.sin(x))
    assert len(list(tmp_path.iterdir())) == 1
    del y
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_values_on_disk_stay_while_somebody_reads_them(tmp_path):
    class Shows(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            shown.append(ctx.saved_tensors[0])
            return g

    shown = []
    with save_on_disk(tmp_path):
        Shows.apply(leaf([1.0, 2.0])).sum().backward()
    assert shown[0].tolist() == [1.0, 2.0]


def test_values_on_disk_do_not_change_with_their_tensor():
    x = leaf([1.0, 2.0])
    h = x * 1
    with save_on_disk():
        y = Square.apply(h).sum()
    h.zero_()
    assert grad(y, x)[0].tolist() == [2.0, 4.0]


def test_arrays_of_other_libraries_come_back_as_such(tmp_path):
    import array_api_strict

    x = pb.asarray(array_api_strict.asarray([1.0, 2.0])).requires_grad_()
    with save_on_disk(tmp_path):
        y = pb.sum(pb.sin(x) * x)
    y.backward()
    assert type(x.grad._array) is type(x._array)


# ------------------------------------------------------------------------------------------------ written to
def write_all(h):
    h *= 3.0


def write_part(h):
    h[0] = 9.0


def write_alias(h):
    h.detach().zero_()


def write_view(h):
    h[1:].fill_(4.0)


def write_with_itself(h):
    h.mul_(h)


def write_by_index(h):
    h[[1]] = 5.0


def write_recorded(h):
    h[0] = leaf(2.0) * 3


class Doubles(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


@pytest.mark.parametrize(
    "write",
    [write_all, write_part, write_alias, write_view, write_with_itself, write_by_index, write_recorded, Doubles.apply],
)
@pytest.mark.parametrize("operator", [Square.apply, pb.exp, lambda h: h * h, lambda h: h[:2] * h[1:], Keeps.apply])
def test_what_is_saved_keeps_its_old_values(operator, write):
    value = [1.0, 2.0, 3.0]
    x, same = leaf(value), leaf(value)
    (expected,) = grad(operator(same * 1).sum(), same)
    with allow_mutation_on_saved_tensors():
        h = x * 1
        result = operator(h)
        y = result.sum()
        write(h)
        write(h)
        if result.shape == h.shape:
            write(result)
        (found,) = grad(y, x)
    assert found.tolist() == expected.tolist()


def test_the_new_value_has_its_own_derivative():
    x = leaf([1.0, 2.0])
    with allow_mutation_on_saved_tensors():
        h = x * 1
        y = (h**2).sum()
        h.sin_()
        (y + h.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array([1, 2]) + np.cos([1, 2]))


def test_only_what_is_overwritten_is_copied_and_only_once(monkeypatch):
    from pullback.core import arrays

    copies = []
    copy = arrays.copy
    with allow_mutation_on_saved_tensors():
        h = leaf(np.ones(4)) * 1
        y = Square.apply(h[:2]).sum() + Square.apply(h[2:]).sum()
        monkeypatch.setattr(arrays, "copy", lambda *args: copies.append(args[0].shape) or copy(*args))
        h[0] = 5.0
        h[1] = 6.0
        assert copies == [(2,)]
        monkeypatch.undo()
        y.backward()


def test_outside_of_the_block_nothing_is_looked_after():
    x = leaf([1.0, 2.0])
    with allow_mutation_on_saved_tensors() as context:
        y = Square.apply(x * 1).sum()
        z = Square.apply(x * 1).sum()
        context.clear()
        with teaches(AssertionError, "Trying to backward outside", notes=["before the end of the block"]):
            z.backward()
    with teaches(AssertionError, "Trying to backward outside"):
        y.backward()
    with allow_mutation_on_saved_tensors(), teaches(AssertionError, "Trying to backward outside"):
        y.backward()
    assert views.before_writing is None


def test_blocks_cannot_be_nested():
    with allow_mutation_on_saved_tensors():
        with (
            teaches(RuntimeError, "cannot be nested", notes=["leave the inner one out"]),
            allow_mutation_on_saved_tensors(),
        ):
            pass
        h = leaf([1.0, 2.0]) * 1
        y = Square.apply(h).sum()
        h.zero_()
        y.backward()


# ------------------------------------------------------------------------------------------------ versions
def test_writes_can_be_hidden():
    preserve = torch_names.autograd._unsafe_preserve_version_counter
    x = leaf([1.0, 2.0])
    h = x * 1
    h[0] = 1.0
    y = Square.apply(h).sum()
    with preserve(h):
        old = h.detach().clone()
        with pb.no_grad():
            h.zero_()
            h.copy_(old)
    assert h._version == 1
    assert grad(y, x, retain_graph=True)[0].tolist() == [0.0, 4.0]
    with pb.no_grad():
        h[0] = 2.0
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()


def test_hidden_writes_stay_hidden_after_others():
    h = leaf([1.0, 2.0]) * 1
    h[1] = 3.0
    y = Square.apply(h[:1]).sum()
    with pb.no_grad():
        with torch_names.autograd._unsafe_preserve_version_counter(h):
            h[0] = 1.0
        h[1] = 4.0
    y.backward()


def test_earlier_writes_are_not_hidden():
    h, other = leaf([1.0, 2.0]) * 1, pb.zeros(2)
    y = Square.apply(h).sum()
    with pb.no_grad():
        h.zero_()
        with torch_names.autograd._unsafe_preserve_version_counter((h, other)):
            h.zero_()
            other.zero_()
    assert (h._version, other._version) == (1, 0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()
    with teaches(AssertionError, "Expected tensors to be a tuple"):
        torch_names.autograd._unsafe_preserve_version_counter([h])
