"""Values that are written in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis
from pullback.lint.events import Event
from pullback.lint.rule import Hit, rule


def _places(events: list[Event]) -> Iterator[Event]:
    """The events, each place once."""
    seen = set()
    for event in events:
        if id(event.node) not in seen:
            seen.add(id(event.node))
            yield event


def _of(event: Event, prefix: str) -> str:
    """The source whose memory was written, if it is of one sort."""
    for token in event.value.memory:
        if isinstance(token, str) and token.startswith(prefix):
            return token[len(prefix) :]
    return ""


@rule("PB401", "input-written", "error")
def input_written(analysis: Analysis) -> Iterator[Hit]:
    """Forward writes into an argument without ``mark_dirty``.

    What it does
        Looks for in-place methods, ``+=``, item assignments, ``out=`` and ``inplace=True`` on an argument.

    Why it is bad
        Whoever uses that argument afterwards computes with new values and gets the gradient of the old ones.

    Example
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)  # PB401
                return x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    if analysis.forward is None or any(called.starred for called in analysis.ctx_calls("mark_dirty")):
        return
    dirty = {analysis.is_input(value) for _, _, value in analysis.marked("mark_dirty")}
    for event in _places(analysis.forward.written):
        name = _of(event, "in:")
        if name and name not in dirty and name not in analysis.never_differentiated and not name.startswith("*"):
            if event.name == "augmented" and name not in analysis.differentiated:
                continue
            yield Hit(
                event.node,
                f"the argument {name} is written in place",
                f"ctx.mark_dirty({name}) and return it; or write into {name}.clone()",
            )


@rule("PB402", "dirty-no-input", "error")
def dirty_no_input(analysis: Analysis) -> Iterator[Hit]:
    """``mark_dirty`` gets something that is no argument.

    What it does
        Looks for values among the arguments of ``mark_dirty`` that were computed in forward.

    Why it is bad
        Only arguments have users outside who must hear of the write. torch raises, or fails inside.

    Example
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                y = x.clone()
                y.mul_(2)
                ctx.mark_dirty(y)  # PB402
                return y

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                y = x.clone()
                y.mul_(2)
                return y

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    for _, node, value in analysis.marked("mark_dirty"):
        if (
            not isinstance(node, ast.Starred)
            and value.same
            and not analysis.is_input(value)
            and not _may_be_input(value.same)
        ):
            yield Hit(
                node,
                f"{value.text or ast.unparse(node)} is no argument of forward",
                "mark only arguments that forward writes into",
            )


def _may_be_input(same: frozenset[object]) -> bool:
    return any(isinstance(token, tuple) or (isinstance(token, str) and not token.startswith("in:")) for token in same)


@rule("PB403", "cotangent-written", "error")
def cotangent_written(analysis: Analysis) -> Iterator[Hit]:
    """Backward writes into an incoming gradient.

    What it does
        Looks for in-place methods, ``*=``, item assignments and ``out=`` on an incoming gradient or a view of it.

    Why it is bad
        The same array may go to another branch of the graph, or belong to the caller: both get wrong numbers, depending
        on the order in which the graph is walked.

    Example
        class Clip(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                grad[x < 0] = 0  # PB403
                return grad

    Use instead
        class Clip(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                grad = grad.clone()
                grad[x < 0] = 0
                return grad
    """
    for event in _places(analysis.backward.written if analysis.backward else []):
        name = _of(event, "grad:")
        if name and not name.startswith("*"):
            yield Hit(
                event.node,
                f"the incoming gradient {name} is written in place",
                f"a new value: {name} * … , or {name}.clone() first",
            )


@rule("PB404", "saved-value-written", "error")
def saved_value_written(analysis: Analysis) -> Iterator[Hit]:
    """Backward writes into a saved value.

    What it does
        Looks for in-place methods, ``*=`` and item assignments on what came from ``ctx.saved_tensors``.

    Why it is bad
        A saved argument or result belongs to the caller, and a second backward pass reads it again.

    Example
        class Sigmoid(Function):
            @staticmethod
            def forward(ctx, x):
                y = 1 / (1 + torch.exp(-x))
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                (y,) = ctx.saved_tensors
                return y.mul_(1 - y) * grad  # PB404

    Use instead
        class Sigmoid(Function):
            @staticmethod
            def forward(ctx, x):
                y = 1 / (1 + torch.exp(-x))
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                (y,) = ctx.saved_tensors
                return y * (1 - y) * grad
    """
    for event in _places(analysis.backward.written if analysis.backward else []):
        number = _of(event, "saved:")
        if number and number != "*" and analysis.saved is not None:
            label = event.value.text or analysis.saved[int(number)].value.text or f"saved value {number}"
            yield Hit(event.node, f"the saved {label} is written in place", "a new value, not an in-place method")


@rule("PB405", "dirty-not-returned", "error")
def dirty_not_returned(analysis: Analysis) -> Iterator[Hit]:
    """An argument is marked dirty and not returned.

    What it does
        Compares what ``mark_dirty`` gets with what forward returns.

    Why it is bad
        The written argument is a result: its new history is this call. Without being returned it has no incoming gradient,
        and later uses of it are differentiated wrongly or refused.

    Example
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x.clone()  # PB405

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    marked = [value for _, node, value in analysis.marked("mark_dirty") if analysis.is_input(value)]
    if analysis.forward is None or not marked:
        return
    for event in analysis.forward.returned:
        row = event.value.items if event.value.items is not None else (event.value,)
        if event.value.items is None and event.value.kind in {"tuple", "list", "other"} and not event.value.same:
            continue
        tokens: frozenset[object] = frozenset().union(*(value.same for value in row))
        for value in marked:
            if not value.same & tokens:
                yield Hit(
                    event.node,
                    f"{analysis.is_input(value)} is marked dirty and not returned",
                    f"return {analysis.is_input(value)}",
                )
                return
