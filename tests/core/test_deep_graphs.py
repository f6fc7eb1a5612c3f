"""Graphs of a depth that no recursion survives: built, walked and freed, with the cyclic collector off."""

import sys
import time

import numpy as np
import pytest

import pullback as pb
from core.helpers import AddOne, Exp, Item, Number, PrimitiveSquare, Sink, Square, alive, leaf, without_gc
from pullback.autograd import grad
from pullback.core.engine import Pass, run
from pullback.core.graph import Node


class Plus(pb.Function):
    """x + 1 · scale, keeping its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x + 1.0

    @staticmethod
    def backward(ctx, g):
        assert len(ctx.saved_tensors) == 1
        return g


class KeepsOutput(Plus):
    """The same, with the output on ctx."""

    @staticmethod
    def forward(ctx, x):
        ctx.y = x + 1.0
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g


class KeepsIntermediate(Plus):
    """The same, with an intermediate."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x * 2.0)
        return x + 1.0


class PrimitivePlus(pb.Primitive):
    """x + 1 as a Primitive."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x + 1.0

    @staticmethod
    def backward(ctx, ct):
        return ct


def written(x):
    x += 1.0
    return x


def seen_through(x):
    view = Item.apply(x, index=...)
    view += 1.0
    return x


STEPS = {
    "operator": (lambda x: x + 1.0, 100_000),
    "unary operator": (lambda x: pb.sin(x), 20_000),
    "two arguments": (lambda x: x * 1.0 + x * 0.0, 8_000),
    "Function": (Plus.apply, 20_000),
    "output on ctx": (KeepsOutput.apply, 10_000),
    "intermediate": (KeepsIntermediate.apply, 8_000),
    "Primitive": (PrimitivePlus.apply, 20_000),
    "in place": (written, 10_000),
    "in place Function": (AddOne.apply, 8_000),
    "in place through a view": (seen_through, 2_000),
    "views": (lambda x: Item.apply(x, index=...), 5_000),
}


@pytest.mark.parametrize("kind", STEPS)
def test_a_long_chain_is_built_walked_and_freed(kind):
    step, length = STEPS[kind]
    with without_gc():
        before = alive(Node)
        x = leaf(0.5)
        y = x * 1.0
        for _ in range(length):
            y = step(y)
        if kind != "views":
            assert alive(Node) - before >= length
        y.backward(retain_graph=True)
        assert x.grad is not None
        if kind not in ("unary operator",):
            assert x.grad.item() == 1.0
        del y
        assert alive(Node) - before <= 1, "freed by reference counts, without recursion"
        y = x * 1.0
        for _ in range(length):
            y = step(y)
        y.backward()
        del y
        assert alive(Node) - before <= 1


def test_depth_does_not_depend_on_the_recursion_limit():
    limit = sys.getrecursionlimit()
    x = leaf(0.5)
    y = x
    for _ in range(5_000):
        y = Plus.apply(y)
    sys.setrecursionlimit(200)
    try:
        y.backward(retain_graph=True)
        grad(y, x, create_graph=True)
        del y
    finally:
        sys.setrecursionlimit(limit)


def test_a_deep_second_derivative():
    x = leaf(0.5)
    y = x
    length = 3_000
    for _ in range(length):
        y = y * 1.0001
    y = y * y
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(g, x)
    np.testing.assert_allclose(h.item(), 2 * 1.0001 ** (2 * length), rtol=1e-9)
    del g, y


def test_a_deep_second_derivative_of_functions():
    with without_gc():
        before = alive(Node)
        x = leaf(0.5)
        y = x
        for k in range(1_000):
            y = (Square.apply(y), PrimitiveSquare.apply(y))[k % 2] * 0.5 + 0.3
        (g,) = grad(y, x, create_graph=True)
        (h,) = grad(g, x, create_graph=True)
        assert np.isfinite(h.item())
        del g, h, y
        assert alive(Node) - before <= 1


def test_a_wide_graph():
    x = leaf(1.0)
    y = Exp.apply(x)
    total = y * 0.0
    for k in range(20_000):
        total = total + y * (1.0 if k % 2 else -1.0)
    total.backward()
    assert x.grad.item() == 0.0


def test_plain_nodes_a_hundred_thousand_deep():
    with without_gc():
        before = alive(Node)
        end = Sink()
        node = Number((end, 0))
        for _ in range(100_000):
            node = Number((node, 0))
        run([((node, 0), 1.0)], Pass(False, False, None))
        assert end.total == 1.0
        del node
        assert alive(Node) - before == 1


def test_a_ladder_of_shared_nodes_takes_linear_time():
    """Each step uses the step before twice: 2ⁿ paths, n nodes."""
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    start = time.perf_counter()
    y.backward()
    assert time.perf_counter() - start < 1.0
    assert x.grad.item() == 2.0**60


@pytest.mark.slow
def test_a_chain_of_a_million_nodes():
    with without_gc():
        before = alive(Node)
        x = leaf(0.5)
        y = x
        for _ in range(1_000_000):
            y = y + 1.0
        y.backward()
        assert x.grad.item() == 1.0
        del y
        assert alive(Node) - before <= 1


@pytest.mark.slow
def test_a_chain_of_a_million_function_calls():
    with without_gc():
        before = alive(Node)
        x = leaf(0.5)
        y = x
        for _ in range(1_000_000):
            y = Plus.apply(y)
        y.backward(retain_graph=True)
        assert x.grad.item() == 1.0
        del y
        assert alive(Node) - before <= 1
