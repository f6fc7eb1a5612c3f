"""What every rule's answer goes through: the right number of cotangents, each of the right kind, shape and dtype.

This is the one place that projects (shape, real or complex, precision) and the one that says what is wrong, naming the Function
and the argument by name.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Node
from pullback.core.masked import Masked
from pullback.core.mistakes import warn_of_no_gradient
from pullback.core.places import defined_at


def parameter_names(forward: Any, skip: int) -> list[str]:
    """Names of the arguments of a ``forward``, without its first `skip` parameters.  Slow; for errors only."""
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        return []
    return [("*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in parameters[skip:]]


def argument(node: Any, position: int) -> str:
    """How a message calls argument number `position` of the node's operation: by name."""
    names = node._argument_names()
    if position < len(names) and not names[position].startswith("*"):
        return f"{names[position]!r} (argument {position})"
    if names and names[-1].startswith("*"):
        start = len(names) - 1
        return f"{names[-1][1:]}[{position - start}] (argument {position})"
    return f"argument {position}"


def located(error: RuntimeError, node: Any) -> RuntimeError:
    """The error, with a note that says where the rule is defined."""
    place = defined_at(node._operator.backward)
    if place:
        error.add_note(f"{place}.")
    return error


def as_sequence(node: Any, grads: Any, asked: bool = True) -> list[Any]:
    """What backward returned as a list with one entry per argument; extra trailing ``None`` dropped.

    `asked` is false where no cotangent came in, so that none can be expected to come out.
    """
    found = list(grads) if isinstance(grads, tuple) else [grads]
    expected = len(node._edges)
    if grads is None and asked and expected == 1 and node._edges[0]:
        warn_of_no_gradient(node)
    while len(found) > expected and found[-1] is None:
        found.pop()
    if len(found) != expected:
        names = node._argument_names()
        answer = ", ".join(f"*grads_of_{name[1:]}" if name[0] == "*" else f"grad_{name}" for name in names)
        hint = (
            f"return {answer or 'one gradient per argument'}, with None for what has no gradient (ctx does not count)."
        )
        if isinstance(grads, list):
            hint = f"a tuple, not a list: {hint}"
        error = lesson(
            RuntimeError,
            f"function {node._name()} returned an incorrect number of gradients (expected {expected}, got {len(found)})",
            why="gradients are matched to the arguments of forward by position.",
            instead=hint,
            node=node,
        )
        raise located(error, node)
    return found


def not_an_input(node: Any, position: int) -> RuntimeError:
    """The error for a gradient of something that was no Tensor."""
    error = lesson(
        RuntimeError,
        f"function {node._name()} returned a gradient different than None at position {position + 1}, but the corresponding "
        f"forward input {argument(node, position)} was not a Variable",
        why="only Tensors have gradients.",
        instead="None at that place; or pass the value as a Tensor.",
        node=node,
    )
    return located(error, node)


def not_a_gradient(node: Any, position: int, value: Any) -> RuntimeError:
    """The error for a returned gradient of the wrong type."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    hint = {
        "list": "a tuple, not a list: return grad_a, grad_b.",
        "numpy.ndarray": "a Tensor: pullback.asarray(result). (A backward in NumPy also needs @once_differentiable, or a "
        "Function of its own, to be right at second order.)",
        **dict.fromkeys(
            ("int", "float", "complex"), "a Tensor of the argument's shape, or None: grad_output * number."
        ),
        **dict.fromkeys(
            ("dict", "generator", "set"), "a tuple with one gradient per argument of forward, in their order."
        ),
    }.get(kind, "a Tensor of the argument's shape, or None.")
    error = lesson(
        RuntimeError,
        f"expected Variable or None (got {kind}) as the gradient of {argument(node, position)}, returned by {node._name()}",
        instead=hint,
        node=node,
    )
    return located(error, node)


def _sum(got: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """What to write, so that a gradient of one shape gets the other by summing."""
    added = len(got) - len(expected)
    stretched = [k for k, n in enumerate(got) if k >= added and n != expected[k - added]]
    axes = (*range(added), *stretched)
    reshaped = f".reshape({', '.join(map(str, expected))})" if stretched else ""
    return f"g.sum({axes[0] if len(axes) == 1 else axes}){reshaped}"


def bad_shape(node: Any, position: int, got: Any, expected: Any) -> RuntimeError:
    """The error for a cotangent whose shape cannot belong to the argument."""
    hint = f"a gradient of shape {list(expected)}"
    if arrays.broadcasts_to(expected, got):
        hint += f"; if forward broadcast this argument, sum over the axes that were added or stretched: {_sum(got, expected)}"
    elif arrays.broadcasts_to(got, expected):
        hint += "; expand it: g.expand(...) or g * ones_like(x)"
    elif tuple(reversed(got)) == tuple(expected):
        hint += "; a transpose seems to be missing"
    elif math.prod(got) == math.prod(expected):
        hint += f"; if the elements are in the right order: g.reshape({', '.join(map(str, expected))})"
    error = lesson(
        RuntimeError,
        f"Function {node._name()} returned an invalid gradient at index {position} - got {list(got)} but expected shape "
        f"compatible with {list(expected)} for {argument(node, position)}",
        why="a gradient has one entry per entry of its argument.",
        instead=hint + ".",
        node=node,
        position=position,
        got=tuple(got),
        expected=tuple(expected),
    )
    return located(error, node)


def may_sum(node: Node, shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True when a cotangent of `shape` for an argument of shape `target` means "sum over what was broadcast".

    That is what a rule of a broadcasting operator returns: it then has the shape of an output, or of the inputs broadcast
    together (with or without those that are constants).  Any other shape that merely fits is a mistake.
    """
    if not arrays.broadcasts_to(target, shape):
        return False
    if any(spec and spec[0] == shape for spec in node._specs):
        return True
    shapes = [edge[0]._specs[edge[1]][0] for edge in node._edges if edge]
    beside = [other for other in getattr(node, "_beside", ()) if isinstance(other, tuple)]
    return _broadcast_gives(shape, shapes) or _broadcast_gives(shape, shapes + beside)


def _broadcast_gives(shape: tuple[int, ...], shapes: list[Any]) -> bool:
    try:
        return np.broadcast_shapes(*shapes) == shape
    except ValueError:
        return False


def fit(node: Node, position: int, cotangent: Any, xp: Any) -> Any:
    """One cotangent, validated and projected into the space of its argument."""
    producer, number = node._edges[position]
    shape, dtype = producer._specs[number]
    got = tuple(cotangent.shape)
    if got != shape and not may_sum(node, got, tuple(shape)):
        raise bad_shape(node, position, got, tuple(shape))
    if cotangent.__class__ is Masked:
        return Masked(arrays.project(cotangent.value, shape, dtype, xp), lambda: arrays.any_to(cotangent.mask, shape))
    return arrays.project(cotangent, shape, dtype, xp)


def no_tangent(node: Any, what: str, why: str) -> Any:
    """The error for a rule that lost the tangent of what it was given."""
    return lesson(
        DerivativeRefused,
        f"the tangent of the derivative of {node._operator.__name__} is refused: {what}",
        why=why,
        instead="Tensor operators in backward; or the derivative of unpack_dual(x).primal, which has no tangent.",
    )
