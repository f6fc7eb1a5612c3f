"""What was saved for backward: origins, identity, release, staleness."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from core.helpers import (
    Exp,
    Item,
    PrimitiveSquare,
    Product,
    Square,
    alive,
    derivatives,
    leaf,
    ones_like,
    teaches,
    values,
    without_gc,
)
from pullback.autograd import grad
from pullback.core.tensor import Tensor


def saving(choose, backward=lambda ctx, g: g):
    """exp(x) that saves ``choose(x, y)``."""

    class Saving(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.exp(x)
            ctx.save_for_backward(*choose(x, y))
            return y

    Saving.backward = staticmethod(backward)
    return Saving


# ------------------------------------------------------------------------------------------------ what comes back
def test_a_saved_input_is_the_very_object():
    x = leaf(0.5)
    node = saving(lambda x, y: [x]).apply(x).grad_fn
    assert node.saved_tensors[0] is x
    assert node.saved_tensors[0] is node.saved_tensors[0]
    a = x * 2
    assert saving(lambda x, y: [x]).apply(a).grad_fn.saved_tensors[0] is a


def test_a_saved_output_is_a_new_tensor_at_the_outputs_place():
    y = saving(lambda x, y: [y]).apply(leaf([0.5, 1.0]))
    (saved,) = y.grad_fn.saved_tensors
    assert saved is not y
    assert saved.grad_fn is y.grad_fn
    assert saved.output_nr == y.output_nr
    assert np.shares_memory(saved.detach().numpy(), y.detach().numpy())


def test_a_saved_intermediate_knows_no_gradient():
    node = saving(lambda x, y: [x * 2]).apply(leaf(0.5)).grad_fn
    (saved,) = node.saved_tensors
    assert saved.item() == 1.0
    assert not saved.requires_grad


def test_none_is_saved_as_none():
    x = leaf(0.5)
    assert saving(lambda x, y: [None, x, None]).apply(x).grad_fn.saved_tensors == (None, x, None)


def test_nothing_saved_is_an_empty_tuple():
    assert saving(lambda x, y: []).apply(leaf(0.5)).grad_fn.saved_tensors == ()


def test_the_last_call_counts():
    class Twice(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x)
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    assert len(Twice.apply(leaf(1.0)).grad_fn.saved_tensors) == 1


def test_inside_forward_nothing_is_saved_yet():
    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            assert ctx.saved_tensors == ()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    Looks.apply(leaf(1.0))


@pytest.mark.parametrize("wrong", [3, [1], "text", np.ones(2)])
def test_only_tensors_and_none_can_be_saved(wrong):
    with teaches(
        TypeError, "save_for_backward can only save variables", "argument 1", type(wrong).__name__, notes=["ctx.name"]
    ):
        saving(lambda x, y: [x, wrong]).apply(leaf(1.0))


def test_constants_masks_and_integers_are_kept_as_they_are():
    x, mask, index = leaf([1.0, 2.0]), pb.tensor([True, False]), pb.tensor([1, 0])

    class Saves(pb.Function):
        @staticmethod
        def forward(ctx, x, mask):
            ctx.save_for_backward(mask, index, pb.tensor([True, True]))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            mask, i, fresh = ctx.saved_tensors
            assert mask is given
            assert i is index
            assert fresh.dtype == bool
            return g * 2, None

    given = mask
    y = Saves.apply(x, mask)
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    np.testing.assert_array_equal(g.detach().numpy(), [2.0, 2.0])


def test_saved_values_of_several_origins_keep_their_order():
    class Mixed(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            y = a * b
            ctx.save_for_backward(y, b, None, a)
            return y, y * 1

        @staticmethod
        def backward(ctx, g, h):
            y, b, nothing, a = ctx.saved_tensors
            assert nothing is None
            assert a is first
            return (g + h) * b, (g + h) * y / b

    a, b = first, _ = leaf(3.0), leaf(5.0)
    y, _ = Mixed.apply(a, b)
    assert values(grad(y, [a, b])) == [5.0, 3.0]


def test_derivatives_flow_through_saved_outputs_to_every_order():
    class Tanh(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = (pb.exp(x) - pb.exp(-x)) / (pb.exp(x) + pb.exp(-x))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y * y)

    t = np.tanh(0.4)
    expected = [1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2)]
    np.testing.assert_allclose(values(derivatives(Tanh.apply, leaf(0.4))), expected, rtol=1e-12)


def test_reading_a_saved_output_while_another_function_runs_its_backward():
    """Two calls of one Function, one inside the backward of the other, do not see each other's values."""

    class Outer(pb.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.save_for_backward(x)
            ctx.depth = depth
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if ctx.depth:
                with pb.enable_grad():
                    inner = leaf(x.item() + 1)
                    (found,) = grad(Outer.apply(inner, ctx.depth - 1), inner, create_graph=True)
                assert found.item() == 2 * (x.item() + 1)
                assert ctx.saved_tensors[0] is x
            return g * 2 * x, None

    x = leaf(1.0)
    assert grad(Outer.apply(x, 3), x)[0].item() == 2.0


# ------------------------------------------------------------------------------------------------ release
@pytest.mark.parametrize("operator", [Square.apply, Exp.apply, PrimitiveSquare.apply, pb.exp, pb.sin, lambda x: x * x])
def test_a_second_walk_is_refused_and_explained(operator):
    x = leaf(0.5)
    for first in (lambda y: y.backward(), lambda y: grad(y, x)):
        for second in (lambda y: y.backward(), lambda y: grad(y, x), lambda y: grad(y, x, create_graph=True)):
            y = operator(x)
            name = y.grad_fn.name()
            first(y)
            with teaches(RuntimeError, "a second time", name, notes=["retain_graph=True", "released"]) as caught:
                second(y)
            assert caught.value.node is y.grad_fn


def test_retain_graph_allows_any_number_of_walks():
    x = leaf(0.5)
    y = Exp.apply(Square.apply(x))
    first = [grad(y, x, retain_graph=True)[0].item() for _ in range(3)]
    assert len(set(first)) == 1
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_create_graph_retains_unless_told_otherwise():
    x = leaf(0.5)
    y = Square.apply(x)
    grad(y, x, create_graph=True)
    grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, x)


def test_reading_saved_tensors_after_release_is_refused():
    y = Square.apply(leaf(0.5))
    y.backward()
    for read in (lambda: y.grad_fn.saved_tensors, lambda: y.grad_fn._raw_saved_tensors):
        with pytest.raises(RuntimeError, match="SquareBackward"):
            read()


def test_what_saved_nothing_or_reads_nothing_can_run_again():
    x = leaf(0.5)
    y = x + 1
    y.backward()
    y.backward()
    y = saving(lambda x, y: [x], lambda ctx, g: g * 2).apply(x)
    y.backward()
    y.backward()
    assert x.grad.item() == 1 + 1 + 2 + 2


def test_nodes_that_did_not_run_keep_their_values():
    x, w = leaf(1.0), leaf(2.0)
    e = pb.exp(x)
    y1, y2 = e * w, e + 1
    grad(y1, w)
    np.testing.assert_allclose(grad(y2, x)[0].item(), np.e)


def test_a_shared_part_is_released_by_whoever_walks_it_first():
    x = leaf(1.0)
    shared = pb.exp(x)
    first, second = shared * 2, shared * 3
    first.backward()
    with pytest.raises(RuntimeError, match="ExpBackward0"):
        second.backward()


def test_memory_is_released_during_the_pass():
    """Each node drops its values as soon as it ran, not when the pass ends."""
    references = []

    class Watches(pb.Function):
        @staticmethod
        def forward(ctx, x):
            kept = x * 1
            references.append(weakref.ref(kept))
            ctx.save_for_backward(kept)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            lives.append([reference() is not None for reference in references])
            return g * 2

    lives = []
    with without_gc():
        Watches.apply(Watches.apply(Watches.apply(leaf(1.0)))).backward()
    assert lives == [[True, True, True], [True, True, False], [True, False, False]]


def test_written_views_and_detached_aliases_work_after_the_graph_was_freed():
    for operator in (pb.exp, Exp.apply, Square.apply, PrimitiveSquare.apply):
        y = operator(leaf([1.0, 2.0]))
        y.backward(ones_like(y))
        assert y.detach().shape == (2,)
        assert Item.apply(y, index=0).shape == ()
        y += 1


# ------------------------------------------------------------------------------------------------ staleness
OPERATORS_SAVING_INPUT = [Square.apply, PrimitiveSquare.apply, pb.sin, lambda x: x * x]
OPERATORS_SAVING_OUTPUT = [Exp.apply, pb.exp]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("operator", OPERATORS_SAVING_INPUT)
def test_a_saved_input_that_was_written_is_refused(operator, create_graph):
    x = leaf([1.0, 2.0])
    a = x * 1
    y = operator(a)
    a += 1
    with teaches(
        RuntimeError,
        "modified by an inplace operation",
        y.grad_fn.name(),
        "[float64 [2]]",
        "is at version 1; expected version 0 instead",
        notes=["new values", "clone()"],
    ) as caught:
        grad(y, x, ones_like(y), create_graph=create_graph)
    assert caught.value.node is y.grad_fn


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("operator", OPERATORS_SAVING_OUTPUT)
def test_a_saved_output_that_was_written_is_refused(operator, create_graph):
    x = leaf([1.0, 2.0])
    y = operator(x)
    y += 1
    with teaches(RuntimeError, "modified by an inplace operation", operator(x).grad_fn.name()):
        grad(y, x, ones_like(y), create_graph=create_graph)


def test_the_message_names_the_operation_that_the_value_came_from():
    a = leaf([1.0]) * 1
    y = Square.apply(a)
    a += 1
    with teaches(RuntimeError, "which is output 0 of "):
        y.backward()


@pytest.mark.parametrize("write", ["detached alias", "no_grad", "view", "leaf"])
def test_writes_through_any_tensor_over_the_memory_are_seen(write):
    x = leaf([1.0, 2.0])
    a = x if write == "leaf" else x * 1
    y = Square.apply(a)
    if write == "detached alias":
        alias = a.detach()
        alias += 1
    elif write == "view":
        view = Item.apply(a, index=slice(0, 1))
        view += 1
    else:
        with pb.no_grad():
            a += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward(ones_like(y))


@pytest.mark.parametrize("write", ["detached alias", "no_grad", "view"])
def test_writes_into_an_output_are_seen_through_any_tensor_over_its_memory(write):
    y = Exp.apply(leaf([1.0, 2.0]))
    if write == "detached alias":
        alias = y.detach()
        alias += 1
    elif write == "view":
        with pb.no_grad():
            view = Item.apply(y, index=slice(0, 1))
            view += 1
    else:
        with pb.no_grad():
            y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward(ones_like(y))


def test_a_write_into_the_saved_output_that_backward_reads_is_seen_by_the_next_walk():
    class Overwrites(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            y *= g
            return y

    x = leaf([1.0, 2.0])
    y = Overwrites.apply(x)
    y.backward(ones_like(y), retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward(ones_like(y))


def test_the_same_saved_value_written_before_it_is_saved_is_fine():
    x = leaf([1.0, 2.0])
    a = x * 1
    a += 1
    Square.apply(a).backward(ones_like(a))
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 6.0])


def test_a_view_saved_before_another_part_was_written_is_fine():
    x = leaf([1.0, 2.0])
    a = x * 1
    first, second = (Item.apply(a, index=slice(k, k + 1)) for k in range(2))
    y = Square.apply(first)
    second += 1
    y.backward(pb.tensor([1.0]))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 0.0])


def test_a_view_saved_before_its_own_part_was_written_is_refused():
    a = leaf([1.0, 2.0]) * 1
    y = Square.apply(Item.apply(a, index=slice(0, 1)))
    first = Item.apply(a, index=slice(0, 2))
    first += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward(pb.tensor([1.0]))


def test_a_value_that_is_not_needed_may_be_written():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a = x * 1
    y = a + w
    a += 1
    y.backward(ones_like(y))
    a = x * 1
    y = a * 3.0
    a += 1
    y.backward(ones_like(y))
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 4.0])


def test_written_before_saving_inside_forward_is_fine_and_after_saving_is_refused():
    """torch saves what stands there at the end of forward, without a word."""

    def doubling(save_first, save):
        class Doubles(pb.Function):
            @staticmethod
            def forward(ctx, x):
                kept = x if save == "input" else x * 1
                if save_first:
                    ctx.save_for_backward(kept)
                if save == "input":
                    x += 1
                    ctx.mark_dirty(x)
                else:
                    kept += 1
                if not save_first:
                    ctx.save_for_backward(kept)
                return x if save == "input" else x * 2

            @staticmethod
            def backward(ctx, g):
                (kept,) = ctx.saved_tensors
                return g * kept

        return Doubles

    for save in ("input", "intermediate"):
        x = leaf([1.0, 2.0])
        y = doubling(False, save).apply(x * 1)
        y.backward(ones_like(y))
        np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])
        with teaches(RuntimeError, "Doubles", "save_for_backward", notes=["clone()"]):
            y = doubling(True, save).apply(leaf([1.0, 2.0]) * 1)
            y.backward(ones_like(y))


@pytest.mark.parametrize("keep", ["saved", "ctx"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_intermediate_that_somebody_writes_later_is_refused(keep, create_graph):
    stash = []

    class Leaks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            e = pb.exp(x)
            stash.append(e)
            if keep == "saved":
                ctx.save_for_backward(e)
            else:
                ctx.e = e
            return e * 1

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0] if keep == "saved" else ctx.e)

    x = leaf([1.0, 2.0])
    y = Leaks.apply(x)
    stash[0] += 1
    with teaches(RuntimeError, "modified by an inplace operation", "LeaksBackward"):
        grad(y, x, ones_like(y), create_graph=create_graph)


def test_a_parameter_update_between_two_walks_is_seen():
    w = leaf([1.0, 2.0])
    loss = Square.apply(w)
    loss.backward(ones_like(loss), retain_graph=True)
    with pb.no_grad():
        w -= 0.1 * w.grad
    with pytest.raises(RuntimeError, match="SquareBackward"):
        loss.backward(ones_like(loss))


def test_a_value_detached_in_place_after_it_was_saved_is_refused_when_the_pass_is_recorded():
    for square in (Square.apply, lambda a: a * a, PrimitiveSquare.apply):
        x = leaf(0.5)
        a = x * 2
        y = square(a)
        a.detach_()
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation|detached in-place"):
            derivatives(lambda x, y=y: y, x, 2)


def test_an_array_put_under_a_saved_tensor_is_seen():
    x = leaf(0.5)
    y = Square.apply(x)
    x.data = pb.tensor(10.0)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation|detached in-place"):
        y.backward()


# ------------------------------------------------------------------------------------------------ memory
def test_saving_outputs_makes_no_reference_cycle():
    with without_gc():
        for make in (Exp.apply, saving(lambda x, y: [x, y]).apply, pb.exp):
            y = make(leaf(np.ones(3)))
            node, array = weakref.ref(y.grad_fn), weakref.ref(y)
            del y
            assert node() is None
            assert array() is None


def test_an_output_kept_on_ctx_is_freed_at_once():
    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = pb.exp(x)
            ctx.all = [ctx.y, (ctx.y,)]
            return ctx.y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y * ctx.all[1][0] / ctx.all[0]

    with without_gc():
        x = leaf(0.5)
        y = Keeps.apply(x)
        y.backward()
        np.testing.assert_allclose(x.grad.item(), np.exp(0.5))
        node, output = weakref.ref(y.grad_fn), weakref.ref(y)
        del y
        assert node() is None
        assert output() is None


def test_a_graph_lives_as_long_as_its_output():
    with without_gc():
        gc.collect()
        before = alive(Tensor)
        y = Square.apply(Exp.apply(leaf(0.5)))
        assert alive(Tensor) > before
        del y
        assert alive(Tensor) == before


def test_an_argument_is_kept_only_if_it_is_needed():
    with without_gc():
        x, w = leaf([1.0]), leaf([2.0])
        a = x * 1
        reference = weakref.ref(a)
        y = a + w
        del a
        assert reference() is None
        b = x * 1
        reference = weakref.ref(b)
        z = Product.apply(b, w)
        del b
        assert reference() is not None
        z.backward()
        assert reference() is None
        del y


# ------------------------------------------------------------------------------ memory that a Primitive keeps unseen
KEEPERS = {
    "a part, saved": (lambda ctx, b, y: ctx.save_for_backward(b[:]), lambda ctx: ctx.saved_tensors[0]),
    "a part": (lambda ctx, b, y: setattr(ctx, "b", b[:]), lambda ctx: ctx.b),
    "in a dict": (lambda ctx, b, y: setattr(ctx, "b", {"b": b}), lambda ctx: ctx.b["b"]),
    "a part in a list": (lambda ctx, b, y: setattr(ctx, "b", [b[:]]), lambda ctx: ctx.b[0]),
    "a part of the result": (lambda ctx, b, y: setattr(ctx, "b", [b, y[:]]), lambda ctx: ctx.b[1] * 0 + ctx.b[0]),
}


@pytest.mark.parametrize("name", KEEPERS)
@pytest.mark.parametrize("differentiable", [True, False])
def test_a_write_into_memory_that_a_primitive_keeps_is_noticed(name, differentiable):
    put, get = KEEPERS[name]

    class Times(pb.Primitive):
        @staticmethod
        def forward(ctx, a, b):
            y = a * b
            put(ctx, b, y)
            return y

        @staticmethod
        def backward(ctx, ct):
            return ct * get(ctx), None

    a = leaf([0.3, 0.5])
    b = pb.tensor([0.4, 0.1], requires_grad=differentiable) * 1.0
    y = Times.apply(a, b)
    (g,) = grad(y.sum(), a, retain_graph=True)
    assert g.tolist() == [0.4, 0.1]
    result = name == "a part of the result"
    with pb.no_grad():
        (y if result else b).mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation: memory saved by Times"):
        grad(y if result else y.sum(), a, None if not result else pb.ones_like(y))


@pytest.mark.parametrize("saved", [(None,), (None, None), ()])
def test_none_alone_may_be_saved_by_a_function_of_several_arguments(saved):
    class Add(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(*saved)
            return x + y

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors == saved
            return g, g * 2

    x, y = leaf(2.0), leaf(3.0)
    assert [g.item() for g in grad(Add.apply(x, y), [x, y])] == [1.0, 2.0]
