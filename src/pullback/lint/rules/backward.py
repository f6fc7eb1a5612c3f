"""What backward returns: how many gradients, of which arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis
from pullback.lint.rule import Hit, rule
from pullback.lint.values import DICT, LIST, NONE, NONLINEAR, TENSOR


@rule("PB301", "gradient-count", "error")
def gradient_count(analysis: Analysis) -> Iterator[Hit]:
    """Backward returns another number of gradients than forward has arguments.

    What it does
        Counts what each ``return`` of backward returns, and the arguments of forward after ctx.

    Why it is bad
        There is one gradient for each argument, None for those that have none. With too few or too many the call raises,
        and with an order shifted by one an argument gets its neighbour's gradient.

    Example
        class Scale(Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor  # PB301

    Use instead
        class Scale(Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.factor, None
    """
    operator = analysis.operator
    if operator.forward is None or operator.forward.open:
        return
    names = operator.argument_names
    for node, row in analysis.gradients:
        if len(row) < len(names):
            if len(row) == 1 and row[0].kind == NONE:
                continue  # None alone: no gradient for anything
            missing = ", ".join(names[len(row) :])
            yield Hit(
                node,
                f"{len(row)} returned for {len(names)} arguments ({', '.join(names)}): nothing for {missing}",
                f"one gradient per argument; None for {missing}, if it has none",
            )
        elif len(row) > len(names):
            extra = row[len(names) :]
            severity = "style" if all(value.kind == NONE for value in extra) else ""
            yield Hit(
                node,
                f"{len(row)} returned for {len(names)} arguments ({', '.join(names)})",
                "one gradient per argument of forward",
                severity,
            )


@rule("PB302", "cotangent-count", "error")
def cotangent_count(analysis: Analysis) -> Iterator[Hit]:
    """Backward takes another number of incoming gradients than forward has results.

    What it does
        Compares the parameters of backward with what forward returns.

    Why it is bad
        backward gets one incoming gradient for each result, None for results that are no Tensors. A wrong number raises
        in the middle of a backward pass.

    Example
        class SinCos(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin(), x.cos()

            @staticmethod
            def backward(ctx, grad):  # PB302
                (x,) = ctx.saved_tensors
                return grad * x.cos()

    Use instead
        class SinCos(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin(), x.cos()

            @staticmethod
            def backward(ctx, grad_sin, grad_cos):
                (x,) = ctx.saved_tensors
                return grad_sin * x.cos() - grad_cos * x.sin()
    """
    method = analysis.operator.backward
    if method is None or method.open or analysis.forward is None:
        return
    required = len(analysis.operator.parameters(method)) - len(method.node.args.defaults)
    takes = len(analysis.operator.parameters(method))
    for event in analysis.forward.returned:
        if event.value.items is None or event.value.kind == LIST:
            continue
        gives = len(event.value.items)
        if not required <= gives <= takes:
            yield Hit(
                method.node,
                f"backward takes {takes} incoming gradient{'s' * (takes != 1)}, and forward returns {gives} results",
                f"backward(ctx, {', '.join(f'grad_{k}' for k in range(gives))})",
            )
            return


@rule("PB305", "gradients-swapped", "error")
def gradients_swapped(analysis: Analysis) -> Iterator[Hit]:
    """Two gradients stand in each other's place.

    What it does
        Where forward is linear in one argument (a product with an incoming gradient, in a second Function), that argument's
        gradient does not contain the argument itself, and the other's does. Looks for the opposite.

    Why it is bad
        The shapes fit, so nothing complains, and both gradients are wrong.

    Example
        class SineBackward(Function):
            @staticmethod
            def forward(ctx, grad, x):
                ctx.save_for_backward(grad, x)
                return grad * torch.cos(x)

            @staticmethod
            def backward(ctx, g):
                grad, x = ctx.saved_tensors
                return -g * grad * torch.sin(x), g * torch.cos(x)  # PB305

    Use instead
        class SineBackward(Function):
            @staticmethod
            def forward(ctx, grad, x):
                ctx.save_for_backward(grad, x)
                return grad * torch.cos(x)

            @staticmethod
            def backward(ctx, g):
                grad, x = ctx.saved_tensors
                return g * torch.cos(x), -g * grad * torch.sin(x)
    """
    names = analysis.operator.argument_names
    if len(analysis.outputs) != 1 or len(analysis.outputs[0]) != 1 or analysis.saved is None:
        return
    degree = analysis.outputs[0][0].degree
    linear = [name for name in names if degree.get(f"in:{name}") == 1]
    curved = [name for name in names if degree.get(f"in:{name}", 0) == NONLINEAR]
    where = {f"saved:{k}": analysis.is_input(entry.value) for k, entry in enumerate(analysis.saved)}
    for node, row in analysis.gradients:
        if len(row) != len(names):
            continue
        contains = [{where.get(source, "") for source in value.degree} for value in row]
        for p in linear:
            for q in curved:
                i, j = names.index(p), names.index(q)
                if p in contains[i] and p not in contains[j] and TENSOR == row[i].kind == row[j].kind:
                    yield Hit(
                        node,
                        f"forward is linear in {p}, yet its gradient contains {p} and that of {q} does not: they are swapped",
                        f"the gradient of {p} first, then that of {q}, in the order of forward's arguments",
                    )
                    return


@rule("PB308", "outputs-in-container", "error")
def outputs_in_container(analysis: Analysis) -> Iterator[Hit]:
    """Forward returns a list or a dict of Tensors.

    What it does
        Looks for a ``return`` of forward with a list or a dict.

    Why it is bad
        Only Tensors and tuples of Tensors are tracked. In torch the Tensors in a list or a dict have no history at all, and
        nothing says so.

    Example
        class Halves(Function):
            @staticmethod
            def forward(ctx, x):
                return [x / 2, x / 2]  # PB308

            @staticmethod
            def backward(ctx, grad_a, grad_b):
                return (grad_a + grad_b) / 2

    Use instead
        class Halves(Function):
            @staticmethod
            def forward(ctx, x):
                return x / 2, x / 2

            @staticmethod
            def backward(ctx, grad_a, grad_b):
                return (grad_a + grad_b) / 2
    """
    for event in analysis.forward.returned if analysis.forward else []:
        for value in [event.value, *(event.value.items or ())]:
            if value.kind in {LIST, DICT} and value.depends and isinstance(event.node, ast.Return):
                what = "list" if value.kind == LIST else "dict"
                yield Hit(
                    event.node, f"forward returns a {what}: the Tensors in it are not tracked", "a tuple: return a, b"
                )
                break


@rule("PB309", "gradients-in-list", "error", fixable=True)
def gradients_in_list(analysis: Analysis) -> Iterator[Hit]:
    """Backward returns a list.

    What it does
        Looks for ``return [gx, gy]`` in backward.

    Why it is bad
        Several gradients are returned as a tuple; a list is taken for one gradient, which is no Tensor.

    Example
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return [grad * y, grad * x]  # PB309

    Use instead
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return grad * y, grad * x
    """
    for event in analysis.backward.returned if analysis.backward else []:
        if event.value.kind == LIST and isinstance(event.node, ast.Return):
            yield Hit(event.node, "backward returns a list", "a tuple: return gx, gy")
