"""The public functions of operators: how they are introduced, and what they accept beside a Tensor."""

from __future__ import annotations

import inspect
from typing import Any

from pullback.core.errors import lesson
from pullback.core.masked import Masked
from pullback.ops.examples import EXAMPLES


def introduce(function: Any, name: str, operator: Any, *arguments: str) -> Any:
    """Give a generated function the name, the signature and the docstring that its users see; returns it."""
    function.__name__ = function.__qualname__ = name
    kind = inspect.Parameter.POSITIONAL_ONLY
    function.__signature__ = inspect.Signature([inspect.Parameter(argument, kind) for argument in arguments])
    shape = "the shape of the argument" if len(arguments) == 1 else "the shape of the arguments broadcast together"
    lines = [
        operator.__doc__,
        "\nParameters\n----------",
        ", ".join(arguments),
        "    Tensors, arrays or Python numbers.",
        f"\nReturns\n-------\nA Tensor of {shape}; a bare array where no argument is a Tensor.",
    ]
    if name in EXAMPLES:
        lines.append("\nExamples\n--------\n>>> import pullback as pb\n>>> pb.{}\n{}".format(*EXAMPLES[name]))
    function.__doc__ = "\n".join(lines) + "\n"
    return function


def function_of(operator: Any, name: str, *arguments: str) -> Any:
    """The public function of an operator that has no short path."""
    apply = operator.apply

    def function(*values: Any) -> Any:
        if len(values) != len(arguments):
            raise TypeError(f"{name}() takes {len(arguments)} arguments, but {len(values)} were given")
        return apply(*values)

    return introduce(function, name, operator, *arguments)


def is_operand(value: Any) -> bool:
    """True for what may stand beside a Tensor: numbers and arrays."""
    if isinstance(value, (int, float, complex)):
        return True
    return hasattr(value, "dtype") and hasattr(value, "shape") and value.__class__ is not Masked


def not_implemented(name: str, value: Any) -> Any:
    """What ``a + value`` does with something else: Python then asks `value`, unless that can only fail."""
    if value.__class__ in (tuple, list):
        raise lesson(
            TypeError,
            f"{name}() takes Tensors, arrays and numbers, but got a {type(value).__name__}",
            instead="(x,) = ctx.saved_tensors, if it is the tuple of saved Tensors; pullback.asarray(value) for numbers.",
        )
    return NotImplemented


def refuse_operand(name: str, value: Any) -> Any:
    """What ``add(a, value)`` does with it."""
    raise lesson(
        TypeError,
        f"{name}() takes Tensors, arrays and numbers, but got {type(value).__name__}",
        instead="pullback.asarray(value), where the value is a list of numbers or another kind of array.",
    )
