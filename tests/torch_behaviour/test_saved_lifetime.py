"""What a node saved is freed as soon as the node ran, with the graph at the latest, and never by the collector."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry

FREED = "backward through the graph a second time"


class Bytes(bytearray):
    """Stands for a saved value: hooks on saved values put it in its place, and its death can be seen."""


@pytest.fixture(autouse=True)
def without_collector():
    """What is freed here is freed without the garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Watch:
    """Hooks that keep saved values in objects, and weak references to these objects."""

    def __init__(self, torch):
        self.saved = []
        self.context = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor):
        box = Box(tensor.detach().clone())
        self.saved.append(weakref.ref(box))
        return box

    def unpack(self, box):
        return box.value

    def alive(self):
        return [reference() is not None for reference in self.saved]


class Box:
    """Holds a saved value."""

    def __init__(self, value):
        self.value = value


def chain(torch, x):
    """Three products, each of which saves something."""
    watch = Watch(torch)
    with watch.context:
        y = (x**2).exp().sin().sum()
    return watch, y


@entry("L", "saved_input_freed_with_graph", "saved_output_freed_with_graph")
def test_an_unused_graph_frees_what_it_saved(torch):
    watch, y = chain(torch, torch.ones(2, requires_grad=True))
    assert watch.saved
    assert all(watch.alive())
    del y
    assert not any(watch.alive())


@entry("L", "saved_freed_after_backward")
def test_a_backward_frees_what_was_saved(torch):
    x = torch.ones(2, requires_grad=True)
    watch, y = chain(torch, x)
    y.backward()
    assert not any(watch.alive())
    with pytest.raises(RuntimeError, match=FREED):
        y.backward()


@entry("L", "saved_freed_after_grad")
def test_grad_frees_only_what_ran(torch):
    x = torch.ones(2, requires_grad=True)
    watch = Watch(torch)
    with watch.context:
        a = x**2
        b = a.exp()
        c = b.sin()
    assert len(watch.saved) >= 3
    torch.autograd.grad(c.sum(), b)
    alive = watch.alive()
    assert any(alive)
    assert not alive[-1]
    torch.autograd.grad(b.sum(), x)
    assert not any(watch.alive())


@entry("L", "saved_kept_by_retain_graph", "saved_freed_by_second_backward")
def test_retain_graph_keeps_and_the_next_pass_frees(torch):
    x = torch.ones(2, requires_grad=True)
    watch, y = chain(torch, x)
    y.backward(retain_graph=True)
    assert all(watch.alive())
    y.backward()
    assert not any(watch.alive())


@entry("L", "saved_freed_node_by_node")
def test_each_node_frees_its_own_right_after_it_ran(torch):
    x = torch.ones(2, requires_grad=True)
    watch = Watch(torch)
    seen = []
    with watch.context:
        y = torch.ones(2) * x
        y.register_hook(lambda g: seen.append(watch.alive()))
        y = y.exp().sin()
    y.sum().backward()
    before = seen[0]
    assert not before[-1]
    assert not any(watch.alive())


@entry("L", "saved_output_no_cycle")
def test_a_saved_result_is_no_cycle(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    for function in (Exp.apply, torch.exp):
        for use in (False, True):
            x = torch.ones(2, requires_grad=True)
            y = function(x)
            y.grad_fn.metadata["mark"] = mark = Bytes(1)
            seen = weakref.ref(mark)
            del mark
            if use:
                y.sum().backward()
            del y
            assert seen() is None


@entry("L", "saved_ctx_attribute_freed")
def test_an_attribute_of_ctx_dies_with_the_node(torch):
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, held):
            ctx.held = held
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x, held = torch.ones(2, requires_grad=True), Bytes(1)
    seen = weakref.ref(held)
    y = Times.apply(x, held)
    del held
    y.sum().backward()
    assert seen() is not None  # attributes are the user's; they stay until the node goes
    del y
    assert seen() is None


@entry("L", "saved_input_freed_with_graph")
def test_a_saved_intermediate_dies_with_its_last_user(torch):
    x = torch.ones(2, requires_grad=True)
    a = x * 3
    gone = weakref.ref(a)
    y = a * a
    del a
    y.sum().backward()
    del y
    assert gone() is None
