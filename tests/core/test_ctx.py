"""The members of ctx: needs_input_grad, marks, materialisation, attributes, and the names a user may take."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import Exp, Square, leaf, ones_like, teaches, values
from pullback.autograd import grad


def recording_flags(seen):
    class Flags(pb.Function):
        @staticmethod
        def forward(ctx, a, b, c, d):
            seen.append(ctx.needs_input_grad)
            return a * b

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, g, None, None

    return Flags


# ------------------------------------------------------------------------------------------------ needs_input_grad
def test_in_forward_flags_are_the_requires_grad_of_each_argument():
    seen = []
    recording_flags(seen).apply(leaf(1.0), pb.tensor(2.0), "text", leaf(3.0))
    assert seen == [(True, False, False, True)]


def test_flags_ignore_the_grad_mode():
    seen = []
    with pb.no_grad():
        recording_flags(seen).apply(leaf(1.0), pb.tensor(2.0), None, None)
    assert seen == [(True, False, False, False)]


@pytest.mark.parametrize("create_graph", [False, True])
def test_in_backward_flags_are_narrowed_to_what_was_asked_for(create_graph):
    seen = []
    a, b = leaf(1.0), leaf(2.0)
    y = recording_flags(seen).apply(a, b, None, None)
    seen.clear()
    grad(y, b, create_graph=create_graph, retain_graph=True)
    grad(y, [a, b], create_graph=create_graph, retain_graph=True)
    y.backward(inputs=[a], retain_graph=True)
    y.backward(retain_graph=True)
    assert seen == [
        (False, True, False, False),
        (True, True, False, False),
        (True, False, False, False),
        (True, True, False, False),
    ]
    assert y.grad_fn.needs_input_grad == (True, True, False, False), "outside of a pass: the flags of the call"


def test_a_gradient_that_nobody_asked_for_may_be_anything_of_the_right_kind():
    a, b = leaf(1.0), leaf(2.0)
    seen = []
    y = recording_flags(seen).apply(a, b, None, None)
    assert grad(y, a)[0].item() == 1.0
    assert b.grad is None


def test_flags_can_be_set():
    class Sets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.needs_input_grad = [False]
            return x * 1

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == (False,)
            return g

    x = leaf(1.0)
    y = Sets.apply(x)
    assert y.grad_fn.needs_input_grad == (False,)


# ------------------------------------------------------------------------------------------------ non-differentiable, materialise
def pair(backward, before=lambda ctx, outputs: None):
    """Two outputs of one input; `backward(ctx, g, h)` sees their gradients."""

    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            outputs = (x * 2, x * 3)
            before(ctx, outputs)
            return outputs

        @staticmethod
        def backward(ctx, g, h):
            return backward(ctx, g, h)

    return Two


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_missing_gradient_is_zeros_of_the_outputs_shape_and_dtype(create_graph):
    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g * 2 + h * 3

    x = leaf(np.ones((2, 3)), dtype="float32")
    y, _ = pair(backward).apply(x)
    (found,) = grad(y, x, ones_like(y), create_graph=create_graph)
    np.testing.assert_array_equal(found.detach().numpy(), np.full((2, 3), 2.0))
    assert (seen[0].shape, seen[0].dtype) == ((2, 3), np.float32)
    assert not seen[0].detach().numpy().any()


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_missing_gradient_where_the_first_argument_has_none(create_graph):
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, label, constant, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            assert h.item() == 0.0
            return None, None, g * 2 + h * 3

    x = leaf(1.0)
    y, _ = Two.apply("label", pb.tensor(5.0), x)
    assert values(grad(y, x, create_graph=create_graph)) == [2.0]


def test_without_materialisation_a_missing_gradient_is_none():
    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g * 2

    def before(ctx, outputs):
        assert ctx.materialize_grads is True
        ctx.set_materialize_grads(False)
        assert ctx.materialize_grads is False

    x = leaf(1.0)
    y, _ = pair(backward, before).apply(x)
    y.backward()
    assert seen == [None]


def test_the_materialize_grads_attribute_does_the_same():
    seen = []

    def backward(ctx, g, h):
        seen.append(h)
        return g * 2

    def before(ctx, outputs):
        ctx.materialize_grads = False
        assert ctx.materialize_grads is False

    pair(backward, before).apply(leaf(1.0))[0].backward()
    assert seen == [None]


def test_undefined_gradients_travel_until_a_materialising_function():
    seen = []

    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(("keeps", g))
            return g

    class Fills(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(("fills", g.item()))
            return g

    x = leaf(1.0)
    Cuts.apply(Keeps.apply(pb.exp(x))).backward()
    assert x.grad is None
    Cuts.apply(pb.exp(Keeps.apply(Fills.apply(x)))).backward()
    assert x.grad.item() == 0.0
    assert seen == [("keeps", None), ("keeps", None), ("fills", 0.0)]


def test_none_and_a_gradient_add_up_to_the_gradient():
    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf(1.0)
    y = x * 5
    (Cuts.apply(y) + y + Cuts.apply(y)).backward()
    assert x.grad.item() == 5.0


def test_marked_outputs_carry_no_gradient_and_bring_zeros():
    seen = []

    def backward(ctx, g, h):
        seen.append(h.item())
        return g * 2

    x = leaf(1.0)
    y, z = pair(backward, lambda ctx, outputs: ctx.mark_non_differentiable(outputs[1])).apply(x)
    assert y.requires_grad
    assert not z.requires_grad
    assert z.grad_fn is None
    y.backward()
    assert seen == [0.0]


def test_marked_outputs_bring_none_where_nothing_is_materialised():
    for switch in ("set_materialize_grads", "_materialize_non_diff_grads"):
        seen = []

        def backward(ctx, g, h, seen=seen):
            seen.append(h)
            return g * 2

        def before(ctx, outputs, switch=switch):
            ctx.mark_non_differentiable(outputs[1])
            if switch == "set_materialize_grads":
                ctx.set_materialize_grads(False)
            else:
                ctx._materialize_non_diff_grads = False

        x = leaf(1.0)
        pair(backward, before).apply(x)[0].backward()
        assert seen == [None], switch


def test_integer_outputs_bring_none_when_non_differentiable_gradients_are_not_materialised():
    seen = []

    class Counts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx._materialize_non_diff_grads = False
            return x * 2, pb.tensor([1, 2])

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h)
            return g * 2

    x = leaf(1.0)
    Counts.apply(x)[0].backward()
    assert seen == [None]
    assert x.grad.item() == 2.0


def test_marking_tensors_that_are_no_outputs_changes_nothing():
    x = leaf(1.0)
    y, z = pair(lambda ctx, g, h: g * 2, lambda ctx, outputs: ctx.mark_non_differentiable(pb.tensor(1.0))).apply(x)
    assert y.requires_grad
    assert z.requires_grad


def test_an_input_marked_and_returned_is_a_new_tensor_over_the_same_memory():
    class Returns(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(x)
            return x, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return h * 2

    x = leaf([1.0, 2.0])
    same, y = Returns.apply(x)
    assert same is not x
    assert x.requires_grad
    assert not same.requires_grad
    assert np.shares_memory(same.numpy(), x.detach().numpy())
    y.backward(ones_like(y))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0])


def test_a_dirty_input_marked_as_not_differentiable_comes_back_without_history():
    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x, w):
            x += 1
            ctx.mark_dirty(x)
            ctx.mark_non_differentiable(x)
            return x, w * 2

        @staticmethod
        def backward(ctx, g, h):
            return None, h * 2

    a, w = leaf(1.0) * 1, leaf(1.0)
    same, y = Writes.apply(a, w)
    assert not same.requires_grad
    assert np.shares_memory(same.numpy(), a.detach().numpy())
    y.backward()
    assert w.grad.item() == 2.0


def test_marks_of_the_wrong_type_are_explained():
    with teaches(RuntimeError, "mark_non_differentiable", "int", notes=["output Tensors"]):
        pair(None, lambda ctx, outputs: ctx.mark_non_differentiable(3)).apply(leaf(1.0))
    with teaches(AssertionError, "save_for_forward", "int", notes=["ctx.name = value"]):
        pair(None, lambda ctx, outputs: ctx.save_for_forward(3)).apply(leaf(1.0))
    pair(None, lambda ctx, outputs: ctx.save_for_forward(outputs[0], None)).apply(leaf(1.0))


def test_the_last_mark_counts():
    def before(ctx, outputs):
        ctx.mark_non_differentiable(outputs[0])
        ctx.mark_non_differentiable(outputs[1])

    y, z = pair(lambda ctx, g, h: g, before).apply(leaf(1.0))
    assert y.requires_grad
    assert not z.requires_grad


# ------------------------------------------------------------------------------------------------ attributes
def test_attributes_of_any_kind_are_there_in_backward_and_afterwards():
    thing = object()

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.number_of, ctx.thing, ctx.shape, ctx.table = 3, thing, x.shape, {"a": [1, (2,)]}
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert (ctx.number_of, ctx.thing, ctx.shape, ctx.table) == (3, thing, (), {"a": [1, (2,)]})
            ctx.later = g.item()
            return g * 2

    x = leaf(1.0)
    y = Keeps.apply(x)
    y.backward()
    assert y.grad_fn.later == 1.0
    assert y.grad_fn.thing is thing, "attributes are not released with the saved values"


def test_a_missing_attribute_says_that_it_is_the_ctx():
    class Forgets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.nothing

    y = Forgets.apply(leaf(1.0))
    with teaches(
        AttributeError, "'nothing'", notes=["ForgetsBackward is the ctx of this call; its forward set no ctx.nothing"]
    ):
        y.backward()
    assert not hasattr(y.grad_fn, "nothing")


def test_an_attribute_missing_among_others_that_are_kept():
    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    node = Keeps.apply(leaf(1.0)).grad_fn
    assert node.x.item() == 1
    assert isinstance(node, Keeps._backward_cls)
    assert type(node).__name__ == "KeepsBackward"
    with pytest.raises(AttributeError, match=r"KeepsBackward.*ctx.*'nothing'"):
        node.nothing  # noqa: B018


def test_an_attribute_can_be_read_changed_and_deleted_while_forward_runs():
    class Changes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.a = x * 2
            ctx.a = ctx.a + 1
            ctx.b = 1
            del ctx.b
            assert not hasattr(ctx, "b")
            return ctx.a

        @staticmethod
        def backward(ctx, g):
            ctx.a = 5
            assert ctx.a == 5
            return g * 2

    x = leaf(1.0)
    y = Changes.apply(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (3.0, 2.0)


def keeping(value_of, use, result=lambda x, y: y):
    """exp(x) with ``ctx.kept = value_of(x, y)``, and the backward ``g * use(ctx.kept)``."""

    class Keeping(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.exp(x)
            ctx.kept = value_of(x, y)
            return result(x, y)

        @staticmethod
        def backward(ctx, g):
            return g * use(ctx.kept)

    return Keeping


def test_an_input_on_ctx_is_the_input():
    x = leaf(0.5)
    y = keeping(lambda x, y: x, pb.exp).apply(x)
    assert y.grad_fn.kept is x


def test_an_output_on_ctx_is_the_output_while_it_lives_and_its_values_afterwards():
    x = leaf(0.5)
    y = keeping(lambda x, y: y, lambda kept: kept).apply(x)
    node = y.grad_fn
    assert node.kept is y
    del y
    again = node.kept
    assert again.item() == np.exp(0.5)
    assert again.grad_fn is node


def test_tensors_in_containers_on_ctx_come_back_in_their_places():
    x = leaf(0.5)
    y = keeping(lambda x, y: {"x": x, "list": [y, 1, (x, "text")], "set": {x}}, lambda kept: kept["list"][0]).apply(x)
    kept = y.grad_fn.kept
    assert kept["x"] is x
    assert kept["list"][0] is y
    assert kept["list"][1] == 1
    assert kept["list"][2] == (x, "text")
    assert kept["set"] == {x}
    y.backward()
    np.testing.assert_allclose(x.grad.item(), np.exp(0.5))


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_tensors_are_left_as_they_are(kind):
    class Polynomial(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.powers = kind((k, x**k) for k in range(1, 6))
            return sum(k * power for k, power in ctx.powers)

        @staticmethod
        def backward(ctx, g):
            powers = dict(ctx.powers)
            return g * (1 + sum(k * k * powers[k - 1] for k in range(2, 6)))

    x = leaf(2.0)
    (first,) = grad(Polynomial.apply(x), x, create_graph=True)
    assert first.item() == 1 + sum(k * k * 2.0 ** (k - 1) for k in range(2, 6))
    assert grad(first, x)[0].item() == sum(k * k * (k - 1) * 2.0 ** (k - 2) for k in range(2, 6))


@pytest.mark.parametrize(
    ("value_of", "use"),
    [
        (lambda x, y: x, lambda kept: pb.exp(kept)),
        (lambda x, y: y, lambda kept: kept),
        (lambda x, y: [y], lambda kept: kept[0]),
    ],
    ids=["input", "output", "container"],
)
def test_tensors_on_ctx_are_checked_for_writes_like_saved_ones(value_of, use):
    for write_input in (True, False):
        x = leaf(0.5)
        a = x * 1
        y = keeping(value_of, use).apply(a)
        written_is_kept = write_input == (y.grad_fn.kept is a)
        with pb.no_grad():
            if write_input:
                a += 1
            else:
                y += 1
        if written_is_kept:
            with teaches(RuntimeError, "ctx.kept", "KeepingBackward", "version 1; expected version 0"):
                y.backward()
        else:
            y.backward()
            np.testing.assert_allclose(x.grad.item(), np.exp(0.5))


RESERVED = [
    "kind", "number", "edges", "hooks", "specs", "saved", "outer", "operator", "settings", "name", "pull", "apply",
    "recording", "leaves", "reads", "wrote", "adopt_buffer", "register_hook", "register_prehook",
]  # fmt: skip


@pytest.mark.parametrize("name", RESERVED)
def test_a_user_may_take_any_name_that_the_node_uses(name):
    class Sets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, "mine")
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            assert getattr(ctx, name) == "mine"
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    y = Sets.apply(x)
    (g,) = grad(y, x, create_graph=True)
    assert g.item() == 6.0
    assert grad(g, x)[0].item() == 2.0
    assert repr(y)


@pytest.mark.parametrize("name", ["metadata", "next_functions", "saved_tensors"])
def test_names_of_read_only_members_are_refused_where_they_are_set(name):
    class Sets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, "mine")
            return x * 1

    with pytest.raises(AttributeError, match=rf"{name}.*SetsBackward"):
        Sets.apply(leaf(1.0))


# ------------------------------------------------------------------------------------------------ the node's own rule
def test_a_node_can_be_applied_by_hand():
    x = leaf(3.0)
    y = Square.apply(x)
    assert values(y.grad_fn.apply(pb.tensor(10.0))) == [60.0]


def test_a_node_shows_what_it_saved():
    x = leaf(3.0)
    y = Exp.apply(x)
    assert y.grad_fn.saved_tensors[0].item() == y.item()
    assert len(y.grad_fn._raw_saved_tensors) == 1
    assert Square.apply(x).grad_fn.saved_tensors == (x,)
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        assert Square.apply(x).grad_fn.saved_variables == (x,)


def test_saved_tensors_cannot_be_assigned():
    with pytest.raises(AttributeError):
        Square.apply(leaf(1.0)).grad_fn.saved_tensors = ()


def test_cleared_after_one_reading_when_asked_for():
    class Clears(pb.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with teaches(RuntimeError, "can only be accessed once", notes=["read ctx.saved_tensors once"]):
                ctx.saved_tensors  # noqa: B018
            return g * 2 * x

    x = leaf(3.0)
    y = Clears.apply(x)
    y.backward()
    assert x.grad.item() == 6.0
    y.detach()
    y = Clears.apply(x)
    assert y.grad_fn.saved_tensors == (x,)
    y += 1


@pytest.mark.parametrize(
    "pack", [lambda a: a, lambda a: {"a": [a]}, lambda a: a[1:]], ids=["array", "container", "part"]
)
@pytest.mark.parametrize("which", ["input", "output"])
def test_a_numpy_array_on_ctx_that_is_the_memory_of_a_tensor_is_checked_for_writes(pack, which):
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.detach().numpy() ** 3
            ctx.kept = pack(x.detach().numpy() if which == "input" else result)
            ctx.base = pb.asarray(x.numpy() + 0)
            return pb.asarray(result)

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.base**2

    x = leaf([1.0, 2.0])
    a = x * 1
    y = Cube.apply(a)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 12.0]
    with pb.no_grad():
        if which == "input":
            a += 1
        else:
            y += 1
    with teaches(RuntimeError, "CubeBackward", "modified by an inplace operation"):
        y.sum().backward()
