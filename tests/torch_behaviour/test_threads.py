"""Threads: independent graphs, one leaf, one graph, and state that belongs to a pass."""

import threading

import pytest

from torch_behaviour.entry import entry


def in_threads(count, run, *args):
    """Run in threads at once; the errors that they raised."""
    errors = []
    gate = threading.Barrier(count)

    def body(number):
        try:
            gate.wait()
            run(number, *args)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@entry("K", "multithreaded_exception_propagation")
def test_an_error_in_a_backward_belongs_to_its_thread(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, number):
            ctx.number = number
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.number % 2:
                raise ValueError(f"thread {ctx.number}")
            return g, None

    grads = {}

    def run(number):
        x = torch.ones(2, requires_grad=True)
        Fails.apply(x, number).sum().backward()
        grads[number] = x.grad

    errors = in_threads(6, run)
    assert sorted(str(e) for e in errors) == ["thread 1", "thread 3", "thread 5"]
    assert sorted(grads) == [0, 2, 4]


@entry("K", "simple_backward")
def test_independent_graphs(torch):
    found = [None] * 10

    def run(number):
        x = torch.ones(5, 5, requires_grad=True)
        y = (x + 3) * (x + 4) * 0.5 * (number + 1)
        y.sum().backward()
        found[number] = x.grad

    assert in_threads(10, run) == []
    for number, g in enumerate(found):
        assert torch.allclose(g, torch.full((5, 5), 4.5 * (number + 1)))


@entry("K", "simple_backward_same_input")
def test_one_leaf_adds_up_what_all_threads_bring(torch):
    x = torch.ones(5, 5, requires_grad=True)

    def run(_):
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()

    assert in_threads(10, run) == []
    assert torch.allclose(x.grad, torch.full((5, 5), 45.0))


@entry("K", "simple_backward_same_input")
def test_grad_of_one_leaf_in_many_threads(torch):
    x, found = torch.ones(5, 5, requires_grad=True), [None] * 10

    def run(number):
        y = (x + 3) * (x + 4) * 0.5
        (found[number],) = torch.autograd.grad(y.sum(), x)

    assert in_threads(10, run) == []
    assert x.grad is None
    assert all(torch.allclose(g, torch.full((5, 5), 4.5)) for g in found)


@entry("K", "multi_grad_all_hooks")
def test_a_hook_on_all_gradients_is_called_once_per_pass(torch):
    xs = [torch.ones(2, requires_grad=True) for _ in range(3)]
    seen, lock = [], threading.Lock()

    def hook(grads):
        with lock:
            seen.append([None if g is None else g[0].item() for g in grads])

    handle = torch.autograd.graph.register_multi_grad_hook(xs, hook)

    def run(number):
        ((xs[0] + xs[1]) * (number + 1.0)).sum().backward()

    assert in_threads(4, run) == []
    assert sorted(seen) == [[k, k, None] for k in (1.0, 2.0, 3.0, 4.0)]
    handle.remove()
    run(0)
    assert len(seen) == 4


@entry("K", "multi_grad_all_hooks")
def test_a_pass_that_failed_leaves_no_state_for_the_next(torch, here):
    if not here:
        pytest.skip("torch's own engine sometimes never returns from this program")

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("not today")

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen = []
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: seen.append(len(grads)))

    def run(number):
        if number == 0:
            with pytest.raises(ValueError, match="not today"):
                (Fails.apply(a) + b * 2).sum().backward()
        else:
            (a + b).sum().backward()

    assert in_threads(3, run) == []
    assert seen == [2, 2]
    (a + b).sum().backward()
    assert seen == [2, 2, 2]


@entry("K", "multi_grad_any_hooks")
def test_a_hook_on_any_gradient_is_called_once_per_pass(torch):
    xs = [torch.ones(2, requires_grad=True) for _ in range(3)]
    seen, lock = [], threading.Lock()

    def hook(grad):
        with lock:
            seen.append(grad[0].item())

    torch.autograd.graph.register_multi_grad_hook(xs, hook, mode="any")

    def run(number):
        ((xs[0] + xs[1] + xs[2]) * (number + 1.0)).sum().backward()

    assert in_threads(4, run) == []
    assert sorted(seen) == [1.0, 2.0, 3.0, 4.0]


@entry("K", "python_thread_in_middle")
def test_a_shared_part_that_was_freed_by_another_thread(torch):
    x = torch.ones(5, 5, requires_grad=True)
    y = (x + 3) * (x + 4) * 0.5  # saves

    def run(_):
        y.sum().backward()

    errors = in_threads(10, run)
    assert len(errors) == 9
    assert all(isinstance(e, RuntimeError) and "backward through the graph a second time" in str(e) for e in errors)
    assert torch.allclose(x.grad, torch.full((5, 5), 4.5))


@entry("K", "python_thread_in_middle")
def test_a_shared_part_that_is_retained(torch):
    x = torch.ones(5, 5, requires_grad=True)
    y = (x + 3) * (x + 4) * 0.5
    grads = [None] * 5

    def run(number):
        (y * (number + 1)).sum().backward(retain_graph=True)
        (grads[number],) = torch.autograd.grad((y**2).sum(), x, retain_graph=True)

    assert in_threads(5, run) == []
    assert torch.allclose(x.grad, torch.full((5, 5), 4.5 * 15))
    assert all(torch.allclose(g, torch.full((5, 5), 2 * 10 * 4.5)) for g in grads)


@entry("K", "python_thread_in_middle")
def test_branches_of_their_own_over_a_part_that_saves_nothing(torch):
    x = torch.ones(3, requires_grad=True)
    y = x + 3

    def run(_):
        (y * 2).sum().backward()

    assert in_threads(10, run) == []
    assert x.grad.tolist() == [20.0] * 3


@entry("K", "grad_thread_safety")
def test_all_threads_see_one_gradient_object(torch):
    x = torch.ones(3, requires_grad=True)
    x.pow(2).sum().backward()
    found = [None] * 8

    def run(number):
        for _ in range(200):
            found[number] = id(x.grad)
            assert x.grad is x.grad

    assert in_threads(8, run) == []
    assert len(set(found)) == 1
    assert x.grad.tolist() == [2.0] * 3


@entry("K", "set_multithreading_enabled_as_context_manager_and_function")
def test_the_switch_for_threads_of_the_engine(torch):
    enabled = torch._C._is_multithreading_enabled
    assert enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not enabled()
        with torch.autograd.set_multithreading_enabled(True):
            assert enabled()
        assert not enabled()
    assert enabled()
    torch.autograd.set_multithreading_enabled(False)
    assert not enabled()
    torch.autograd.set_multithreading_enabled(True)
    assert enabled()
