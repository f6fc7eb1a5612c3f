"""The classes of errors, and the shape of a lesson: one line of what and where, notes of why and what to write instead."""

import ast
import inspect
import traceback
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from core.helpers import Square, leaf, teaches
from pullback.core import errors, rules
from pullback.core.errors import DerivativeRefused, lesson


def test_the_only_class_of_its_own_is_for_what_torch_does_silently():
    own = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    assert own == [DerivativeRefused]
    assert issubclass(DerivativeRefused, RuntimeError)


def test_a_lesson_is_one_line_with_notes_and_facts():
    error = lesson(
        RuntimeError,
        """F.backward returned
           2 gradients""",
        why="they are matched   by position",
        instead="one per argument",
        position=3,
    )
    assert type(error) is RuntimeError
    assert str(error) == "F.backward returned 2 gradients"
    assert error.__notes__ == ["Why it matters: they are matched by position", "Write instead: one per argument"]
    assert error.position == 3


def test_a_lesson_without_notes():
    assert not hasattr(lesson(KeyError, "x"), "__notes__")
    assert type(lesson(KeyError, "x")) is KeyError


def test_python_prints_the_notes_under_the_error():
    y = Square.apply(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    printed = "".join(traceback.format_exception(caught.value))
    assert "Why it matters:" in printed
    assert "Write instead:" in printed
    assert printed.index("second time") < printed.index("Why it matters:") < printed.index("Write instead:")


def test_errors_have_the_very_type_of_torch():
    for kind, mistake in (
        (RuntimeError, lambda: pb.tensor(1.0).backward()),
        (RuntimeError, lambda: (leaf([1.0, 2.0]) * 2.0).backward()),
        (TypeError, lambda: pb.autograd.grad(leaf(1.0), "x")),
    ):
        with pytest.raises(kind) as caught:
            mistake()
        assert type(caught.value) is kind
        assert caught.value.__notes__


CORE = Path(pb.__file__).parent / "core"
HAS_NO_REMEDY = {"packing.py: old._settings.hooks.message"}  # the text is the user's


def test_every_lesson_says_what_to_write_instead():
    without = set()
    for path in [*CORE.glob("*.py"), *(CORE.parent / "autograd").glob("*.py")]:
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "lesson"]
        silent = [call for call in calls if "instead" not in {keyword.arg for keyword in call.keywords}]
        without |= {f"{path.name}: {ast.unparse(call.args[1])}" for call in silent}
    assert without == HAS_NO_REMEDY


def wrong(answer, *shapes):
    """The error about a backward that returns `answer`, for arguments of these shapes."""

    class Wrong(pb.Function):
        @staticmethod
        def forward(ctx, weight, bias, *rest):
            return weight.sum() + bias.sum()

        @staticmethod
        def backward(ctx, g):
            return answer(g)

    with pytest.raises((RuntimeError, TypeError)) as caught:
        Wrong.apply(*[leaf(np.ones(shape)) for shape in shapes]).backward()
    return str(caught.value), "\n".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda g: g, "return grad_weight, grad_bias, *grads_of_rest, with None for what has no gradient"),
        (lambda g: [g, g], "a tuple, not a list: return grad_weight, grad_bias"),
        (lambda g: (None, g, g, g), "(ctx does not count)"),
        (lambda g: (1.0, None), "or None: grad_output * number"),
        (lambda g: ({}, None), "a tuple with one gradient per argument"),
        (lambda g: (pb.ones((4, 2, 3)), None), "g.sum(0)."),
        (lambda g: (pb.ones((5, 4, 2, 3)), None), "g.sum((0, 1))."),
        (lambda g: (None, pb.ones((4, 6))), "g.sum((0, 1)).reshape(1)."),
        (lambda g: (pb.ones(6), None), "g.reshape(2, 3)."),
        (lambda g: (pb.ones((3, 2)), None), "a transpose seems to be missing."),
        (lambda g: (pb.ones(3), None), "expand it"),
        (lambda g: (pb.ones(7), None), "a gradient of shape [2, 3]."),
    ],
)
def test_a_broken_rule_is_told_what_to_return(answer, says):
    _, notes = wrong(answer, (2, 3), (1,))
    assert says in notes


@pytest.mark.parametrize(
    ("shape", "got"), [((3,), (4, 3)), ((1, 3), (4, 3)), ((2, 1, 3), (5, 2, 4, 3)), ((1,), (4, 6)), ((), (2, 2))]
)
def test_the_proposed_sum_gives_the_shape(shape, got):
    assert eval(rules._sum(got, shape), {"g": np.ones(got)}).shape == shape


def test_an_output_without_graph_says_what_is_known():
    with teaches(RuntimeError, "does not require grad", notes=["dtype is int64", "as constants"]):
        pb.argmax(leaf([1.0, 2.0])).backward()
    with pb.no_grad(), teaches(RuntimeError, "does not require grad", notes=["Nothing is recorded at this point"]):
        (leaf(1.0) * 2).backward()
    with teaches(RuntimeError, "does not require grad", notes=["requires_grad=True"]) as caught:
        pb.tensor(1.0).backward()
    assert "Nothing is recorded" not in "".join(caught.value.__notes__)
    with teaches(RuntimeError, "(input 0)", notes=["make it floating point (it is int64)"]):
        pb.autograd.grad(leaf(1.0), pb.tensor(1))


def test_every_word_about_a_position_is_a_name_where_there_is_one():
    class Scale(pb.Function):
        @staticmethod
        def forward(ctx, signal, /, gain=2.0, *taps):
            return signal * 1

        @staticmethod
        def backward(ctx, g):
            return tuple(g if k == ctx.wrong else None for k in range(4))

    for position, words in ((1, "'gain' (argument 1)"), (2, "taps[0] (argument 2)"), (3, "taps[1] (argument 3)")):
        y = Scale.apply(leaf(1.0), 2.0, 3.0, 4.0)
        y.grad_fn.wrong = position
        with pytest.raises(RuntimeError) as caught:
            y.backward()
        assert words in str(caught.value)


def test_arguments_of_a_forward_without_a_signature_are_numbered():
    class Odd(pb.Function):
        forward = max
        backward = staticmethod(lambda ctx, g: "wrong")

    assert rules.parameter_names(dict.fromkeys, 0) in ([], ["iterable", "value"])
    assert rules.parameter_names(max, 0) == []
    node = object.__new__(Odd._node)
    assert rules.argument(node, 1) == "argument 1"
