"""Custom Functions that write their arguments, or return views."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


def adder(torch):
    """``a += b``, the first argument marked dirty."""

    class AddInPlace(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, a, b):
            a.add_(b)
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, g):
            AddInPlace.calls += 1
            return g, g

    return AddInPlace


@entry("A", "return_duplicate_inplace")
def test_a_written_argument_returned_twice(torch):
    class Twin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x, x

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    def twin(x):
        return Twin.apply(x.clone())

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    first, second = twin(x)
    assert first is second
    assert torch.autograd.gradcheck(twin, (x,))
    assert torch.autograd.gradgradcheck(twin, (x,))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        Twin.apply(x)
    with pytest.raises(RuntimeError, match="view"):
        Twin.apply(x.clone()[:2])


@entry("A", "return_leaf_inplace")
def test_a_written_argument_without_gradients_asks_for_them_afterwards(torch):
    x, y = torch.zeros(3), torch.ones(3, requires_grad=True)
    result = adder(torch).apply(x, y)
    assert result is x
    assert x.requires_grad
    x.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


@entry("A", "custom_function_mark_output_view_of_intermediate")
def test_a_view_of_something_else_cannot_be_marked_dirty(torch):
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            view = x.clone().view_as(x)
            ctx.mark_dirty(view)
            return view

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("never called")

    with pytest.raises((RuntimeError, UserWarning), match="not an input"):
        View.apply(torch.ones(2, requires_grad=True) * 1)


@entry(
    "A",
    "custom_function_inplace_on_non_default_view",
    differs="one of several views can be written: each finds its place again from the base",
)
def test_writing_one_of_several_views(torch, here):
    x = torch.ones(4, 4, requires_grad=True)
    first, *_ = x.clone().split(2)
    if here:
        result = adder(torch).apply(first, torch.ones(2, 4))
        assert result is first
        (result * 3).sum().backward()
        assert x.grad.tolist() == [[3.0] * 4] * 2 + [[0.0] * 4] * 2
    else:
        with pytest.raises(RuntimeError, match="multiple views"):
            adder(torch).apply(first, torch.ones(2, 4))


@entry("A", "custom_function_inplace_on_view_of_leaf")
def test_a_view_of_a_leaf_cannot_be_written(torch):
    x = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        adder(torch).apply(x.view_as(x), torch.ones(4))


@entry("A", "custom_function_saving_mutated_view_no_leak")
def test_a_written_view_that_is_saved_makes_no_reference_cycle(torch):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    class Witness(dict):
        pass

    def run():
        view = torch.ones(2, requires_grad=True).clone().view_as(torch.ones(2))
        result = Keep.apply(view)
        result.grad_fn.metadata["witness"] = witness = Witness()
        return weakref.ref(witness)

    gc.collect()
    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


@entry("A", "custom_function_return_view_in_nograd")
def test_a_view_returned_under_no_grad_is_like_a_built_in_one(torch):
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("never called")

    x = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        own, built_in = First.apply(x), x[:1]
        assert (own.grad_fn, own.is_leaf) == (built_in.grad_fn, built_in.is_leaf)
        own.zero_()
    assert x.tolist() == [0.0, 1.0, 1.0, 1.0]


@entry("A", "custom_function_local_inplace")
@pytest.mark.parametrize("write", [False, True])
def test_a_write_to_a_local_view_inside_forward_leaves_the_result_its_node(torch, write):
    class Local(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            view = x.clone()[:3]
            if write:
                view += 2
            return view

        @staticmethod
        def backward(ctx, g):
            whole = torch.zeros(4)
            whole[:3] = g
            return whole

    x = torch.zeros(4, requires_grad=True)
    y = Local.apply(x)
    assert y.grad_fn.name() == "LocalBackward"
    assert y.tolist() == [2.0 * write] * 3
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 0.0]


@entry("A", "autograd_python_custom_function_inplace")
def test_a_write_in_place_uses_the_rule_and_can_be_followed_by_others(torch):
    function = adder(torch)
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    function.apply(a.clone(), b).backward()
    assert function.calls == 1
    c = function.apply(a.clone(), b)
    c *= 2
    c.backward()
    assert function.calls == 2
    assert (a.grad.item(), b.grad.item()) == (3.0, 3.0)
    base = torch.tensor([1.0, 2.0], requires_grad=True)
    copy = base.clone()
    function.apply(copy[0], b)  # a view
    (copy * 10).sum().backward()
    assert base.grad.tolist() == [10.0, 10.0]
    assert b.grad.item() == 13.0


@entry("A", "autograd_python_custom_function_inplace")
def test_a_written_view_among_two_results_is_refused(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            a.add_(b)
            ctx.mark_dirty(a)
            return a, a + b

        @staticmethod
        def backward(ctx, g, h):
            return g + h, g + 2 * h

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    first, second = Two.apply(a.clone(), b)
    (first + second).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])
    with pytest.raises(RuntimeError, match="view"):
        Two.apply(a.clone().view_as(a), b)


@entry("A", "autograd_python_custom_function_inplace")
def test_what_is_marked_dirty_has_to_be_an_argument_and_a_result(torch):
    class NotReturned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.mark_dirty(a)
            return a.add_(1).clone()

        @staticmethod
        def backward(ctx, g):
            return g

    class NotAnInput(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            result = a * 2
            ctx.mark_dirty(result)
            return result

        @staticmethod
        def backward(ctx, g):
            return g * 2

    a = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned"):
        NotReturned.apply(a.clone())
    with pytest.warns(UserWarning, match="not an input"):
        result = NotAnInput.apply(a)
    result.sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("what", ["view", "identity"])
@entry("A", "autograd_simple_views_python")
def test_a_view_that_forward_returned_cannot_be_written(torch, what):
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.narrow(0, 0, 2) if what == "view" else x

        @staticmethod
        def backward(ctx, g):
            if what == "identity":
                return g * 10
            whole = torch.zeros(ctx.shape)
            whole[:2] = g * 10
            return whole

    base = torch.ones(3, requires_grad=True)
    copy = base.clone()
    result = View.apply(copy)
    (result * 2).sum().backward()
    assert base.grad.tolist() == ([20.0, 20.0, 0.0] if what == "view" else [20.0] * 3)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        result += 1
    copy = base.clone()
    result = View.apply(copy)
    copy += 1  # the base may be written; the view then has no place any more
    with pytest.raises(RuntimeError, match="modified inplace"):
        result.sum().backward()


@entry("A", "autograd_multiple_views_python")
def test_a_view_among_several_results_cannot_be_written(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.narrow(0, 0, 2), x.select(0, 1)

        @staticmethod
        def backward(ctx, g, h):
            whole = torch.zeros(ctx.shape)
            whole[:2] = g
            whole[1] += h
            return whole

    base = torch.ones(3, requires_grad=True)
    first, second = Two.apply(base.clone())
    (first.sum() + 2 * second).backward()
    assert base.grad.tolist() == [1.0, 3.0, 0.0]
    first, second = Two.apply(base.clone())
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        first.copy_(torch.rand(2))


@entry("A", "inplace_not_requires_grad")
def test_a_value_with_gradients_cannot_be_written_into_a_view_that_a_function_made(torch):
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    plain, with_gradients = torch.rand(2), torch.rand(2, requires_grad=True)
    view = View.apply(plain)
    with pytest.raises(RuntimeError, match="view"):
        view += with_gradients
    with pytest.raises(RuntimeError, match="view"):
        view.copy_(with_gradients)
    view += 1
    assert view.tolist() == plain.tolist()
