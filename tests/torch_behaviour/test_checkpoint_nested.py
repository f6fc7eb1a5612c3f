"""Checkpoints in checkpoints, with derivatives taken inside: to third order, freed afterwards, no more calls than needed."""

import gc
import importlib
import weakref

import pytest

from torch_behaviour.entry import entry


@pytest.fixture(params=[True, False], ids=["early stop", "to the end"])
def early_stop(request, torch):
    with tools(torch).set_checkpoint_early_stop(request.param):
        yield request.param


def tools(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


class Programs:
    """Functions of functions: with and without checkpoints, and their derivatives."""

    def __init__(self, torch):
        self.torch = torch

    def c(self, f):
        return lambda *args, **kwargs: tools(self.torch).checkpoint(f, *args, use_reentrant=False, **kwargs)

    def grad(self, f):
        def derivative(x):
            with self.torch.enable_grad():
                out = f(x)
                (found,) = self.torch.autograd.grad(out.sum(), x, create_graph=True)
                return found

        return derivative

    def sum(self, f):
        return lambda x: f(x).sum()

    def check(self, reference, other):
        x = self.torch.tensor([0.5, 1.2], dtype=self.torch.float64, requires_grad=True)
        y = self.torch.tensor([0.5, 1.2], dtype=self.torch.float64, requires_grad=True)
        a, b = reference(x), other(y)
        assert self.torch.allclose(a, b)
        a.sum().backward()
        b.sum().backward()
        assert self.torch.allclose(x.grad, y.grad)

    def dies(self, function):
        x = self.torch.tensor([0.5, 1.2], dtype=self.torch.float64, requires_grad=True)
        out = function(x)
        node = out.grad_fn
        mark = Mark()
        node.metadata["mark"] = mark
        seen = weakref.ref(mark)
        del mark, node
        out.sum().backward()
        del out
        gc.collect()
        assert seen() is None


class Mark:
    """Something that a node can carry."""


@entry("I", "nested_checkpoint")
def test_depths_and_derivatives(torch, early_stop):
    p = Programs(torch)
    f = lambda x: torch.exp(torch.sin(x))  # noqa: E731
    c, g = p.c, p.grad
    for reference, other in [
        (f, c(f)),
        (f, c(c(f))),
        (f, c(c(c(f)))),
        (g(f), g(c(f))),
        (g(f), c(g(c(f)))),
        (g(g(f)), g(g(c(f)))),
        (g(g(f)), c(g(c(g(c(f)))))),
        (g(g(g(f))), c(g(c(g(c(g(c(f)))))))),
    ]:
        p.check(reference, other)


@entry("I", "nested_checkpoint")
def test_graphs_die(torch, early_stop):
    p = Programs(torch)
    f = lambda x: torch.exp(torch.sin(x))  # noqa: E731
    for function in (p.c(f), p.c(p.c(f)), p.grad(p.c(f)), p.c(p.grad(p.c(f)))):
        p.dies(function)


@entry("I", "nested_checkpoint_two_children")
def test_two_inner_checkpoints(torch, early_stop):
    p = Programs(torch)
    c, g = p.c, p.grad
    sin_exp, cos_exp = (lambda x: torch.exp(torch.sin(x))), (lambda x: torch.exp(torch.cos(x)))

    def plain(x):
        return cos_exp(sin_exp(x))

    def inside(x):
        return c(cos_exp)(c(sin_exp)(x))

    p.check(plain, c(inside))
    p.check(g(plain), c(g(c(inside))))
    p.check(g(g(plain)), c(g(c(g(c(inside))))))
    p.dies(c(inside))


@entry("I", "nested_checkpoint_non_tensor_inputs_and_outputs")
def test_other_values_go_in_and_out(torch, early_stop):
    p = Programs(torch)

    def inner(k, x, words):
        assert k == 3
        assert words == {"a": "b"}
        return k, torch.sin(x).cos() * k, None, words

    def outer(x):
        k, y, nothing, words = p.c(inner)(3, x, {"a": "b"})
        assert nothing is None
        return p.c(inner)(k, torch.exp(y), words)[1]

    p.check(outer, p.c(outer))
    p.check(p.grad(outer), p.c(p.grad(p.c(outer))))


@entry("I", "nested_checkpoint_kwargs")
def test_keyword_arguments(torch, early_stop):
    p = Programs(torch)

    def inner(x, other=None):
        out = torch.exp(torch.sin(x))
        return out if other is None else out * other

    def outer(x):
        return p.c(inner)(x, other=p.c(inner)(x, other=None))

    p.check(outer, p.c(outer))
    p.check(p.grad(outer), p.grad(p.c(outer)))
    p.check(p.grad(p.grad(outer)), p.grad(p.grad(p.c(outer))))


@entry("I", "nested_checkpoint_same_graph")
def test_values_of_one_inner_checkpoint_are_used_by_its_neighbour(torch, early_stop):
    calls = []

    def f(name):
        def function(x):
            calls.append(name)
            return torch.sin(x)

        return function

    p = Programs(torch)
    a = torch.tensor(0.7, requires_grad=True)
    out = p.c(lambda x: p.c(f("c"))(p.c(f("b"))(p.c(f("a"))(x))))(a)
    out.backward()
    counts = [calls.count(name) for name in "abc"]
    assert counts[2] <= 3
    assert max(counts) <= 4
    s, c = torch.sin, torch.cos
    x = a.detach()
    assert torch.allclose(a.grad, c(s(s(x))) * c(s(x)) * c(x))


@entry("I", "nested_checkpoint_reentrant_backwards")
def test_a_backward_inside_the_function(torch, early_stop):
    """The gradient of the inner pass is a result of the function."""
    p = Programs(torch)

    def with_inner_backward(x):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            torch.exp(torch.sin(y)).sum().backward()
        return torch.exp(torch.sin(x)) * y.grad

    p.check(with_inner_backward, p.c(with_inner_backward))
    p.check(with_inner_backward, p.c(p.c(with_inner_backward)))


@entry("I", "nested_checkpoint_set_early_stop")
def test_what_nothing_is_needed_from_is_not_called_again(torch):
    calls = []

    def last(x):
        calls.append(1)
        return x.clone()  # saves nothing

    def function(x):
        return last(torch.cos(torch.sin(x)))

    a = torch.tensor(1.0, requires_grad=True)
    p, set_early_stop = Programs(torch), tools(torch).set_checkpoint_early_stop
    p.c(function)(a).backward()
    assert len(calls) == 1
    calls.clear()
    with set_early_stop(False):
        out = p.c(function)(a)
    out.backward()
    assert len(calls) == 2
    calls.clear()
    out = p.c(function)(a)
    with set_early_stop(False):  # what counts is how it was made
        out.backward()
    assert len(calls) == 1
    calls.clear()
    with set_early_stop(False), set_early_stop(True):
        out = p.c(function)(a)
    out.backward()
    assert len(calls) == 1


@entry("I", "nested_checkpoint_set_early_stop_no_recompution_needed")
def test_a_function_that_saves_nothing_is_not_called_again(torch):
    calls = []

    def function(x):
        calls.append(1)
        return x.clone()

    a = torch.tensor(1.0, requires_grad=True)
    for early_stop in (True, False):
        with tools(torch).set_checkpoint_early_stop(early_stop):
            out = Programs(torch).c(function)(a)
        out.backward()
        assert len(calls) == 1
        calls.clear()


@entry("I", "nested_checkpoint_set_early_stop_no_recompution_needed")
def test_a_function_that_saves_its_argument(torch):
    calls = []

    def function(x):
        calls.append("before")
        y = torch.sin(x)
        calls.append("after")
        return y

    a = torch.tensor(1.0, requires_grad=True)
    Programs(torch).c(function)(a).backward()
    assert calls == ["before", "after", "before"]
    calls.clear()
    with tools(torch).set_checkpoint_early_stop(False):
        out = Programs(torch).c(function)(a)
    out.backward()
    assert calls == ["before", "after"] * 2


@entry("I", "checkpoint_graph_execution_group")
def test_several_outputs_in_one_pass_and_in_two(torch):
    calls = []

    def function(x):
        calls.append(1)
        return torch.sin(x), torch.cos(x)

    a = torch.tensor(1.0, requires_grad=True)
    one, two = Programs(torch).c(function)(a)
    (one + two).backward()
    assert len(calls) == 2
    calls.clear()
    one, two = Programs(torch).c(function)(a)
    one.backward()
    two.backward()
    assert len(calls) == 3  # each pass calls again


def test_sequential_segments(torch):
    steps = [torch.sin, torch.exp, lambda x: x * x, torch.cos, torch.tanh]
    x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
    y = x
    for step in steps:
        y = step(y)
    (expected,) = torch.autograd.grad(y.sum(), x)
    for segments in (1, 2, 3, 5):
        out = tools(torch).checkpoint_sequential(steps, segments, x, use_reentrant=False)
        assert torch.allclose(torch.autograd.grad(out.sum(), x)[0], expected)
