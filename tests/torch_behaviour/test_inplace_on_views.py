"""Writes through views: base and views find their new history, whichever is asked, to any order."""

import pytest

from torch_behaviour.entry import entry


def leaf(torch, rows=2, columns=2):
    return torch.arange(1.0, rows * columns + 1, dtype=torch.float64).reshape(rows, columns).requires_grad_()


@entry("F", "inplace_on_view_backprop_base")
def test_the_base_sees_a_write_through_its_view(torch):
    root = leaf(torch)
    x = root.clone()
    x.narrow(0, 0, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[2, 2], [1, 1]]


@entry("F", "inplace_on_view_backprop_view_of_view")
def test_another_view_sees_it_too(torch):
    root = leaf(torch)
    x = root.clone()
    one, other = x.narrow(0, 0, 1), x.narrow(0, 0, 1)
    one.mul_(2)
    other.sum().backward()
    assert root.grad.tolist() == [[2, 2], [0, 0]]


@entry("F", "inplace_on_view_of_view")
def test_a_write_through_a_view_of_a_view(torch):
    root = leaf(torch)
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[1, 2], [1, 1]]


@entry("F", "inplace_on_view_backprop_view")
def test_the_written_view_goes_backward(torch):
    a, b = torch.tensor([2.0, 5.0]), torch.tensor([3.0], requires_grad=True)
    a.narrow(0, 1, 1).mul_(b).sum().backward()
    assert b.grad.tolist() == [5] and a.grad is None if a.is_leaf else b.grad.tolist() == [5]


@entry("F", "inplace_on_view_then_no_grad")
def test_the_new_history_of_a_view_may_be_found_without_recording(torch):
    a = torch.ones(3, 1, requires_grad=True)
    b = a * 2
    c = b.view_as(b)
    b[0][0] = 3
    with torch.no_grad():
        assert c.grad_fn is not None
    c.sum().backward()
    assert a.grad.reshape(-1).tolist() == [0, 2, 2]


@entry("F", "inplace_on_view_gradcheck")
def test_products_through_two_views_of_views(torch):
    a, b = leaf(torch, 4, 4), leaf(torch)

    def func(root, factor):
        x = root.clone()
        x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(factor)
        x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(factor)
        return x

    assert torch.autograd.gradcheck(func, [a, b], raise_exception=True)
    assert torch.autograd.gradgradcheck(func, [a, b], torch.ones(4, 4, dtype=torch.float64).requires_grad_())


@entry("F", "inplace_on_view_python")
def test_a_custom_function_that_writes_through_views(torch):

    class AddTo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.add_(y)
            return x

        @staticmethod
        def backward(ctx, g):
            return g, g

    def func(root, term):
        x = root.clone()
        AddTo.apply(x.narrow(1, 2, 2).narrow(0, 1, 2), term)
        AddTo.apply(x.narrow(1, 0, 2).narrow(0, 1, 2), term)
        return x

    a, b = leaf(torch, 4, 4), leaf(torch)
    assert torch.autograd.gradcheck(func, [a, b])
    assert torch.autograd.gradgradcheck(func, [a, b])


@entry("F", "inplace_on_view_makes_base_require_grad")
def test_a_base_without_gradients_gets_them_through_a_view(torch):
    a, b = torch.ones(4, 4, dtype=torch.float64), leaf(torch, 4, 2)

    def func(root, factor):
        x = root.clone()
        assert not x.requires_grad
        x.narrow(1, 2, 2).mul_(factor)
        assert x.requires_grad
        return x

    assert torch.autograd.gradcheck(func, [a, b])


@entry("F", "inplace_on_view_modify_base")
def test_a_view_gets_gradients_when_its_base_is_written(torch):

    def func(r):
        x = torch.ones(5, dtype=torch.float64)
        v = x.select(0, 1)
        assert not v.requires_grad
        assert v.grad_fn is None
        x.add_(r)
        assert v.requires_grad
        return v

    r = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(func, [r])
    assert torch.autograd.gradgradcheck(func, [r])


@entry("F", "inplace_on_view_non_contig")
def test_a_root_with_gaps_in_memory(torch):
    root = torch.ones(2, 3, 2).select(2, 1).t().requires_grad_()
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[1, 2], [1, 1], [1, 1]]


@entry("F", "inplace_on_view_undefined_grad_output")
def test_a_gradient_that_a_write_does_not_give(torch):

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    a, b = torch.tensor([1.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)
    c = a.clone()
    Double.apply(c[:], b).backward()
    assert b.grad is None
    assert a.grad.item() == 2


def split_off(torch, how, x):
    return {"unbind": lambda: x.unbind(), "split": lambda: x.split(1), "chunk": lambda: x.chunk(3)}[how]()


@entry("F", "inplace_on_view_multiple_outputs", "inplace_on_view_multi_output_safe")
@pytest.mark.parametrize("how", ["unbind", "split", "chunk"])
def test_views_that_were_made_together(torch, here, how):
    root = leaf(torch, 3, 3)
    x = root.clone()
    parts = split_off(torch, how, x)
    if not here:  # torch refuses; here each finds its place again
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            parts[0].mul_(2)
        return
    parts[0].mul_(2)
    (parts[1] * parts[0]).sum().backward()
    assert root.grad.tolist() == [[8, 10, 12], [2, 4, 6], [0, 0, 0]]


@entry("F", "inplace_on_view_of_multiple_output_view", "inplace_multiple_output_view_of_view")
@pytest.mark.parametrize("order", ["view of a part", "part of a view"])
def test_views_of_and_under_views_that_were_made_together(torch, here, order):
    root = torch.ones(4, requires_grad=True)
    x = root.clone()
    part = x.unbind(0)[0].view_as(x[0]) if order == "view of a part" else x.view_as(x).unbind(0)[0]
    if not here:
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            part.mul_(2)
        return
    part.mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [2, 1, 1, 1]


@entry("F", "inplace_on_view_multi_output_unsafe")
def test_parts_that_may_write_into_each_other(torch, here):
    a = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    b = a + a
    one, two, _ = b.split(1) if here else b.unsafe_split(1)
    one.mul_(two)
    one.sum().backward()
    assert a.grad.reshape(-1).tolist() == [8, 4, 0]


@entry("F", "copy_slices_graph_task_updates")
def test_only_what_leads_to_the_wanted_input_runs(torch):

    class Boom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("Boom!")

    def one(x, y):
        out = x.clone().view(-1)
        out += y
        return out

    def two(x, y):
        out = x.clone().view(-1)
        doubled = out * 2
        out += y
        return out + doubled

    for func, slope in ((one, 1), (two, 3)):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        out = func(x, Boom.apply(y))
        with pytest.raises(RuntimeError, match="Boom!"):
            torch.autograd.grad(out.sum(), y)
        out = func(x, Boom.apply(y))
        with pytest.raises(RuntimeError, match="Boom!"):
            out.sum().backward()
        out = func(x, Boom.apply(y))
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [slope, slope]
        out = func(x, Boom.apply(y))
        out.sum().backward(inputs=x)
        assert y.grad is None


@entry("F", "inplace_on_view_saved_output")
def test_a_write_that_saves_its_result_leaves_nothing_behind(torch):
    gone = []

    class Told:
        def __call__(self, *_):
            pass

        def __del__(self):
            gone.append(1)

    def program():
        root = torch.ones(3, 3, requires_grad=True)
        copy = root.clone()
        copy.grad_fn.register_hook(Told())
        copy.view(9).relu_()

    program()
    assert gone == [1]


@entry("F", "inplace_on_view_backward")
def test_second_derivatives_through_a_written_view(torch):
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    shifted = (x + 1).view_as(x)
    shifted.relu_()
    (gradient,) = torch.autograd.grad(torch.sigmoid(shifted).sum(), x, create_graph=True)
    gradient.sum().backward()
    s = torch.sigmoid(torch.tensor([1.5, 0.0, 3.0], dtype=torch.float64))
    second = s * (1 - s) * (1 - 2 * s)
    second[1] = 0
    assert torch.allclose(x.grad, second)


@entry("F", "inplace_on_view_backward")
def test_a_normalisation_that_writes_its_result(torch):

    def func(x):
        rows = ((x - x.mean()) / (x.var() + 1).sqrt()).view(-1)
        rows.relu_()
        return rows.pow(2)

    x = torch.tensor([[1.0, 3.0, 2.5]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(func, x)
    assert torch.autograd.gradgradcheck(func, x)
    assert x.tolist() == [[1.0, 3.0, 2.5]]


@entry("F", "inplace_on_view_weak_grad_fn")
def test_the_history_of_a_view_outlives_it(torch):
    a = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    b = a.narrow(0, 0, 2).clone().view(-1)
    b.relu_()
    c = b.clone()
    del b
    c.sum().backward()
    assert a.grad.tolist() == [0, 1, 0]
    part = torch.ones(3, requires_grad=True).narrow(0, 0, 2)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        part.relu_()
