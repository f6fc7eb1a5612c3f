"""Hooks on saved values: packed when they are saved, unpacked when they are read, at their old place in the graph."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from core.helpers import (
    AddOne,
    Exp,
    PrimitiveSquare,
    Product,
    Square,
    derivatives,
    leaf,
    ones_like,
    teaches,
    values,
    without_gc,
)
from pullback.autograd import grad
from pullback.core.errors import DerivativeRefused
from pullback.core.packing import disable_saved_tensors_hooks, saved_tensors_hooks


def to_bytes(tensor):
    return tensor.detach().numpy().tobytes(), tensor.shape, tensor.dtype


def from_bytes(packed):
    data, shape, dtype = packed
    return pb.tensor(np.frombuffer(data, dtype).reshape(shape))


OPERATORS = [
    Square.apply,
    Exp.apply,
    PrimitiveSquare.apply,
    pb.exp,
    pb.sin,
    lambda x: x * x,
    lambda x: Product.apply(x, x) / x,
]


@pytest.mark.parametrize("operator", OPERATORS)
def test_values_may_leave_and_come_back_as_bytes_at_every_order(operator):
    expected = values(derivatives(operator, leaf([0.5, 2.0])))
    with saved_tensors_hooks(to_bytes, from_bytes):
        found = values(derivatives(operator, leaf([0.5, 2.0])))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    x = leaf([0.5, 2.0])
    with saved_tensors_hooks(to_bytes, from_bytes):
        y = operator(x)
    y.backward(ones_like(y))
    np.testing.assert_allclose(x.grad.numpy(), expected[0])


class Composed(pb.Function):
    """sin(exp(x)), with the intermediate exp(x) saved and on ctx."""

    @staticmethod
    def forward(ctx, x):
        e = pb.exp(x)
        ctx.save_for_backward(e)
        ctx.table = {"e": e, "x": x}
        return pb.sin(e)

    @staticmethod
    def backward(ctx, g):
        (e,) = ctx.saved_tensors
        return g * pb.cos(e) * ctx.table["e"] * ctx.table["x"] / ctx.table["x"]


class PrimitiveComposed(pb.Primitive):
    """The same as a Primitive."""

    @staticmethod
    def forward(ctx, x):
        e = ctx.xp.exp(x)
        ctx.save_for_backward(e)
        return ctx.xp.sin(e)

    @staticmethod
    def backward(ctx, ct):
        (e,) = ctx.saved_tensors
        return ct * ctx.xp.cos(e) * e


@pytest.mark.parametrize("operator", [Composed.apply, PrimitiveComposed.apply])
def test_packed_intermediates_are_right_or_refused(operator):
    expected = values(derivatives(lambda x: pb.sin(pb.exp(x)), leaf([0.5, 1.0]), 2))
    x = leaf([0.5, 1.0])
    with saved_tensors_hooks(to_bytes, from_bytes):
        y = operator(x)
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    np.testing.assert_allclose(values([g])[0], expected[0])
    try:
        (h,) = grad(g, x, ones_like(y))
    except DerivativeRefused:
        return
    np.testing.assert_allclose(h.numpy(), expected[1])


def test_pack_runs_once_per_value_quietly_and_unpack_at_every_reading():
    log = []

    def pack(tensor):
        log.append(("pack", tensor.item(), pb.is_grad_enabled()))
        return tensor

    def unpack(tensor):
        log.append(("unpack", tensor.item()))
        return tensor

    a, b = leaf(2.0), leaf(3.0)
    with saved_tensors_hooks(pack, unpack):
        y = Product.apply(a, b)
    assert log == [("pack", 2.0, False), ("pack", 3.0, False)]
    log.clear()
    y.grad_fn.saved_tensors  # noqa: B018
    y.backward()
    assert log == [("unpack", 2.0), ("unpack", 3.0)] * 2


def test_nothing_is_packed_where_nothing_is_recorded():
    calls = []
    with saved_tensors_hooks(calls.append, lambda value: value):
        Square.apply(pb.tensor(1.0))
        pb.exp(pb.tensor(1.0))
        with pb.no_grad():
            Square.apply(leaf(1.0))
        leaf(1.0) + 1.0
    assert not calls


def test_the_innermost_hooks_count():
    log = []

    def hooks(name):
        return saved_tensors_hooks(lambda t: log.append(name) or t, lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            Square.apply(leaf(1.0))
        Square.apply(leaf(1.0))
    Square.apply(leaf(1.0))
    assert log == ["inner", "outer"]


def test_hooks_can_decorate_and_are_remembered_through_grad_modes():
    log = []

    @saved_tensors_hooks(lambda t: log.append(1) or t, lambda t: t)
    def run(x):
        with pb.no_grad(), pb.enable_grad():
            return Square.apply(x)

    x = leaf(3.0)
    assert grad(run(x), x)[0].item() == 6.0
    assert log == [1]
    Square.apply(x)
    assert log == [1]


def test_hooks_hold_for_what_a_recorded_backward_saves():
    log = []
    x = leaf(3.0)
    y = Square.apply(x)
    with saved_tensors_hooks(lambda t: log.append(1) or t, lambda t: t):
        (g,) = grad(y, x, create_graph=True)
    assert log
    assert grad(g, x)[0].item() == 2.0


def test_unpacked_values_take_the_place_of_what_was_saved():
    x = leaf(3.0)
    with saved_tensors_hooks(to_bytes, from_bytes):
        y = Exp.apply(x)
        z = Square.apply(x)
    (saved,) = y.grad_fn.saved_tensors
    assert saved.grad_fn is y.grad_fn
    (saved,) = z.grad_fn.saved_tensors
    assert saved is not x
    assert saved._resolved() == x._resolved()


def test_the_hooks_answer_for_the_value_so_writes_are_not_checked():
    x = leaf([1.0, 2.0])
    a = x * 1
    with saved_tensors_hooks(to_bytes, from_bytes):
        y = Square.apply(a)
    with pb.no_grad():
        a += 1
    y.backward(ones_like(y))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_packed_values_are_released_too():
    x = leaf(3.0)
    packed = []

    class Token:
        pass

    def pack(tensor):
        token = Token()
        packed.append(weakref.ref(token))
        return token

    with without_gc():
        with saved_tensors_hooks(pack, lambda token: pb.tensor(3.0)):
            y = Square.apply(x)
        assert packed[0]() is not None
        y.backward()
        assert packed[0]() is None
        assert x.grad.item() == 6.0
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_what_hooks_do_wrong_is_explained():
    def writes(tensor):
        tensor += 1
        return tensor

    with (
        teaches(RuntimeError, "pack hook is modifying its input in place", notes=["clone()"]),
        saved_tensors_hooks(writes, None),
    ):
        Square.apply(leaf(1.0) * 1)
    with saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = Square.apply(leaf(1.0))
    with teaches(TypeError, "unpack_hook expected to be a Tensor", "int", notes=["return the Tensor"]):
        y.backward()


def test_none_is_not_packed():
    class SavesNone(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            nothing, x = ctx.saved_tensors
            assert nothing is None
            return g * 2 * x

    calls = []
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: t):
        y = SavesNone.apply(x)
    y.backward()
    assert calls == [1]
    assert x.grad.item() == 6.0


def test_saved_values_of_in_place_functions_and_of_attributes():
    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(to_bytes, from_bytes):
        a = Square.apply(x)
        AddOne.apply(a)
        y = Composed.apply(x)
    (a * 2).backward(ones_like(a))
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 8.0])
    x.grad = None
    y.backward(ones_like(y))
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), np.cos(e) * e)


def test_hooks_can_be_forbidden():
    with disable_saved_tensors_hooks("not here"):
        with teaches(RuntimeError, "not here"), saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        x = leaf(3.0)
        assert grad(Square.apply(x), x)[0].item() == 6.0

    @disable_saved_tensors_hooks("nor here")
    def run():
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with teaches(RuntimeError, "nor here"):
        run()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


# ------------------------------------------------------------------------------------------------ one value at a time
def test_one_saved_value_can_be_given_hooks():
    x = leaf(3.0)
    y = Square.apply(x)
    (handle,) = y.grad_fn._raw_saved_tensors
    handle.register_hooks(lambda t: t.item(), lambda number: pb.tensor(number))
    assert "SavedTensor" in repr(handle)
    with teaches(RuntimeError, "already been set", notes=["packed already"]):
        handle.register_hooks(lambda t: t, lambda t: t)
    (g,) = grad(y, x, create_graph=True)
    assert values([g, *grad(g, x)]) == [6.0, 2.0]


def test_none_cannot_be_given_hooks():
    class SavesNone(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    (handle,) = SavesNone.apply(leaf(1.0)).grad_fn._raw_saved_tensors
    with teaches(RuntimeError, "with value None is forbidden", notes=["nothing to pack"]):
        handle.register_hooks(lambda t: t, lambda t: t)


def test_values_beside_an_intermediate_can_be_given_hooks_too():
    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, pb.exp(x))
            return x * pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            x, e = ctx.saved_tensors
            return g * (e + x * e)

    x = leaf(0.5)
    y = Both.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t.item(), lambda number: pb.tensor(number))
    (g,) = grad(y, x, create_graph=True)
    np.testing.assert_allclose(g.item(), 1.5 * np.exp(0.5))
    np.testing.assert_allclose(grad(g, x)[0].item(), 2.5 * np.exp(0.5))


def test_hooks_leave_no_cycle():
    with without_gc():
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = Exp.apply(leaf(0.5))
            z = Composed.apply(leaf(0.5))
        references = [weakref.ref(y.grad_fn), weakref.ref(z.grad_fn)]
        del y, z
        assert [reference() for reference in references] == [None, None]
        gc.collect()


@pytest.mark.parametrize(
    "keep", [lambda t: t, lambda t: t.detach(), lambda t: {"value": [t]}], ids=["same", "alias", "inside"]
)
@pytest.mark.parametrize("what", ["input", "result", "input of a Function"])
def test_what_hooks_keep_as_it_is_is_stale_when_it_is_written(keep, what):
    def unpack(kept):
        return kept["value"][0] if isinstance(kept, dict) else kept

    x = leaf([1.0, 2.0])
    y = x * 1
    with saved_tensors_hooks(keep, unpack):
        z = pb.exp(y) if what == "result" else y * y if what == "input" else Square.apply(y)
    grad(z.sum(), x, retain_graph=True)
    with pb.no_grad():
        (z if what == "result" else y).mul_(10.0)
    with teaches(RuntimeError, "modified by an inplace operation"):
        grad(z.sum(), x)


def test_what_hooks_copied_may_be_written():
    x = leaf([1.0, 2.0])
    y = x * 1
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        z = y * y
    with pb.no_grad():
        y.mul_(10.0)
    assert grad(z.sum(), x)[0].tolist() == [2.0, 4.0]


def test_an_unpacked_value_has_the_shape_of_the_saved_one():
    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(lambda t: t, lambda t: t[:1]):
        z = x * x
    with teaches(RuntimeError, "unpack_hook has the shape (1,)", "(2,)", notes=["broadcasting"]):
        grad(z.sum(), x)
