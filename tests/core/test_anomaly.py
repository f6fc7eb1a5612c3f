"""Anomaly detection, and the lines of user code that messages name."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import leaf, ones_like, teaches
from pullback.autograd import detect_anomaly, grad, set_detect_anomaly
from pullback.core import modes


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
