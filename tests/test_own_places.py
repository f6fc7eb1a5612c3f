"""Every Tensor has a place in the graph of its own: its gradient and its hooks are never those of another Tensor."""

import copy

import pytest

import pullback as pb
import pullback.torch as torch
from pullback.autograd import grad


def leaf(value):
    return pb.tensor(value, requires_grad=True)


# -------------------------------------------------------------------------------------------------------------- writing
def copied(y):
    return pb.zeros(2).copy_(y)


def copied_over_another_history(y):
    return (leaf([5.0, 6.0]) * 1).copy_(y)


def filled(y):
    return pb.tensor(0.0).fill_(y[0])


def assigned(index):
    def assign(y):
        b = pb.zeros(2)
        b[index] = y
        return b

    return assign


def written_through(view):
    def write(y):
        b = pb.zeros(2)
        view(b).copy_(y)
        return b

    return write


WRITES = {
    "copy_": copied,
    "copy_ over another history": copied_over_another_history,
    "copy_, cast": lambda y: pb.zeros(2, dtype=pb.float32).copy_(y),
    "copy_, broadcast": lambda y: pb.zeros((3, 2)).copy_(y),
    "fill_": filled,
    "b[...] = y": assigned(...),
    "b[:] = y": assigned(slice(None)),
    "b[[0, 1]] = y": assigned([0, 1]),
    "a view": written_through(lambda b: b[...]),
    "a reshaped view": written_through(lambda b: b.reshape(2)),
    "add_": lambda y: pb.zeros(2).add_(y),
    "copy.copy": copy.copy,
}


@pytest.mark.parametrize("write", WRITES)
def test_what_was_written_has_a_gradient_and_hooks_of_its_own(write):
    x = leaf([1.0, 2.0])
    y = x * 1
    b = WRITES[write](y)
    total = pb.sum(b) * 0.5 - pb.sum(y * y)
    assert grad(total, b, retain_graph=True)[0].tolist() == pb.full(b.shape, 0.5).tolist()
    before = grad(total, x, retain_graph=True)[0]
    of_y = grad(total, y, retain_graph=True)[0]
    b.register_hook(lambda g: g * 3)
    after = grad(total, x, retain_graph=True)[0]
    assert (after - before).tolist() == ((of_y + 2 * y) * 2).tolist()
    y.retain_grad()
    b.retain_grad()
    total.backward()
    assert y.grad.tolist() == after.tolist()
    assert b.grad.tolist() == pb.full(b.shape, 1.5).tolist()


def test_a_leaf_that_was_copied_stays_the_only_leaf():
    x = leaf([1.0, 2.0])
    b = pb.zeros(2).copy_(x)
    assert (b.is_leaf, b.grad_fn.name()) == (False, "CopyBackwards")
    assert grad(pb.sum(b * b) + pb.sum(x), b)[0].tolist() == [2, 4]


def test_the_history_that_was_overwritten_gets_zeros():
    x, z = leaf([0.0, 4.0]), leaf([1.0, 2.0])
    b = pb.sqrt(x) * 1
    b.copy_(z)
    (g,) = grad(pb.sum(b * b * b), x, create_graph=True)
    assert g.tolist() == [0, 0]
    (g,) = grad(pb.sum(b * b * b), z, create_graph=True)
    assert grad(pb.sum(g), z)[0].tolist() == [6, 12]


# ------------------------------------------------------------------------------------------ operators that change nothing
NOTHING_CHANGES = {
    "+y": lambda y: +y,
    "reshape": lambda y: y.reshape(3),
    "view_as": lambda y: y.view_as(y),
    "flatten": lambda y: y.flatten(),
    "expand": lambda y: y.expand(3),
    "contiguous": lambda y: y.contiguous(),
    "to": lambda y: y.to(y.dtype),
    "to, copied": lambda y: y.to(y.dtype, copy=True),
    "type_as": lambda y: y.type_as(y),
    "cat": lambda y: torch.cat([y]),
    "atleast_1d": lambda y: torch.atleast_1d(y),
    "broadcast_tensors": lambda y: torch.broadcast_tensors(y, y)[0],
    "squeeze": lambda y: y.squeeze(),
    "permute": lambda y: y.permute(0),
    "tile": lambda y: y.tile(1),
    "sum_to_size": lambda y: y.sum_to_size(3),
    "sum over no axes": lambda y: pb.sum(y, axis=()),
    "split": lambda y: y.split(3)[0],
    "y[...]": lambda y: y[...],
    "flip": lambda y: y.flip(()),
    "real": lambda y: torch.real(y),
    "conj": lambda y: y.conj(),
    "as_tensor": lambda y: torch.as_tensor(y),
    "einsum": lambda y: torch.einsum("i->i", y),
    "repeat_interleave": lambda y: y.repeat_interleave(1),
    "roll": lambda y: y.roll(0, 0),
    "meshgrid": lambda y: torch.meshgrid(y, indexing="ij")[0],
    "copy.copy": copy.copy,
}


@pytest.mark.parametrize("name", NOTHING_CHANGES)
def test_the_result_is_the_very_tensor_or_stands_elsewhere(name):
    y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1
    result = NOTHING_CHANGES[name](y)
    assert result is y or result._resolved() not in (None, y._resolved())


# ------------------------------------------------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("f", [lambda x: x.clone(), lambda x: +x, lambda x: x.reshape(2), lambda x: x], ids=range(4))
@pytest.mark.parametrize("seed", [lambda t: t, lambda t: t * 1], ids=["leaf", "computed"])
def test_a_derivative_is_not_the_seed(f, seed):
    x, t = leaf([1.0, 2.0]), seed(leaf([3.0, 4.0]))
    (g,) = grad(f(x), x, t, create_graph=True)
    assert not g.is_leaf
    assert grad(pb.sum(g * g) + pb.sum(t), g, retain_graph=True)[0].tolist() == [6, 8]
    assert grad(pb.sum(g * g) + pb.sum(t), t)[0].tolist() == [7, 9]


def test_a_derivative_is_not_what_its_rule_saved():
    class Half(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return pb.sum(x * y)

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0], None

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (g,) = grad(Half.apply(x, y), x, create_graph=True)
    assert not g.is_leaf
    assert grad(pb.sum(g * g) + pb.sum(y), g)[0].tolist() == [6, 8]


def test_the_derivatives_with_respect_to_two_terms_are_two():
    y, z, t = leaf([1.0, 2.0]) * 1, leaf([1.0, 2.0]) * 1, leaf([3.0, 4.0])
    for seed in (t, t.detach()):
        g, h = grad(y + z, [y, z], seed, create_graph=True, retain_graph=True)
        assert g._resolved() != h._resolved()
        g.mul_(2.0)
        assert (h.tolist(), t.tolist()) == ([3, 4], [3, 4])


def test_a_constant_seed_is_not_written_through_the_derivative():
    y, seed = leaf([1.0, 2.0]) * 1, pb.tensor([3.0, 4.0])
    (g,) = grad(y, y, seed, create_graph=True)
    g.mul_(2.0)
    assert seed.tolist() == [3, 4]
