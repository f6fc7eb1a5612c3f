"""Small programs that random testing once found to be wrong, each as short as it could be made."""

import contextvars
import copy
import gc
import itertools
import math
import operator
import pickle
from typing import ClassVar

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch_names
from pullback.autograd import backward, grad
from pullback.core import recycling


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def function(forward, backward_):
    """A Function from two functions."""

    class F(pb.Function):
        pass

    F.forward, F.backward = staticmethod(forward), staticmethod(backward_)
    return F


def or_none(compute, words):
    """The result, or ``None`` where an error with these words refuses it."""
    try:
        return compute()
    except RuntimeError as error:
        if words not in str(error):
            raise
        return None


def derivative_of_derivative(rule, x):
    """The derivative of the sum of the derivative; ``None`` when it is refused."""
    (first,) = grad(pb.sum(rule.apply(x)), x, create_graph=True)
    return or_none(lambda: grad(pb.sum(first), x)[0].tolist(), "refused")


# ---------------------------------------------------------------------------------------------------- who owns memory
def test_a_gradient_that_was_read_from_a_result_stays_what_it_was():
    """In place is only the ``.grad`` of a leaf, as in torch."""
    x = leaf([1.0, 2.0])
    y = x * x
    y.retain_grad()
    z = (y * x).sum()
    z.backward(retain_graph=True)
    first, of_leaf = y.grad, x.grad
    z.backward()
    assert (first.tolist(), y.grad.tolist()) == ([1, 2], [2, 4])
    assert of_leaf is x.grad


def test_accumulating_into_an_assigned_result_leaves_other_results_alone():
    x, w, seed = leaf([1.0, 2.0]), leaf([1.0, 1.0]), pb.tensor([1.0, 1.0])
    (first,), (second,) = grad((x * x).sum(), x), grad(+x, x, seed)
    product = (grad((x * x).sum(), x)[0] * w).sum()
    for result in (first, second):
        x.grad = result
        (x * x).sum().backward()
    product.backward()
    assert seed.tolist() == [1, 1]
    assert w.grad.tolist() == [2, 4]


def test_a_detached_alias_of_a_result_writes_into_the_result():
    x = leaf([1.0, 2.0])
    (result,) = grad((x * x).sum(), x)
    result.detach().mul_(10.0)
    assert result.tolist() == [20, 40]


def test_read_only_memory_does_not_become_a_gradient():
    ones = np.ones(2)
    ones.flags.writeable = False
    rule = function(lambda ctx, x: x * 1, lambda ctx, g: pb.asarray(ones))
    x = leaf([1.0, 2.0])
    rule.apply(x).sum().backward()
    x.grad += 1
    rule.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_hook_that_writes_leaves_the_seed_alone_while_a_pass_is_recorded():
    x, seed = leaf([1.0, 2.0]), pb.tensor([1.0, 1.0])
    y = x * 1
    y.register_hook(lambda g: (g.mul_(3.0), None)[1])
    grad(y, x, seed, create_graph=True)
    assert seed.tolist() == [1, 1]


LARGE = recycling.LARGE + 1


def large(value=1.0):
    return pb.asarray(np.full(LARGE, value))


def first(x):
    return x._array[0].item()


@pytest.mark.parametrize("make", [lambda: pb.arange(LARGE) / 2, lambda: (large() > 0) * 2.0, lambda: (large() > 0) - 1])
def test_large_integers_and_masks_beside_numbers(make):
    assert make().shape == (LARGE,)


def test_large_integers_are_divided_after_others_died():
    i = pb.arange(LARGE) + 1
    for _ in range(2):
        i * i
    assert first(i / i) == 1.0


def test_containers_of_large_results_keep_them():
    """Also where C code runs the operator, and holds what it works on by reference only."""
    pairs = [(large(), 2.0)]
    results = list(itertools.starmap(operator.mul, pairs))
    results += itertools.starmap(operator.mul, pairs)
    results += map(large().__mul__, [2.0, 3.0])
    assert first(pairs[0][0]) == 1
    assert [first(result) for result in results] == [2, 2, 2, 3]


def test_large_results_in_a_cycle_are_whole_until_it_is_gone():
    """The garbage collector tells of an object's death before the finalizers that still use it."""
    seen = []

    def work():
        t = large() * 1.0
        _itself = yield
        try:
            yield
        finally:
            seen.append([first(t * 2.0), first(t * 3.0), first(t)])

    for factor in (1.0, 2.0, 3.0):
        large() * factor
    for _ in range(2):
        generator = work()
        next(generator)
        generator.send(generator)
        del generator
        gc.collect()
    assert seen == [[2, 3, 1]] * 2


def test_the_memory_order_of_a_large_result_does_not_depend_on_what_died_before():
    rows = int(LARGE**0.5) + 1
    columns_first, rows_first = pb.asarray(np.ones((rows, rows), order="F")), pb.asarray(np.ones((rows, rows)))
    columns_first * 2.0
    for _ in range(3):
        rows_first * 2.0
    assert (columns_first * 2.0)._array.flags.f_contiguous


def test_memory_that_a_large_result_gave_up_belongs_to_others():
    rows = int(LARGE**0.5) + 1
    x, other = (torch_names.from_numpy(np.full((rows, rows), value, order="F")) for value in (1.0, 5.0))
    x * 2.0
    t = x * 2.0
    seen = t.numpy()
    t.resize_(rows * rows)
    del t
    _result = other * 3.0, other * 2.0
    assert seen[0, 0] == 2


# ------------------------------------------------------------------------------------------------------------ leaves, views
def test_a_shallow_copy_of_a_leaf_is_another_leaf():
    x = leaf([1.0, 2.0])
    y = copy.copy(x)
    (x * 3 + y * 2).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3, 3], [2, 2])


def test_a_view_keeps_its_place_when_its_base_is_frozen():
    x = leaf([1.0, 2.0])
    view = x[0]
    x.requires_grad_(False)
    assert view.requires_grad


def test_a_leaf_that_was_frozen_after_the_forward_pass_gets_no_gradient():
    x = leaf([1.0, 2.0])
    y = x * 2
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize(("part", "expected"), [(pb.imag, [2, 8]), (pb.real, [8j, -2j])])
@pytest.mark.parametrize("index", [..., slice(None)])
def test_writing_one_part_of_complex_numbers_leaves_the_gradient_of_the_other(part, expected, index):
    x = leaf([[1 + 2j, 3 - 1j], [2j, 1.0]])
    y = pb.sum(x, axis=0)
    view = part(y)
    view[index] = 0.3
    (found,) = grad(pb.sum(pb.real(y * pb.conj(y))), x)
    np.testing.assert_allclose(found.numpy(), [expected, expected], atol=1e-12)


def test_a_detached_leaf_over_the_same_memory_does_not_move_views():
    """Their hooks stay; views that a Function returned stay usable."""
    x, seen = leaf([1.0, 2.0]), []
    c = x * 1
    view = c[0]
    view.register_hook(lambda g: seen.append(g.item()))
    output = function(lambda ctx, a: a[...], lambda ctx, g: g).apply(c)
    c.detach().requires_grad_()
    (view * 2 + output.sum()).backward()
    assert seen == [2]
    assert x.grad.tolist() == [3, 1]


def test_a_retained_gradient_follows_writes_through_views():
    c = leaf([1.0, 2.0]) * 1
    c.retain_grad()
    c[0].mul_(3.0)
    (c * 2).sum().backward()
    assert c.grad.tolist() == [2, 2]


def test_a_copy_in_place_has_a_place_of_its_own():
    x = leaf([1.0, 2.0])
    y, copied = x * 1, pb.zeros(2)
    copied.copy_(y)
    total = pb.sum(copied) * 0.75 - pb.sum(y) * 0.5
    assert grad(total, copied, retain_graph=True)[0].tolist() == [0.75, 0.75]
    copied.register_hook(lambda g: g * 10)
    assert grad(total, x)[0].tolist() == [7, 7]


def test_a_view_of_a_leaf_cannot_be_dirty():
    def double(ctx, a):
        a *= 2
        ctx.mark_dirty(a)
        return a

    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        function(double, lambda ctx, g: g * 2).apply(x[0:1])
    assert x.is_leaf


def test_an_output_detached_in_place_can_be_pulled_back_through():
    x = leaf([1.0, 2.0])
    y = pb.tanh(x)
    z = y * 1
    y.detach_()
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 - np.tanh([1.0, 2.0]) ** 2)


CUBES = {
    "grad": lambda v: pb.grad(lambda q: pb.sum(q * q * q))(v),
    "value_and_grad": lambda v: pb.value_and_grad(lambda q: pb.sum(q * q * q))(v)[1],
    "jvp": lambda v: pb.jvp(lambda q: q * q * q, (v,), (pb.tensor([1.0, 1.0]),))[1],
    "vjp": lambda v: pb.vjp(lambda q: q * q * q, v)[1](pb.tensor([1.0, 1.0]))[0],
    "jacobian": lambda v: pb.jacobian(lambda q: q * q * q)(v) @ pb.tensor([1.0, 1.0]),
}


@pytest.mark.parametrize("transform", CUBES)
def test_transforms_notice_that_their_argument_was_written_afterwards(transform):
    x = leaf([1.0, 2.0])
    v = x * 1
    result = CUBES[transform](v)
    v *= 10.0
    found = or_none(lambda: grad(pb.sum(result), x)[0].tolist(), "modified by an inplace operation")
    assert found in (None, [6, 12])


# ------------------------------------------------------------------------------------------------------------------ hooks
def test_hooks_of_what_was_not_asked_for_stay_silent():
    x, y = leaf([1.0]), leaf([2.0])
    y.register_hook(lambda g: g * 2)
    assert grad((x * y).sum(), x)[0].tolist() == [2]
    a, b = x * 1, x * 2
    a.retain_grad()
    grad([b, a], [b], [pb.ones(1), pb.ones(1)])
    assert a.grad is None


def test_hooks_on_the_node_of_a_leaf_run_with_their_arguments_beside_those_of_the_leaf():
    x, seen = leaf([1.0]), []
    y = x.clone()
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: seen.append("before"))
    node.register_hook(lambda gi, go: seen.append(go[0].item()))
    x.register_hook(lambda g: seen.append("leaf"))
    y.sum().backward()
    assert seen == ["leaf", "before", 1.0]


# ------------------------------------------------------------------------------------------------------ second derivatives
def test_a_constant_over_the_memory_of_another_argument_stays_constant():
    values = [[0.3, 1.2], [-0.7, 0.4]]
    found = []
    for constant in (lambda x: x.detach(), lambda x: pb.tensor(values), lambda x: np.asarray(x.detach())):
        x = leaf(values)
        y = pb.matmul(x, constant(x))
        (g,) = grad(pb.sum(y * y), x, create_graph=True)
        found.append(grad(pb.sum(g * g), x)[0].numpy())
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[2], found[1])


def test_two_leaves_over_one_array_are_two():
    array = np.array([0.3, 1.2])
    x, y = (pb.asarray(array).requires_grad_() for _ in range(2))
    (g,) = grad(pb.vecdot(x, y) ** 2, x, create_graph=True)
    first_, second = grad(pb.sum(g), [x, y])
    np.testing.assert_allclose(first_.numpy(), 2 * array * array.sum())
    np.testing.assert_allclose(second.numpy(), 2 * array * array.sum() + 2 * (array @ array))


def test_an_output_returned_twice_and_saved_leads_back_to_its_last_place():
    def forward(ctx, a):
        y = pb.exp(a)
        ctx.save_for_backward(y)
        return y, y

    x = leaf([0.5])
    p, q = function(forward, lambda ctx, g, h: h * ctx.saved_tensors[0]).apply(x)
    (g,) = grad((p + q).sum(), x, create_graph=True)
    np.testing.assert_allclose(grad(g.sum(), x)[0].numpy(), 2 * math.exp(0.5))


def test_an_inner_graph_kept_on_ctx_has_its_first_derivative_in_a_recorded_pass():
    def forward(ctx, a):
        with pb.enable_grad():
            inner = a.detach().requires_grad_()
            y = pb.exp(inner)
        ctx.inner = inner, y
        return y.detach()

    def pull(ctx, g):
        inner, y = ctx.inner
        return grad(y, inner, g, retain_graph=True)

    x = leaf([0.5])
    (g,) = grad(function(forward, pull).apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), math.exp(0.5))
    assert derivative_of_derivative(function(forward, pull), x) is None


def test_an_input_kept_as_an_attribute_of_a_primitive_is_no_constant():
    class Cube(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.x, ctx.many = x, {"x": [x]}
            return x * x * x

        @staticmethod
        def backward(ctx, ct):
            return 3 * ctx.x * ctx.many["x"][0] * ct

    assert derivative_of_derivative(Cube, leaf([2.0])) == [12]


def test_saved_values_that_are_cleared_are_cleared_in_a_recorded_pass_too():
    def forward(ctx, x):
        ctx.slope = pb.exp(x) * 1
        ctx.save_for_backward(x)
        return pb.exp(x)

    def pull(ctx, g):
        assert ctx.saved_tensors
        with pytest.raises(RuntimeError, match="only be accessed once"):
            _ = ctx.saved_tensors
        return g * ctx.slope

    class F(pb.Function):
        clear_saved_tensors_on_access = True

    F.forward, F.backward = staticmethod(forward), staticmethod(pull)
    x = leaf([0.5])
    assert grad(F.apply(x).sum(), x, create_graph=True)[0].item() == math.exp(0.5)


class Named(pb.Tensor):
    """A Tensor with attributes."""


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_copy_of_a_tensor_of_a_subclass_has_its_attributes(duplicate, requires_grad):
    x = Named(np.array([1.0, 2.0]), requires_grad)
    x.name, x.parts = "weight", [1]
    twin = duplicate(x)
    assert (type(twin), twin.tolist(), twin.requires_grad) == (Named, [1, 2], requires_grad)
    assert (twin.name, twin.parts) == ("weight", [1])
    assert (twin.parts is x.parts) is (duplicate is copy.copy)


def test_a_container_on_ctx_is_one_container():
    def forward(ctx, x):
        ctx.values, ctx.named = [x], {"x": x}
        return pb.exp(x)

    def pull(ctx, g):
        ctx.values.append(pb.exp(ctx.values[0]))
        ctx.named["y"] = ctx.values[-1]
        return g * ctx.named["y"]

    x = leaf([0.5])
    np.testing.assert_allclose(grad(function(forward, pull).apply(x).sum(), x)[0].numpy(), math.exp(0.5))


def test_what_an_earlier_pass_left_on_ctx_is_no_constant():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.exp(x)

    def pull(ctx, g):
        if not hasattr(ctx, "slope"):
            ctx.slope = pb.exp(ctx.saved_tensors[0])
        return g * ctx.slope

    x = leaf([0.5])
    y = pb.sum(function(forward, pull).apply(x))
    grad(y, x, retain_graph=True)
    (g,) = grad(y, x, create_graph=True)
    found = or_none(lambda: grad(g.sum(), x)[0].item(), "refused")
    assert found in (None, pytest.approx(math.exp(0.5)))


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_rule_may_delete_what_forward_set(base, create_graph):
    class Square(base):
        @staticmethod
        def forward(ctx, x):
            ctx.x, ctx.text, ctx.twice = x, "constant", (2 * x, lambda: x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x = ctx.x
            del ctx.x, ctx.text, ctx.twice
            assert not any(hasattr(ctx, name) for name in ("x", "text", "twice"))
            ctx.x = x
            del ctx.x
            with pytest.raises(AttributeError):
                del ctx.x
            return 2 * x * g

    x = leaf([3.0])
    y = Square.apply(x).sum()
    assert grad(y, x, create_graph=create_graph)[0].tolist() == [6]


@pytest.mark.parametrize("constant", ["conv2d", ("conv2d", 1), b"x", 1e-6, [1.5]])
@pytest.mark.parametrize("leaves", [False, True])
def test_constants_on_the_ctx_of_a_primitive(constant, leaves):
    class Cube(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.constant = constant
            if leaves:
                assert np.isfinite(np.asarray(x)).all()
            return x * x * x

        @staticmethod
        def backward(ctx, ct):
            assert ctx.constant == constant
            return 3 * ctx.saved_tensors[0] ** 2 * ct

    assert derivative_of_derivative(Cube, leaf([2.0])) == [12]


def test_a_number_written_down_on_the_ctx_of_a_primitive_is_no_constant():
    class Cube(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.text = f"{float(x.sum()):.17g}"
            return x * x * x

        @staticmethod
        def backward(ctx, ct):
            return 3 * ctx.saved_tensors[0] * float(ctx.text) * ct

    assert derivative_of_derivative(Cube, leaf([2.0])) is None


CONSTANTS = {
    "Tensor": pb.tensor([1.0, 2.0]),
    "array": np.array([1.0, 2.0]),
    "integers": np.array([1, 2]),
    "leaf": leaf([1.0, 2.0]),
}


def weighted_sum(base, constant, *others):
    """``sum(constant * b)`` of a `b` without dimensions, whose rule leaves the sum over what was stretched to the machine."""

    class Weighted(base):
        @staticmethod
        def forward(ctx, a, b, *others):
            ctx.a, ctx.count = a, len(others)
            return (a * b).sum()

        @staticmethod
        def backward(ctx, g):
            return (None, g * ctx.a, *[None] * ctx.count)

    b = leaf(2.0)
    return Weighted.apply(constant, b, *others), b


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_rule_may_sum_over_what_a_constant_argument_stretched(base, constant):
    y, b = weighted_sum(base, CONSTANTS[constant], "an option", None, 3, np.float64)
    assert grad(y, b, create_graph=True)[0].item() == 3


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
def test_a_rule_may_sum_over_nothing_else(base):
    """All constants together explain a shape, or none do."""
    y, b = weighted_sum(base, CONSTANTS["Tensor"], np.ones(3))
    with pytest.raises(RuntimeError, match="invalid gradient"):
        grad(y, b)


def test_a_bare_array_from_the_rule_of_a_primitive_is_a_constant_in_a_recorded_pass():
    class P(pb.Primitive):
        @staticmethod
        def forward(ctx, x, y):
            ctx.zeros = np.zeros(1)
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            return ct * 2, ctx.zeros

    x, y = leaf([1.0]), leaf([2.0])
    backward([P.apply(pb.sin(x), pb.sin(y))], [pb.ones(1)])
    first_, second = grad(P.apply(pb.sin(x), pb.sin(y)).sum(), [x, y], create_graph=True)
    np.testing.assert_allclose(first_.detach().numpy(), 2 * np.cos([1.0]))
    assert second.tolist() == [0]


# ------------------------------------------------------------------------------- what forward leaves where backward finds it
class Store:
    """State of a class, behind methods."""

    kept: ClassVar[dict[str, object]] = {}

    @classmethod
    def save(cls, value):
        cls.kept["value"] = value

    @classmethod
    def load(cls):
        return cls.kept["value"]


class Attribute:
    """State of an object, behind methods."""

    value = None

    def save(self, value):
        self.value = value

    def load(self):
        return self.value


def helper():
    """Has attributes."""


def set_attribute(value):
    helper.value = value


VARIABLE = contextvars.ContextVar("VARIABLE")
LIST, INSTANCE, STORE = [], Attribute(), Store()
ALIAS, APPEND, SAVE, LOAD = LIST, LIST.append, INSTANCE.save, INSTANCE.load
OUTSIDE = {
    "methods of a class": (lambda v: Store.save(v), lambda: Store.load()),
    "methods of an object whose class has state": (lambda v: STORE.save(v), lambda: STORE.load()),
    "methods of an object": (lambda v: INSTANCE.save(v), lambda: INSTANCE.load()),
    "bound methods": (lambda v: SAVE(v), lambda: LOAD()),
    "two names": (lambda v: LIST.append(v), lambda: ALIAS[-1]),
    "a method and its list": (lambda v: APPEND(v), lambda: LIST[-1]),
    "an attribute of a function": (lambda v: set_attribute(v), lambda: helper.value),
    "a context variable": (lambda v: VARIABLE.set(v), lambda: VARIABLE.get()),
}


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("place", OUTSIDE)
def test_what_forward_left_outside_is_no_constant_by_whatever_name(base, place):
    save, load = OUTSIDE[place]

    class Exp(base):
        @staticmethod
        def forward(ctx, x):
            y = getattr(ctx, "xp", pb).exp(x)
            save(y * 1)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * load()

    assert derivative_of_derivative(Exp, leaf([0.5])) is None


def closure():
    """A function that remembers what it was last given."""
    values = []

    def exchange(*new):
        values.extend(new)
        return values[-1]

    return exchange


ARGUMENTS = {
    "a list": (list, lambda s, v: s.append(v), lambda s: s[-1]),
    "a dict": (dict, lambda s, v: s.update(v=v), lambda s: s["v"]),
    "an object": (Attribute, lambda s, v: s.save(v), lambda s: s.load()),
    "an object in a tuple": (lambda: (Attribute(), 1), lambda s, v: s[0].save(v), lambda s: s[0].load()),
    "a closure": (closure, lambda s, v: s(v), lambda s: s()),
}


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_what_forward_left_in_an_argument_that_ctx_keeps_is_no_constant(base, kind, inside):
    make, save, load = ARGUMENTS[kind]

    class Exp(base):
        @staticmethod
        def forward(ctx, x, state):
            y = getattr(ctx, "xp", pb).exp(x)
            save(state, y * 1)
            ctx.state = {"state": state} if inside else state
            return y

        @staticmethod
        def backward(ctx, g):
            return g * load(ctx.state["state"] if inside else ctx.state), None

    x = leaf([0.5])
    (first,) = grad(Exp.apply(x, make()).sum(), x, create_graph=True)
    assert first.item() == math.exp(0.5)
    assert or_none(lambda: grad(first.sum(), x), "refused") is None


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_constants_in_an_argument_that_ctx_keeps(base, kind):
    make, save, load = ARGUMENTS[kind]

    class Scaled(base):
        @staticmethod
        def forward(ctx, x, state):
            ctx.state = state
            ctx.save_for_backward(x)
            return load(state) * x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * load(ctx.state) * g, None

    x, state = leaf([0.5]), make()
    save(state, pb.tensor([3.0]) if base is pb.Function else np.array([3.0]))
    (first,) = grad(Scaled.apply(x, state).sum(), x, create_graph=True)
    assert first.item() == 3
    assert grad(first.sum(), x)[0].item() == 6


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
def test_statistics_in_an_argument_that_backward_does_not_see(base):
    class Exp(base):
        @staticmethod
        def forward(ctx, x, state):
            y = getattr(ctx, "xp", pb).exp(x)
            state.value = y * 1
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x = leaf([0.5])
    (first,) = grad(Exp.apply(x, Attribute()).sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].item() == math.exp(0.5)


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("kind", ["a list", "an object"])
def test_a_second_run_of_forward_that_changes_what_the_first_one_left(base, kind):
    """An accumulator that hangs on ctx: the second run adds to it once more."""
    make, save, load = ARGUMENTS[kind]
    state = make()
    save(state, 0.0)

    class Exp(base):
        @staticmethod
        def forward(ctx, x):
            y = getattr(ctx, "xp", pb).exp(x)
            save(state, load(state) + y)
            ctx.state = state
            return y

        @staticmethod
        def backward(ctx, g):
            return g * load(ctx.state)

    assert derivative_of_derivative(Exp, leaf([0.5])) is None


def test_an_intermediate_that_a_helper_remembers_is_no_constant():
    """The second run of forward gets the one that the first run computed, without recording."""
    memory = {}

    def exp(x):
        return memory.setdefault(id(x), (x, pb.exp(x)))[1]

    def forward(ctx, x):
        ctx.save_for_backward(exp(x))
        return pb.exp(x)

    x = leaf([0.5])
    assert derivative_of_derivative(function(forward, lambda ctx, g: g * ctx.saved_tensors[0]), x) is None


def test_a_constant_from_outside_that_is_saved_is_a_constant():
    weight = pb.tensor([3.0])

    def forward(ctx, x):
        ctx.save_for_backward(x, weight)
        ctx.weight = weight
        return pb.exp(x) * weight

    def pull(ctx, g):
        x, w = ctx.saved_tensors
        return g * pb.exp(x) * (w + ctx.weight) / 2

    assert derivative_of_derivative(function(forward, pull), leaf([0.5])) == [pytest.approx(3 * math.exp(0.5))]


def test_a_constant_argument_that_forward_wrote_into_is_a_value_that_it_computed():
    class Exp(pb.Function):
        @staticmethod
        def forward(ctx, x, buffer):
            buffer.copy_(pb.exp(x))
            ctx.save_for_backward(buffer)
            ctx.buffer = buffer
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0] + ctx.buffer) / 2, None

    x = leaf([0.5])
    (first,) = grad(Exp.apply(x, pb.zeros(1)).sum(), x, create_graph=True)
    assert first.item() == math.exp(0.5)
    assert or_none(lambda: grad(first.sum(), x), "refused") is None


# ----------------------------------------------------------------------------------------------------------- torch's names
def test_torch_selects_by_integers_before_it_looks_at_lists():
    assert tuple(torch_names.zeros(2, 3, 4)[0, :, [0, 1]].shape) == (3, 2)


def test_running_sums_of_no_dimensions_have_none_in_torch():
    assert tuple(torch_names.tensor(1.5).cumsum(0).shape) == tuple(torch_names.tensor(1.5).cumprod(0).shape) == ()


def test_axes_from_one_to_an_earlier_one_cannot_be_flattened():
    with pytest.raises(RuntimeError, match="start_dim cannot come after end_dim"):
        torch_names.zeros(2, 1, 1).flatten(-1, -2)


def test_flip_copies_in_torch():
    y = torch_names.tensor([1.0, 2.0]) * 1
    y.flip(0).neg_()
    assert y.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "sign", "exp", "sqrt", "sigmoid", "tanh", "cumsum"])
def test_an_argument_that_the_rule_does_not_need_may_be_overwritten(name):
    grads = []
    for overwrite in (False, True):
        x = torch_names.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        z = getattr(y, name)(*[0] * (name[-1] == "x" or name == "cumsum"))
        if overwrite:
            y.zero_()
        (z * torch_names.tensor([1.0, 3.0])).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_lines_without_a_cotangent_give_none(name):
    """The others do not reach the infinite slope of the square root at 0."""
    x = torch_names.tensor([[0.0, 1.0], [1.0, 4.0]], requires_grad=True)
    getattr(x.sqrt(), name)(1)[1, 0].backward()
    assert x.grad[0].tolist() == [0, 0]
    assert x.grad[1, 0].item() > 0


@pytest.mark.parametrize("differentiable", [True, False])
def test_a_seed_that_is_written_after_a_recorded_pass(differentiable):
    x = leaf([1.0, 2.0])
    seed = pb.tensor([1.0, 1.0], requires_grad=differentiable) * 1.0
    (first,) = grad(x * x * x, x, seed, create_graph=True)
    with pb.no_grad():
        seed *= 10.0
    assert grad(first.sum(), x)[0].tolist() == [6, 12]


def test_a_direction_that_is_written_after_a_transform():
    x, y = leaf([1.0, 2.0, 3.0]), leaf([0.5, 0.2, 0.3])
    direction = x * 1.0
    product = pb.hvp(lambda q: (q**3).sum())(y, direction)
    direction *= 10.0
    np.testing.assert_allclose(grad(product.sum(), (x, y))[0].numpy(), 6 * y.detach().numpy())
    np.testing.assert_allclose(pb.jvp(lambda q: q * q, (y,), (x,))[1].detach().numpy(), 2 * (x * y).detach().numpy())
