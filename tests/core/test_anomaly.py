"""Anomaly detection, and the lines of user code that messages name."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
from core.helpers import leaf, ones_like, teaches
from pullback.autograd import detect_anomaly, grad, set_detect_anomaly
from pullback.core import modes
from pullback.core.graph import walk


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


def test_infinity_is_looked_for_on_demand():
    x = leaf([1.0, 0.0])
    for switch in (detect_anomaly(check_inf=True), set_detect_anomaly(True, check_inf=True)):
        with switch, np.errstate(all="ignore"):
            y = 1 / x
            with teaches(
                RuntimeError, "'DivBackward0' returned infinite values in its 1th output", notes=["is -inf at [1]"]
            ):
                grad(y, x, ones_like(y))
    assert modes.current() is modes.ON
    with detect_anomaly(check_nan=False, check_inf=True), pytest.raises(RuntimeError, match="infinite"):
        (leaf(np.inf) * 2).backward(pb.tensor(np.inf))


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


# ------------------------------------------------------------------------------------------------ what the error says
class Root(pb.Function):
    """The square root, which keeps its result on ctx."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.root = root = pb.sqrt(x)
        ctx.scale = scale
        return root

    @staticmethod
    def backward(ctx, g):
        return 0 * g / ctx.root, None


def anomaly(compute, **options):
    """The notes of the error."""
    with (
        detect_anomaly(**options),
        np.errstate(all="ignore"),
        pytest.raises(RuntimeError, match="returned nan") as caught,
    ):
        compute()
    assert "\n" not in str(caught.value)
    return caught.value, "\n".join(caught.value.__notes__)


OPERATIONS = {
    "of one argument": (lambda x: pb.log(x) * 0, "'x' (argument 0)", "There the cotangent = 0.0, x = 0.0."),
    "its result": (lambda x: pb.sqrt(x) * 0, "'x' (argument 0)", "There the cotangent = 0.0, result = 0.0."),
    "of two arguments": (lambda x: x / x * 0, "'a' (argument 0)", "There the cotangent = 0.0, a = 0.0, b = 0.0."),
    "a constant": (lambda x: x * pb.tensor([1.0, np.nan]), "'a' (argument 0)", "There the cotangent = 1.0, b = nan."),
    "a number": (lambda x: (x - 1.0) ** 0.5, "'a' (argument 0)", "There the cotangent = 1.0, a = -1.0, b = 0.5."),
    "a Function": (
        lambda x: Root.apply(x, 2.0),
        "'x' (argument 0)",
        "There the cotangent = 1.0, x = 0.0, ctx.root = 0.0.",
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_argument_the_first_element_and_what_was_there(name):
    compute, argument, there = OPERATIONS[name]
    error, notes = anomaly(lambda: compute(leaf([4.0, 0.0])).sum().backward())
    assert f"In the gradient of {argument}: 1 of 2 elements, the first is nan at [1]." in notes.splitlines()
    assert there in notes.splitlines(), "and not only in the source that is quoted"
    assert error.index == (1,)
    assert "not finite already" not in notes


def test_elements_are_not_named_where_they_do_not_correspond():
    factor = pb.tensor([[1.0, np.nan], [0.0, 1.0]])
    _, notes = anomaly(lambda: (leaf([[1.0, 2.0], [3.0, 4.0]]) @ factor).sum().backward())
    assert "first is nan at [0, 0]" in notes
    assert "There" not in notes


def test_a_number_has_no_index():
    error, notes = anomaly(lambda: (pb.log(leaf(0.0)) * 0).backward())
    assert "In the gradient of 'x' (argument 0): it is nan." in notes
    assert error.index == ()


def test_nan_that_came_in_is_not_blamed_on_the_rule():
    def of_seed():
        (leaf([1.0, 2.0]) * 2).backward(pb.tensor([1.0, np.nan]))

    def of_hook():
        x = leaf([1.0, 2.0]) * 2
        x.register_hook(lambda g: g * np.nan)
        (x * 3).sum().backward()

    for compute in (of_seed, of_hook):
        _, notes = anomaly(compute)
        assert "not finite already: look at hooks, and at the gradient given to backward()" in notes


def test_views_and_writes_have_no_argument_names():
    def compute():
        y = pb.zeros(2)
        y[0] = leaf(1.0)
        y.backward(pb.tensor([np.nan, 1.0]))

    _, notes = anomaly(compute)
    assert "In the gradient of argument 1: it is nan." in notes


def inner(x):
    return pb.log(x)  # recorded here


def outer(x):
    return inner(x) * 0  # called here


def test_the_lines_that_called_are_named():
    _, notes = anomaly(lambda: outer(leaf(0.0)).backward())
    lines = notes.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("LogBackward0 was recorded at"))
    assert lines[first].endswith("# recorded here")
    assert lines[first + 1].startswith("    called at")
    assert lines[first + 1].endswith("# called here")


def test_without_detection_in_forward_the_line_is_known_all_the_same():
    with np.errstate(all="ignore"):
        y = outer(leaf(0.0))
    _, notes = anomaly(lambda: y.backward())
    assert "# recorded here" in notes
    assert "called at" not in notes


def test_a_node_of_a_recorded_backward_names_that_backward_and_its_line():
    def compute():
        x = leaf([0.0, 1.0])
        y = (x**1.5).sum()  # forward
        (first,) = grad(y, x, create_graph=True)  # first derivative
        (second,) = grad((first * first).sum(), x, create_graph=True)
        second.sum().backward()

    error, notes = anomaly(compute)
    *_, last = notes.splitlines()
    assert last.startswith("That was in the backward of PowBackward0. PowBackward0 was recorded at")
    assert last.endswith("# forward")
    assert error.node.metadata["parents_"] == [last]
    assert error.node.metadata["traceback_"][-1].startswith(__file__)


def test_each_order_adds_a_backward_to_the_story():
    def compute():
        y = leaf([0.5, 1.0])
        x = y  # derivatives of a power at 0.5, until the exponent is below the order
        for _ in range(3):
            (y,) = grad((y**2.5 if y is x else y).sum(), x, create_graph=True)
        (y * np.nan).sum().backward()

    with detect_anomaly(), pytest.raises(RuntimeError, match="returned nan") as caught:
        compute()
    stories = [node.metadata.get("parents_", []) for node in walk([caught.value.node])]
    assert max(map(len, stories)) == 3


def test_what_is_noted_keeps_nothing_alive():
    with detect_anomaly(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        x = leaf([1.0, 2.0])
        (x**3).sum().backward(create_graph=True)  # x.grad holds its own graph, which holds x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_other_errors_tell_the_same_story():
    class Fails(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("broken")

    def apply(x):
        return Fails.apply(x)

    with detect_anomaly(), pytest.raises(ValueError, match="broken") as caught:
        apply(leaf(1.0)).backward()  # called here
    notes = "\n".join(caught.value.__notes__)
    assert "Raised while pulling back through FailsBackward" in notes
    assert "# called here" in notes


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_are_the_same_under_detection(create_graph):
    x = leaf([0.5, 2.0])
    y = pb.sum(pb.sin(x) * x)
    (expected,) = grad(y, x, retain_graph=True)
    with detect_anomaly(check_inf=True):
        (found,) = grad(y, x, retain_graph=True, create_graph=create_graph)
        y.backward()
    assert found.tolist() == expected.tolist() == x.grad.tolist()
