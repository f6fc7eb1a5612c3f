"""What is known of the reason why no path leads to an input; nothing is guessed."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from core.helpers import Square, leaf
from pullback.autograd import detect_anomaly, grad
from pullback.autograd.graph import get_gradient_edge
from pullback.core import cuts
from pullback.core.cuts import never_recorded


class Forgets(pb.Function):
    """Gives no gradient to its second argument."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


def reasons(y, x):
    """The notes of the error behind the general ones."""
    with pytest.raises(RuntimeError, match="appears to not have been used") as caught:
        grad(y, x)
    why, instead, *rest = caught.value.__notes__
    assert "no recorded path" in why
    assert "materialize_grads=True" in instead
    return rest


@pytest.fixture
def x():
    return leaf([1.0, 2.0])


@pytest.fixture
def w():
    return leaf([3.0, 4.0])


ADVICE = "Run it all inside `with detect_anomaly():`"

# ------------------------------------------------------------------------------------------------ never used, or too late


def test_a_leaf_that_no_operation_recorded(x, w):
    y = (w * w).sum()
    first, advice = reasons(y, x)
    assert first == "No operation has recorded it since it requires gradients."
    assert advice.startswith(ADVICE)


def test_what_was_recorded_once_is_not_called_unused(x, w):
    x * 1
    (advice,) = reasons((w * w).sum(), x)
    assert advice.startswith(ADVICE)


def test_asking_whether_it_was_recorded_is_no_use(x):
    assert never_recorded(x)
    assert never_recorded(x)
    assert not never_recorded(x * 1)
    assert not never_recorded(x)
    assert not never_recorded(get_gradient_edge(x))


def test_a_leaf_made_after_the_outputs(w):
    y = (w * w).sum()
    assert reasons(y, leaf(1.0)) == [
        "It was made, or asked to require gradients, only after the outputs were computed."
    ]
    late = pb.tensor(2.0)
    z = (w * late).sum()
    assert "only after" in reasons(z, late.requires_grad_())[0]


@pytest.mark.parametrize("edge", [False, True])
def test_a_result_made_after_the_outputs(w, edge):
    y = (w * w).sum()
    part = w[0]  # too late
    (reason,) = reasons(y, get_gradient_edge(part) if edge else part)
    assert "computed after the outputs" in reason
    assert "grad(y, x)[0][i]" in reason
    assert reason.endswith("# too late")


def test_a_tensor_that_was_written_since(w):
    h = w * 1
    y = (h * 2).sum()
    h += 1  # moves it
    assert reasons(y, h)[0].endswith("# moves it")


# ------------------------------------------------------------------------------------------------ cut on the way
def detached(h):
    return h.detach()  # cut


def data(h):
    return h.data  # cut


def array(h):
    with pb.no_grad():
        return h.numpy()  # cut


def as_array(h):
    with pb.no_grad():
        return np.asarray(h)  # cut


def number(h):
    return h[0].item()  # cut


def numbers(h):
    return pb.tensor(h.tolist())  # cut


def whole(h):
    return pb.astype(h, int)  # cut


def truth(h):
    return pb.astype(h, bool)  # cut


def place(h):
    return pb.argmax(h)  # cut


CUTS = {
    detached: "detach()",
    data: ".data",
    array: "numpy()",
    as_array: "np.asarray",
    number: "item()",
    numbers: "tolist()",
    whole: "Astype, whose result is int64,",
    truth: "Astype, whose result is bool,",
    place: "Argmax, whose result is int64,",
}


@pytest.mark.parametrize("of_leaf", [False, True])
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
def test_where_a_value_left(cut, of_leaf, x, w):
    h = x if of_leaf else x * 1
    held = h, h[0]  # what the value left from is still there
    told = reasons((w * cut(held[1:] if cut is number else h)).sum(), x)
    assert len(told) == 1
    assert told[0].startswith(f"A value that depends on it left the graph by {CUTS[cut]} at {__file__}:")
    assert told[0].endswith("# cut")


def test_cuts_of_other_values_and_later_ones_are_not_told_of(x, w):
    h, other = x * 1, w * 1
    other.detach()
    y = (w * h.detach()).sum()  # cut
    h.detach()  # later
    y.detach()
    told = reasons(y, x)
    assert len(told) == 1
    assert told[0].endswith("# cut")


def test_each_line_once_and_only_a_few(x, w):
    h = x * 1
    for _ in range(3):
        c = h.detach()
    for line in range(6):
        exec(compile("\n" * line + "c = h.detach()", "lines", "exec"), {"h": h})
    told = reasons((w * c).sum(), x)
    assert len(told) == cuts.TOLD
    assert [line.rsplit(":", 1)[1] for line in told] == ["6.", "5.", "4.", "3."]


def test_nothing_is_kept_alive(x):
    h = x * 1
    node = weakref.ref(h.grad_fn)
    h.detach()
    del h
    gc.collect()
    assert node() is None
    for _ in range(2 * cuts.REMEMBERED):
        x.detach()
    assert len(cuts._cuts) == cuts.REMEMBERED


def test_a_refused_conversion_is_no_cut(x, w):
    h = x * 1
    with pytest.raises(RuntimeError, match="numpy"):
        h.numpy()
    assert reasons((w * w).sum(), x)[0].startswith(ADVICE)


# ------------------------------------------------------------------------------------------------ more under detection
def test_anomaly_detection_notes_what_nobody_holds_any_longer(x, w):
    y = ((x * 1).detach() * w).sum()
    assert reasons(y, x)[0].startswith(ADVICE)
    with detect_anomaly():
        y = ((x * 1).detach() * w).sum()  # cut
    told = reasons(y, x)
    assert len(told) == 1
    assert told[0].endswith("# cut")


def test_anomaly_detection_notes_what_is_computed_without_recording(x, w):
    with detect_anomaly():
        with pb.no_grad():
            h = pb.exp(x)  # cut
        told = reasons((h * w).sum(), x)
    assert "by no_grad() at" in told[-1]
    assert told[-1].endswith("# cut")


def test_a_backward_pass_is_no_cut(x, w):
    with detect_anomaly():
        Square.apply(x).sum().backward()  # its rule reads x while nothing is recorded
        told = reasons((w * w).sum(), x)
    assert told == []


# ------------------------------------------------------------------------------------------------ rules that return None
def test_a_rule_of_the_users_on_the_way_is_named(x, w):
    y = Forgets.apply(w, x * 2).sum()  # forgets
    (told,) = reasons(y, x)
    head, *lines = told.splitlines()
    assert head == "It was used, but an operation on the way from the outputs to it returned None as its gradient:"
    assert [line.split(":")[0] for line in lines] == [f"ForgetsBackward was recorded at {__file__}"]
    assert lines[0].endswith("# forgets")


def test_an_intermediate_value_can_be_without_gradient_too(x, w):
    h = x * 2
    y = Forgets.apply(w, h).sum()
    assert "ForgetsBackward" in reasons(y, h)[0]


def test_none_that_was_asked_for_is_no_error(x, w):
    y = Forgets.apply(w, x).sum()
    assert grad(y, x, allow_unused=True) == (None,)
