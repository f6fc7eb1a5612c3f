"""Nothing is kept: with the cyclic collector off, objects and bytes stay flat over thousands of rounds."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import pullback as pb
from core.helpers import AddOne, Exp, Item, PrimitiveSquare, Product, Square, leaf, ones_like, without_gc
from pullback.autograd import grad


class KeepsOutput(pb.Function):
    """exp(x) with its output on ctx, alone and in a container."""

    @staticmethod
    def forward(ctx, x):
        ctx.y = pb.exp(x)
        ctx.table = {"y": ctx.y, "x": x}
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.y * ctx.table["y"] / ctx.table["y"]


class KeepsIntermediate(pb.Function):
    """x⁴ with the intermediate x² saved and on ctx."""

    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(x, square)
        ctx.square = [square]
        return square * square

    @staticmethod
    def backward(ctx, g):
        x, square = ctx.saved_tensors
        return g * 4 * x * ctx.square[0] * square / square


class Refuses(pb.Function):
    """exp(x) whose second derivative is refused."""

    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @pb.once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def first(f):
    def once(x):
        f(x).backward()
        x.grad = None

    return once


def second(f):
    def twice(x):
        (g,) = grad(f(x), x, create_graph=True)
        grad(g, x)

    return twice


def third(f):
    def thrice(x):
        (g,) = grad(f(x), x, create_graph=True)
        (h,) = grad(g, x, create_graph=True)
        h.backward()
        x.grad = None

    return thrice


def in_place(x):
    a = x * x
    view = Item.apply(a, index=...)
    view += 1
    a *= 2.0
    return AddOne.apply(a) * x


def hooked(x):
    y = x * x
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    x.register_hook(lambda g: g).remove()
    return y * 1


OPERATORS = {
    "operators": lambda x: pb.exp(x) * pb.sin(x) / (x + 3) - x,
    "saved input": Square.apply,
    "saved output": Exp.apply,
    "output on ctx": KeepsOutput.apply,
    "intermediate": KeepsIntermediate.apply,
    "two arguments": lambda x: Product.apply(x, x * 2),
    "primitive": PrimitiveSquare.apply,
    "views": lambda x: Item.apply(x, index=...) * x,
    "in place": in_place,
    "hooks": hooked,
}


def abandoned(f):
    return lambda x: f(x)


def recorded(f):
    return lambda x: grad(f(x), x, create_graph=True)


def retained(f):
    return lambda x: f(x).backward(retain_graph=True)


USES = {
    "backward": first,
    "second": second,
    "third": third,
    "abandoned": abandoned,
    "recorded": recorded,
    "retained": retained,
}


def objects_left(action, rounds, warm=10):
    """How many objects `rounds` of `action` leave behind without the cyclic collector."""
    with without_gc():
        for _ in range(warm):
            action()
        before = len(gc.get_objects())
        for _ in range(rounds):
            action()
        return len(gc.get_objects()) - before


def bytes_left(action, rounds, warm=50):
    """How many bytes a round leaves behind; some tens may go into Python's own free lists."""
    with without_gc():
        tracemalloc.start()
        try:
            for _ in range(warm):
                action()
            grown = []  # twice: a leak shows both times, what the rest of the process allocates once
            for _ in range(2):
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(rounds // 2):
                    action()
                grown.append((tracemalloc.get_traced_memory()[0] - before) / (rounds // 2))
            return min(grown)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", OPERATORS)
def test_no_object_stays_behind(name, use):
    action = USES[use](OPERATORS[name])
    assert objects_left(lambda: action(leaf(0.7)), 30) < 15


@pytest.mark.parametrize("name", OPERATORS)
def test_no_byte_stays_behind(name):
    action = second(OPERATORS[name])
    assert bytes_left(lambda: action(leaf(0.7)), 150) < 100


def test_a_refusal_leaves_nothing_behind():
    def action():
        x = leaf(0.7)
        (g,) = grad(Refuses.apply(x), x, create_graph=True)
        del g

    assert objects_left(action, 100) < 30
    assert bytes_left(action, 300) < 100


def rounds_on_one_leaf(name):
    operator, x = OPERATORS[name], leaf(0.7)

    def action():
        operator(x).backward()
        (g,) = grad(operator(x), x, create_graph=True)
        grad(g, x)
        x.grad = None

    return action


@pytest.mark.parametrize("name", ["operators", "output on ctx", "intermediate"])
def test_a_thousand_rounds_on_one_leaf_are_flat(name):
    assert abs(objects_left(rounds_on_one_leaf(name), 1_000)) < 30


@pytest.mark.slow
@pytest.mark.parametrize("name", ["saved input", "output on ctx", "intermediate"])
def test_ten_thousand_rounds_of_forward_backward_and_double_backward_are_flat(name):
    assert abs(objects_left(rounds_on_one_leaf(name), 10_000)) < 30


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_two_thousand_rounds_keep_no_byte(name):
    assert bytes_left(rounds_on_one_leaf(name), 2_000) < 5


def test_the_modules_tables_do_not_grow():
    from pullback.core import differentiate

    with without_gc():
        before = len(differentiate._derivative_of)
        for _ in range(50):
            x = leaf(0.7)
            (g,) = grad(Square.apply(x) * pb.exp(x), x, create_graph=True)
            g.grad_fn.metadata["a"] = 1
            grad(g, x)
        del x, g
        assert len(differentiate._derivative_of) == before


def test_an_error_keeps_nothing_alive_once_it_is_gone():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError

    with without_gc():
        a = leaf(1.0) * 1
        reference = weakref.ref(a)
        y = Fails.apply(a)
        with pytest.raises(KeyError):
            y.backward()
        del a, y
        gc.collect()
        assert reference() is None


def test_forward_leaves_no_reference_to_its_arguments_in_the_mode():
    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(weakref.ref(ctx))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with without_gc():
        Looks.apply(leaf(1.0))
        Looks.apply(pb.tensor(1.0))
        with pb.no_grad():
            Looks.apply(leaf(1.0))
        assert [reference() for reference in seen] == [None] * 3


def test_large_arrays_are_not_copied_on_the_way():
    """A chain of additions moves one cotangent: the seed is never copied but for the leaf."""
    size = 1_000_000
    x = leaf(np.zeros(size))
    y = x
    for _ in range(10):
        y = y + 1.0
    seed = ones_like(y)
    tracemalloc.start()
    try:
        y.backward(seed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * 8 * size, "one copy, into x.grad"


def test_sums_reuse_the_buffer_that_the_engine_allocated():
    size = 1_000_000
    x = leaf(np.zeros(size))
    total = x * 1.0
    parts = [total + float(k) for k in range(8)]
    y = parts[0]
    for part in parts[1:]:
        y = y + part
    seed = ones_like(y)
    tracemalloc.start()
    try:
        grad(y, total, seed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * 8 * size, "eight cotangents are added into one buffer"


def test_views_do_not_copy_their_base():
    x = leaf(np.zeros((1000, 1000)))
    tracemalloc.start()
    try:
        views = [Item.apply(x, index=k) for k in range(50)]
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
    assert all(v._base is x for v in views)


def test_a_leaf_takes_over_a_gradient_that_nobody_else_holds():
    class Doubles(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            result = g * 2
            made.append(weakref.ref(result._array))
            return result

    made, x = [], leaf([1.0, 2.0])
    Doubles.apply(x).backward(ones_like(x))
    assert made[0]() is x.grad._array
