"""backward and grad: every argument, accumulation, retaining, recording, nesting."""

import collections
import contextvars
import threading
import types
import warnings

import numpy as np
import pytest

import pullback as pb
from core.helpers import (
    Exp,
    Item,
    PrimitiveSquare,
    Product,
    Square,
    Total,
    derivatives,
    leaf,
    ones_like,
    teaches,
    values,
)
from pullback.autograd import backward, grad
from pullback.core.differentiate import GradientEdge, get_gradient_edge


class Intermediate(pb.Function):
    """x², with an intermediate."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x * 2)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (twice,) = ctx.saved_tensors
        return g * twice


# ------------------------------------------------------------------------------------------------ backward: accumulation
def test_backward_fills_the_leaves_and_only_them():
    x, w, c = leaf(2.0), leaf(3.0), pb.tensor(5.0)
    a = x * w
    (a * c).backward()
    assert values([x.grad, w.grad]) == [15.0, 10.0]
    assert c.grad is None
    with pytest.warns(UserWarning, match="not a leaf"):
        assert a.grad is None


def test_gradients_accumulate_in_place_into_the_same_tensor():
    x = leaf([1.0, 2.0])
    (x * 2).backward(ones_like(x))
    first = x.grad
    (x * 3).backward(ones_like(x))
    assert x.grad is first
    np.testing.assert_array_equal(first.numpy(), [5.0, 5.0])


def test_an_accumulated_gradient_is_a_write_that_saved_values_notice():
    x = leaf([1.0, 2.0])
    (x * 2).backward(ones_like(x))
    x.grad.requires_grad_()
    y = Square.apply(x.grad)
    (x * 3).backward(ones_like(x))
    assert x.grad._version in (0, 1)
    with pytest.raises(RuntimeError, match="inplace operation"):
        y.backward(ones_like(y))


def test_gradients_never_share_memory_with_seeds_or_with_each_other():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = pb.tensor([1.0, 1.0])
    (a + b).backward(seed)
    assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())
    assert not np.shares_memory(a.grad.numpy(), seed.numpy())
    a.backward(seed)
    assert not np.shares_memory(a.grad.numpy(), seed.numpy())


def test_with_create_graph_backward_adds_out_of_place_and_warns_of_the_cycle():
    x = leaf(3.0)
    with pytest.warns(UserWarning, match=r"create_graph=True.*reference cycle"):
        (x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    with pytest.warns(UserWarning, match="create_graph"):
        (x * x).backward(create_graph=True)
    assert x.grad is not first
    assert values([first, x.grad]) == [6.0, 12.0]
    assert grad(x.grad, x)[0].item() == 4.0


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize(
    "operator", [Square.apply, PrimitiveSquare.apply, Intermediate.apply, lambda x: x * x, lambda x: x * x + x]
)
def test_backward_with_create_graph_goes_through_every_kind_of_node(operator):
    x = leaf(3.0)
    operator(x).backward(create_graph=True)
    first, x.grad = x.grad, None
    first.backward(create_graph=True)
    second, x.grad = x.grad, None
    second.backward()
    np.testing.assert_allclose(values([first]), values(grad(operator(x), x)))
    assert second.item() == 2.0
    assert x.grad is None or x.grad.item() == 0.0


def test_grad_with_create_graph_does_not_warn():
    x = leaf(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(x * x, x, create_graph=True)


def test_a_leaf_that_is_the_output():
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1.0
    assert grad(x, x)[0].item() == 1.0


def test_a_gradient_may_be_set_reset_and_is_checked():
    x = leaf([1.0, 2.0])
    x.grad = pb.tensor([5.0, 6.0])
    (x * 2).backward(ones_like(x))
    np.testing.assert_array_equal(x.grad.numpy(), [7.0, 8.0])
    x.grad = None
    assert x.grad is None
    for wrong, kind, words in (
        (3.0, TypeError, ["expected to be a Tensor or None", "float"]),
        (x, RuntimeError, ["as its own grad"]),
        (pb.tensor([1.0]), RuntimeError, ["a gradient of size", "[1]", "[2]"]),
        (pb.tensor([1.0, 1.0], dtype="float32"), RuntimeError, ["a gradient with dtype", "float32", "float64"]),
    ):
        with teaches(kind, *words, notes=["Write instead"]):
            x.grad = wrong


def test_a_gradient_set_from_a_result_of_grad_is_not_shared():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = pb.tensor([1.0, 1.0])
    a.grad, b.grad = grad(a + b, [a, b], seed)
    (a * 5).backward(ones_like(a))
    np.testing.assert_array_equal(values([a.grad, b.grad, seed]), [[6.0, 6.0], [1.0, 1.0], [1.0, 1.0]])


def test_gradients_accumulate_into_a_gradient_set_by_the_user_of_another_kind_of_memory():
    x = leaf(np.ones((2, 3)))
    x.grad = pb.tensor(np.zeros((3, 2)).T)
    (x * 2).backward(ones_like(x))
    (x * 2).backward(ones_like(x))
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 4.0))


# ------------------------------------------------------------------------------------------------ backward: arguments
def test_backward_of_several_outputs_with_several_seeds():
    x = leaf([1.0, 2.0])
    y, z = x * 2, Total.apply(x * x)
    backward([y, z], [pb.tensor([1.0, 10.0]), None])
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 24.0])
    x.grad = None
    backward((x * 2,), grad_tensors=pb.tensor([1.0, 10.0]))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 20.0])
    x.grad = None
    backward(iter([x * 2]), iter([pb.tensor([1.0, 1.0])]))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_the_old_name_of_grad_tensors_warns():
    x = leaf([1.0, 2.0])
    with pytest.warns(FutureWarning, match="grad_tensors"):
        backward(x * 2, grad_variables=pb.tensor([1.0, 10.0]))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 20.0])


def test_backward_inputs_restricts_accumulation():
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[x])
    assert x.grad.item() == 3.0
    assert w.grad is None
    backward(x * w, inputs=w)
    assert w.grad.item() == 2.0
    backward(x * w, inputs={"w": w})
    assert w.grad.item() == 4.0
    other = leaf(1.0)
    backward(x * w, inputs=[x, other])
    assert other.grad is None, "unused inputs are ignored"
    with teaches(RuntimeError, "`inputs` argument to `backward()` cannot be empty", notes=["leave it out"]):
        backward(x * w, inputs=[])


def test_backward_inputs_may_be_inner_tensors():
    x = leaf(2.0)
    a = x * 3
    (a * a).backward(inputs=[a])
    assert a.grad.item() == 12.0
    assert x.grad is None
    a = x * 3
    (a * a).backward(inputs=[a, x])
    assert values([a.grad, x.grad]) == [12.0, 36.0]


def test_backward_inputs_count_once():
    x = leaf(2.0)
    (x * x).backward(inputs=[x, x])
    assert x.grad.item() == 4.0
    a = x * 1
    a.retain_grad()
    (a * a).backward(inputs=[a])
    assert a.grad.item() == 4.0


def test_backward_inputs_that_are_no_leaves_retain_their_gradient():
    """Also in later passes, and where this one gave nothing; in-place writes are followed."""
    x = leaf(2.0)
    a, unused = x * 3, x * 4
    y = a * a
    y.backward(inputs=[a, unused], retain_graph=True)
    assert (a.retains_grad, unused.retains_grad, unused.grad) == (True, True, None)
    y.backward(retain_graph=True)
    assert values([a.grad, x.grad]) == [24.0, 36.0]
    a.grad = None
    a *= 2
    (a * 5).backward()
    assert a.grad.item() == 5.0


def test_backward_inputs_may_be_edges():
    """Those of leaves accumulate; those of other Tensors have nowhere to go, as in torch."""
    x = leaf(2.0)
    a = x * 3
    (a * a).backward(inputs=[get_gradient_edge(a), get_gradient_edge(x)])
    assert x.grad.item() == 36.0
    assert not a.retains_grad


def test_backward_inputs_with_create_graph():
    x = leaf(2.0)
    with pytest.warns(UserWarning, match="create_graph"):
        (x * x * x).backward(create_graph=True, inputs=[x])
    assert grad(x.grad, x)[0].item() == 12.0
    a = x * 1
    with pytest.warns(UserWarning, match="create_graph"):
        (a * 3).backward(create_graph=True, inputs=[a])
    assert grad(a.grad, a)[0].item() == 0.0, "a constant derivative has the derivative zero"


def test_post_accumulate_hooks_run_for_leaves_given_as_inputs():
    x, calls = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda t: calls.append(t.grad.item()))
    (x * x).backward(inputs=[x])
    assert calls == [4.0]


def test_the_method_takes_the_same_arguments():
    x = leaf([1.0, 2.0])
    y = x * x
    y.backward(pb.tensor([1.0, 1.0]), retain_graph=True)
    y.backward(gradient=pb.tensor([1.0, 1.0]), inputs=[x])
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 8.0])


# ------------------------------------------------------------------------------------------------ grad: arguments
def test_grad_of_one_or_several_inputs_is_always_a_tuple():
    x, w = leaf(2.0), leaf(3.0)
    assert values(grad(x * w, x)) == [3.0]
    assert values(grad(x * w, [x])) == [3.0]
    assert values(grad([x * w], (w, x))) == [2.0, 3.0]
    assert values(grad(x * w, iter([w]))) == [2.0]
    assert values(grad(x * w, [x, x])) == [3.0, 3.0]
    assert x.grad is None


def test_dict_inputs_give_a_dict():
    x, w = leaf(2.0), leaf(3.0)
    found = grad(x * w, {"x": x, "w": w})
    assert {name: g.item() for name, g in found.items()} == {"x": 3.0, "w": 2.0}
    for other in (collections.OrderedDict(w=w, x=x), types.MappingProxyType({"x": x})):
        with teaches(TypeError, "inputs must be Tensors, a sequence or a dict", type(other).__name__):
            grad(x * w, other)


def test_equal_outputs_and_an_output_that_is_the_input():
    x = leaf(2.0)
    y = x * x
    assert grad([y, y], x, retain_graph=True)[0].item() == 8.0
    assert grad([y, x], x)[0].item() == 5.0
    seed = pb.tensor(7.0)
    assert grad(x, x, seed)[0].item() == 7.0


def test_gradients_of_inner_tensors_with_and_without_their_own_graph():
    x = leaf(2.0)
    a = x * x
    y = a * a
    assert grad(y, a, retain_graph=True)[0].item() == 8.0
    assert values(grad(y, [a, x], retain_graph=True)) == [8.0, 32.0]
    assert grad(a, a, retain_graph=True)[0].item() == 1.0
    (g,) = grad(y, a, create_graph=True)
    assert values(grad(g, [a, x], retain_graph=True)) == [2.0, 8.0]


def test_a_seed_is_cast_to_the_outputs_dtype():
    x = leaf([1.0, 2.0], dtype="float32")
    for seed in (pb.tensor([1.0, 1.0]), pb.tensor([1, 1])):
        for create_graph in (False, True):
            (g,) = grad(x * 2, x, seed, create_graph=create_graph)
            assert g.dtype == np.float32
            np.testing.assert_array_equal(values([g])[0], [2.0, 2.0])
    seed = leaf([1.0, 1.0])
    (g,) = grad(x * x, x, seed, create_graph=True)
    (h,) = grad(g, seed, pb.tensor([1.0, 1.0], dtype="float32"))
    assert h.dtype == np.float64
    np.testing.assert_array_equal(h.numpy(), [2.0, 4.0])


def test_implicit_seeds_for_any_single_real_element():
    for shape in ((), (1,), (1, 1)):
        x = leaf(np.full(shape, 3.0))
        (g,) = grad(x * x, x)
        assert g.shape == shape
        assert g.item() == 6.0


def test_unused_inputs():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x
    with teaches(
        RuntimeError,
        "index 1",
        "not have been used in the graph",
        notes=["materialize_grads=True", "allow_unused=True"],
    ) as caught:
        grad(y, [x, w], retain_graph=True)
    assert caught.value.position == 1
    assert values(grad(y, [x, w], allow_unused=True, retain_graph=True)) == [4.0, None]
    found = grad(y, [x, w], materialize_grads=True, retain_graph=True)
    assert values(found) == [4.0, 0.0]
    assert not found[1].requires_grad
    found = grad(y, [x, w], materialize_grads=True, create_graph=True)
    assert values(found) == [4.0, 0.0]
    assert found[1].requires_grad
    assert values(grad(found[1], w)) == [0.0]
    with teaches(ValueError, "allow_unused to be True or not passed"):
        grad(y, [x, w], materialize_grads=True, allow_unused=False)
    big = leaf(np.ones((2, 3)), dtype="float32")
    (zeros,) = grad(y, big, materialize_grads=True)
    assert (zeros.shape, zeros.dtype) == ((2, 3), np.float32)


def test_only_inputs_is_history():
    x = leaf(2.0)
    with pytest.warns(FutureWarning, match="only_inputs"):
        grad(x * x, x, only_inputs=False)


def test_a_batch_of_seeds():
    x = leaf([1.0, 2.0, 3.0])
    y = x * x
    seeds = pb.tensor(np.eye(3))
    (jacobian,) = grad(y, x, seeds, is_grads_batched=True, retain_graph=True)
    np.testing.assert_array_equal(jacobian.numpy(), np.diag([2.0, 4.0, 6.0]))
    (jacobian,) = grad(y, x, seeds, is_grads_batched=True, create_graph=True)
    (h,) = grad(Total.apply(jacobian), x)
    np.testing.assert_array_equal(h.numpy(), [2.0, 2.0, 2.0])
    w = leaf(1.0)
    assert grad(y, [x, w], seeds, is_grads_batched=True, allow_unused=True, retain_graph=True)[1] is None
    with teaches(RuntimeError, "is_grads_batched=True", "grad_output[0]", "first dimension"):
        grad(y, x, pb.tensor(np.eye(2)), is_grads_batched=True)
    with teaches(RuntimeError, "is_grads_batched=True"):
        grad(y, x, pb.tensor(1.0), is_grads_batched=True)


def test_a_batch_frees_the_graph_after_its_last_seed():
    x = leaf([1.0, 2.0])
    y = Square.apply(x)
    grad(y, x, pb.tensor(np.eye(2)), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward(ones_like(y))


# ------------------------------------------------------------------------------------------------ gradient edges
def test_edges_stand_for_tensors():
    x = leaf(2.0)
    a = x * x
    y = a * 3
    assert values(grad(y, get_gradient_edge(a), retain_graph=True)) == [3.0]
    assert values(grad(y, [get_gradient_edge(x)], retain_graph=True)) == [12.0]
    assert values(grad(get_gradient_edge(y), x, pb.tensor(2.0), retain_graph=True)) == [24.0]
    assert values(grad(get_gradient_edge(y), get_gradient_edge(x), retain_graph=True)) == [12.0]
    edge = get_gradient_edge(a)
    assert isinstance(edge, GradientEdge)
    assert (edge.node, edge.output_nr) == (a.grad_fn, 0)
    backward(get_gradient_edge(y))
    assert x.grad.item() == 12.0


def test_an_edge_stays_where_the_tensor_was_when_it_was_taken():
    x = leaf(2.0)
    a = x * 1
    edge = get_gradient_edge(a)
    a *= 5
    y = a * 1
    assert values(grad(y, edge, retain_graph=True)) == [5.0]
    assert values(grad(y, a)) == [1.0]


def test_edges_need_gradients_and_cannot_be_materialised():
    with teaches(
        RuntimeError, "gradient edge for a Tensor that does not require gradients", notes=["requires_grad=True"]
    ):
        get_gradient_edge(pb.tensor(1.0))
    x, w = leaf(2.0), leaf(3.0)
    with teaches(RuntimeError, "materialize_grads", "GradientEdge"):
        grad(x * 1, get_gradient_edge(w), materialize_grads=True)


# ------------------------------------------------------------------------------------------------ bad input
class TestBadInput:
    """Every error says what was wrong; its notes say what to write instead."""

    x = leaf([1.0, 2.0])

    def test_outputs_without_a_graph(self):
        with teaches(
            RuntimeError,
            "element 0 of tensors does not require grad and does not have a grad_fn",
            notes=["requires_grad=True"],
        ):
            pb.tensor(1.0).backward()
        with teaches(RuntimeError, "element 1 of tensors"):
            backward([leaf(1.0), pb.tensor(1.0)])
        with teaches(RuntimeError, "element 0"):
            grad(self.x.detach(), self.x, ones_like(self.x))

    def test_inputs_without_gradients(self):
        with teaches(RuntimeError, "does not require grad (input 1)", notes=["requires_grad=True"]):
            grad(self.x * 1, [self.x, pb.tensor(1.0)], ones_like(self.x))

    def test_no_inputs(self):
        with teaches(RuntimeError, "`inputs` argument to `grad()` cannot be empty", notes=["at least one"]):
            grad(self.x * 1, [], ones_like(self.x))

    @pytest.mark.parametrize("wrong", [3.0, "text", None, object()], ids=["float", "str", "None", "object"])
    def test_things_that_are_no_tensors(self, wrong):
        kind = type(wrong).__name__
        with teaches(TypeError, "expected a Tensor", kind, notes=["pullback.tensor"]):
            grad(wrong, self.x)
        with teaches(TypeError, "expected a Tensor", kind, notes=["pullback.tensor"]):
            grad(self.x * 1, wrong, ones_like(self.x))
        with teaches(RuntimeError, "Tensor", kind, notes=["pullback.tensor"]):  # the type that torch raises
            grad(self.x * 1, [self.x, wrong], ones_like(self.x))
        with teaches(TypeError, "Tensor", kind, notes=["pullback.tensor"]):
            backward([leaf(1.0), wrong])

    def test_arrays_in_the_place_of_outputs_or_inputs(self):
        with teaches(TypeError, "Tensor"):
            grad(np.ones(2), self.x)
        with teaches(TypeError, "Tensor"):
            grad(self.x * 1, np.ones(2), ones_like(self.x))

    def test_several_elements_without_a_seed(self):
        with teaches(
            RuntimeError,
            "implicitly created only for scalar outputs",
            "[2]",
            notes=["y.sum()", "y.backward(weights)", "grad(y, x, weights)"],
        ):
            (self.x * 1).backward()
        with teaches(RuntimeError, "scalar outputs", "output 1", "[0]"):
            backward([leaf(1.0), leaf(np.ones(0))])

    def test_a_complex_output_without_a_seed(self):
        z = leaf(1 + 2j)
        with teaches(RuntimeError, "only for real scalar outputs", "complex128", notes=["abs(y)"]):
            (z * z).backward()

    def test_seeds_of_the_wrong_shape(self):
        with teaches(
            RuntimeError,
            "Mismatch in shape",
            "grad_output[0]",
            "(3,)",
            "output[0]",
            "(2,)",
            notes=["output's own shape"],
        ) as caught:
            (self.x * 1).backward(pb.tensor(np.ones(3)))
        assert issubclass(caught.type, RuntimeError)
        with teaches(RuntimeError, "Mismatch in shape"):
            (self.x * 1).backward(pb.tensor(1.0))

    def test_seeds_of_the_wrong_number(self):
        with teaches(RuntimeError, "got 2 tensors and 1 gradients", notes=["one gradient"]):
            backward([self.x * 1, self.x * 2], [ones_like(self.x)])
        with teaches(RuntimeError, "got 1 tensors and 2 gradients"):
            backward([self.x * 1], [ones_like(self.x), ones_like(self.x)])

    @pytest.mark.parametrize("wrong", [3, 2.0, np.ones(2), [1.0, 2.0]], ids=["int", "float", "ndarray", "list"])
    def test_seeds_of_the_wrong_type(self, wrong):
        with teaches(
            TypeError, "gradients can be either Tensors or None", type(wrong).__name__, notes=["pullback.asarray"]
        ):
            (self.x * 1).backward(wrong)

    def test_seeds_of_the_wrong_kind_of_number(self):
        with teaches(RuntimeError, "complex", "grad_output[0]", "complex128", "float64"):
            (self.x * 1).backward(pb.tensor([1j, 1j]))
        with teaches(RuntimeError, "complex"):
            (leaf([1j, 2j]) * 1).backward(pb.tensor([1.0, 1.0]))

    def test_a_failed_request_changes_nothing(self):
        x = leaf(2.0)
        y = Square.apply(x)
        for wrong in (
            lambda: y.backward(pb.tensor([1.0])),
            lambda: grad(y, [x, leaf(1.0)], retain_graph=True),
            lambda: grad(y, [x, pb.tensor(1.0)]),
        ):
            with pytest.raises(RuntimeError):
                wrong()
        assert x.grad is None
        y.backward()
        assert x.grad.item() == 4.0


# ------------------------------------------------------------------------------------------------ recording
def test_higher_orders_of_mixed_graphs():
    def f(x):
        return pb.exp(x) * Square.apply(x) / (x + 2) - Product.apply(pb.sin(x), x)

    x, h = leaf(0.7), 1e-4
    found = values(derivatives(f, x))
    around = [[f(leaf(0.7 + k * h)).item(), *values(derivatives(f, leaf(0.7 + k * h), 2))] for k in (-1, 1)]
    for order in range(3):
        np.testing.assert_allclose(found[order], (around[1][order] - around[0][order]) / (2 * h), rtol=1e-6)


def test_mixed_second_derivatives_are_symmetric():
    x, w = leaf(0.7), leaf(-0.3)
    y = pb.exp(x * w) * pb.sin(x)
    gx, gw = grad(y, [x, w], create_graph=True)
    np.testing.assert_allclose(grad(gx, w, retain_graph=True)[0].item(), grad(gw, x)[0].item(), rtol=1e-12)


def test_the_derivative_flows_through_the_seed():
    x, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (g,) = grad(x * x * x, x, seed, create_graph=True)
    np.testing.assert_array_equal(grad(g, seed, ones_like(g))[0].numpy(), [3.0, 12.0])


def test_results_without_create_graph_carry_no_graph():
    x = leaf(2.0)
    (g,) = grad(x * x, x)
    assert not g.requires_grad
    (x * x).backward()
    assert not x.grad.requires_grad


def test_grad_fills_the_grad_of_retained_tensors_only():
    x = leaf(2.0)
    a = x * x
    a.retain_grad()
    grad(a * 3, x)
    assert a.grad.item() == 3.0
    assert x.grad is None


# ------------------------------------------------------------------------------------------------ nesting
def nested(depth):
    """A Function whose backward runs a whole pass of its own, `depth` levels deep."""

    class Nested(pb.Function):
        @staticmethod
        def forward(ctx, x, levels):
            ctx.save_for_backward(x)
            ctx.levels = levels
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if ctx.levels == 0:
                return g * 2 * x, None
            with pb.enable_grad():
                inner = leaf(x.item())
                (slope,) = grad(Nested.apply(inner, ctx.levels - 1), inner)
            return g * slope, None

    x = leaf(3.0)
    Nested.apply(x, depth).backward()
    return x.grad.item()


def test_passes_nest_three_hundred_levels_deep():
    assert nested(300) == 6.0


def test_passes_nest_from_any_thread_and_context():
    found = []
    threads = [threading.Thread(target=lambda: found.append(nested(100))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [6.0] * 3
    assert contextvars.copy_context().run(nested, 60) == 6.0


def test_nested_backward_accumulates_into_the_same_leaves():
    class Inside(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with pb.enable_grad():
                (x * 10).backward()
            return g

    x = leaf(1.0)
    Inside.apply(x).backward()
    assert x.grad.item() == 11.0


def test_recording_in_the_outer_pass_survives_inner_passes():
    class Inside(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            recording = pb.is_grad_enabled()
            inner = leaf(1.0)
            with pb.enable_grad():
                grad(inner * 2, inner)
            assert pb.is_grad_enabled() is recording
            return g * 2 * x

    np.testing.assert_allclose(values(derivatives(Inside.apply, leaf(3.0))), [6.0, 2.0, 0.0])


def test_an_error_in_a_nested_pass_is_the_users_and_leaves_everything_usable():
    class Inside(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with pb.enable_grad():
                inner = leaf(1.0)
                grad(inner * 2, leaf(5.0))
            return g

    x = leaf(1.0)
    with teaches(RuntimeError, "index 0"):
        Inside.apply(x).backward()
    assert pb.is_grad_enabled()
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_gradients_that_were_accumulated_before_an_error_stay():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("boom")

    x, w = leaf(1.0), leaf(2.0)
    y = Fails.apply(Exp.apply(x)) * w
    with pytest.raises(KeyError):
        y.backward()
    assert w.grad is not None
    assert x.grad is None
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


# ------------------------------------------------------------------------------------------------ odd shapes and dtypes
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_gradients_have_the_shape_and_dtype_of_their_tensor(shape, dtype):
    x = leaf(np.ones(shape, dtype=dtype))
    for f in (lambda x: x * 2, lambda x: x + x, lambda x: Square.apply(x) / 2, lambda x: pb.exp(x) * 1.5):
        for create_graph in (False, True):
            y = f(x)
            (g,) = grad(y, x, ones_like(y), create_graph=create_graph)
            assert (g.shape, g.dtype) == (shape, np.dtype(dtype))
            assert isinstance(g._array, np.ndarray)
        x.grad = None
        y = f(x)
        y.backward(ones_like(y))
        assert (x.grad.shape, x.grad.dtype) == (shape, np.dtype(dtype))


def test_sums_of_many_cotangents_of_no_dimension():
    x = leaf(2.0)
    y = x * 1
    total = y
    for k in range(5):
        total = total + y * float(k)
    total.backward()
    assert x.grad.item() == 11.0
    assert isinstance(x.grad._array, np.ndarray)
    hooks = []
    y = x * 1
    y.register_hook(lambda g: hooks.append(type(g._array)))
    (y + y + y).backward()
    (g,) = grad(y * 2 + y * 3, y)
    assert isinstance(g._array, np.ndarray)
    assert len(hooks) == 2


def test_views_and_their_gradients():
    x = leaf(np.arange(6.0).reshape(2, 3))
    rows = [Item.apply(x, index=k) for k in range(2)]
    y = rows[0] * rows[1]
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    np.testing.assert_array_equal(values([g])[0], [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]])
    (h,) = grad(Total.apply(g * g), x)
    np.testing.assert_array_equal(values([h])[0], 2 * np.arange(6.0).reshape(2, 3))


def test_complex_gradients_are_those_of_the_conjugate():
    z = leaf(1 + 2j)
    y = z * (3 - 1j)
    (g,) = grad(y, z, pb.tensor(1 + 0j))
    assert g.item() == 3 + 1j
