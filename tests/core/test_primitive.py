"""Primitive: rules on bare arrays that serve every order, and what they may and may not do."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import (
    Exp,
    Item,
    PrimitiveSquare,
    Spread,
    Square,
    Total,
    derivatives,
    leaf,
    ones_like,
    teaches,
    values,
)
from pullback.autograd import grad
from pullback.core.masked import Masked
from pullback.core.tensor import Tensor


class Multiply(pb.Primitive):
    """a · b with broadcasting."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, ct):
        a, b = ctx.saved_tensors
        needs_a, needs_b = ctx.needs_input_grad
        return ct * b if needs_a else None, ct * a if needs_b else None


class Expo(pb.Primitive):
    """exp(x) from its saved result."""

    @staticmethod
    def forward(ctx, x):
        y = ctx.xp.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, ct):
        (y,) = ctx.saved_tensors
        return ct * y


class DivMod(pb.Primitive):
    """Two results, one of them an integer: a part of x and how often it went."""

    @staticmethod
    def forward(ctx, x):
        whole = np.floor(x.__array__() if isinstance(x, Tensor) else x).astype(int)
        return x - whole, whole, None

    @staticmethod
    def backward(ctx, ct, of_whole, of_none):
        seen.append((of_whole, of_none))
        return ct


seen = []


# ------------------------------------------------------------------------------------------------ what forward and backward get
def test_rules_get_bare_arrays_at_first_order_and_tensors_when_recorded():
    kinds = []

    class Looks(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            kinds.append(("forward", type(x), ctx.xp.__name__))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            kinds.append(("backward", type(x), type(ct), ctx.xp.__name__))
            return 2 * x * ct

    x = leaf([1.0, 2.0])
    y = Looks.apply(x)
    grad(y, x, ones_like(y), retain_graph=True)
    grad(y, x, ones_like(y), create_graph=True)
    assert kinds == [
        ("forward", np.ndarray, "numpy"),
        ("backward", np.ndarray, np.ndarray, "numpy"),
        ("backward", Tensor, Tensor, "pullback.namespaces.array_api"),
    ]


def test_one_rule_serves_every_order():
    x = leaf([0.5, -2.0])
    np.testing.assert_allclose(values(derivatives(PrimitiveSquare.apply, x)), [[1.0, -4.0], [2.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(values(derivatives(Expo.apply, x, 4)), [np.exp([0.5, -2.0])] * 4)


def test_raw_and_recorded_first_derivatives_are_equal_to_the_bit():
    x = leaf(np.linspace(-1, 1, 7))
    for operator in (PrimitiveSquare.apply, Expo.apply, pb.exp, pb.sin, lambda x: x * x / (x + 3)):
        (raw,) = grad(operator(x), x, ones_like(x))
        (recorded,) = grad(operator(x), x, ones_like(x), create_graph=True)
        assert raw.numpy().tobytes() == recorded.detach().numpy().tobytes()


def test_apply_on_bare_arrays_and_numbers_returns_bare_arrays():
    array = np.array([1.0, 2.0])
    result = PrimitiveSquare.apply(array)
    assert type(result) is np.ndarray
    assert type(Multiply.apply(array, 2.0)) is np.ndarray
    assert Multiply.apply(2.0, 3.0) == 6.0


def test_bare_arrays_and_numbers_beside_tensors_get_no_gradient():
    x = leaf([1.0, 2.0])
    for other in (np.array([3.0, 4.0]), 3.0, np.float64(3.0)):
        y = Multiply.apply(other, x)
        assert y.grad_fn.needs_input_grad == (False, True)
        np.testing.assert_array_equal(grad(y, x, ones_like(y))[0].numpy(), np.broadcast_to(other, 2))
        (g,) = grad(Multiply.apply(x, other), x, ones_like(y), create_graph=True)
        np.testing.assert_array_equal(values(grad(g, x, ones_like(y)))[0], [0.0, 0.0])


def test_options_reach_forward():
    y = Spread.apply(leaf(2.0), shape=(2, 3))
    assert y.shape == (2, 3)
    x = leaf(2.0)
    np.testing.assert_allclose(
        values(derivatives(lambda x: Total.apply(Spread.apply(x * x, shape=(4,))), x)), [16.0, 8.0, 0.0]
    )


def test_needs_input_grad_is_per_argument_and_narrowed_by_what_is_asked():
    flags = []

    class Looks(Multiply):
        @staticmethod
        def forward(ctx, a, b):
            flags.append(ctx.needs_input_grad)
            return Multiply.forward(ctx, a, b)

        @staticmethod
        def backward(ctx, ct):
            flags.append(ctx.needs_input_grad)
            return Multiply.backward(ctx, ct)

    a, b = leaf(2.0), leaf(3.0)
    y = Looks.apply(a, b)
    for create_graph in (False, True):
        assert values(grad(y, b, retain_graph=True, create_graph=create_graph)) == [2.0]
        assert values(grad(y, a, retain_graph=True, create_graph=create_graph)) == [3.0]
    grad(y, [a, b])
    Looks.apply(pb.tensor(1.0), b)
    assert flags == [
        (True, True), (False, True), (True, False), (False, True), (True, False), (True, True), (False, True),
    ]  # fmt: skip


def test_attributes_of_ctx_are_there_in_backward():
    class Scaled(pb.Primitive):
        @staticmethod
        def forward(ctx, x, *, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, ct):
            return ct * ctx.factor

    a, b = leaf(1.0), leaf(1.0)
    y = Scaled.apply(a, factor=2.0) + Scaled.apply(b, factor=3.0)
    assert values(grad(y, [a, b], create_graph=True)) == [2.0, 3.0]


def test_the_node_is_named_after_the_class_or_by_node_name():
    class Named(PrimitiveSquare):
        node_name = "PowBackward0"

    assert PrimitiveSquare.apply(leaf(1.0)).grad_fn.name() == "PrimitiveSquareBackward"
    assert Named.apply(leaf(1.0)).grad_fn.name() == "PowBackward0"
    assert pb.exp(leaf(1.0)).grad_fn.name() == "ExpBackward0"


def test_subclasses_of_primitives_have_nodes_of_their_own():
    class Child(PrimitiveSquare):
        @staticmethod
        def backward(ctx, ct):
            return 10 * PrimitiveSquare.backward(ctx, ct)

    x = leaf(3.0)
    assert grad(PrimitiveSquare.apply(x), x)[0].item() == 6.0
    assert grad(Child.apply(x), x)[0].item() == 60.0


# ------------------------------------------------------------------------------------------------ several results
def test_several_results_of_several_kinds():
    x = leaf([1.5, 2.25])
    part, whole, nothing = DivMod.apply(x)
    assert nothing is None
    assert part.requires_grad
    assert not whole.requires_grad
    seen.clear()
    part.backward(ones_like(part))
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
    of_whole, of_none = seen[0]
    assert of_none is None
    np.testing.assert_array_equal(of_whole, [0, 0])


def test_missing_cotangents_are_zeros_and_no_cotangent_at_all_does_not_run_the_rule():
    class Two(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            runs.append(1)
            return first * 2 + second * 3

    class Cuts(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, ct):
            return None

    runs = []
    x = leaf([1.0, 2.0])
    a, b = Two.apply(x)
    for output, slope in ((a, 2.0), (b, 3.0)):
        for create_graph in (False, True):
            (g,) = grad(output, x, ones_like(output), create_graph=create_graph, retain_graph=True)
            np.testing.assert_array_equal(values([g])[0], [slope, slope])
    runs.clear()
    y = Cuts.apply(b)
    y.backward(ones_like(y))
    assert x.grad is None
    assert not runs


def test_results_of_no_dimension_are_tensors_over_arrays():
    y = Total.apply(leaf([1.0, 2.0]))
    assert y.shape == ()
    assert isinstance(y._array, np.ndarray)
    (y * y).backward()


def test_python_numbers_as_results_become_tensors():
    class Count(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return len(x)

    y = Count.apply(pb.tensor([1.0, 2.0]))
    assert isinstance(y, Tensor)
    assert y.item() == 2


def test_integer_results_carry_no_gradient():
    class Sign(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return (x > 0).astype(int)

        @staticmethod
        def backward(ctx, ct):
            raise AssertionError

    assert not Sign.apply(leaf([1.0, -1.0])).requires_grad
    a = leaf([1.0])

    class Compare(pb.Primitive):
        @staticmethod
        def forward(ctx, x, y):
            return x > y

    assert not Compare.apply(a, a).requires_grad


# ------------------------------------------------------------------------------------------------ saved values
def test_saved_values_of_every_origin():
    mask = np.array([True, False])

    class Mixed(pb.Primitive):
        @staticmethod
        def forward(ctx, x, w):
            y = x * w
            ctx.save_for_backward(x, None, mask, y, w)
            return y

        @staticmethod
        def backward(ctx, ct):
            x, nothing, m, y, w = ctx.saved_tensors
            assert x.shape == (2,)
            assert nothing is None
            assert m is mask
            return ct * w, ct * y / w

    x, w = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    for create_graph in (False, True):
        gx, gw = grad(Mixed.apply(x, w), [x, w], ones_like(x), create_graph=create_graph)
        np.testing.assert_allclose(values([gx, gw]), [[5.0, 7.0], [2.0, 3.0]])
    np.testing.assert_allclose(values(grad(gw, [x, w], ones_like(x))), [[1.0, 1.0], [0.0, 0.0]], atol=1e-15)
    y = Mixed.apply(x, np.array([1.0, 1.0]))
    grad(y, x, ones_like(x), create_graph=True)


def test_saved_values_are_checked_and_released():
    for operator, written in ((PrimitiveSquare.apply, 0), (Expo.apply, 1), (lambda a: Multiply.apply(a, a), 0)):
        x = leaf([1.0, 2.0])
        a = x * 1
        y = operator(a)
        target = (a, y)[written]
        with pb.no_grad():
            target += 1
        for create_graph in (False, True):
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                grad(y, x, ones_like(x), create_graph=create_graph)
        y = operator(x)
        y.backward(ones_like(y))
        with pytest.raises(RuntimeError, match="a second time"):
            y.backward(ones_like(y))


def test_an_argument_that_was_written_before_is_saved_as_it_is_now():
    x = leaf([1.0, 2.0])
    a = x * 1
    a += 1
    y = PrimitiveSquare.apply(a)
    np.testing.assert_array_equal(values(grad(y, x, ones_like(y), retain_graph=True))[0], [4.0, 6.0])
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    np.testing.assert_array_equal(values([g])[0], [4.0, 6.0])
    view = Item.apply(a, index=slice(0, 1))
    np.testing.assert_array_equal(values(grad(PrimitiveSquare.apply(view), x, pb.tensor([1.0])))[0], [4.0, 0.0])


def test_saved_values_can_be_read_under_torchs_names():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    product = (x * w).grad_fn
    assert product._saved_self is x
    assert product._saved_other is w
    assert (x * 2.0).grad_fn._saved_self is None
    y = pb.exp(x)
    np.testing.assert_array_equal(y.grad_fn._saved_result.detach().numpy(), y.detach().numpy())
    assert y.grad_fn._saved_self is None
    assert pb.sin(x).grad_fn._saved_self is x
    with pytest.raises(AttributeError, match="_saved_nothing"):
        y.grad_fn._saved_nothing  # noqa: B018
    y.backward(ones_like(y))
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn._saved_result  # noqa: B018


def test_saved_results_that_are_not_differentiable():
    class Floor(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            whole = np.floor(np.asarray(x)).astype(int)
            ctx.save_for_backward(whole)
            return x * 1, whole

        @staticmethod
        def backward(ctx, ct, _):
            (whole,) = ctx.saved_tensors
            return ct * whole

    x = leaf([1.5, 2.5])
    y, _ = Floor.apply(x)
    np.testing.assert_array_equal(values(grad(y, x, ones_like(y), retain_graph=True))[0], [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ projection
def test_cotangents_of_broadcast_arguments_are_summed():
    a, b = leaf(np.ones((4, 1))), leaf(np.ones(3))
    for create_graph in (False, True):
        ga, gb = grad(Multiply.apply(a, b), [a, b], pb.tensor(np.ones((4, 3))), create_graph=create_graph)
        np.testing.assert_array_equal(values([ga])[0], np.full((4, 1), 3.0))
        np.testing.assert_array_equal(values([gb])[0], np.full(3, 4.0))


def test_cotangents_get_the_arguments_dtype():
    a = leaf([1.0, 2.0], dtype="float32")
    b = leaf([3.0, 4.0], dtype="float64")
    for create_graph in (False, True):
        ga, gb = grad(Multiply.apply(a, b), [a, b], pb.tensor([1.0, 1.0]), create_graph=create_graph)
        assert (ga.dtype, gb.dtype) == (np.float32, np.float64)


@pytest.mark.parametrize("create_graph", [False, True])
class TestWrongRules:
    def pull(self, result, create_graph, value=(1.0, 2.0)):
        class Wrong(pb.Primitive):
            @staticmethod
            def forward(ctx, alpha):
                return alpha * 1

            @staticmethod
            def backward(ctx, ct):
                return result(ct)

        x = leaf(np.asarray(value))
        y = Wrong.apply(x)
        return grad(y, x, ones_like(y), create_graph=create_graph)

    def test_number(self, create_graph):
        with teaches(RuntimeError, "WrongBackward", "expected 1, got 2", notes=["alpha"]):
            self.pull(lambda ct: (ct, ct), create_graph)

    def test_shape(self, create_graph):
        with teaches(
            RuntimeError, "WrongBackward", "got [1] but expected shape compatible with [2]", "'alpha' (argument 0)"
        ):
            self.pull(lambda ct: Item.apply(ct, index=slice(0, 1)) if create_graph else ct[:1], create_graph)

    @pytest.mark.parametrize(
        ("wrong", "word"), [(2.0, "float"), ("text", "str"), ([1.0, 2.0], "list")], ids=lambda v: str(v)
    )
    def test_type(self, create_graph, wrong, word):
        with teaches(RuntimeError, f"got {word}", "'alpha' (argument 0)", "WrongBackward", notes=["Write instead"]):
            self.pull(lambda ct: wrong, create_graph)

    def test_complex_for_real_keeps_the_real_part(self, create_graph):
        (g,) = self.pull(
            lambda ct: ct * np.array([3 + 4j, 1j]) if not create_graph else ct * pb.tensor([3 + 4j, 1j]), create_graph
        )
        np.testing.assert_array_equal(values([g])[0], [3.0, 0.0])


def test_missing_methods_are_named():
    class Nothing(pb.Primitive):
        pass

    class NoBackward(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="forward"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        NoBackward.apply(leaf(1.0)).backward()


# ------------------------------------------------------------------------------------------------ classes of Tensors
def test_results_have_the_class_of_the_arguments_and_the_subclass_wins():
    class Own(Tensor):
        __slots__ = ()

    own, plain = Own(np.ones(2), requires_grad=True), leaf([1.0, 1.0])
    for operator in (Multiply.apply, pb.multiply):
        for a, b in ((own, plain), (plain, own)):
            y = operator(a, b)
            assert type(y) is Own
            assert [type(g) for g in grad(y, [own, plain], Own(np.ones(2)))] == [Own, Tensor]
    assert type(PrimitiveSquare.apply(own)) is Own
    assert type(pb.exp(own)) is Own


# ------------------------------------------------------------------------------------------------ nothing to record
def test_nothing_is_recorded_without_gradients_or_in_quiet_mode():
    x = leaf([1.0, 2.0])
    assert PrimitiveSquare.apply(pb.tensor([1.0])).grad_fn is None
    assert Multiply.apply(pb.tensor([1.0]), 2.0).grad_fn is None
    with pb.no_grad():
        assert PrimitiveSquare.apply(x).grad_fn is None
        assert Multiply.apply(x, 2.0).grad_fn is None
        assert not Item.apply(x, index=0).requires_grad


def test_nothing_is_recorded_in_quiet_mode_with_options_or_several_results():
    class Several(pb.Primitive):
        @staticmethod
        def forward(ctx, x, y):
            return x * y, x + y, 3.0

        @staticmethod
        def backward(ctx, *cts):
            raise AssertionError

    x = leaf([1.0, 2.0])
    with pb.no_grad():
        results = [
            *Several.apply(x, x),
            Spread.apply(leaf(1.0), shape=(2,)),
            Item.apply(x, index=slice(0, 1)),
            Total.apply(x),
        ]
        assert [y.requires_grad for y in results] == [False] * 6
    assert [y.requires_grad for y in Several.apply(x, x)] == [True, True, True]


def test_several_results_of_constants_are_constants():
    class Several(pb.Primitive):
        @staticmethod
        def forward(ctx, x, y):
            return x * y, x + y

    c = pb.tensor([1.0, 2.0])
    assert [y.requires_grad for y in Several.apply(c, c)] == [False, False]
    assert not Spread.apply(pb.tensor(1.0), shape=(2,)).requires_grad
    assert not Item.apply(c, index=slice(0, 1)).requires_grad


def test_primitives_and_functions_mix_in_one_graph():
    x = leaf(0.3)
    found = derivatives(lambda x: Exp.apply(PrimitiveSquare.apply(x)) * Square.apply(pb.sin(x)), x)
    s, c, e, t = np.sin(0.3), np.cos(0.3), np.exp(0.09), 0.3
    first = 2 * t * e * s**2 + e * 2 * s * c
    np.testing.assert_allclose(found[0].item(), first, rtol=1e-12)
    h = 1e-4
    around = [values(derivatives(lambda x: pb.exp(x * x) * pb.sin(x) * pb.sin(x), leaf(t + k * h), 2)) for k in (-1, 1)]
    np.testing.assert_allclose(found[1].item(), (around[1][0] - around[0][0]) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(found[2].item(), (around[1][1] - around[0][1]) / (2 * h), rtol=1e-6)


CONSTANTS = {
    "array": lambda: np.zeros(1),
    "integers": lambda: np.zeros(1, dtype=int),
    "another precision": lambda: np.zeros(1, dtype=np.float32),
    "read-only": lambda: np.broadcast_to(0.0, (1,)),
    "Tensor": lambda: pb.zeros(1),
    "Tensor of another precision": lambda: pb.zeros(1, dtype=pb.float32),
    "structural zeros": lambda: Masked(np.zeros(1), np.zeros(1, dtype=bool)),
}


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_rule_may_return_constants_in_any_form(constant, create_graph):
    """Under leaves and results, past hooks, and differentiated again."""

    class Double(pb.Primitive):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            return ct * 2, CONSTANTS[constant]()

    x, y = leaf([1.0]), leaf([2.0])
    for inner in (x, y), (x * x, y * y):
        seen = []
        for t in inner:
            t.register_hook(lambda g, seen=seen: seen.append((type(g), type(g._array), g.dtype)))
        found = grad(Double.apply(*inner), [x, y], pb.ones(1), create_graph=create_graph)
        assert [g.tolist() for g in found] == [[2.0 if inner[0] is x else 4.0], [0.0]]
        assert seen == [(Tensor, np.ndarray, np.float64)] * 2
        if create_graph:
            again = grad([g.sum() for g in found], [x, y])
            assert [g.tolist() for g in again] == [[0.0 if inner[0] is x else 4.0], [0.0]]


def test_a_constant_that_a_rule_returned_is_not_written_through_the_gradient():
    kept = np.ones(1)

    class Constant(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, ct):
            return kept

    x = leaf([1.0])
    for create_graph in (False, True):
        (g,) = grad(Constant.apply(x), x, pb.ones(1), create_graph=create_graph)
        with pb.no_grad():
            g.mul_(5.0)
        assert kept.tolist() == [1]


def test_arguments_over_memory_of_another_object():
    """Such arrays cannot be locked and unlocked again, so they are not."""

    class Twice(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, ct):
            return 2 * ct

    strided = np.lib.stride_tricks.as_strided(np.arange(4.0), (2, 2), (8, 16))
    x = pb.Tensor(strided, requires_grad=True)
    (g,) = pb.autograd.grad(Twice.apply(x).sum(), x)
    assert np.array_equal(g.numpy(), np.full((2, 2), 2.0))
    assert strided.flags.writeable
