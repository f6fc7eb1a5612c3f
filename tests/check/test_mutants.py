"""The checker itself, checked: of wrong rules made from right ones, hardly any may pass.

Thirty registered operators, each with five mistakes in its gradient: a term left out, the sign, a factor, the derivative at
another point (or another element), a lost conjugate.
"""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.check import check

REAL = np.array([[0.7, 1.3, 0.4], [1.9, 0.6, 1.1]])
COMPLEX = REAL + 1j * np.array([[0.3, -0.8, 0.5], [0.2, 0.9, -0.4]])
SQUARE = COMPLEX[:, :2] + 2 * np.eye(2)

OPERATORS = {
    **dict.fromkeys(("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log", "sqrt", "square"), (COMPLEX,)),
    **dict.fromkeys(("reciprocal", "expm1", "log1p", "negative", "sum", "mean", "prod"), (COMPLEX,)),
    "cumulative_sum": (COMPLEX[0],),
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "pow"), (COMPLEX, COMPLEX[::-1] + 0.5)),
    "matmul": (COMPLEX, COMPLEX.T.copy()),
    "tensordot": (SQUARE, SQUARE.T + 0.1),
    "vecdot": (COMPLEX, COMPLEX + 0.5),
    "linalg.det": (SQUARE,),
    "linalg.inv": (SQUARE,),
    "linalg.solve": (SQUARE, COMPLEX[:, :2] + 0.2),
    "linalg.outer": (COMPLEX[0], COMPLEX[1]),
}


def _operator(name):
    found = pb
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _gradients(operator, inputs, cotangent):
    inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in inputs]
    with pb.enable_grad():
        return pb.autograd.grad([operator(*inputs)], inputs, [cotangent])


def _drop(operator, inputs, cotangent):
    """The last element of the first gradient is left out."""
    first, *rest = [g.numpy().copy() for g in _gradients(operator, inputs, cotangent)]
    first.reshape(-1)[-1] = 0
    return [first, *rest]


def _sign(operator, inputs, cotangent):
    return [-g.numpy() for g in _gradients(operator, inputs, cotangent)]


def _factor(operator, inputs, cotangent):
    first, *rest = [g.numpy() for g in _gradients(operator, inputs, cotangent)]
    return [1.001 * first, *rest]


def _elsewhere(operator, inputs, cotangent):
    """The derivative at another point; where it is the same everywhere, that of the neighbouring element."""
    right = [g.numpy() for g in _gradients(operator, inputs, cotangent)]
    moved = [x.detach() * 1.1 for x in inputs]
    found = [g.numpy() for g in _gradients(operator, moved, cotangent)]
    if all(np.allclose(a, b) for a, b in zip(right, found, strict=True)):
        found = [np.roll(g.reshape(-1), 1).reshape(g.shape) + 0.01 * g for g in right]
    return found


def _conjugate(operator, inputs, cotangent):
    return [np.conj(g.numpy()) for g in _gradients(operator, inputs, cotangent)]


MISTAKES = {"term": _drop, "sign": _sign, "factor": _factor, "input": _elsewhere, "conjugate": _conjugate}


def mutant(name, mistake):
    operator = _operator(name)

    class Mutant(pb.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return operator(*inputs)

        @staticmethod
        @pb.once_differentiable
        def backward(ctx, cotangent):
            return tuple(pb.asarray(np.asarray(g)) for g in MISTAKES[mistake](operator, ctx.saved_tensors, cotangent))

    Mutant.__name__ = Mutant.__qualname__ = f"{name}-{mistake}"
    return Mutant


def _found(name, mistake):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [fault.name for fault in check(mutant(name, mistake), OPERATORS[name], only=["values"]).faults]


def test_there_are_thirty_operators():
    assert len(OPERATORS) == 30


def test_of_150_mutants_at_least_98_percent_are_reported():
    passed = [f"{name}-{mistake}" for name in OPERATORS for mistake in MISTAKES if not _found(name, mistake)]
    assert len(passed) <= 3, passed


@pytest.mark.parametrize("name", OPERATORS)
def test_the_right_rule_passes(name):
    MISTAKES["none"] = lambda operator, inputs, cotangent: [g.numpy() for g in _gradients(operator, inputs, cotangent)]
    try:
        assert _found(name, "none") == []
    finally:
        del MISTAKES["none"]


@pytest.mark.parametrize("place", [0, 99, 137, 199])
def test_one_entry_of_200_off_by_a_thousandth_is_always_found(place):
    class Off(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            scale = np.ones(200)
            scale[place] = 1.001
            return grad * pb.exp(x) * pb.asarray(scale)

    report = check(Off, [np.linspace(-1.0, 1.0, 200)], only=["values"])
    assert [fault.name for fault in report.faults] == ["wrong-gradient"]
    assert f"[{place}]" in report.faults[0].message


def test_a_function_that_happens_to_be_the_identity_at_a_point_is_judged_all_the_same():
    class Half(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return x * grad

    assert [fault.name for fault in check(Half, [np.ones(3)], only=["values"]).faults] == ["wrong-gradient"]


@pytest.mark.parametrize("digits", [1e-5, 1e-7])
def test_what_differences_cannot_tell_is_found_with_an_imaginary_step_or_fifty_digits(digits):
    """A factor that is wrong in the sixth or in the eighth digit."""

    class Off(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.exp(x) * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * pb.exp(x) * (1 + x) * (1 + digits)

    assert [fault.name for fault in check(Off, [REAL], only=["values"]).faults] == ["wrong-gradient"]
