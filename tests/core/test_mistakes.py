"""What beginners get wrong in a rule, and what they are told."""

import warnings

import numpy as np
import pytest

import pullback as pb
from core.helpers import leaf, teaches
from pullback.autograd import grad


def function(forward, backward=lambda ctx, g: g, base=pb.Function):
    """An operator from two functions."""
    return type("F", (base,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def doubles(ctx, x):
    return x * 2


# ------------------------------------------------------------------------------------------------------- parameters
def test_a_forward_without_ctx():
    with teaches(TypeError, "argument", notes=["ctx first", "defined at", __file__]):
        function(lambda x: x * 2).apply(leaf(1.0))


def test_a_backward_with_too_few_parameters():
    y, _ = function(lambda ctx, x: (x * 1, x * 2)).apply(leaf(1.0))
    with teaches(TypeError, "argument", notes=["here 2", "def backward(ctx, grad_0, grad_1)", "defined at", __file__]):
        y.backward()


def test_a_type_error_of_the_rule_itself_is_left_alone():
    y = function(doubles, lambda ctx, g: g + object()).apply(leaf(1.0))
    with pytest.raises(TypeError) as caught:
        y.backward()
    assert "def backward" not in "".join(caught.value.__notes__)


# ------------------------------------------------------------------------------------------------------ saved values
def backward_reads(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x


@pytest.mark.parametrize("base", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("rule", [backward_reads, lambda ctx, g: g * ctx.saved_tensors[0]])
def test_nothing_was_saved(base, rule):
    y = function(doubles, rule, base).apply(leaf(1.0))
    with teaches((ValueError, IndexError), notes=["F.forward saved nothing", "ctx.save_for_backward"]):
        y.backward()


def test_the_tuple_itself_instead_of_what_is_in_it():
    def saves(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    y = function(saves, lambda ctx, g: g * ctx.saved_tensors).apply(leaf(1.0))
    with teaches(TypeError, "multiply() takes", "tuple", notes=["(x,) = ctx.saved_tensors"]):
        y.backward()
    with pytest.raises(TypeError, match="list"):
        leaf(1.0) + [1.0]


# ----------------------------------------------------------------------------------------------------------- results
@pytest.mark.parametrize("result", [np.ones(2), np.float64(2.0), 2.0, 1j, (np.ones(2), 3)])
def test_a_forward_that_returns_something_else_than_a_tensor(result):
    with teaches(TypeError, "F.forward returned", notes=["pullback.asarray(result)", __file__]):
        function(lambda ctx, x: result).apply(leaf(1.0))


@pytest.mark.parametrize("result", [None, [np.ones(2)], "text"])
def test_a_primitive_that_returns_no_array(result):
    with teaches(TypeError, "F.forward returned", notes=["a tuple of arrays", __file__]):
        function(lambda ctx, x: result, base=pb.Primitive).apply(leaf(1.0))


def test_a_forgotten_return():
    def forgets(ctx, x):
        x * 2

    with pytest.warns(UserWarning, match=r"F\.forward returned None.*missing") as warned:
        assert function(forgets).apply(leaf(1.0)) is None
    assert (warned[0].filename, warned[0].lineno) == (__file__, forgets.__code__.co_firstlineno)

    def forgets_too(ctx, g):
        g * 2

    x = leaf(1.0)
    with pytest.warns(UserWarning, match=r"F\.backward returned None.*missing"):
        function(doubles, forgets_too).apply(x).backward()
    assert x.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(doubles, forgets_too).apply(x).backward()  # once is enough


def test_none_on_purpose_is_no_mistake():
    def stops(ctx, g):
        return None

    x = leaf(1.0)
    function(doubles, stops).apply(x).backward()
    function(doubles, lambda ctx, g: None, pb.Primitive).apply(x).backward()
    assert x.grad is None


def test_a_class_is_not_called():
    with teaches(TypeError, "F(...) was called with a Tensor", notes=["F.apply(...)"]):
        function(doubles)(leaf(1.0))


def test_a_derivative_without_a_graph():
    x = leaf(2.0)
    (slope,) = grad(x * x * x, x)
    with teaches(RuntimeError, "does not require grad", notes=["create_graph=True"]):
        grad(slope, x)


# ------------------------------------------------------------------------------------------- writing into an argument
def writes(ctx, x):
    ctx.save_for_backward(x)
    x *= x
    return x.copy()


def writes_through_numpy(ctx, x):
    ctx.save_for_backward(x)
    array = x.numpy()
    array *= array
    return pb.asarray(array.copy())


@pytest.mark.parametrize(
    ("forward", "base"), [(writes, pb.Primitive), (writes_through_numpy, pb.Function)], ids=["Primitive", "Function"]
)
@pytest.mark.parametrize("make", [leaf, lambda values: leaf(values) * 1], ids=["leaf", "computed"])
def test_an_argument_is_not_written(forward, base, make):
    x = make([1.0, 2.0])
    with teaches(ValueError, "read-only", notes=["F.forward", "x.copy()"]):
        function(forward, backward_reads, base).apply(x)
    assert x.tolist() == [1, 2]
    assert x._array.flags.writeable


def test_a_primitive_does_not_write_into_the_callers_array():
    def adds(ctx, x, y):
        x += y
        return x

    x = np.ones(2)
    with teaches(ValueError, "read-only"):
        function(adds, base=pb.Primitive).apply(x, pb.tensor([1.0, 1.0]))
    with teaches(ValueError, "read-only"):
        function(adds, base=pb.Primitive).apply(x, x)
    assert x.tolist() == [1, 1]
    x += 1
    assert x.tolist() == [2, 2]


def test_arrays_that_were_read_only_stay_so():
    array = np.ones(2)
    array.flags.writeable = False
    function(doubles, base=pb.Primitive).apply(array)
    function(doubles, base=pb.Primitive).apply(pb.asarray(array))
    assert not array.flags.writeable


@pytest.mark.parametrize("how", ["saved", "attribute"])
def test_a_result_of_no_dimensions_is_known_as_the_result(how):
    runs = []

    def forward(ctx, x):
        runs.append(1)
        y = ctx.xp.exp(x)  # a NumPy scalar, no array
        if how == "saved":
            ctx.save_for_backward(y)
        else:
            ctx.y = y
        return y

    operator = function(forward, lambda ctx, g: g * (ctx.saved_tensors[0] if how == "saved" else ctx.y), pb.Primitive)
    x = leaf(0.5)
    (first,) = grad(operator.apply(x), x, create_graph=True)
    (second,) = grad(first, x)
    assert second.item() == first.item() == np.exp(0.5)
    assert len(runs) == 1


def test_a_rule_that_writes_into_numpys_view_of_a_gradient_is_told_to_copy():
    def halves(ctx, g):
        array = g.numpy()
        array /= 2
        return pb.asarray(array)

    x = leaf([1.0, 2.0])
    y = function(lambda ctx, x: x * 1, halves).apply(x)
    with teaches(ValueError, "read-only", notes=["clone().numpy()", "of a gradient"]):
        y.sum().backward()
