"""The hot path counted in Python calls, which no busy machine can blur.  A number that changes is a decision: change it here too.

Counted are `call` events of `sys.setprofile`; comprehensions are left out, because newer Pythons inline them.  Every number
is per step of a chain, so that what a pass costs once is not in it.
"""

import inspect

import numpy as np
import pytest

import pullback as pb
from core.helpers import Exp, PrimitiveSquare, Product, Square, calls_of, leaf, ones_like

W = leaf([1.0, 1.0])
C = pb.tensor([1.0, 1.0])

#: step of a chain: Python calls of (forward, backward)
PINNED = {
    "sin": (pb.sin, 1, 2),
    "exp": (pb.exp, 2, 2),
    "negative": (pb.negative, 1, 1),
    "add number": (lambda y: y + 1.0, 1, 2),
    "add constant": (lambda y: y + C, 1, 2),
    "multiply by constant": (lambda y: y * C, 1, 3),
    "multiply by number": (lambda y: y * 1.0, 3, 4),
    "Function saving its input": (Square.apply, 4, 5),
    "Function saving its output": (Exp.apply, 13, 9),
    "Primitive saving its input": (PrimitiveSquare.apply, 4, 3),
}


@pytest.fixture(autouse=True)
def after_the_guarded_calls(monkeypatch):
    """The first calls of a Primitive are watched for writes, see guard.py."""
    monkeypatch.setattr(PrimitiveSquare, "_guarded", 0)


def chain(step, length):
    y = leaf([0.0, 0.0]) * 1.0
    with np.errstate(all="ignore"):
        for _ in range(length):
            y = step(y)
    return y


def count(action):
    with np.errstate(all="ignore"):
        calls = calls_of(action)
    return sum(n for name, n in calls.items() if not name.endswith(("<listcomp>", "<genexpr>", "<dictcomp>")))


def per_step(make, steps=10):
    """Calls per step: the difference between a long and a short run of ``make(steps)``, which returns an action."""
    long, short = count(make(steps + 1)), count(make(1))
    return (long - short) / steps


def forward_calls(step):
    def make(steps):
        start = chain(step, 0)

        def action():
            y = start
            for _ in range(steps):
                y = step(y)

        return action

    overhead = 1 if getattr(step, "__name__", "") == "<lambda>" else 0
    return per_step(make) - overhead


def backward_calls(step):
    def make(steps):
        outputs = [chain(step, steps) for _ in range(2)]
        seed = ones_like(outputs[0])
        return lambda: outputs.pop().backward(seed)

    return per_step(make)


@pytest.mark.parametrize("name", PINNED)
def test_calls_per_step(name):
    step, forward, backward = PINNED[name]
    assert (forward_calls(step), backward_calls(step)) == (forward, backward)


def test_the_bars():
    """What was promised, whatever the pinned numbers are."""
    for name in ("sin", "exp", "negative", "add number", "add constant", "multiply by constant"):
        assert PINNED[name][1] <= 6, name
        assert PINNED[name][2] <= 3, name
    x = leaf([0.5, 1.0])
    for operator in (pb.exp, pb.sin, lambda x: -x, lambda x: x * 2.0, lambda x: x + x, lambda x: x / 2.0):
        assert count(lambda operator=operator: operator(x)) <= 6 + (operator.__name__ == "<lambda>"), (
            "first use of a leaf included"
        )


@pytest.mark.parametrize(
    "action",
    [
        lambda x: Square.apply(x),
        lambda x: Exp.apply(x),
        lambda x: Product.apply(x, x),
        lambda x: PrimitiveSquare.apply(x),
        lambda x: pb.exp(x) * x + 1.0,
    ],
)
def test_nothing_is_inspected_per_call(action, monkeypatch):
    """No signature is read, no namespace looked up by a library, on the way forward and back."""
    import array_api_compat

    def forbidden(*args, **kwargs):
        raise AssertionError("on the hot path")

    x = leaf([0.5, 1.0])
    action(x).backward(ones_like(x))
    for module, name in ((inspect, "signature"), (inspect, "getclosurevars"), (array_api_compat, "array_namespace")):
        monkeypatch.setattr(module, name, forbidden)
    y = action(x)
    y.backward(ones_like(x))
    (g,) = pb.autograd.grad(action(x), x, ones_like(x), create_graph=True)
    g.backward(ones_like(x))


def test_keywords_read_the_signature_once(monkeypatch):
    class Scale(pb.Function):
        @staticmethod
        def forward(ctx, x, factor=2.0):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = leaf(1.0)
    Scale.apply(x, factor=3.0)
    read = []
    signature = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda *a, **k: read.append(a) or signature(*a, **k))
    for _ in range(3):
        Scale.apply(x, factor=3.0)
    assert not read


def test_quiet_calls_cost_no_node():
    x = leaf([0.5, 1.0])
    with pb.no_grad():
        assert count(lambda: pb.sin(x)) == 1
        assert count(lambda: x * C) == 1
    plain = pb.tensor([0.5, 1.0])
    assert count(lambda: pb.sin(plain)) == 1


def test_numbers_do_not_depend_on_the_size_of_arrays():
    small, large = leaf(np.ones(2)), leaf(np.ones(10_000))
    for action in (pb.sin, lambda x: Square.apply(x) * 2.0):
        assert count(lambda action=action: action(small)) == count(lambda action=action: action(large))


def test_long_plain_lists_cost_little():
    """A list of indices, as an argument or on ctx, is not looked at number by number in Python."""

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x, given):
            ctx.kept = kept
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, kept, indices = leaf(1.0), {"a": list(range(5000))}, list(range(5000))
    assert count(lambda: Keeps.apply(x, indices)) < 100
