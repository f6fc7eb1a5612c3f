"""Every value keeps its own place in the graph, however many Tensors share its memory."""

import collections

import numpy as np
import pytest

import pullback as pb
from core.helpers import leaf
from pullback.autograd import grad
from pullback.core.errors import DerivativeRefused


class Product(pb.Primitive):
    @staticmethod
    def forward(ctx, a, b, c):
        ctx.save_for_backward(a, b, c)
        return a * b * c

    @staticmethod
    def backward(ctx, g):
        a, b, c = ctx.saved_tensors
        return g * b * c, g * a * c, g * a * b


VALUES = np.array([0.5, 2.0])
SAME_ARRAY = {
    "detach": lambda x, v: x.detach(),
    "bare": lambda x, v: v,
    "second leaf": lambda x, v: pb.asarray(v).requires_grad_(),
    "data": lambda x, v: x.data,
}


@pytest.mark.parametrize("other", SAME_ARRAY.values(), ids=SAME_ARRAY)
@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 0, 1)])
def test_arguments_over_one_array_are_told_apart(other, order):
    x = pb.asarray(VALUES.copy()).requires_grad_()
    pair = x, other(x, x.detach().numpy())
    y = pb.sum(Product.apply(*[pair[k] for k in order]))
    n = order.count(0)
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(pb.sum(first), x)
    np.testing.assert_allclose(first.tolist(), n * VALUES**2)  # d/dx of x^n times a constant
    np.testing.assert_allclose(second.tolist(), n * (n - 1) * VALUES)


def test_a_matrix_times_its_own_detached_self():
    x = leaf([[0.3, 1.2], [-0.7, 0.4]])

    def second(constant):
        y = x @ constant
        (g,) = grad(pb.sum(y * y), x, create_graph=True)
        return grad(pb.sum(g * g), x)[0].tolist()

    assert second(x.detach()) == second(pb.tensor(x.tolist()))


@pytest.mark.parametrize("save", ["save_for_backward", "attribute"])
def test_a_result_returned_twice_and_saved_is_differentiated_at_its_last_place(save):
    class Twice(pb.Function):
        @staticmethod
        def forward(ctx, a):
            y = pb.exp(a)
            if save == "attribute":
                ctx.y = y
            else:
                ctx.save_for_backward(y)
            return y, y

        @staticmethod
        def backward(ctx, g, h):
            return h * (ctx.y if save == "attribute" else ctx.saved_tensors[0])

    x = leaf(0.5)
    p, q = Twice.apply(x)
    (g,) = grad(p + q, x, create_graph=True)
    np.testing.assert_allclose([g.item(), grad(g, x)[0].item()], 2 * np.exp(0.5))


def test_a_graph_of_its_own_on_ctx_gives_the_first_derivative_and_refuses_the_second():
    class Inner(pb.Function):
        @staticmethod
        def forward(ctx, a):
            with pb.enable_grad():
                inside = a.detach().requires_grad_()
                y = pb.sin(inside)
            ctx.inner = inside, y
            return y.detach()

        @staticmethod
        def backward(ctx, g):
            inside, y = ctx.inner
            return grad(y, inside, g, retain_graph=True)

    x = leaf(0.5)
    (g,) = grad(Inner.apply(x), x, create_graph=True)
    np.testing.assert_allclose(g.item(), np.cos(0.5))
    with pytest.raises(DerivativeRefused, match=r"ctx\.inner holds a graph"):
        grad(g, x)


def test_a_leaf_over_the_memory_of_a_base_leaves_its_views_in_their_place():
    base = leaf([1.0, 2.0]) * 1
    view, seen = base[0], []
    view.register_hook(lambda g: seen.append(g.item()))
    base.detach().requires_grad_()
    (view * 2).backward()
    assert seen == [2.0]


def test_a_view_stays_in_the_graph_when_its_leaf_stops_asking():
    x = leaf([1.0, 2.0])
    view = x[0]
    x.requires_grad_(False)
    assert view.requires_grad


def test_retained_gradients_follow_writes_through_views():
    c = leaf([1.0, 2.0]) * 1
    view = c[0]
    c.retain_grad()
    view.retain_grad()
    view *= 3.0
    pb.sum(c * 2).backward()
    assert c.grad.tolist() == [2.0, 2.0]
    assert view.grad is None  # the new view was not used


# ------------------------------------------------------------------------------------------- attributes of a Primitive
def cube(keep, read):
    class Cube(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            y = x * x * x
            keep(ctx, x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, square = read(ctx)
            return 3 * g * (x * x if square is None else square / x)

    return Cube


KEPT = {
    "argument": (lambda ctx, x, y: setattr(ctx, "x", x), lambda ctx: (ctx.x, None)),
    "in a dict": (lambda ctx, x, y: setattr(ctx, "c", {"x": x}), lambda ctx: (ctx.c["x"], None)),
    "in a list": (lambda ctx, x, y: setattr(ctx, "c", [1.0, [x]]), lambda ctx: (ctx.c[1][0], None)),
    "underscored": (lambda ctx, x, y: setattr(ctx, "_x", x), lambda ctx: (ctx._x, None)),
}


def keep_both(ctx, x, y):
    ctx.x, ctx.y = x, y


KEPT["result"] = (keep_both, lambda ctx: (ctx.x, ctx.y))


@pytest.mark.parametrize("how", KEPT)
def test_arguments_and_results_as_attributes_of_a_primitive_stay_in_the_graph(how):
    x = leaf([0.5, 2.0])
    orders = [pb.sum(cube(*KEPT[how]).apply(x))]
    for _ in range(3):
        orders.append(pb.sum(grad(orders[-1], x, create_graph=True)[0]))
    np.testing.assert_allclose([o.item() for o in orders], [8.125, 12.75, 15.0, 12.0])


@pytest.mark.parametrize("name", ["x", "y"])
def test_an_attribute_that_was_written_later_is_noticed(name):
    x = leaf([0.5, 2.0]) * 1
    y = cube(*KEPT["result"]).apply(x)
    z = y * 1
    (x if name == "x" else y).mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pb.sum(z).backward()


# -------------------------------------------------------------------------------------------- what backward does to ctx
def exponential(prepare, slope):
    """exp(x), with attributes of ctx that backward changes."""

    class Exp(pb.Function):
        @staticmethod
        def forward(ctx, x):
            prepare(ctx, x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            return g * slope(ctx)

    return Exp


def append(ctx):
    ctx.kept.append(pb.exp(ctx.kept[0]))
    return ctx.kept[-1]


def insert(ctx):
    ctx.kept["e"] = pb.exp(ctx.kept["x"])
    return ctx.kept["e"]


@pytest.mark.parametrize(
    ("prepare", "slope"),
    [
        (lambda ctx, x: setattr(ctx, "kept", [x]), append),
        (lambda ctx, x: setattr(ctx, "kept", {"x": x}), insert),
    ],
    ids=["list", "dict"],
)
def test_a_container_on_ctx_is_one_object_during_backward(prepare, slope):
    x = leaf(0.5)
    y = exponential(prepare, slope).apply(x)
    for _ in range(3):
        (y,) = grad(y, x, create_graph=True)
        np.testing.assert_allclose(y.item(), np.exp(0.5))
    exponential(prepare, slope).apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), np.exp(0.5))


def cached(ctx):
    if "cache" not in vars(ctx):
        ctx.cache = pb.exp(ctx.x)
    return ctx.cache


def test_what_an_unrecorded_backward_left_on_ctx_refuses_the_second_derivative():
    x = leaf(0.5)
    y = exponential(lambda ctx, x: setattr(ctx, "x", x), cached).apply(x)
    grad(y, x, retain_graph=True)
    (g,) = grad(y, x, create_graph=True)
    np.testing.assert_allclose(g.item(), np.exp(0.5))
    with pytest.raises(DerivativeRefused, match=r"ctx\.cache was set after forward"):
        grad(g, x)


class Holder:
    pass


def holder(value):
    held = Holder()
    held.parts = {"a": [value]}
    return held


@pytest.mark.parametrize(
    "hide", [holder, lambda v: collections.UserDict(v=v), lambda v: collections.ChainMap({"v": v})]
)
def test_intermediates_deep_within_objects_are_found(hide):
    def slope(ctx):
        held = ctx.held
        return held.parts["a"][0] if isinstance(held, Holder) else held["v"]

    x = leaf(0.5)
    y = exponential(lambda ctx, x: setattr(ctx, "held", hide(pb.exp(x))), slope).apply(x)
    (g,) = grad(y, x, create_graph=True)
    np.testing.assert_allclose(grad(g, x)[0].item(), np.exp(0.5))


# ------------------------------------------------------------------------------------------------- writes from outside
def test_a_dirty_view_of_a_leaf_is_refused_and_the_leaf_stays_one():
    class Double(pb.Function):
        @staticmethod
        def forward(ctx, a):
            a.mul_(2.0)
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        Double.apply(x[0:1])
    assert x.is_leaf


@pytest.mark.parametrize("transform", [pb.grad, pb.hessian, lambda f: lambda v: pb.value_and_grad(f)(v)[1]])
def test_transforms_notice_writes_to_their_argument(transform):
    x = leaf([1.0, 2.0])
    v = x * 1
    w = transform(lambda q: pb.sum(q * q * q * q))(v)
    v *= 10.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(pb.sum(w), x)
