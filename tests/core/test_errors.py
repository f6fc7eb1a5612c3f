"""The classes of errors, and the shape of a lesson: one line of what and where, notes of why and what to write instead."""

import inspect
import traceback

import pytest

import pullback as pb
from core.helpers import Square, leaf
from pullback.core import errors
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

    from pullback.core import rules

    assert rules.parameter_names(dict.fromkeys, 0) in ([], ["iterable", "value"])
    assert rules.parameter_names(max, 0) == []
    node = object.__new__(Odd._node)
    assert rules.argument(node, 1) == "argument 1"
