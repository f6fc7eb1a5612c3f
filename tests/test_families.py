"""The families of elementwise operators: what is generated from partial derivatives is an operator like any other."""

from __future__ import annotations

import collections
import gc
import inspect
import math
import operator
import os
import sys
from typing import Any

import numpy as np
import pytest

import pullback as pb
from numeric import Call, check_order, directions_like, pull, tensors
from pullback.core.masked import Masked
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.families import MINUS_ONE, ONE, ZERO, binary, carry, chosen, constant, select, unary
from pullback.ops.registry import REGISTRY, Record, Sample, samples_of


class Special(Tensor):
    """A kind of Tensor of its own."""

    __slots__ = ()


def general(family: Any, *args: Any) -> Any:
    """The long way through ``apply``, which a family's short path must agree with."""
    return Primitive.__dict__["apply"].__func__(family, *args)


GENERATED = [r for r in REGISTRY.values() if r.elementwise and r.differentiable and r.call is r.operator.apply]


@pytest.mark.parametrize("record", GENERATED, ids=lambda record: record.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_short_path_gives_what_the_general_path_gives(record, dtype):
    for sample in samples_of(record, dtype):
        results = []
        for function in (record.operator.apply, lambda *args: general(record.operator, *args)):
            call = Call(Record(record.name, None, function, record.samples), sample)
            xs = tensors(call.arrays)
            (y,) = call(xs)
            weights = directions_like([y._array], np.random.default_rng(1))
            grads = pull([y], xs, weights)
            results.append([y._array, *[g._array for g in grads]])
            assert y.grad_fn.name() == record.operator.node_name
        for short, long in zip(*results, strict=True):
            assert short.dtype == long.dtype
            np.testing.assert_array_equal(short, long, strict=True)


# --------------------------------------------------------------------------------------------------------- call counts
PACKAGE = os.path.dirname(pb.__file__) + os.sep


def python_calls(function: Any) -> collections.Counter[str]:
    """How many Python functions of the package ran, by name."""
    found: collections.Counter[str] = collections.Counter()

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found[frame.f_code.co_qualname] += 1

    gc.disable()  # a collection calls a function of the package, whenever it happens to come
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def chain(step: Any, length: int = 50) -> tuple[Any, Any]:
    """The forward and the backward pass through the same operator many times, as functions."""
    x = pb.tensor([0.3, 0.6], requires_grad=True)
    end: list[Any] = []

    def forward() -> None:
        y = x
        for _ in range(length):
            y = step(y)
        end.append(y)

    def backward() -> None:
        end[-1].backward(pb.tensor([1.0, 1.0]))

    return forward, backward


@pytest.mark.parametrize(
    ("step", "forward_calls", "backward_calls"),
    [
        (pb.sin, 1, 2),  # pull, and the partial derivative
        (pb.tanh, 2, 2),  # one more keeps the result
        (pb.negative, 1, 1),
        (lambda y: y * y, 1, 5),  # pull, two rules with one partial derivative each
        (lambda y: y + y, 1, 3),
    ],
    ids=["sin", "tanh", "negative", "multiply", "add"],
)
def test_the_hot_path_costs_one_python_call(step, forward_calls, backward_calls):
    forward, backward = chain(step)
    forward()  # whatever happens once has happened
    backward()
    for function, allowed in ((forward, forward_calls), (backward, backward_calls)):
        frequent = {name: n for name, n in python_calls(function).items() if n >= 50}
        assert sum(frequent.values()) <= 50 * allowed, frequent


# --------------------------------------------------------------------------------------------------- what one can say
def make_call(family: Any, *args: Any) -> Call:
    return Call(Record("made", family, family.apply, lambda make: []), Sample(args))


def test_an_operator_with_its_own_forward_is_right_to_third_order():
    softplus = unary("softplus", lambda xp, x: xp.log1p(xp.exp(x)), lambda xp, x: 1 / (1 + xp.exp(-x)))
    for order in (1, 2, 3):
        check_order(make_call(softplus, np.asarray([-1.0, 0.3])), order, np.random.default_rng(0))
    ratio = binary("ratio", lambda y, a: y / a, lambda y, b: -y / b, forward=lambda xp, a, b: a / b)
    call = make_call(ratio, np.asarray([[0.5], [2.0]]), np.asarray([1.5, 0.7]))
    for order in (1, 2, 3):
        check_order(call, order, np.random.default_rng(0))


def test_a_partial_derivative_may_use_argument_and_result():
    both = unary("both", lambda xp, x: xp.exp(x * x), lambda x, y: 2 * x * y)
    for order in (1, 2, 3):
        check_order(make_call(both, np.asarray([0.5, -0.3])), order, np.random.default_rng(0))


@pytest.mark.parametrize(("partial", "factor"), [(ONE, 1), (MINUS_ONE, -1), (ZERO, 0)])
def test_constant_partial_derivatives(partial, factor):
    one = unary("one", lambda xp, x: factor * x, partial)
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert pull([one.apply(x)], [x], [np.ones(2)], create_graph=True)[0].tolist() == [factor, factor]
    two = binary("two", ONE, partial, forward=lambda xp, a, b: a + factor * b)
    a, b = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(3.0, requires_grad=True)
    for create_graph in (False, True):
        of_a, of_b = pull([two.apply(a, b)], [a, b], [np.asarray([3.0, 4.0])], create_graph)
        assert of_a.tolist() == [3, 4]
        assert of_b.tolist() == 7 * factor


def test_zeros_do_not_come_from_multiplying():
    """The cotangent may be infinite: zero times it would be NaN."""
    x = pb.tensor([0.5], requires_grad=True)
    assert pull([pb.floor(x)], [x], [np.asarray([math.inf])])[0].tolist() == [0]


def test_an_argument_without_derivative():
    scale = binary("scale", lambda b: b, None, forward=lambda xp, a, b: a * b)
    a, b = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    y = scale.apply(a, b)
    of_a, of_b = pb.autograd.grad(y, (a, b), pb.tensor([1.0, 1.0]), allow_unused=True)
    assert of_a.tolist() == [3, 4]
    assert of_b is None


@pytest.mark.parametrize(
    "partial",
    [lambda xp, x: xp.full_like(x, 0.5), lambda y: 0 * y + 0.5, lambda x, y: y / x],
    ids=["short path", "short path with the result", "general path"],
)
def test_generated_operators_introduce_themselves(partial):
    half = unary("half_of_it", lambda xp, x: x / 2, partial, doc="``x / 2``.")
    assert half.__name__ == "HalfOfIt"
    assert half.apply.__name__ == "half_of_it"
    assert half.__doc__ == "``x / 2``."
    assert half.apply.__doc__.startswith("``x / 2``.\n\nParameters")
    y = half.apply(pb.tensor(1.0, requires_grad=True))
    assert y.grad_fn.name() == "HalfOfItBackward0"
    assert pb.autograd.grad(y, y.grad_fn.next_functions[0][0].variable)[0].item() == 0.5


def test_generated_operators_of_two_arguments_introduce_themselves():
    for name in ("fmax", "larger"):  # NumPy computes the first, and knows nothing of the second
        larger = binary(name, ONE, ZERO, doc="The larger one.")
        assert larger.apply.__name__ == name
        assert larger.apply.__doc__.startswith("The larger one.\n\nParameters")
        assert list(inspect.signature(larger.apply).parameters) == ["a", "b"]


# ---------------------------------------------------------------------------------------------------- the world around
def test_bare_arrays_give_bare_arrays():
    x = np.ones(2)
    for y in (pb.sin(x), pb.add(x, 1), pb.less(x, 2), pb.where(x > 0, x, 0), pb.maximum(x, 0), pb.abs(x)):
        assert type(y) is np.ndarray


def test_results_have_the_class_of_their_operands_and_the_subclass_wins():
    a, b = Special(np.ones(2), True), Tensor(np.ones(2), True)
    for y in (pb.sin(a), a * a, a * b, b * a, 2 * a, a > b, b > a, pb.maximum(b, a), ~(a > b)):
        assert type(y) is Special
    assert type(b * b) is type(b > b) is Tensor


def test_nothing_is_recorded_without_gradients():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pb.no_grad():
        assert not any(y.requires_grad for y in (pb.sin(x), x * x, x + 1, abs(x), pb.where(x > 1, x, 0.0)))
    assert not (x.detach() * 2).requires_grad


def test_numbers_beside_single_precision_keep_it():
    x = pb.tensor(np.ones(2, np.float32))
    for y in (x + 0.1, 0.1 * x, x / 3, x**2, pb.maximum(x, 0.5), pb.clip(x, 0.0, 0.5), pb.where(x > 0, x, 0.5), x % 2):
        assert y.dtype == np.float32
        for _ in range(2):  # numbers are remembered
            assert (pb.tensor(np.ones(2)) + 0.1).dtype == np.float64


def test_numbers_keep_what_distinguishes_them():
    one = pb.tensor([1.0])
    assert (one / 0.5 + 0.0).tolist() == [2]
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert (one / -0.0).tolist() == [-math.inf]
            assert (one / 0.0).tolist() == [math.inf]
            assert math.isnan((one * math.nan).item())
    assert (pb.tensor([3]) + True).tolist() == [4]
    assert (pb.tensor([3]) * 2).dtype == np.int64
    assert (one * (2**53 + 1)).tolist() == [float(2**53 + 1)]


def test_what_is_no_operand():
    x = pb.tensor([1.0])
    for function in (operator.add, operator.mul, operator.lt, operator.and_, operator.pow):
        for other in ("text", [1.0], None, object()):
            with pytest.raises(TypeError):
                function(x, other)
    with pytest.raises(TypeError, match=r"multiply\(\) takes Tensors, arrays and numbers, but got list"):
        pb.multiply(x, [1.0])

    class Answers:
        def __radd__(self, other: Any) -> str:
            return "mine"

    assert x + Answers() == "mine"


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (pb.sin, "x"),
        (pb.exp, "y"),
        (lambda x: x * x, "x"),
        (abs, "x"),
        (pb.relu, "x"),
        (lambda x: pb.maximum(x, 0), "x"),
    ],
    ids=["sin", "exp", "multiply", "abs", "relu", "maximum"],
)
def test_a_saved_value_that_was_written_to_is_refused(function, written):
    x = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    y = function(x)
    target = x if written == "x" else y
    z = y * 1
    target += 1
    with pytest.raises(RuntimeError):
        z.backward(pb.tensor([1.0, 1.0]))


def test_results_that_nobody_saved_may_be_written_to():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.sin(x)
    y += 1
    assert pull([y], [x], [np.ones(2)])[0].tolist() == np.cos([1.0, 2.0]).tolist()


# --------------------------------------------------------------------------------------------------- structural zeros
def masked(*mask: bool) -> Masked:
    return Masked(np.asarray([1.0 if m else 0.0 for m in mask]), np.asarray(mask))


def test_chosen_sends_nothing_where_nothing_was_taken():
    sent = chosen(np.asarray([True, False]), np.asarray([2.0, math.nan]), np)
    assert sent.value.tolist() == [2, 0]
    assert sent.mask.tolist() == [True, False]
    wide = chosen(np.asarray([True, False]), np.ones((3, 2)), np)
    assert wide.mask.shape == (3, 2)


def test_mask_rules():
    assert select(None, np.asarray([math.nan, 5.0]), masked(False, True), 0, np).value.tolist() == [0, 5]
    both = select(None, chosen(np.asarray([True, False]), np.ones(2), np), masked(True, True), 0, np)
    assert both.mask.tolist() == [True, False]
    passed = carry(None, np.asarray([0.0, -1.0]), masked(False, True), 0, np)
    assert (passed.value.tolist(), passed.mask.tolist()) == ([0, -1], [False, True])


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "step",
    [
        lambda x: pb.log(x),
        lambda x: -pb.log(x) * 2 + 1,
        lambda x: pb.where(x > 5, x, pb.log(x)),
        lambda x: pb.clip(pb.log(x), None, 5.0),
        lambda x: pb.minimum(pb.log(x), 5.0),
        lambda x: pb.real(pb.log(x)),
        lambda x: pb.conj(pb.log(x)),
        lambda x: +pb.log(x),
    ],
)
def test_a_structural_zero_survives_what_lies_between(step, create_graph):
    """The point 0 is not chosen, so the infinite derivative of log there does not matter, and gives no warning."""
    x = pb.tensor([0.0, 2.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = step(x)
    (g,) = pull([pb.where(np.asarray([False, True]), y, 0.0)], [x], [np.ones(2)], create_graph)
    assert g.tolist()[0] == 0
    assert abs(g.tolist()[1]) in (0.5, 1)


def test_a_value_that_is_used_elsewhere_is_not_shielded():
    x = pb.tensor([0.0, 2.0], requires_grad=True)
    with np.errstate(all="ignore"):
        root = pb.sqrt(x)
        y = pb.where(np.asarray([False, True]), root, 0.0) + root
        (g,) = pull([y], [x], [np.ones(2)])
    assert g.tolist()[0] == math.inf


def test_constants_are_not_operators_of_the_graph():
    floor_plus_one = constant("floor_plus_one", lambda xp, x: xp.floor(x) + 1, doc="The next whole number.")
    x = pb.tensor([0.5, 1.5], requires_grad=True)
    y = floor_plus_one.apply(x)
    assert y.tolist() == [1, 2]
    assert not y.requires_grad
    assert floor_plus_one.apply(np.asarray([0.5])).tolist() == [1]
    assert floor_plus_one.__doc__ == "The next whole number."
