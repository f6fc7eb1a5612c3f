"""Hooks of Tensors: what they see and change, and how they are taken out again."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


@entry("C", "hooks")
def test_hooks_of_a_tensor_are_called_once_per_pass_until_removed(torch):
    counts = {"first": 0, "second": 0}

    def count(name, factor=None):
        def hook(g):
            counts[name] += 1
            return None if factor is None else g * factor

        return hook

    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3) * 4
    y.requires_grad_()
    z = x**2 + x * 2 + x * y + y
    first = x.register_hook(count("first"))
    z.sum().backward(retain_graph=True)
    assert counts == {"first": 1, "second": 0}
    assert x.grad.tolist() == [8.0] * 3
    second = z.register_hook(count("second", 2))
    z.sum().backward(retain_graph=True)
    assert counts == {"first": 2, "second": 1}
    assert x.grad.tolist() == [24.0] * 3
    second.remove()
    first.remove()
    z.sum().backward()
    assert counts == {"first": 2, "second": 1}
    assert y.grad.tolist() == [2.0 + 4.0 + 2.0] * 3


@entry("C", "hook_with_no_name")
def test_a_hook_may_be_any_callable_object(torch):
    class Hook:
        def __call__(self, g):
            seen.append(g.item())

    seen = []
    x = torch.ones(1, requires_grad=True).clone()
    x.register_hook(Hook())
    (x * 3).sum().backward()
    assert seen == [3.0]


@entry("C", "retain_grad")
def test_retain_grad(torch):
    x = torch.rand(1, 3, requires_grad=True)
    h = x * 3
    total = (h * h).sum()
    h.retain_grad()
    h.retain_grad()
    total.backward(retain_graph=True)
    assert torch.equal(h.grad, h.detach() * 2)
    total.backward(retain_graph=True)
    assert torch.equal(h.grad, h.detach() * 4)
    before = x.grad.clone()
    x.retain_grad()  # a leaf has its gradient anyway
    x.retain_grad()
    total.backward()
    assert torch.allclose(x.grad, before * 1.5)
    assert not x.retains_grad
    assert h.retains_grad
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(1).retain_grad()


@entry("C", "retain_grad_cycle")
def test_retain_grad_makes_no_cycle(torch):
    x = torch.ones(5, 5, requires_grad=True)

    def run():
        y = x * 2
        y.retain_grad()
        return y / 2, weakref.ref(y)

    gc.disable()
    try:
        z, reference = run()
        assert reference() is None
        z.sum().backward()
    finally:
        gc.enable()


@entry("C", "retain_grad_inplace")
def test_a_retained_gradient_belongs_to_the_newest_value(torch):
    a = torch.tensor([1.0], requires_grad=True).clone()
    a.retain_grad()
    a.mul_(2)
    (a * 5).sum().backward()
    assert a.grad.tolist() == [5.0]
    a = torch.tensor([1.0], requires_grad=True).clone()
    a.mul_(2)
    a.retain_grad()
    a.mul_(2)
    (a * 5).sum().backward()
    assert a.grad.tolist() == [5.0]


@entry("C", "retain_grad_inplace_over_view")
@pytest.mark.parametrize("early", [True, False])
def test_a_retained_gradient_of_a_view_or_its_base_follows_a_write(torch, early):
    base = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    view = base[:]
    if early:
        base.retain_grad()
        view.retain_grad()
    view.mul_(2)
    if not early:
        base.retain_grad()
        view.retain_grad()
    (view * 3 + base * 5).sum().backward()
    assert view.grad.tolist() == [3.0, 3.0]
    assert base.grad.tolist() == [8.0, 8.0]


@entry("C", "retains_grad_inplace_multiple_outputs")
def test_retained_gradients_of_two_results_of_which_one_is_written(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    x = torch.tensor([1.0], requires_grad=True)
    a, b = Two.apply(x)
    a.retain_grad()
    b.retain_grad()
    a.mul_(2)
    (a * 3 + b * 5).sum().backward()
    assert a.grad.tolist() == [3.0]
    assert b.grad.tolist() == [5.0]
    assert x.grad.tolist() == [11.0]


@entry("C", "tensor_hooks_inplace")
def test_a_hook_stays_with_the_value_that_it_was_registered_on(torch):
    seen = []
    a = torch.tensor([1.0], requires_grad=True).clone()
    a.register_hook(lambda g: seen.append(("old", g.item())))
    a.mul_(2)
    a.register_hook(lambda g: seen.append(("new", g.item())))
    (a * 5).sum().backward()
    assert seen == [("new", 5.0), ("old", 10.0)]


@entry("C", "tensor_hooks_inplace_multiple_outputs")
def test_hooks_of_two_results_of_which_one_is_written(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone(), x.clone()

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    seen = []
    a, b = Two.apply(torch.tensor([1.0], requires_grad=True))
    a.register_hook(lambda g: seen.append(("a old", g.item())))
    b.register_hook(lambda g: seen.append(("b", g.item())))
    a.mul_(2)
    a.register_hook(lambda g: seen.append(("a new", g.item())))
    (a * 3 + b * 5).sum().backward()
    assert sorted(seen) == [("a new", 3.0), ("a old", 6.0), ("b", 5.0)]


@entry("C", "tensor_hooks_inplace_over_view")
def test_hooks_of_a_base_and_a_view_around_a_write(torch):
    seen = []
    base = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    view = base[:1]
    base.register_hook(lambda g: seen.append(("base old", g.tolist())))
    view.mul_(2)
    base.register_hook(lambda g: seen.append(("base new", g.tolist())))
    (base * 5).sum().backward()
    assert seen == [("base new", [5.0, 5.0]), ("base old", [10.0, 5.0])]


@entry("C", "post_accumulate_grad_hook_on_non_leaf")
def test_post_accumulate_hooks_are_for_leaves(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(lambda t: None)


@entry("C", "post_accumulate_grad_hook_multiple_hooks")
def test_post_accumulate_hooks_run_in_order(torch):
    x = torch.ones(2, requires_grad=True)

    def add(t):
        t.grad += 1

    def double(t):
        t.grad *= 10

    x.register_post_accumulate_grad_hook(add)
    x.register_post_accumulate_grad_hook(double)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


@entry("C", "post_accumulate_grad_hook_multiple_tensors")
def test_post_accumulate_hooks_belong_to_one_tensor(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def step(factor):
        def hook(t):
            with torch.no_grad():
                t.sub_(t.grad * factor)
            t.grad = None

        return hook

    x.register_post_accumulate_grad_hook(step(1.0))
    y.register_post_accumulate_grad_hook(step(10.0))
    (x * 2 + y * 3).sum().backward()
    assert (x.tolist(), y.tolist()) == ([-1.0, -1.0], [-29.0, -29.0])
    assert x.grad is None
    assert y.grad is None


@entry("C", "post_accumulate_grad_hook_returns_not_None")
def test_post_accumulate_hooks_return_nothing(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@entry("C", "post_accumulate_grad_hook_gets_cleaned_up")
def test_what_a_post_accumulate_hook_holds_dies_with_the_tensor(torch):
    class Thing:
        pass

    def run():
        thing = Thing()
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t: thing)
        y = x.sum()
        return weakref.ref(thing), y

    gc.disable()
    try:
        reference, y = run()
        assert reference() is not None
        del y
        assert reference() is None
    finally:
        gc.enable()


@entry("C", "post_accumulate_grad_hook_ordering")
def test_the_order_of_all_hooks_of_a_leaf(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 1
    node, seen = y.grad_fn.next_functions[0][0], []

    def tensor(g):
        seen.append(("tensor", x.grad))
        return g + 1

    def before(gs):
        seen.append(("before", x.grad))
        return (gs[0] + 1,)

    def accumulated(t):
        seen.append(("accumulated", t.grad.item()))

    def after(inner, outer):
        seen.append(("after", x.grad.item()))

    x.register_post_accumulate_grad_hook(accumulated)
    node.register_hook(after)
    node.register_prehook(before)
    x.register_hook(tensor)
    y.sum().backward()
    assert seen == [("tensor", None), ("before", None), ("accumulated", 3.0), ("after", 3.0)]


@entry("C", "post_accumulate_grad_hook_e2e")
def test_an_optimiser_in_post_accumulate_hooks_does_what_one_after_backward_does(torch):
    def train(in_hooks):
        weights = [torch.full((3, 3), 0.5), torch.full((3, 1), 0.25)]
        for w in weights:
            w.requires_grad_()

        def step(w):
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None

        if in_hooks:
            for w in weights:
                w.register_post_accumulate_grad_hook(step)
        for k in range(3):
            x = torch.arange(6.0).reshape(2, 3) * 0.1 + k
            ((x @ weights[0]).tanh() @ weights[1]).sum().backward()
            if not in_hooks:
                for w in weights:
                    step(w)
        return [w.tolist() for w in weights]

    assert train(True) == train(False)
    assert train(True)[0][0][0] != 0.5
