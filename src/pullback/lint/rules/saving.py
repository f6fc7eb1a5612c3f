"""What is saved for backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis
from pullback.lint.events import CTX
from pullback.lint.rule import Hit, rule
from pullback.lint.values import FACT, LIST, TENSOR, TUPLE, Value

_FORWARD_ONLY = {"save_for_backward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads"}
_REMEDY = "save inputs or outputs and compute it again in backward, or return it as another output"


def _names(values: list[str]) -> str:
    return ", ".join(value.partition(":")[2] for value in values)


def _label(node: ast.AST, value: Value) -> str:
    return value.text or ast.unparse(node)


@rule("PB201", "intermediate-saved", "error")
def intermediate_saved(analysis: Analysis) -> Iterator[Hit]:
    """A value computed in forward is saved, and it is neither an argument nor a result.

    What it does
        Follows what ``save_for_backward`` gets, and looks for values that depend on the arguments and are not returned.

    Why it is bad
        Recording is off inside forward, so the saved value has no history. The first derivative is right, and the second
        silently lacks everything that flows through it. (pullback runs such a forward again where it can, and refuses
        where it cannot.)

    Example
        class Gaussian(Function):
            @staticmethod
            def forward(ctx, x):
                e = torch.exp(-x * x)
                ctx.save_for_backward(x, e)  # PB201
                return e * x

            @staticmethod
            def backward(ctx, grad):
                x, e = ctx.saved_tensors
                return grad * e * (1 - 2 * x * x)

    Use instead
        class Gaussian(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.exp(-x * x) * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * torch.exp(-x * x) * (1 - 2 * x * x)
    """
    if analysis.once or analysis.operator.backward is None:
        return
    severity = "warning" if analysis.operator.native else ""
    result = (
        "forward has to run again at second order"
        if analysis.operator.native
        else "the second derivative lacks what flows through it"
    )
    for saved in analysis.every_saved:
        if analysis.is_intermediate(saved.value) and saved.value.kind not in {TUPLE, LIST} and not saved.value.cast:
            label = _label(saved.node, saved.value)
            yield Hit(
                saved.node,
                f"{label} is computed in forward (from {_names(list(saved.value.degree))}) and not returned: {result}",
                _REMEDY,
                severity,
            )


@rule("PB202", "intermediate-on-ctx", "error")
def intermediate_on_ctx(analysis: Analysis) -> Iterator[Hit]:
    """A value computed in forward is kept as an attribute of ctx.

    What it does
        Follows ``ctx.name = value``, and looks for values that depend on the arguments and are not returned.

    Why it is bad
        As with a saved intermediate the second derivative silently lacks what flows through it. Besides, checkpoints and
        hooks on saved tensors do not see the value, and nothing notices when it is written.

    Example
        class Gaussian(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.e = torch.exp(-x * x)  # PB202
                ctx.save_for_backward(x)
                return ctx.e * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * ctx.e * (1 - 2 * x * x)

    Use instead
        class Gaussian(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.exp(-x * x) * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * torch.exp(-x * x) * (1 - 2 * x * x)
    """
    if analysis.once or analysis.operator.backward is None:
        return
    severity = "warning" if analysis.operator.native else ""
    for event in analysis.kept:
        for value in _parts(event.value):
            if (
                value.kind == TENSOR
                and analysis.is_intermediate(value)
                and not value.cast
                and analysis.reads(event.name)
            ):
                yield Hit(
                    event.node,
                    f"ctx.{event.name} holds a value computed in forward (from {_names(list(value.degree))}): "
                    "the second derivative lacks what flows through it",
                    _REMEDY,
                    severity,
                )
                break


def _parts(value: Value) -> list[Value]:
    return list(value.items) if value.items is not None and value.kind in {TUPLE, LIST} else [value]


@rule("PB203", "tensor-on-ctx", "warning")
def tensor_on_ctx(analysis: Analysis) -> Iterator[Hit]:
    """An argument or a result is kept as an attribute of ctx.

    What it does
        Looks for ``ctx.name = x`` where x is a differentiable argument, or a result of forward.

    Why it is bad
        A result on ctx makes a reference cycle, so that memory is freed late. An argument there is not freed after backward,
        and a later in-place write to it is not noticed: backward silently uses the new value. Hooks on saved tensors
        and checkpoints see neither.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x  # PB203
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.x * grad

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
    tensors = {name for saved in analysis.every_saved if (name := analysis.is_input(saved.value))}
    for event in analysis.kept:
        if isinstance(getattr(event.node, "value", None), ast.IfExp):
            continue  # what is no Tensor is kept here, the rest is saved
        for value in _parts(event.value):
            name = analysis.is_input(value)
            if name and (value.depends or name in tensors) and value.kind == TENSOR:
                yield Hit(event.node, f"ctx.{event.name} keeps the argument {name}", f"ctx.save_for_backward({name})")
                break
            elif value.kind == TENSOR and value.depends and analysis.is_output(value) and not name:
                yield Hit(
                    event.node,
                    f"ctx.{event.name} keeps a result: a reference cycle",
                    f"ctx.save_for_backward({_label(event.node, value) if value.text else 'y'})",
                )
                break


@rule("PB204", "second-save", "error")
def second_save(analysis: Analysis) -> Iterator[Hit]:
    """``save_for_backward`` is called twice in one call.

    What it does
        Looks for two calls that can both run.

    Why it is bad
        The last call wins and the first is forgotten, without a word.

    Example
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x)
                ctx.save_for_backward(y)  # PB204
                return x * y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return grad * y, grad * x

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
    for tail in ("save_for_backward", "mark_dirty", "mark_non_differentiable"):
        calls = analysis.ctx_calls(tail)
        for k, later in enumerate(calls):
            earlier = [c for c in calls[:k] if not _exclusive(c.branch, later.branch)]
            if earlier:
                line = earlier[0].node.lineno
                yield Hit(
                    later.node,
                    f"{tail} is called again; what line {line} gave it is forgotten",
                    f"one call with everything: ctx.{tail}(…, …)",
                )
                break


def _exclusive(a: tuple[tuple[int, str], ...], b: tuple[tuple[int, str], ...]) -> bool:
    sides = dict(a)
    return any(node in sides and sides[node] != side for node, side in b)


@rule("PB205", "no-tensor-saved", "error")
def no_tensor_saved(analysis: Analysis) -> Iterator[Hit]:
    """``save_for_backward`` gets something that is no Tensor.

    What it does
        Looks for numbers, shapes, texts, lists and NumPy arrays among its arguments.

    Why it is bad
        It takes Tensors (and None) only, and raises for anything else: in torch only when a gradient is needed.

    Example
        class Scale(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, x.shape)  # PB205
                return 3 * x

            @staticmethod
            def backward(ctx, grad):
                x, shape = ctx.saved_tensors
                return 3 * grad.reshape(shape)

    Use instead
        class Scale(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.shape = x.shape
                return 3 * x

            @staticmethod
            def backward(ctx, grad):
                return 3 * grad.reshape(ctx.shape)
    """
    for saved in analysis.every_saved:
        value = saved.value
        what = ""
        if value.kind == FACT:
            what = "a number or another plain value"
        elif value.kind in {LIST, TUPLE} and not isinstance(saved.node, ast.Starred) and value.items is not None:
            what = "a list" if value.kind == LIST else "a tuple"
        elif _is_numpy(analysis, saved.node):
            what = "a NumPy array"
        if what:
            yield Hit(
                saved.node,
                f"{_label(saved.node, value)} is {what}, not a Tensor",
                f"ctx.name = {ast.unparse(saved.node)}",
            )


def _is_numpy(analysis: Analysis, node: ast.expr) -> bool:
    if analysis.operator.primitive or not isinstance(node, ast.Call):
        return False
    tail = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return analysis.source.dotted(node.func).partition(".")[0] == "numpy" or (tail == "numpy" and not node.args)


@rule("PB206", "saved-count", "error")
def saved_count(analysis: Analysis) -> Iterator[Hit]:
    """Backward unpacks another number of values than forward saved.

    What it does
        Compares ``a, b = ctx.saved_tensors`` with the call of ``save_for_backward``.

    Why it is bad
        It raises "too many values to unpack" in the middle of a backward pass.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                y = x * x
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors  # PB206
                return 2 * x * grad

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
    saved, method = analysis.saved, analysis.operator.backward
    if saved is None or not analysis.saves or method is None:
        return
    ctx = analysis.operator.ctx_of(method)
    for node in ast.walk(method.node):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], (ast.Tuple, ast.List))
            and _reads_saved(node.value, ctx)
        ):
            parts = node.targets[0].elts
            if not any(isinstance(part, ast.Starred) for part in parts) and len(parts) != len(saved):
                yield Hit(
                    node,
                    f"{len(parts)} names for {len(saved)} saved values",
                    f"as many names as save_for_backward got values: {len(saved)}",
                )


def _reads_saved(node: ast.expr, ctx: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "saved_tensors"
        and isinstance(node.value, ast.Name)
        and node.value.id == ctx
    )


@rule("PB207", "saved-in-backward", "error")
def saved_in_backward(analysis: Analysis) -> Iterator[Hit]:
    """``save_for_backward`` or a mark is called in backward.

    What it does
        Looks for calls of forward's methods of ctx inside backward.

    Why it is bad
        The call is over: nothing is saved or marked any more. What a second backward needs must come from recorded
        operations, or from a second Function.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                ctx.save_for_backward(grad)  # PB207
                return 2 * x * grad

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
    for called in analysis.backward.calls.values() if analysis.backward else []:
        on_ctx = called.receiver is not None and CTX in called.receiver.same
        if called.tail in _FORWARD_ONLY and on_ctx:
            yield Hit(
                called.node, f"{called.tail} in backward has no effect", "it belongs into forward or setup_context"
            )
