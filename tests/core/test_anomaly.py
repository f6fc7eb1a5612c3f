"""Anomaly detection, and the lines of user code that messages name."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import Square, leaf, ones_like, teaches
from pullback.autograd import detect_anomaly, grad, set_detect_anomaly
from pullback.core import modes, places


class MakesNan(pb.Function):
    """The identity with a backward that gives NaN for its second argument."""

    @staticmethod
    def forward(ctx, a, b):
        return a * b

    @staticmethod
    def backward(ctx, g):
        return g, g * float("nan")


def output(a, b):
    return MakesNan.apply(pb.exp(a), pb.exp(b))


@pytest.mark.parametrize("create_graph", [False, True])
def test_nan_stops_the_pass_and_names_the_node(create_graph):
    a, b = leaf(1.0), leaf(2.0)
    with detect_anomaly():
        y = output(a, b)
        with teaches(
            RuntimeError,
            "Function 'MakesNanBackward' returned nan values in its 1th output",
            notes=["0 * inf", "NaN too"],
        ) as caught:
            grad(y, [a, b], create_graph=create_graph)
    assert caught.value.node is y.grad_fn
    assert modes.current() is modes.ON


def test_without_detection_nan_goes_on():
    a, b = leaf(1.0), leaf(2.0)
    ga, gb = grad(output(a, b), [a, b])
    assert np.isfinite(ga.item())
    assert np.isnan(gb.item())
    with detect_anomaly(check_nan=False):
        assert np.isnan(grad(output(a, b), b)[0].item())


def test_infinity_is_no_nan():
    x = leaf([0.0, 1.0])
    with detect_anomaly(), np.errstate(all="ignore"):
        y = 1 / x
        (g,) = grad(y, x, ones_like(y))
    assert np.isinf(g.numpy()[0])


def test_other_dtypes_and_missing_gradients_are_checked_too():
    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return None, g * 1j * float("nan")

    a, b = leaf(1.0 + 1j), leaf(2.0 + 0j)
    with detect_anomaly(), pytest.raises(RuntimeError, match="1th output"), np.errstate(all="ignore"):
        Cuts.apply(a, b).backward(pb.tensor(1 + 0j))


@pytest.mark.parametrize("kind", ["decorator", "set", "set block"])
def test_every_way_to_switch_it_on(kind):
    a, b = leaf(1.0), leaf(2.0)

    def run():
        output(a, b).backward()

    if kind == "decorator":
        run = detect_anomaly()(run)
        with pytest.raises(RuntimeError, match="returned nan values"):
            run()
    elif kind == "set":
        set_detect_anomaly(True)
        try:
            with pytest.raises(RuntimeError, match="returned nan values"):
                run()
        finally:
            set_detect_anomaly(False)
    else:
        with set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan values"):
            run()
    assert modes.current() is modes.ON
    output(a, b).backward()


def test_it_goes_together_with_grad_modes():
    with detect_anomaly():
        with pb.no_grad():
            assert not pb.is_grad_enabled()
            assert modes.current()._settings.detect_anomaly
        assert pb.is_grad_enabled()
        with set_detect_anomaly(False):
            assert not modes.current()._settings.detect_anomaly
        assert modes.current()._settings.detect_anomaly


def test_errors_say_where_the_node_was_recorded_when_detection_was_on():
    with detect_anomaly():
        y = Square.apply(leaf(1.0))  # this line
    y.backward()
    with teaches(RuntimeError, notes=["was recorded at", __file__, "# this line"]):
        y.backward()


@pytest.mark.parametrize(
    "record", [lambda x: pb.sin(x), lambda x: x * x, lambda x: x.clone()], ids=["sin", "mul", "clone"]
)
def test_operators_are_located_too(record):
    x = leaf(1.0)
    with detect_anomaly():
        y = record(x)
    assert __file__ in places.recorded_at(y.grad_fn)
    with detect_anomaly(), pb.no_grad():
        assert record(x).grad_fn is None


def test_errors_say_how_to_find_the_line_otherwise():
    y = Square.apply(leaf(1.0))
    y.backward()
    with teaches(RuntimeError, notes=["detect_anomaly()", "SquareBackward"]):
        y.backward()
    assert "detect_anomaly" in places.recorded_at(y.grad_fn)


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
    assert __file__ in places.user_line()


def test_a_line_is_forgotten_with_its_node():
    with detect_anomaly():
        y = Square.apply(leaf(1.0))
    before = len(places._recorded)
    del y
    assert len(places._recorded) < before
