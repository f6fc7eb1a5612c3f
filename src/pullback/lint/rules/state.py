"""State outside of ctx."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis, walk
from pullback.lint.operators import Method
from pullback.lint.rule import Hit, rule
from pullback.lint.values import FACT


def _methods(analysis: Analysis) -> list[Method]:
    return [
        m
        for m in analysis.operator.methods.values()
        if m.name in {"forward", "backward", "setup_context", "jvp"} and m.node in analysis.operator.node.body
    ]


@rule("PB601", "state-on-class", "error")
def state_on_class(analysis: Analysis) -> Iterator[Hit]:
    """Forward or backward stores something on the class.

    What it does
        Looks for ``F.name = value`` and ``cls.name = value`` inside the methods of a Function.

    Why it is bad
        All calls share the class. With two calls before the first backward, in a loop, in another thread or under a
        checkpoint, backward reads what another call left.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                Square.x = x  # PB601
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * Square.x * grad

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
    for method in _methods(analysis):
        first = method.node.args.args[0].arg if method.bound_to_class and method.node.args.args else ""
        owners = {analysis.operator.name, "__class__"} | ({first} if first else set())
        for node in walk(method):
            for target in _targets(node):
                owner = _owner(target)
                if owner in owners:
                    yield Hit(
                        node,
                        f"{ast.unparse(target)} is stored on the class, which all calls share",
                        "ctx.save_for_backward(…) for Tensors, ctx.name = … for anything else",
                    )


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [
            part for target in node.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return [node.target]
    return []


def _owner(target: ast.expr) -> str:
    """The name at the root of ``name.attribute``, ``name.attribute[...]``."""
    seen = False
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        seen = seen or isinstance(target, ast.Attribute)
        target = target.value
    if isinstance(target, ast.Call) and isinstance(target.func, ast.Name) and target.func.id == "type":
        return "__class__"
    return target.id if isinstance(target, ast.Name) and seen else ""


@rule("PB602", "state-on-self", "error")
def state_on_self(analysis: Analysis) -> Iterator[Hit]:
    """Forward has a ``self`` beside its ctx, and stores on it.

    What it does
        Looks for ``self.name = value`` in methods with both ``self`` and ``ctx``.

    Why it is bad
        Under ``apply`` there is no instance: the ctx arrives as ``self``, and every argument is shifted by one.

    Example
        class Scale(Function):
            def forward(self, ctx, x):  # PB101
                self.x = x  # PB602
                return 2 * x

            def backward(self, ctx, grad):  # PB101
                return 2 * grad

    Use instead
        class Scale(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    for method in _methods(analysis):
        arguments = method.arguments
        if method.static or method.bound_to_class or len(arguments) < 2:
            continue
        ctx = analysis.operator.ctx_of(method)
        if arguments[0].arg == "self" and ctx != "self" and ctx:
            for node in walk(method):
                for target in _targets(node):
                    if _owner(target) == "self":
                        yield Hit(
                            node,
                            f"{ast.unparse(target)} is stored on an instance that apply never makes",
                            f"{ctx}.save_for_backward(…), and @staticmethod with {ctx} first",
                        )


@rule("PB603", "state-outside", "error")
def state_outside(analysis: Analysis) -> Iterator[Hit]:
    """Forward leaves something in a name or a container from outside.

    What it does
        Looks for ``global`` and ``nonlocal`` names that are assigned, and for lists and dicts from outside that take up
        Tensors, or that the other method reads.

    Why it is bad
        The next call overwrites it, and backward of the first reads what the second left. A Tensor there also keeps its
        whole graph alive.

    Example
        cache = {}


        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                cache["x"] = x  # PB603
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * cache["x"] * grad

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
    flows = {"forward": analysis.forward, "setup_context": analysis.setup, "backward": analysis.backward}
    names = {name: _read(analysis.operator.methods.get(name)) for name in flows}
    seen: set[int] = set()
    for name, flow in flows.items():
        elsewhere = set().union(*(read for other, read in names.items() if other != name))
        for event in flow.stored if flow else []:
            if id(event.node) in seen or event.name == analysis.operator.name or event.name in {"self", "cls"}:
                continue
            if (event.value.depends and event.value.kind != FACT) or event.name in elsewhere:
                seen.add(id(event.node))
                yield Hit(
                    event.node,
                    f"{event.name} is shared by all calls, and takes up a value of this one",
                    "ctx.save_for_backward(…) for Tensors, ctx.name = … for anything else",
                )
    for method in _methods(analysis):
        shared = {n for node in walk(method) if isinstance(node, ast.Global) for n in node.names}
        shared |= {n for node in method.node.body if isinstance(node, ast.Nonlocal) for n in node.names}
        for node in walk(method):
            for target in _targets(node):
                if isinstance(target, ast.Name) and target.id in shared and id(node) not in seen:
                    seen.add(id(node))
                    yield Hit(
                        node, f"{target.id} is shared by all calls, and assigned in {method.name}", "ctx.name = …"
                    )


_TAKES_UP = {"append", "add", "extend", "update", "insert"}


def _read(method: Method | None) -> set[str]:
    """The names whose values a method reads; ``log.append(…)`` by itself reads nothing."""
    only_written = {
        node.value.func.value
        for node in walk(method)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        if node.value.func.attr in _TAKES_UP and isinstance(node.value.func.value, ast.Name)
    }
    return {
        n.id for n in walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in only_written
    }
