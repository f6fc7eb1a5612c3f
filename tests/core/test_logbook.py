"""A log of backward passes: readable, and readable by machines."""

import io
import json

import numpy as np
import pytest

import pullback as pb
from core.helpers import Square, leaf
from pullback.autograd import detect_anomaly, grad
from pullback.autograd.graph import log_backward
from pullback.core import modes


class Nested(pb.Function):
    """Runs a pass inside its backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with pb.enable_grad():
            inner = x.detach().requires_grad_()
            return g * grad(inner * inner, inner)[0]


def test_every_node_with_what_came_in_and_what_went_out():
    x, w = leaf([[1.0, 2.0]]), leaf(np.ones((2, 1), dtype=np.float32), dtype=np.float32)
    with log_backward() as log:
        y = (x @ w).sum()  # recorded
        y.backward()
    names = [step.name for step in log.steps]
    assert names == ["SumBackward0", "MatmulBackward0", "AccumulateGrad", "AccumulateGrad"]
    product = log.steps[1]
    assert product.incoming == [[[1, 1], "float64"]]
    assert product.outgoing == [[[1, 2], "float64"], [[2, 1], "float32"]]
    assert product.line.endswith("# recorded")
    assert log.steps[2].incoming == [[[1, 2], "float64"]]
    assert log.steps[2].outgoing == []
    assert all(step.seconds > 0 for step in log.steps)
    assert modes.current() is modes.ON


def test_what_is_not_asked_for_has_no_cotangent():
    a, b = leaf(1.0), leaf(2.0)
    with log_backward() as log:
        grad(a * b, a)
    assert log.steps[0].outgoing == [[[], "float64"], None]


def test_passes_are_numbered_and_nested_ones_are_indented():
    x = leaf(3.0)
    with log_backward() as log:
        Nested.apply(x).backward()
        Square.apply(x).backward()
    assert [(step.number, step.depth, step.name) for step in log.steps] == [
        (1, 1, "MulBackward0"),  # done before the step that it is a part of
        (0, 0, "NestedBackward"),
        (0, 0, "AccumulateGrad"),
        (2, 0, "SquareBackward"),
        (2, 0, "AccumulateGrad"),
    ]
    assert str(log).splitlines()[:2][1].startswith("    MulBackward0 ")


def test_the_text_and_the_data():
    x = leaf([1.0, 2.0])
    with log_backward() as log:
        pb.sum(pb.sin(x)).backward()
    head, first, *_ = str(log).splitlines()
    assert head == "pass 0"
    assert first.split()[:4] == ["SumBackward0", "[]", "->", "[2]"]
    assert "µs" in first
    data = json.loads(log.to_json())
    assert [entry["name"] for entry in data] == [step.name for step in log.steps]
    assert set(data[0]) == {"number", "depth", "name", "line", "incoming", "outgoing", "seconds"}


def test_steps_are_printed_as_they_are_done():
    file = io.StringIO()
    x = leaf([1.0, 2.0])
    with log_backward(file) as log:
        pb.sum(x * x).backward()
    assert file.getvalue().splitlines() == [str(step) for step in log.steps]


def test_a_step_that_fails_is_the_last_of_the_log():
    y = Square.apply(leaf(1.0))
    y.backward()
    with log_backward() as log, pytest.raises(RuntimeError, match="second time"):
        y.backward()
    assert [step.name for step in log.steps] == ["SquareBackward"]
    assert log.steps[0].outgoing == []


def test_it_goes_together_with_anomaly_detection_and_changes_nothing():
    x = leaf([0.0, 1.0])
    expected = grad(pb.sum(pb.exp(x) * x), x)[0].tolist()
    with log_backward() as log, detect_anomaly(), np.errstate(all="ignore"):
        y = pb.sum(pb.exp(x) * x)
        assert grad(y, x)[0].tolist() == expected
        with pytest.raises(RuntimeError, match="returned nan"):
            pb.sum(pb.log(x) * 0).backward()
    assert log.steps[-1].name == "LogBackward0"


def test_nothing_is_kept_alive_and_a_decorator_prints_too():
    file = io.StringIO()

    @log_backward(file)
    def run():
        Square.apply(leaf(1.0)).backward()

    run()
    run()
    assert file.getvalue().count("SquareBackward") == 2
