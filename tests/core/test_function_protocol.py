"""The Function protocol: how apply calls forward and backward, what may go in and come out, and what is refused."""

import collections
import copy
import inspect
import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from core.helpers import AddOne, Exp, Item, Place, Product, Square, derivatives, leaf, ones_like, teaches, values
from pullback.autograd import grad
from pullback.core.tensor import Tensor


# ------------------------------------------------------------------------------------------------ the two forms
class CubeSplit(pb.Function):
    """x³ with forward and setup_context apart."""

    @staticmethod
    def forward(x, power=3):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, power = inputs
        ctx.save_for_backward(x)
        ctx.power = power

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.power * x * x, None


def test_combined_form_gives_every_derivative():
    x = leaf([0.5, -2.0])
    assert Square.apply(x).grad_fn.name() == "SquareBackward"
    np.testing.assert_allclose(values(derivatives(Square.apply, x)), [[1.0, -4.0], [2.0, 2.0], [0.0, 0.0]])


def test_split_form_gives_every_derivative():
    x = leaf([0.5, -2.0])
    np.testing.assert_allclose(values(derivatives(CubeSplit.apply, x)), [[0.75, 12.0], [3.0, -12.0], [6.0, 6.0]])


def test_saved_outputs_give_every_derivative():
    x = leaf([0.5, -2.0])
    np.testing.assert_allclose(values(derivatives(Exp.apply, x, 4)), [np.exp([0.5, -2.0])] * 4, rtol=1e-12)


def test_setup_context_sees_arguments_with_defaults_and_the_output_before_it_has_a_history():
    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(x, factor=2.0, *, shift=0.0):
            seen.append(("forward", pb.is_grad_enabled()))
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append(
                ("setup", pb.is_grad_enabled(), inputs[0] is x, inputs[1:], output.grad_fn, ctx.needs_input_grad)
            )
            return "ignored"

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x = leaf(3.0)
    y = Looks.apply(x)
    assert seen == [("forward", False), ("setup", False, True, (2.0,), None, (True, False))]
    assert y.grad_fn.name() == "LooksBackward"
    seen.clear()
    Looks.apply(pb.tensor(3.0))
    assert len(seen) == 2, "setup_context runs even when nothing is differentiable"


def test_setup_context_is_inherited():
    class Child(CubeSplit):
        pass

    x = leaf(2.0)
    assert grad(Child.apply(x), x)[0].item() == 12.0
    assert Child.apply(x).grad_fn.name() == "ChildBackward"


# ------------------------------------------------------------------------------------------------ how it is called
def test_forward_gets_the_very_tensors_with_recording_off():
    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((x is given, x.requires_grad, (x * 2).requires_grad, pb.is_grad_enabled()))
            assert isinstance(x.numpy(), np.ndarray), "NumPy is free to use in forward"
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    given = leaf(1.0)
    Looks.apply(given)
    assert seen == [(True, True, False, False)]


def test_the_ctx_is_the_node():
    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx)
            return g

    x = leaf(1.0)
    y = Looks.apply(x)
    node = y.grad_fn
    y.backward()
    assert seen[0] is seen[1] is node
    assert type(node).__name__ == node.name() == "LooksBackward"
    assert Looks._backward_cls is type(node)
    assert node._forward_cls is Looks


def test_every_call_has_a_ctx_of_its_own():
    class Scale(pb.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf(1.0)
    outputs = [Scale.apply(x, float(k)) for k in range(10)]
    assert [grad(y, x)[0].item() for y in outputs] == [float(k) for k in range(10)]


@pytest.mark.parametrize("kind", ["static", "class", "instance", "plain"])
def test_methods_of_every_kind_work_through_apply(kind):
    """A missing @staticmethod is a matter of style: the first parameter is the ctx whatever it is called."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

    if kind == "static":
        space = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    elif kind == "class":
        space = {
            "forward": classmethod(lambda cls, ctx, x: forward(ctx, x)),
            "backward": classmethod(lambda cls, ctx, g: backward(ctx, g)),
        }
    else:
        space = {"forward": forward, "backward": backward}
    operator = type("Operator", (pb.Function,), space)
    x = leaf(3.0)
    first, second, _ = derivatives(operator.apply, x)
    assert (first.item(), second.item()) == (6.0, 2.0)


def test_classmethods_know_their_class():
    class Base(pb.Function):
        factor = 2.0

        @classmethod
        def forward(cls, ctx, x):
            return x * cls.factor

        @classmethod
        def backward(cls, ctx, g):
            return g * cls.factor

    class Derived(Base):
        factor = 5.0

    x = leaf(1.0)
    assert grad(Base.apply(x), x)[0].item() == 2.0
    assert grad(Derived.apply(x), x)[0].item() == 5.0


def test_calling_an_instance_is_explained():
    with pytest.warns(DeprecationWarning, match=r"Square.* should not be instantiated.*Square\.apply"):
        instance = Square()
    with teaches(
        RuntimeError, "an instance of Square was called", "non-static forward", notes=["Square.apply(...)", "ctx"]
    ):
        instance(leaf(1.0))


@pytest.mark.parametrize(
    "name", ["save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads"]
)
def test_ctx_methods_on_the_class_or_an_instance_are_explained(name):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Square()
    for owner in (Square, instance, pb.Function):
        with teaches(RuntimeError, name, "not on the ctx", notes=[f"ctx.{name}(...)", "first parameter of forward"]):
            getattr(owner, name)(leaf(1.0))


@pytest.mark.parametrize("name", ["save_for_backward", "mark_dirty", "set_materialize_grads"])
def test_help_on_the_class_shows_what_the_ctx_offers(name):
    stub, method = getattr(pb.Function, name), getattr(Square._node, name)
    assert stub.__doc__ == method.__doc__
    assert stub.__name__ == name
    assert list(inspect.signature(stub).parameters) == list(inspect.signature(method).parameters)


def test_state_on_self_with_save_on_the_class_is_caught_inside_forward():
    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, x):
            Wrong.save_for_backward(x)
            return x

    with teaches(RuntimeError, "save_for_backward"):
        Wrong.apply(leaf(1.0))


def test_functions_are_threadable_and_independent():
    results = {}

    def run(k):
        x = leaf(float(k))
        results[k] = grad(Square.apply(x), x)[0].item()

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: 2.0 * k for k in range(8)}


# ------------------------------------------------------------------------------------------------ arguments
class Affine(pb.Function):
    """x · scale + shift, with names and defaults."""

    @staticmethod
    def forward(ctx, x, scale=2.0, shift=None, label="none"):
        ctx.save_for_backward(x, scale if isinstance(scale, Tensor) else None)
        ctx.scale, ctx.label, ctx.count = scale, label, len(ctx.needs_input_grad)
        y = x * scale
        return y if shift is None else y + shift

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return tuple([g * ctx.scale, None if scale is None else g * x, g, None][: ctx.count])


def test_keyword_arguments_are_put_at_their_places():
    x, scale = leaf(3.0), leaf(5.0)
    y = Affine.apply(x, scale=scale)
    assert y.item() == 15.0
    assert values(grad(y, [x, scale])) == [5.0, 3.0]
    assert y.grad_fn.needs_input_grad == (True, True)


def test_defaults_between_keywords_are_filled_in():
    x, shift = leaf(3.0), leaf(1.0)
    y = Affine.apply(x=x, shift=shift)
    assert y.item() == 7.0
    assert values(grad(y, [x, shift])) == [2.0, 1.0]
    assert y.grad_fn.needs_input_grad == (True, False, True)


def test_defaults_that_nobody_passed_are_no_arguments_of_the_combined_form():
    x = leaf(3.0)
    y = Affine.apply(x)
    assert y.grad_fn.needs_input_grad == (True,)
    assert grad(y, x)[0].item() == 2.0


def test_gradients_may_have_extra_none_at_the_end():
    class Extra(pb.Function):
        @staticmethod
        def forward(ctx, x, factor=2.0):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = leaf(1.0)
    assert grad(Extra.apply(x), x)[0].item() == 2.0


def test_unknown_repeated_and_missing_keywords_are_explained():
    x = leaf(1.0)
    with teaches(
        TypeError, "Affine.forward()", "unexpected keyword argument 'colour'", notes=["x, scale, shift, label"]
    ):
        Affine.apply(x, colour=1)
    with teaches(TypeError, "multiple values for argument 'x'"):
        Affine.apply(x, x=x)

    class Two(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

    with pytest.raises(TypeError, match=r"'a'"):
        Two.apply(b=x)


def test_keyword_only_parameters_are_not_supported():
    class KeywordOnly(pb.Function):
        @staticmethod
        def forward(ctx, x, *, factor=2.0):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    assert grad(KeywordOnly.apply(x), x)[0].item() == 2.0
    with teaches(
        TypeError, "unexpected keyword argument 'factor'", notes=["keyword-only parameters are not supported"]
    ):
        KeywordOnly.apply(x, factor=3.0)


def test_the_callers_keywords_are_left_alone():
    x = leaf(1.0)
    options = {"scale": 3.0}
    Affine.apply(x, **options)
    assert options == {"scale": 3.0}


def test_any_number_of_arguments():
    class Sum(pb.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.count = len(tensors)
            total = tensors[0]
            for tensor in tensors[1:]:
                total = total + tensor
            return total * 1

        @staticmethod
        def backward(ctx, g):
            return (g,) * ctx.count

    inputs = [leaf(float(k)) for k in range(5)]
    assert values(grad(Sum.apply(*inputs), inputs)) == [1.0] * 5


def test_arguments_of_other_types_reach_forward_as_they_are_and_get_none():
    thing, array = object(), np.ones(2)
    seen = []

    class Takes(pb.Function):
        @staticmethod
        def forward(ctx, x, *others):
            seen.extend(others)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, *[None] * 7

    x = leaf(1.0)
    given = (None, 3, 2.5, "text", thing, array, {"a": [1]})
    y = Takes.apply(x, *given)
    assert all(a is b for a, b in zip(seen, given, strict=True))
    assert y.grad_fn.needs_input_grad == (True, *[False] * 7)
    assert grad(y, x)[0].item() == 2.0


def test_the_same_tensor_twice_gets_both_gradients():
    x = leaf(3.0)
    assert grad(Product.apply(x, x), x)[0].item() == 6.0


Pair = collections.namedtuple("Pair", ["first", "second"])


@pytest.mark.parametrize(
    "container",
    [
        lambda w: [w],
        lambda w: (1, w),
        lambda w: {"w": w},
        lambda w: {w},
        lambda w: [{"a": (0, [w])}],
        lambda w: Pair(w, 1),
        lambda w: collections.OrderedDict(w=w),
        lambda w: frozenset([w]),
    ],
    ids=["list", "tuple", "dict", "set", "nested", "namedtuple", "OrderedDict", "frozenset"],
)
def test_differentiable_tensors_inside_container_arguments_are_refused(container):
    class Takes(pb.Function):
        @staticmethod
        def forward(ctx, x, weights):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, None

    given = container(leaf(2.0))
    with teaches(RuntimeError, "Takes.apply", type(given).__name__, "'weights'", notes=["one by one", "lost"]):
        Takes.apply(leaf(1.0), given)
    with teaches(RuntimeError, "Takes.apply"):
        Takes.apply(pb.tensor(1.0), given)
    with pb.no_grad():
        Takes.apply(leaf(1.0), given)
    Takes.apply(leaf(1.0), container(pb.tensor(2.0)))


def test_no_argument_at_all():
    class Constant(pb.Function):
        @staticmethod
        def forward(ctx):
            return pb.tensor(1.0)

    assert not Constant.apply().requires_grad


# ------------------------------------------------------------------------------------------------ outputs
def returning(result, backward=lambda ctx, *g: g[0]):
    """A Function of one argument whose forward returns ``result(x)``."""
    space = {"forward": staticmethod(lambda ctx, x: result(x)), "backward": staticmethod(backward)}
    return type("Returns", (pb.Function,), space)


def test_several_outputs_get_one_gradient_each():
    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    x = leaf(1.0)
    a, b = Both.apply(x)
    assert (a.grad_fn, a.output_nr, b.output_nr) == (b.grad_fn, 0, 1)
    assert grad([a, b], x, [pb.tensor(1.0), pb.tensor(10.0)])[0].item() == 32.0
    assert grad(a, x)[0].item() == 2.0
    assert grad(b, x)[0].item() == 3.0


def test_outputs_of_other_types_come_back_as_they_are_and_bring_none():
    thing = object()
    seen = []

    def backward(ctx, *grads):
        seen.append(grads)
        return grads[0] * 2

    x = leaf(1.0)
    y, *others = returning(lambda x: (x * 2, None, "text", 3, thing, {"a": 1}), backward).apply(x)
    assert others == [None, "text", 3, thing, {"a": 1}]
    y.backward()
    assert seen[0][1:] == (None,) * 5


@pytest.mark.parametrize("plain", [None, "text", 3, {"a": 1}, ()])
def test_a_single_output_of_another_type(plain):
    assert returning(lambda x: plain).apply(leaf(1.0)) == plain


def test_a_tuple_of_one_stays_a_tuple():
    (y,) = returning(lambda x: (x * 2,)).apply(leaf(1.0))
    assert y.requires_grad


def test_a_namedtuple_is_a_tuple():
    result = returning(lambda x: Pair(x * 2, x * 3)).apply(leaf(1.0))
    assert isinstance(result, tuple)
    assert [y.grad_fn.name() for y in result] == ["ReturnsBackward"] * 2


@pytest.mark.parametrize(
    "container",
    [
        lambda x: [x * 2],
        lambda x: {"y": x * 2},
        lambda x: {x * 2},
        lambda x: (x * 2, [x * 3]),
        lambda x: (x * 2, {"z": x * 3}),
        lambda x: (x * 2, (x * 3,)),
        lambda x: collections.OrderedDict(y=x * 2),
    ],
    ids=["list", "dict", "set", "list in tuple", "dict in tuple", "tuple in tuple", "OrderedDict"],
)
def test_tensors_inside_container_outputs_are_refused(container):
    with teaches(RuntimeError, "Returns.forward", "of Tensors", notes=["return a, b", "lose"]):
        returning(container).apply(leaf(1.0))
    returning(container).apply(pb.tensor(1.0))


def test_an_input_returned_as_it_is_becomes_a_view_with_a_history_of_its_own():
    x = leaf([1.0, 2.0])
    y = returning(lambda x: x, lambda ctx, g: g * 2).apply(x)
    assert y is not x
    assert y.grad_fn.name() == "ReturnsBackward"
    assert x.is_leaf
    assert y._is_view()
    assert y._base is x
    assert np.shares_memory(y.detach().numpy(), x.detach().numpy())
    np.testing.assert_array_equal(grad(y, x, ones_like(y))[0].numpy(), [2.0, 2.0])


def test_an_input_returned_as_it_is_without_any_gradient_is_a_new_object_too():
    x = pb.tensor([1.0, 2.0])
    y = returning(lambda x: x).apply(x)
    assert y is not x
    assert not y.requires_grad
    with pb.no_grad():
        x = leaf(1.0)
        y = returning(lambda x: x).apply(x)
        assert y is not x
        assert not y.requires_grad
    assert x.requires_grad


def test_the_same_input_twice_gives_two_outputs_with_separate_gradients():
    seen = []

    def backward(ctx, g, h):
        seen.append((g.item(), h.item()))
        return g + h

    x = leaf(2.0)
    a, b = returning(lambda x: (x, x), backward).apply(x)
    assert a is not b
    assert (a.output_nr, b.output_nr) == (0, 1)
    (a + b * 3).backward()
    assert seen == [(1.0, 3.0)]
    assert x.grad.item() == 4.0


def test_the_same_new_tensor_twice_is_one_output_at_the_last_place():
    seen = []

    def double(x):
        y = x * 2
        return y, y

    def backward(ctx, g, h):
        seen.append((g.item(), h.item()))
        return (g + h) * 2

    x = leaf(2.0)
    a, b = returning(double, backward).apply(x)
    assert a is b
    assert a.output_nr == 1
    a.backward()
    assert seen == [(0.0, 1.0)]
    assert x.grad.item() == 2.0


def test_the_same_view_twice_is_one_output_at_the_last_place():
    seen = []

    def double(x):
        view = Item.apply(x, index=slice(0, 1))
        return view, view

    def backward(ctx, g, h):
        seen.append((values([g])[0].tolist(), values([h])[0].tolist()))
        return Place.apply(g + h, index=slice(0, 1), shape=(2,))

    x = leaf([2.0, 3.0])
    a, b = returning(double, backward).apply(x)
    (a + b * 3).backward(pb.tensor([1.0]))
    assert seen == [([0.0], [4.0])]
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 0.0])


def test_setup_context_may_save_an_input_that_is_returned():
    class Identity(pb.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    x = leaf(3.0)
    assert grad(Identity.apply(x), x)[0].item() == 3.0
    (g,) = grad(Identity.apply(x), x, create_graph=True)
    assert grad(g, x)[0].item() == 1.0


def test_integer_and_boolean_outputs_carry_no_gradient_and_bring_zeros():
    seen = []

    def several(x):
        return x * 2, pb.tensor([1, 2]), pb.tensor([True, False])

    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0] * 2

    x = leaf([1.0, 2.0])
    y, i, b = returning(several, backward).apply(x)
    assert not i.requires_grad
    assert not b.requires_grad
    y.backward(ones_like(y))
    assert [g.dtype.kind for g in seen] == ["f", "i", "b"]
    assert not seen[1].numpy().any()
    assert not seen[2].numpy().any()


def test_an_output_that_depends_on_nothing_still_belongs_to_the_call():
    x = leaf([1.0, 2.0])
    y = returning(lambda x: pb.tensor(5.0), lambda ctx, g: None).apply(x)
    assert y.requires_grad
    y.backward()
    assert x.grad is None


@pytest.mark.parametrize("kind", ["leaf", "constant", "computed"])
def test_a_tensor_from_outside_that_is_returned_stays_what_it_was(kind):
    """torch overwrites its place in the graph in the caller's hands."""
    source = leaf(2.0)
    outside = {"leaf": source, "constant": pb.tensor(2.0), "computed": source * 3}[kind]
    before = (outside.requires_grad, outside.is_leaf, outside.grad_fn)
    x = leaf(1.0)
    y = returning(lambda x: outside, lambda ctx, g: g * 7).apply(x)
    assert (outside.requires_grad, outside.is_leaf, outside.grad_fn) == before
    assert y.grad_fn.name() == "ReturnsBackward"
    assert grad(y, x)[0].item() == 7.0
    if kind != "constant":
        (outside * 5).backward()
        assert source.grad.item() == (5.0 if kind == "leaf" else 15.0)


def test_a_leaf_from_outside_marked_as_not_differentiable_stays_a_leaf():
    outside = leaf(2.0)

    class Marks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_non_differentiable(outside)
            return x * 2, outside

        @staticmethod
        def backward(ctx, g, h):
            return g * 2

    _, other = Marks.apply(leaf(1.0))
    assert outside.requires_grad
    assert not other.requires_grad


def test_outputs_that_are_views_may_not_be_written():
    x = leaf([1.0, 2.0])
    base = x * 1
    for function in (returning(lambda x: x), returning(lambda x: Item.apply(x, index=slice(None)))):
        y = function.apply(base)
        with teaches(RuntimeError, "Output 0 of Returns is a view", "inplace", notes=["clone()", "custom backward"]):
            y += 1
        with pb.no_grad():
            y += 1


def test_a_view_made_in_forward_is_stale_after_its_base_was_written():
    base = leaf([1.0, 2.0]) * 1
    y = returning(lambda x: Item.apply(x, index=slice(None))).apply(base)
    base += 1
    with teaches(RuntimeError, "Output 0 of Returns is a view", "its base or another view", notes=["clone()"]):
        y * 2


def test_outputs_made_inside_forward_with_recording_on_belong_to_the_call():
    def inner(x):
        with pb.enable_grad():
            return x * x

    x = leaf(3.0)
    y = returning(inner, lambda ctx, g: g * 100).apply(x)
    assert y.grad_fn.name() == "ReturnsBackward"
    assert grad(y, x)[0].item() == 100.0


def test_a_leaf_made_inside_forward_and_returned_belongs_to_the_call():
    x = leaf(3.0)
    y = returning(lambda x: x.detach().clone().requires_grad_(), lambda ctx, g: g * 100).apply(x)
    assert y.grad_fn.name() == "ReturnsBackward"
    y.backward()
    assert x.grad.item() == 100.0


def test_functions_nest_in_forward_and_in_backward():
    class Outer(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Square.apply(Square.apply(x))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 4 * Product.apply(x, Square.apply(x))

    x = leaf(1.5)
    np.testing.assert_allclose(values(derivatives(Outer.apply, x)), [4 * 1.5**3, 12 * 1.5**2, 24 * 1.5])


def test_mutually_recursive_functions_differentiate_forever():
    class Sin(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.tensor(np.sin(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            return g * Cos.apply(*ctx.saved_tensors)

    class Cos(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.tensor(np.cos(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            return -g * Sin.apply(*ctx.saved_tensors)

    x = leaf(0.3)
    s, c = np.sin(0.3), np.cos(0.3)
    np.testing.assert_allclose(values(derivatives(Sin.apply, x, 7)), [c, -s, -c, s, c, -s, -c], rtol=1e-12)


# ------------------------------------------------------------------------------------------------ not recorded
def test_nothing_is_recorded_or_kept_when_nothing_is_differentiable():
    kept = []

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 5)
            kept.append(ctx)
            return x * 2

    y = Keeps.apply(pb.tensor(1.0))
    assert not y.requires_grad
    assert y.grad_fn is None
    assert kept[0].saved_tensors == ()
    with pb.no_grad():
        assert Keeps.apply(leaf(1.0)).grad_fn is None
    assert kept[1].saved_tensors == ()


@pytest.mark.parametrize("kind", ["leaf", "computed", "inner graph"])
def test_a_differentiable_tensor_returned_quietly_comes_back_as_a_constant(kind):
    outside = leaf(2.0)
    computed = outside * 3

    def inner(x):
        with pb.enable_grad():
            return x * x

    result = {"leaf": lambda x: outside, "computed": lambda x: computed, "inner graph": inner}[kind]
    for x, switch in ((leaf(1.0), pb.no_grad()), (pb.tensor(1.0), pb.enable_grad())):
        if kind == "inner graph" and not x.requires_grad:
            continue
        with switch:
            y = returning(result).apply(x)
        assert not y.requires_grad
        assert y.grad_fn is None
    assert outside.requires_grad
    assert computed.grad_fn is not None


def test_errors_in_forward_pass_unchanged_and_leave_the_mode_alone():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Fails.apply(leaf(1.0))
    assert pb.is_grad_enabled()
    assert Square.apply(leaf(1.0)).requires_grad


def test_errors_in_backward_keep_their_type_and_leave_everything_usable():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    x, w = leaf(1.0), leaf(2.0)
    y = Square.apply(Fails.apply(x))
    for create_graph in (False, True):
        with teaches(KeyError, "mine", notes=["FailsBackward"]):
            grad(y, x, create_graph=create_graph, retain_graph=True)
        assert pb.is_grad_enabled()
    assert grad(Square.apply(w), w)[0].item() == 4.0


# ------------------------------------------------------------------------------------------------ what is missing
def test_missing_methods_are_named():
    class Nothing(pb.Function):
        pass

    class NoBackward(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError, match="forward"):
        Nothing.apply(leaf(1.0))
    y = NoBackward.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        y.backward()
    with pytest.raises(NotImplementedError, match="jvp"):
        NoBackward.jvp(None)
    with pytest.raises(NotImplementedError, match="vjp"):
        NoBackward.vjp(None)
    with pytest.raises(NotImplementedError, match="setup_context"):
        NoBackward.setup_context(None, (), None)


def test_vjp_is_another_name_for_backward():
    class Named(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def vjp(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    np.testing.assert_allclose(values(derivatives(Named.apply, leaf(3.0))), [6.0, 2.0, 0.0])


def test_both_names_at_once_are_refused_when_backward_runs():
    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    y = Both.apply(leaf(1.0))
    with teaches(RuntimeError, "both 'backward' and 'vjp'", "Both", notes=["one of them"]):
        y.backward()


def test_boxed_grads_arrive_in_one_list():
    seen = []

    class Boxed(pb.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            seen.append([type(grads), *values(grads)])
            g, h = grads
            grads.clear()
            return g * 2 + h * 3

    class BoxedOne(pb.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grads):
            return grads[0] * 2

    x = leaf(1.0)
    a, b = Boxed.apply(x)
    assert grad([a, b], x)[0].item() == 5.0
    assert seen == [[list, 1.0, 1.0]]
    x.grad = None
    BoxedOne.apply(x).backward()
    assert x.grad.item() == 2.0


# ------------------------------------------------------------------------------------------------ the gradients returned
def with_backward(backward):
    """The product a·b with the gradients of `backward(g)`."""
    space = {
        "forward": staticmethod(lambda ctx, alpha, beta: alpha * beta),
        "backward": staticmethod(lambda ctx, g: backward(g)),
    }
    return type("Custom", (pb.Function,), space)


@pytest.mark.parametrize("create_graph", [False, True])
class TestWhatBackwardReturns:
    """Every mistake is an error that names the Function and the argument by name, at first order and recorded."""

    def pull(self, backward, create_graph, a=1.0, b=2.0):
        a, b = leaf(a), leaf(b)
        y = with_backward(backward).apply(a, b)
        return grad(y, [a, b], ones_like(y), create_graph=create_graph, allow_unused=True)

    def test_too_many(self, create_graph):
        with teaches(
            RuntimeError,
            "CustomBackward",
            "incorrect number of gradients (expected 2, got 3)",
            notes=["return grad_alpha, grad_beta, ", "position"],
        ):
            self.pull(lambda g: (g, g, g), create_graph)

    def test_too_few(self, create_graph):
        for backward in (lambda g: g, lambda g: (g,)):
            with teaches(
                RuntimeError,
                "incorrect number of gradients (expected 2, got 1)",
                notes=["return grad_alpha, grad_beta, "],
            ):
                self.pull(backward, create_graph)

    def test_none_for_all_with_two_arguments(self, create_graph):
        with teaches(RuntimeError, "expected 2, got 1"):
            self.pull(lambda g: None, create_graph)
        assert self.pull(lambda g: (None, None), create_graph) == (None, None)

    def test_extra_none(self, create_graph):
        assert values(self.pull(lambda g: (g, g, None, None), create_graph)) == [1.0, 1.0]

    def test_a_list(self, create_graph):
        with teaches(RuntimeError, "incorrect number", notes=["a tuple, not a list"]):
            self.pull(lambda g: [g, g], create_graph)

    def test_a_namedtuple(self, create_graph):
        assert values(self.pull(lambda g: Pair(g, g), create_graph)) == [1.0, 1.0]

    def test_a_list_for_one_argument(self, create_graph):
        x = leaf(1.0)
        y = returning(lambda x: x * 1, lambda ctx, g: [g]).apply(x)
        with teaches(RuntimeError, "got list", "'x' (argument 0)", "ReturnsBackward", notes=["a tuple, not a list"]):
            grad(y, x, create_graph=create_graph)

    @pytest.mark.parametrize(
        ("wrong", "word", "note"),
        [
            (2.0, "float", "a Tensor of the argument's shape, or None"),
            ("text", "str", "a Tensor"),
            (np.ones(()), "numpy.ndarray", "pullback.asarray"),
            (np.float64(1.0), "numpy.float64", "a Tensor"),
        ],
        ids=["float", "str", "ndarray", "scalar"],
    )
    def test_a_gradient_of_the_wrong_type(self, create_graph, wrong, word, note):
        with teaches(RuntimeError, f"got {word}", "'beta' (argument 1)", "CustomBackward", notes=[note]):
            self.pull(lambda g: (g, wrong), create_graph)

    def test_a_wrong_shape(self, create_graph):
        with teaches(
            RuntimeError,
            "CustomBackward",
            "invalid gradient at index 1",
            "got [7] but expected shape compatible with [3]",
            "'beta' (argument 1)",
            notes=["one entry per entry", "a gradient of shape [3]"],
        ) as caught:
            self.pull(lambda g: (g, pb.tensor(np.ones(7))), create_graph, np.ones(3), np.ones(3))
        error = caught.value
        assert (error.position, error.got, error.expected) == (1, (7,), (3,))
        assert error.node.name() == "CustomBackward"

    @pytest.mark.parametrize(
        ("shape", "note"),
        [((), "expand"), ((1,), "expand"), ((2, 4), "transpose"), ((5, 4, 2), "sum over the axes")],
    )
    def test_hints_for_shapes_that_almost_fit(self, create_graph, shape, note):
        with teaches(RuntimeError, "invalid gradient at index 0", "'alpha'", notes=[note]):
            self.pull(lambda g: (pb.tensor(np.ones(shape)), g), create_graph, np.ones((4, 2)), np.ones((4, 2)))

    def test_only_a_broadcast_cotangent_is_summed(self, create_graph):
        """Summed: what has the shape of the output. Refused: any other shape that merely fits (torch sums it)."""
        wide = pb.tensor(np.arange(12.0).reshape(4, 3))
        total = wide.detach().numpy().sum(axis=0)
        found = self.pull(lambda g: (g * wide, g), create_graph, np.ones(3), np.ones((4, 3)))
        np.testing.assert_array_equal(found[0].detach().numpy(), total)
        with teaches(
            RuntimeError, "got [4, 3] but expected shape compatible with [3]", "'alpha'", notes=["sum over the axes"]
        ):
            self.pull(lambda g: (wide, g), create_graph, np.ones(3), np.ones(3))

    def test_inputs_whose_shapes_do_not_broadcast_together(self, create_graph):
        class Outer(pb.Function):
            @staticmethod
            def forward(ctx, alpha, beta):
                return pb.tensor(np.outer(alpha.numpy(), beta.numpy()))

            @staticmethod
            def backward(ctx, g):
                return pb.tensor(np.ones((5, 2))), None

        a, b = leaf(np.ones(2)), leaf(np.ones(3))
        y = Outer.apply(a, b)
        with teaches(RuntimeError, "got [5, 2]", "'alpha'"):
            grad(y, [a, b], ones_like(y), create_graph=create_graph, allow_unused=True)

    def test_a_cotangent_of_the_inputs_broadcast_together_is_summed_though_the_output_is_smaller(self, create_graph):
        class Inner(pb.Function):
            @staticmethod
            def forward(ctx, a, b):
                return pb.tensor((a.numpy() * b.numpy()).sum())

            @staticmethod
            def backward(ctx, g):
                full = pb.tensor(np.ones((4, 3))) * g
                return full, full

        a, b = leaf(np.ones((4, 1))), leaf(np.ones(3))
        found = grad(Inner.apply(a, b), [a, b], create_graph=create_graph)
        np.testing.assert_array_equal(found[0].detach().numpy(), np.full((4, 1), 3.0))
        np.testing.assert_array_equal(found[1].detach().numpy(), np.full(3, 4.0))

    def test_the_dtype_is_that_of_the_argument(self, create_graph):
        for own, other in (("float32", "float64"), ("float64", "float32"), ("float64", "int64")):
            x = leaf(1.0, dtype=own)
            y = returning(lambda x: x * 1, lambda ctx, g, other=other: pb.tensor(np.array(3, dtype=other))).apply(x)
            (found,) = grad(y, x, create_graph=create_graph)
            assert found.dtype == np.dtype(own)
            assert found.item() == 3.0

    def test_a_complex_gradient_of_a_real_argument_keeps_its_real_part(self, create_graph):
        x = leaf(2.0)
        y = returning(lambda x: x * 1, lambda ctx, g: g * pb.tensor(3 + 4j)).apply(x)
        (found,) = grad(y, x, create_graph=create_graph)
        assert (found.dtype, found.item()) == (np.float64, 3.0)

    def test_a_real_gradient_of_a_complex_argument_is_promoted(self, create_graph):
        x = leaf(2.0 + 1j)
        y = returning(lambda x: x * 1, lambda ctx, g: pb.tensor(3.0)).apply(x)
        (found,) = grad(y, x, pb.tensor(1 + 0j), create_graph=create_graph)
        assert (found.dtype, found.item()) == (np.complex128, 3 + 0j)

    def test_a_gradient_for_something_that_is_no_tensor(self, create_graph):
        class Scale(pb.Function):
            @staticmethod
            def forward(ctx, x, factor):
                return x * factor

            @staticmethod
            def backward(ctx, g):
                return g, g

        x = leaf(1.0)
        with teaches(
            RuntimeError,
            "ScaleBackward",
            "different than None at position 2",
            "'factor' (argument 1)",
            "not a Variable",
            notes=["None at that place"],
        ):
            grad(Scale.apply(x, 2.0), x, create_graph=create_graph)

    def test_a_gradient_for_a_tensor_without_gradients_is_dropped(self, create_graph):
        a, b = leaf(1.0), pb.tensor(2.0)
        y = with_backward(lambda g: (g, g)).apply(a, b)
        assert grad(y, a, create_graph=create_graph)[0].item() == 1.0
        assert b.grad is None

    def test_arguments_behind_a_star_are_counted(self, create_graph):
        class Many(pb.Function):
            @staticmethod
            def forward(ctx, first, *rest):
                return first * 1

            @staticmethod
            def backward(ctx, g):
                return g, g, "wrong"

        inputs = [leaf(1.0) for _ in range(3)]
        with teaches(RuntimeError, "rest[1] (argument 2)"):
            grad(Many.apply(*inputs), inputs, create_graph=create_graph)

    def test_arguments_of_the_split_form_are_named_too(self, create_graph):
        class Split(pb.Function):
            @staticmethod
            def forward(alpha, beta):
                return alpha * beta

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g, "wrong"

        a, b = leaf(1.0), leaf(2.0)
        with teaches(RuntimeError, "'beta' (argument 1)"):
            grad(Split.apply(a, b), [a, b], create_graph=create_graph)


def test_none_for_the_only_argument_means_no_gradient():
    x = leaf(1.0)
    y = returning(lambda x: x * 1, lambda ctx, g: None).apply(x)
    assert grad(y, x, allow_unused=True) == (None,)
    with teaches(RuntimeError, "index 0", "not have been used", notes=["rule that returned None"]):
        grad(returning(lambda x: x * 1, lambda ctx, g: None).apply(x), x)
    y.backward()
    assert x.grad is None


# ------------------------------------------------------------------------------------------------ in place
def test_a_dirty_input_is_the_output_itself_with_a_new_history():
    x = leaf([1.0, 2.0])
    a = x * 1
    before, version = a.grad_fn, a._version
    b = AddOne.apply(a)
    assert b is a
    assert a.grad_fn.name() == "AddOneBackward"
    assert a.grad_fn.next_functions[0][0] is before
    assert a._version > version
    a.backward(ones_like(a))
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(a.detach().numpy(), [2.0, 3.0])


def test_a_dirty_input_without_gradients_next_to_one_with():
    class AddInto(pb.Function):
        @staticmethod
        def forward(ctx, target, value):
            target += value
            ctx.mark_dirty(target)
            return target

        @staticmethod
        def backward(ctx, g):
            return g, g

    target, value = pb.tensor([1.0, 2.0]), leaf([10.0, 20.0])
    result = AddInto.apply(target, value)
    assert result is target
    assert target.requires_grad
    assert not target.is_leaf
    target.backward(ones_like(target))
    np.testing.assert_array_equal(value.grad.numpy(), [1.0, 1.0])


def test_a_dirty_input_in_quiet_mode_is_returned_itself():
    x = pb.tensor([1.0, 2.0])
    assert AddOne.apply(x) is x
    with pb.no_grad():
        y = leaf([1.0])
        assert AddOne.apply(y) is y
        assert y.is_leaf


def test_marking_without_writing_counts_as_a_write():
    class Marks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    a = leaf(1.0) * 1
    version = a._version
    assert Marks.apply(a) is a
    assert a._version == version + 1


def test_a_dirty_view_rewrites_its_base():
    x = leaf([1.0, 2.0])
    base = x * 1
    view = Item.apply(base, index=slice(0, 1))

    class Triple(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 3
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    Triple.apply(view)
    assert base.grad_fn.name() == "CopySlices"
    base.backward(ones_like(base))
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 1.0])


def test_a_dirty_view_next_to_another_output_is_refused():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x += 1
            ctx.mark_dirty(x)
            return x, x * 2

    view = Item.apply(leaf([1.0, 2.0]) * 1, index=slice(0, 1))
    with teaches(RuntimeError, "a view of another Tensor", "more than one Tensor", "Two", notes=["clone()", "split"]):
        Two.apply(view)


def test_a_dirty_leaf_is_refused():
    with teaches(
        RuntimeError, "leaf Variable that requires grad has been used in an in-place", notes=["clone()", "no_grad"]
    ):
        AddOne.apply(leaf(1.0))


def test_a_dirty_input_that_is_not_returned_is_refused():
    class Forgets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x += 1
            ctx.mark_dirty(x)
            return x * 1

    with teaches(RuntimeError, "marked as dirty", "not returned", "Forgets", notes=["return the changed input"]):
        Forgets.apply(leaf(1.0) * 1)


def test_dirty_things_that_are_no_inputs():
    def marking(thing):
        class Marks(pb.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(thing)
                return x * 1

            @staticmethod
            def backward(ctx, g):
                return g

        return Marks

    with pytest.warns(UserWarning, match=r"mark_dirty.*Marks\.forward.*not an input"):
        marking(pb.tensor(1.0)).apply(leaf(1.0))
    with teaches(RuntimeError, "mark_dirty can only accept variables", "int", notes=["input Tensors"]):
        marking(3).apply(leaf(1.0))


def undeclared(write):
    """A Function that writes into its input with `write` and does not say so."""

    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, alpha):
            write(alpha)
            return alpha * 1

        @staticmethod
        def backward(ctx, g):
            return g

    return Writes


def write_plain(x):
    x += 1


def write_quiet(x):
    with pb.no_grad():
        x += 1


def write_recording(x):
    with pb.enable_grad():
        x += 1


def write_view(x):
    v = Item.apply(x, index=slice(None))
    v += 1


def write_alias(x):
    d = x.detach()
    d += 1


def write_by_function(x):
    AddOne.apply(x)


@pytest.mark.parametrize(
    "write",
    [write_plain, write_quiet, write_recording, write_view, write_alias, write_by_function],
    ids=lambda f: f.__name__,
)
def test_an_undeclared_write_into_an_input_is_refused(write):
    a = leaf([1.0, 2.0]) * 1
    with teaches(
        RuntimeError, "Writes.forward", "'alpha' (argument 0)", "mark_dirty", notes=["ctx.mark_dirty(x)", "clone()"]
    ):
        undeclared(write).apply(a)


def test_an_undeclared_write_that_is_returned_is_refused():
    class Returns(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x += 1
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    with teaches(RuntimeError, "Returns.forward", "'x' (argument 0)"):
        Returns.apply(leaf(1.0) * 1)


def test_writing_into_a_buffer_that_carries_no_gradient_is_allowed():
    class Counts(pb.Function):
        @staticmethod
        def forward(ctx, x, counter):
            counter += 1
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, counter = leaf(1.0), pb.tensor(0.0)
    Counts.apply(x, counter).backward()
    assert (x.grad.item(), counter.item()) == (1.0, 1.0)


def test_writing_into_a_fresh_copy_is_allowed():
    class Copies(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            y += 1
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(1.0)
    y = Copies.apply(x)
    y.backward()
    assert (x.item(), y.item(), x.grad.item()) == (1.0, 2.0, 1.0)


# ------------------------------------------------------------------------------------------------ cotangents
def test_cotangents_reach_backward_contiguous_unless_any_layout_is_taken():
    seen = []

    def watching(any_layout):
        class Looks(pb.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, g):
                seen.append(g._array.flags.c_contiguous)
                return g

        Looks.any_layout = any_layout
        return Looks

    from core.helpers import Transpose

    x = leaf(np.arange(6.0).reshape(2, 3))
    for any_layout in (False, True):
        for create_graph in (False, True):
            y = Transpose.apply(watching(any_layout).apply(x))
            (g,) = grad(y, x, pb.tensor(np.arange(6.0).reshape(3, 2)), create_graph=create_graph)
            np.testing.assert_array_equal(g.detach().numpy(), np.arange(6.0).reshape(3, 2).T)
    assert seen == [True, True, False, False]


def test_contiguous_cotangents_stay_connected():
    from core.helpers import Transpose

    x = leaf(np.arange(6.0).reshape(2, 3))
    seed = leaf(np.ones((3, 2)))
    y = Transpose.apply(Square.apply(x))
    (g,) = grad(y, x, seed, create_graph=True)
    gx, gseed = grad(g, [x, seed], ones_like(g))
    np.testing.assert_array_equal(gx.numpy(), np.full((2, 3), 2.0))
    np.testing.assert_array_equal(gseed.numpy(), 2 * x.detach().numpy().T)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("how", ["in place", "hook", "through a view"])
def test_a_cotangent_that_backward_writes_into_harms_nobody(how, create_graph):
    class Doubles(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if how == "in place":
                g *= 2
            elif how == "through a view":
                v = Item.apply(g, index=slice(0, 2))
                v *= 2
            else:
                g = g * 2
            return g

    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = pb.tensor([1.0, 10.0])
    left = Doubles.apply(a)
    if how == "hook":

        def writes(g):
            g *= 1

        left.register_hook(writes)
    y = left + b + Doubles.apply(b)
    ga, gb = grad(y, [a, b], seed, create_graph=create_graph)
    np.testing.assert_array_equal(ga.detach().numpy(), [2.0, 20.0])
    np.testing.assert_array_equal(gb.detach().numpy(), [3.0, 30.0])
    np.testing.assert_array_equal(seed.numpy(), [1.0, 10.0])


def test_a_cotangent_of_no_dimensions_can_be_written_after_a_sum():
    class Doubles(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g *= 2
            return g

    x = leaf(1.0)
    y = Doubles.apply(x)
    (y * 2 + y * 3).backward()
    assert x.grad.item() == 10.0


def test_a_cotangent_is_read_only_for_numpy():
    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            assert not g.numpy().flags.writeable
            assert not np.asarray(g).flags.writeable
            return g

    x = leaf([1.0, 2.0])
    Looks.apply(x).backward(pb.tensor([1.0, 1.0]))


# ------------------------------------------------------------------------------------------------ subclasses of Tensor
def test_outputs_and_cotangents_have_the_class_of_the_arguments():
    class Own(Tensor):
        __slots__ = ()

    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.append(type(g))
            return g, g

    own = Own(np.ones(2), requires_grad=True)
    plain = leaf([1.0, 1.0])
    for first, second in ((own, plain), (plain, own)):
        y = Looks.apply(first, second)
        assert type(y) is Own, "the subclass wins a mixture"
        ga, gb = grad(y, [own, plain], Own(np.ones(2)))
        assert type(ga) is Own
        assert type(gb) is Tensor
    assert seen == [Own, Own]


def test_classes_can_be_copied_but_not_instantiated_quietly():
    assert copy.copy(Square) is Square
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning):
            Square()
