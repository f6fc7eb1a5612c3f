"""What backward does with the incoming gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis, walk
from pullback.lint.rule import Hit, rule
from pullback.lint.values import INDEX, MASK, NONLINEAR, TENSOR, WITHOUT_DERIVATIVE


@rule("PB303", "upstream-missing", "error")
def upstream_missing(analysis: Analysis) -> Iterator[Hit]:
    """A gradient does not contain the incoming gradient.

    What it does
        Follows each returned gradient back, and looks for one that depends on no incoming gradient.

    Why it is bad
        backward multiplies the Jacobian with what comes in (the chain rule). Without that factor the result is right
        only where it happens to be 1.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x  # PB303

    Use instead
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad
    """
    if analysis.backward is None or any(called.tail == "backward" for called in analysis.backward.calls.values()):
        return
    if not any(
        any(s.startswith("grad:") for s in source)
        for source in [[*v.touched] for _, row in analysis.gradients for v in row]
    ):
        cotangents = (
            [argument.arg for argument in analysis.operator.parameters(analysis.operator.backward)]
            if analysis.operator.backward
            else []
        )
        if not cotangents:
            return
    names = analysis.operator.argument_names
    for node, row in analysis.gradients:
        for k, value in enumerate(row):
            if value.kind not in {TENSOR, MASK, INDEX} or value.zero or not value.known:
                continue
            if not any(
                isinstance(source, str) and source.startswith("grad:") for source in value.touched
            ) and value.touched | set(value.degree):
                name = names[k] if k < len(names) else str(k)
                yield Hit(
                    node,
                    f"the gradient of {name} does not contain the incoming gradient",
                    "incoming gradient times derivative: grad * …",
                )


@rule("PB304", "cotangent-dropped", "error")
def cotangent_dropped(analysis: Analysis) -> Iterator[Hit]:
    """The incoming gradient of one of several results is never used.

    What it does
        Looks for a parameter of backward that its body does not read, while forward returns a differentiable value there.

    Why it is bad
        Whoever uses that result gets a wrong gradient, without a word. A result that is not meant to be differentiated
        must be marked: then using it raises.

    Example
        class Normalise(Function):
            @staticmethod
            def forward(ctx, x):
                total = x.sum()
                ctx.save_for_backward(total)
                return x / 2, total

            @staticmethod
            def backward(ctx, grad, grad_total):  # PB304
                return grad / 2

    Use instead
        class Normalise(Function):
            @staticmethod
            def forward(ctx, x):
                total = x.sum()
                ctx.mark_non_differentiable(total)
                return x / 2, total

            @staticmethod
            def backward(ctx, grad, _):
                return grad / 2
    """
    method = analysis.operator.backward
    if method is None or analysis.forward is None or len(analysis.outputs) == 0:
        return
    if any(called.starred for called in analysis.ctx_calls("mark_non_differentiable")):
        return
    marked = frozenset().union(*(value.same for _, _, value in analysis.marked("mark_non_differentiable")))
    read = {n.id for n in walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    parameters = analysis.operator.parameters(method)
    for k, argument in enumerate(parameters):
        if (
            argument.arg in read
            or len(parameters) < 2
            or any(isinstance(n, ast.Name) and n.id == "locals" for n in walk(method))
        ):
            continue
        for row in analysis.outputs:
            if (
                k < len(row)
                and row[k].kind == TENSOR
                and row[k].depends
                and not row[k].cast
                and not row[k].same & marked
                and not _index_like(row[k].text)
            ):
                yield Hit(
                    argument,
                    f"the gradient of result {k} ({row[k].text or 'computed'}) arrives as {argument.arg}, and is dropped",
                    f"add its part, or ctx.mark_non_differentiable({row[k].text or 'it'}) in forward",
                )
                break


def _index_like(name: str) -> bool:
    return any(part in name.lower() for part in ("idx", "ind", "mask", "arg", "seed", "state", "count", "num", "len"))


@rule("PB307", "not-linear-in-cotangent", "warning")
def not_linear_in_cotangent(analysis: Analysis) -> Iterator[Hit]:
    """A gradient is not linear in the incoming gradient.

    What it does
        Looks for squares, norms, clamps, signs and other curved functions of an incoming gradient in what is returned.

    Why it is bad
        A derivative is a linear map: twice the incoming gradient gives twice the result. What is not linear depends on the
        scale of the loss and on how a sum over a batch is split, and its own derivative is that of another function.
        (Where that is meant, as in clipping, say so with ``# noqa``.)

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad * grad  # PB307

    Use instead
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad
    """
    names = analysis.operator.argument_names
    for node, row in analysis.gradients:
        for k, value in enumerate(row):
            curved = [
                source for source, degree in value.degree.items() if source.startswith("grad:") and degree == NONLINEAR
            ]
            if curved and value.kind not in WITHOUT_DERIVATIVE:
                name = names[k] if k < len(names) else str(k)
                yield Hit(
                    node,
                    f"the gradient of {name} is not linear in {curved[0].partition(':')[2]}",
                    "a product with the incoming gradient, nothing curved",
                )
                break
