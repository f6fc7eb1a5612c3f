"""Writes in place: what may be overwritten, whose history changes, which writes are noticed."""

import pytest

from torch_behaviour.entry import entry

MODIFIED = "modified by an inplace operation"


def leaf(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


@entry("F", "inplace")
def test_what_a_rule_saved_may_not_be_overwritten(torch):
    x, y = leaf(torch, 3, 3), (torch.ones(3, 3) * 4).requires_grad_()
    z = x * y
    q, w = z + y, z * y
    z.add_(2)
    q.backward(torch.ones(3, 3))  # an addition saves nothing
    with pytest.raises(RuntimeError, match=MODIFIED):
        w.backward(torch.ones(3, 3))


@entry("F", "inplace")
def test_the_result_of_a_write_goes_backward_and_its_old_readers_do_not(torch):
    x, y = leaf(torch, 3), (torch.ones(3) * 4).requires_grad_()
    z = x * y
    q, r = z * y, z + y
    w = z.add_(y)
    w.backward(torch.ones(3), retain_graph=True)
    assert (x.grad == 4).all()
    r.backward(torch.ones(3), retain_graph=True)
    with pytest.raises(RuntimeError, match=MODIFIED):
        q.backward(torch.ones(3), retain_graph=True)


@entry("F", "inplace")
def test_a_write_that_saves_its_result(torch):
    x, y = leaf(torch, 3), (torch.ones(3) * 4).requires_grad_()
    z = x / 2 + y / 8
    q, r, before = z * y, z + y, z._version
    w = z.exp_()
    assert z._version > before
    assert w is z
    r.backward(torch.ones(3), retain_graph=True)
    assert torch.allclose(x.grad, torch.ones(3) / 2)
    w.backward(torch.ones(3), retain_graph=True)
    assert torch.allclose(x.grad, torch.ones(3) / 2 + torch.exp(torch.ones(3)) / 2)
    with pytest.raises(RuntimeError, match=MODIFIED):
        q.backward(torch.ones(3))


@entry("F", "inplace")
def test_a_write_after_which_the_value_is_read_and_written_again(torch):
    start = leaf(torch, 3)
    x = start.clone()
    x.add_(10)
    y = x + 2
    y.backward(torch.ones(3))
    assert (x == 11).all()
    assert (start.grad == 1).all()
    z = x * y
    x.add_(2)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.backward(torch.ones(3))


@entry("F", "requires_grad_inplace")
def test_adding_a_tensor_with_gradients_gives_gradients(torch):
    b = leaf(torch, 2, 2)
    for a in (torch.ones(2, 2), torch.ones(2, 2) + 0):
        a += b
        assert a.requires_grad
        assert not a.is_leaf


@entry("F", "no_requires_grad_inplace")
def test_a_tensor_that_was_written_becomes_a_leaf_later(torch):
    for write in (lambda a: a.add_(5), lambda a: a[:].add_(5)):
        a = torch.zeros(2, 2)
        write(a)
        a.requires_grad = True
        a.sum().backward()
        assert (a.grad == 1).all()
        assert (a == 5).all()
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write(a)


@entry("F", "no_requires_grad_inplace")
def test_a_result_of_a_function_cannot_be_asked_for_gradients_after_a_write(torch):
    for write in (lambda a: a.add_(5), lambda a: a[:].add_(5)):
        a = torch.zeros(2) * 2
        a.requires_grad = True
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write(a)


@entry("F", "inplace_on_view_leaf_errors")
def test_a_view_of_a_leaf_may_not_be_written(torch):
    x = torch.zeros(1, requires_grad=True)
    view = x.view_as(x)
    with pytest.raises(
        RuntimeError, match=r"a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        view.add_(1)
    with torch.no_grad():
        view.add_(1)
    assert x.item() == 1


@entry("F", "leaf_assignment")
def test_rows_of_a_plain_tensor_take_histories(torch):
    x, y, z = torch.ones(5, 5), leaf(torch, 5), leaf(torch, 5)
    x[0] = y
    x[1] = 2 * z
    assert x.requires_grad
    assert x.grad_fn is not None
    x.sum().backward()
    assert (y.grad == 1).all()
    assert (z.grad == 2).all()


@entry("F", "detach_then_inplace_raises_in_autograd")
def test_a_detached_alias_shares_the_count_of_writes(torch):
    for write in (lambda z: z.zero_(), lambda z: z.add_(1)):
        x = torch.tensor(3.0, requires_grad=True)
        y = x**2
        write(x.detach())
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.backward()


@entry("F", "detach_then_inplace_raises_in_autograd")
def test_a_detached_alias_may_be_read(torch):
    x = torch.tensor(3.0, requires_grad=True)
    y = x**2
    z = x.detach()
    y.backward()
    assert x.grad == 6
    assert z == 3
    assert not z.requires_grad


@entry("F", "increment_version")
def test_an_announced_write_counts(torch):
    for a in (torch.rand(5, requires_grad=True), torch.zeros(5, dtype=torch.int64)):
        before = a._version
        torch.autograd.graph.increment_version(a)
        assert a._version == before + 1
    pair = torch.zeros(2), torch.zeros(2)
    torch.autograd.graph.increment_version(pair)
    assert [t._version for t in pair] == [1, 1]


@entry("F", "version_counter")
def test_views_share_one_count_and_data_has_its_own(torch):
    x = torch.zeros(1, 2)
    before = x._version
    x.add_(1).add_(1)
    assert x._version == before + 2
    part = x[:]
    assert part._version == x._version
    part.add_(1)
    assert part._version == x._version == before + 3
    x.data.add_(1)
    assert x._version == before + 3


@entry("F", "out_variant_raises_when_inputs_require_grad")
def test_out_is_refused_where_gradients_would_be_lost(torch):
    a, b, out = leaf(torch, 2, 2), leaf(torch, 2, 2), torch.zeros(2, 2)
    with pytest.raises(RuntimeError, match="out="):
        torch.mul(a, b, out=out)
    with torch.no_grad():
        torch.mul(a, b, out=out)
    assert (out == 1).all()
    for target, left in ((leaf(torch, 2, 2), torch.ones(2, 2)),):
        with pytest.raises(RuntimeError, match="out="):
            torch.mul(left, left, out=target)


@entry("F", "print_tensor")
def test_printing_shows_the_place_in_the_graph(torch):

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    a = torch.ones(1, requires_grad=True)
    assert repr(a) == "tensor([1.], requires_grad=True)"
    assert repr(a.clone()) == "tensor([1.], grad_fn=<CloneBackward0>)"
    assert repr(Twice.apply(a)) == "tensor([2.], grad_fn=<TwiceBackward>)"
    assert repr(a.detach()) == "tensor([1.])"
