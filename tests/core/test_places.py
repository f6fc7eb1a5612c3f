"""Where a graph is concerned, an error names the user's line; nobody has to ask for it beforehand."""

import _thread
import gc
import sys
import time
import weakref

import pytest

import pullback as pb
import pullback.torch as torch_names
from core.helpers import Square, leaf, teaches
from pullback.autograd import grad
from pullback.core import places


class Sinh(pb.Primitive):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ctx.xp.sinh(x)

    @staticmethod
    def backward(ctx, ct):
        return ct * ctx.xp.cosh(ctx.saved_tensors[0])


class Product(pb.Primitive):
    @staticmethod
    def forward(ctx, a, b):
        return a * b


def written(x):
    y = pb.zeros(3)
    y[1:] = x
    return y


RECORDINGS = [
    lambda x: Square.apply(x),
    lambda x: Sinh.apply(x),
    lambda x: Product.apply(x, x),
    lambda x: pb.sin(x),
    lambda x: x * x,
    lambda x: 2 * x,
    lambda x: 2 - x,
    lambda x: -x,
    lambda x: x @ x,
    lambda x: x.clone(),
    lambda x: x.sum(),
    lambda x: x[0],
    lambda x: pb.sum(x, axis=0),
    lambda x: pb.concat([x, x]),
    lambda x: pb.linalg.vector_norm(x),
    lambda x: pb.var(x),
    lambda x: written(x),
    lambda x: torch_names.softmax(torch_names.tensor([1.0, 2.0], requires_grad=True), 0),
    lambda x: torch_names.tensor([1.0], requires_grad=True).sin(),
]


@pytest.mark.parametrize("record", RECORDINGS)
def test_every_kind_of_node_knows_the_line_that_recorded_it(record):
    node = record(leaf([1.0, 2.0])).grad_fn
    expected = (
        written.__code__.co_firstlineno + 2 if "written" in record.__code__.co_names else record.__code__.co_firstlineno
    )
    assert f"{__file__}:{expected}: " in places.recorded_at(node)


def test_each_call_on_a_long_line_or_in_a_loop_has_its_own_place():
    x = leaf(1.0)
    y = Square.apply(
        Square.apply(x),
    )
    first, second = y.grad_fn.next_functions[0][0], y.grad_fn
    assert "Square.apply(x)," in places.recorded_at(first)
    assert "y = Square.apply(" in places.recorded_at(second)


def test_the_line_of_a_frame_far_down_is_the_users():
    def compute(x):
        return pb.sum(Square.apply(x))  # here

    value = pb.vjp(compute, leaf([1.0, 2.0]))[0]
    assert "# here" in places.recorded_at(value.grad_fn)


def test_code_without_a_source_file_has_a_line_too():
    space = {"pb": pb, "x": leaf(1.0)}
    exec("\n\ny = pb.sin(x)", space)
    assert places.recorded_at(space["y"].grad_fn) == "SinBackward0 was recorded at <string>:3."


def test_a_place_keeps_nothing_alive():
    class Big:
        pass

    def compute(x):
        local = Big()
        return Square.apply(x), weakref.ref(local)

    y, local = compute(leaf(1.0))
    gc.collect()
    assert local() is None
    assert "Square.apply(x)" in places.recorded_at(y.grad_fn)


# ------------------------------------------------------------------------------------ the errors that concern a graph
def freed():
    y = Square.apply(leaf(1.0))  # this line
    y.backward()
    y.backward()


def stale():
    a = leaf(1.0) * 1
    y = Square.apply(a)  # this line
    with pb.no_grad():
        a.mul_(2.0)
    y.backward()


def wrong(answer):
    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return answer(g)

    Wrong.apply(leaf([1.0, 2.0])).backward(pb.tensor([1.0, 1.0]))  # this line


def refused():
    class Once(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        @pb.once_differentiable
        def backward(ctx, g):
            return g

    x = leaf(1.0)
    y = Once.apply(x)  # this line
    (g,) = grad(y, x, create_graph=True)
    g.backward()


def intermediate():
    class Left(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = pb.asarray(x.detach().numpy() ** 2)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.y

    x = leaf(1.0)
    y = Left.apply(x)  # this line
    (g,) = grad(y, x, create_graph=True)
    g.backward()


@pytest.mark.parametrize(
    "provoke",
    [
        freed,
        stale,
        refused,
        intermediate,
        lambda: wrong(lambda g: (g, g)),
        lambda: wrong(lambda g: pb.zeros(5)),
        lambda: wrong(lambda g: "no gradient"),
        lambda: wrong(lambda g: 1 / 0),
    ],
)
def test_errors_about_a_graph_name_the_line(provoke):
    with pytest.raises((RuntimeError, TypeError, ZeroDivisionError)) as caught:
        provoke()
    notes = "\n".join(caught.value.__notes__)
    assert f"was recorded at {__file__}" in notes
    assert "# this line" in notes


def test_errors_of_rules_say_where_the_rule_is_defined():
    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, g

    with teaches(RuntimeError, "WrongBackward", notes=["Wrong.backward is defined at", __file__]):
        Wrong.apply(leaf(1.0)).backward()


def test_the_place_of_a_rule():
    def rule(ctx, g):
        return g

    assert f"{__file__}:" in places.defined_at(rule)
    assert f"{__file__}:" in places.defined_at(pb.once_differentiable(rule)), (
        "of the user's function, not of the wrapper"
    )
    assert places.defined_at(pb.Function.backward) == ""
    assert places.defined_at(len) == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (pb.sin, x),
        lambda x: (pb.multiply, x, x),
        lambda x: (Square.apply, x),
        lambda x: (Sinh.apply, x),
        lambda x: (Product.apply, x, x),
        lambda x: ((x * 1).zero_,),
        lambda x: ((x * 1).detach,),
        lambda x: ((x * x).backward,),
        lambda x: (pb.multiply, pb.ones(200_000), 2.0),
    ],
)
def test_calls_by_the_interpreter_itself_have_no_line_and_work(make):
    """The frame of such a call is the outermost one."""
    failed = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda problem: failed.append(problem.exc_value)
    try:
        function, *arguments = make(leaf(1.0))
        _thread.start_new_thread(function, tuple(arguments))
        for _ in range(100):
            time.sleep(0.02)
            if _thread._count() == 0:
                break
    finally:
        sys.unraisablehook = before
    assert failed == []
    assert "test_places.py" in places.recorded_at(pb.sin(leaf(1.0)).grad_fn), "and what is familiar stays the user's"
