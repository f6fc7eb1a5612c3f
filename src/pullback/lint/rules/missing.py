"""Gradients that stay None although they are needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint import vocabulary as words
from pullback.lint.analysis import Analysis, walk
from pullback.lint.rule import Hit, rule


@rule("PB306", "needs-input-grad-index", "error")
def needs_input_grad_index(analysis: Analysis) -> Iterator[Hit]:
    """An index into ``ctx.needs_input_grad`` is out of step with the arguments.

    What it does
        Looks for an index beyond the arguments, and for a branch that asks for one argument's flag and computes another
        argument's gradient.

    Why it is bad
        The indices count the arguments of forward without ctx. With the wrong one a gradient that is needed stays None,
        which means zero, and training just does not move.

    Example
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                gx = gy = None
                if ctx.needs_input_grad[1]:  # PB306
                    gx = grad * y
                if ctx.needs_input_grad[0]:  # PB306
                    gy = grad * x
                return gx, gy

    Use instead
        class Product(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                gx = gy = None
                if ctx.needs_input_grad[0]:
                    gx = grad * y
                if ctx.needs_input_grad[1]:
                    gy = grad * x
                return gx, gy
    """
    operator, method = analysis.operator, analysis.operator.backward
    if method is None or operator.forward is None or operator.forward.open:
        return
    names = operator.argument_names
    positions = _positions(method.node)
    for node in walk(method):
        k = _flag(node)
        if k is not None and not -len(names) <= k < len(names):
            said = f"needs_input_grad[{k}]: forward has {len(names)} arguments ({', '.join(names)})"
            yield Hit(node, said, f"an index from 0 to {len(names) - 1}; ctx is not counted")
        if isinstance(node, ast.If) and names:
            asked = {k % len(names) for part in ast.walk(node.test) if (k := _flag(part)) is not None}
            given = {p for name in _assigned(node.body) for p in positions.get(name, ()) if p < len(names)}
            negated = any(isinstance(part, ast.Not) for part in ast.walk(node.test))
            if asked and given and not negated and not asked & given:
                k, p = min(asked), min(given)
                said = f"the flag of argument {k} ({names[k]}) decides about the gradient of argument {p} ({names[p]})"
                yield Hit(node.test, said, f"ctx.needs_input_grad[{p}]")


def _flag(node: ast.AST) -> int | None:
    """The index in ``ctx.needs_input_grad[index]``."""
    if not (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "needs_input_grad"
    ):
        return None
    try:
        index = ast.literal_eval(node.slice)
    except ValueError:
        return None
    return index if isinstance(index, int) else None


def _positions(method: ast.FunctionDef) -> dict[str, set[int]]:
    """Where the names in a tuple that is returned stand."""
    found: dict[str, set[int]] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(isinstance(part, ast.Starred) for part in parts):
                return {}
            for k, part in enumerate(parts):
                for name in ast.walk(part):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, set()).add(k)
    return found


def _assigned(body: list[ast.stmt]) -> set[str]:
    found = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


@rule("PB310", "gradient-forgotten", "error")
def gradient_forgotten(analysis: Analysis) -> Iterator[Hit]:
    """An argument on which the result depends gets None, always.

    What it does
        Looks for None in the place of an argument that is saved and that backward uses for the gradient of another argument.

    Why it is bad
        None means "no derivative", which the engine takes for zero. An argument that the rule multiplies with is a Tensor,
        and the result depends on it.

    Example
        class Product(Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad * w, None  # PB310

    Use instead
        class Product(Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad * w, grad * x
    """
    names = analysis.operator.argument_names
    if (
        analysis.saved is None
        or not analysis.gradients
        or analysis.backward is None
        or analysis.operator.forward is None
    ):
        return
    saved = {analysis.is_input(entry.value): k for k, entry in enumerate(analysis.saved)}
    unpacked = _unpacked(analysis)
    for name in analysis.never_differentiated:
        if name not in saved or name not in names:
            continue
        k = names.index(name)
        local = unpacked.get(saved[name])
        if local is None or not any(
            n.id == local
            for n in walk(analysis.operator.backward)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        ):
            continue
        others = [n for n in names if n != name and n in saved]
        if not others or not _multiplied(analysis, name):
            continue
        node = next((node for node, row in analysis.gradients if k < len(row)), None)
        if node is not None and _reads_both(analysis, unpacked, saved, name, others):
            yield Hit(
                node,
                f"{name} is saved and multiplied with in forward, and its gradient is always None",
                f"the gradient of {name}; or ctx.{name} = {name}, if it is a constant",
            )


def _unpacked(analysis: Analysis) -> dict[int, str]:
    """Position among the saved values → the name that backward gives it."""
    for node in walk(analysis.operator.backward):
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)):
            continue
        if isinstance(node.value, ast.Attribute) and node.value.attr == "saved_tensors":
            return {k: part.id for k, part in enumerate(node.targets[0].elts) if isinstance(part, ast.Name)}
    return {}


def _multiplied(analysis: Analysis, name: str) -> bool:
    """Whether forward multiplies an argument with another."""
    forward = analysis.operator.forward
    names = set(analysis.operator.argument_names)
    for node in walk(forward):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.MatMult)):
            sides = [{n.id for n in ast.walk(side) if isinstance(n, ast.Name)} for side in (node.left, node.right)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in words.PRODUCTS:
            parts = [node.func.value, *node.args]
            sides = [{n.id for n in ast.walk(side) if isinstance(n, ast.Name)} for side in parts]
        else:
            continue
        if any(name in a and (b & names) - {name} for a in sides for b in sides if a is not b):
            return True
    return False


def _reads_both(
    analysis: Analysis, unpacked: dict[int, str], saved: dict[str, int], name: str, others: list[str]
) -> bool:
    """Whether the other factor is saved too: then it was saved for the gradient that is missing."""
    read = {n.id for n in walk(analysis.operator.backward) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return any(unpacked.get(saved[other]) not in read for other in others) or not analysis.operator.forward
