"""Derivatives of derivatives: where backward leaves the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis, walk
from pullback.lint.rule import Hit, rule
from pullback.lint.values import WITHOUT_DERIVATIVE

_REMEDY = "@once_differentiable below @staticmethod, or a second Function that backward calls"


@rule("PB501", "graph-left-in-backward", "error")
def graph_left_in_backward(analysis: Analysis) -> Iterator[Hit]:
    """Backward takes values out of the graph.

    What it does
        Looks for NumPy and SciPy, ``.data``, ``.detach()``, ``.numpy()``, ``.item()`` and ``no_grad`` on differentiable values
        in a backward that is not ``once_differentiable``.

    Why it is bad
        When backward is itself differentiated, what left the graph counts as a constant. The second derivative is then
        wrong by just that part, silently. ``once_differentiable`` turns this into an error.

    Example
        class Sine(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.sin(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * torch.cos(x.detach())  # PB501

    Use instead
        class Sine(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return torch.sin(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * torch.cos(x)
    """
    if analysis.backward is None or analysis.once or analysis.operator.primitive:
        return
    seen: set[int] = set()
    for event in analysis.backward.left:
        line = getattr(event.node, "lineno", 0)
        if line not in seen and event.value.kind not in WITHOUT_DERIVATIVE:
            seen.add(line)
            sources = ", ".join(_said(source) for source in event.value.degree)
            yield Hit(event.node, f"{event.name} takes a value out of the graph (it depends on {sources})", _REMEDY)
    for node in analysis.backward.unrecorded:
        yield Hit(node, "no_grad in backward: what is computed there is a constant at second order", _REMEDY)


def _said(source: str) -> str:
    sort, _, name = source.partition(":")
    return {"saved": "a saved value", "ctx": f"ctx.{name}"}.get(sort, name)


@rule("PB502", "inner-gradient-without-graph", "error")
def inner_gradient_without_graph(analysis: Analysis) -> Iterator[Hit]:
    """Backward differentiates something, without ``create_graph``.

    What it does
        Looks for ``grad(...)`` and ``.backward(...)`` inside a backward that is not ``once_differentiable``.

    Why it is bad
        The inner gradient has no history, so the second derivative lacks it. ``create_graph=torch.is_grad_enabled()``
        records it exactly when it is needed.

    Example
        class Call(Function):
            @staticmethod
            def forward(ctx, f, x):
                ctx.f = f
                ctx.save_for_backward(x)
                return f(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                with torch.enable_grad():
                    y = ctx.f(x)
                (gx,) = torch.autograd.grad(y, x, grad)  # PB502
                return None, gx

    Use instead
        class Call(Function):
            @staticmethod
            def forward(ctx, f, x):
                ctx.f = f
                ctx.save_for_backward(x)
                return f(x)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                record = torch.is_grad_enabled()
                with torch.enable_grad():
                    y = ctx.f(x)
                (gx,) = torch.autograd.grad(y, x, grad, create_graph=record)
                return None, gx
    """
    if analysis.backward is None or analysis.once:
        return
    for called in analysis.backward.calls.values():
        name = called.name.rpartition(".")[2] or called.tail
        inner = (name == "grad" and ("autograd" in called.name or called.name == "grad")) or (
            called.tail == "backward" and not _is_kernel(called.name)
        )
        if inner and "create_graph" not in called.keywords and "**" not in called.keywords:
            yield Hit(
                called.node,
                f"{called.tail}(…) inside backward, without create_graph: its result is a constant at second order",
                "create_graph=torch.is_grad_enabled(), asked before enable_grad; or @once_differentiable",
            )


def _is_kernel(name: str) -> bool:
    """``extension.backward(grad, x)`` of compiled code, and not ``loss.backward()`` or ``torch.autograd.backward``."""
    return bool(name) and name.partition(".")[0] != "torch" and "." in name and "autograd" not in name


@rule("PB503", "captured-tensor", "error")
def captured_tensor(analysis: Analysis) -> Iterator[Hit]:
    """Forward or backward uses a differentiable Tensor from outside.

    What it does
        Looks for names that are no arguments and hold a Parameter, or a Tensor made with ``requires_grad``.

    Why it is bad
        Only arguments of ``apply`` get gradients. What comes in through a closure or a global name silently gets none.

    Example
        weight = torch.ones(3, requires_grad=True)


        class Weighted(Function):
            @staticmethod
            def forward(ctx, x):
                return x * weight  # PB503

            @staticmethod
            def backward(ctx, grad):
                return grad * weight  # PB503

    Use instead
        class Weighted(Function):
            @staticmethod
            def forward(ctx, x, weight):
                ctx.save_for_backward(x, weight)
                return x * weight

            @staticmethod
            def backward(ctx, grad):
                x, weight = ctx.saved_tensors
                return grad * weight, grad * x
    """
    tensors = _differentiable_names(analysis)
    if not tensors:
        return
    for method in analysis.operator.methods.values():
        own = {n.id for n in ast.walk(method.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        own |= {a.arg for a in ast.walk(method.node) if isinstance(a, ast.arg)}
        for node in walk(method):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Load)
                and node.id in tensors
                and node.id not in own
            ):
                yield Hit(
                    node,
                    f"{node.id} comes from outside (line {tensors[node.id]}) and requires a gradient, which it will not get",
                    f"{node.id} as an argument of apply",
                )


def _differentiable_names(analysis: Analysis) -> dict[str, int]:
    """Name → line, of differentiable Tensors in the scopes around the class."""
    found: dict[str, int] = {}
    for scope in _scopes(analysis.source.tree, analysis.operator.node):
        for node in _own_nodes(scope):
            if isinstance(node, ast.Assign) and _differentiable(node.value, analysis):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = node.lineno
            elif (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Call)
                and isinstance(node.value.func, ast.Attribute)
            ):
                func = node.value.func
                if func.attr == "requires_grad_" and isinstance(func.value, ast.Name):
                    found[func.value.id] = node.lineno
        if isinstance(scope, ast.FunctionDef):
            for argument in [*scope.args.args, *scope.args.kwonlyargs]:
                if argument.annotation is not None and ast.unparse(argument.annotation).rpartition(".")[2] == "Tensor":
                    found[argument.arg] = argument.lineno
    return found


def _scopes(tree: ast.Module, wanted: ast.ClassDef) -> list[ast.AST]:
    """The module and the functions around a class."""
    found: list[ast.AST] = [tree]

    def enter(node: ast.AST) -> bool:
        for child in ast.iter_child_nodes(node):
            if child is wanted:
                return True
            if getattr(child, "lineno", 0) <= wanted.lineno <= (getattr(child, "end_lineno", 0) or 0):
                if isinstance(child, ast.FunctionDef):
                    found.append(child)
                return enter(child)
        return False

    enter(tree)
    return found


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The statements of a scope, without those of functions and classes in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            yield from _own_nodes(node)


def _differentiable(node: ast.expr, analysis: Analysis) -> bool:
    if not isinstance(node, ast.Call):
        return False
    tail = (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
    if tail in {"Parameter", "requires_grad_"}:
        return True
    return any(
        word.arg == "requires_grad" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in node.keywords
    )
