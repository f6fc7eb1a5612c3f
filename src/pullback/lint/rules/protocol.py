"""How a Function is written and called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis
from pullback.lint.operators import RULES as PROTOCOL
from pullback.lint.rule import Hit, file_rule, rule
from pullback.lint.source import Source

_CTX_METHODS = {
    "save_for_backward",
    "save_for_forward",
    "mark_dirty",
    "mark_non_differentiable",
    "set_materialize_grads",
}


@rule("PB101", "method-not-static", "style", fixable=True)
def method_not_static(analysis: Analysis) -> Iterator[Hit]:
    """A method of a Function that is no static method.

    What it does
        Looks for ``forward``, ``backward``, ``jvp``, ``setup_context`` and ``vmap`` without ``@staticmethod``.

    Why it is bad
        It works under ``apply``, which hands the ctx over as first argument either way. But it reads as if there were an
        instance with attributes, and there is none: what is stored on ``self`` is stored on the ctx of one call.

    Example
        class Double(Function):
            def forward(ctx, x):  # PB101
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    for method in analysis.operator.methods.values():
        if method.name in PROTOCOL and not method.static and not method.bound_to_class and _own(analysis, method.node):
            yield Hit(method.node, f"{method.name} is not a static method", "@staticmethod above it")


@rule("PB102", "self-for-ctx", "style", fixable=True)
def self_for_ctx(analysis: Analysis) -> Iterator[Hit]:
    """The ctx is called ``self`` or ``cls``.

    What it does
        Looks for a first parameter named ``self`` or ``cls`` where the ctx arrives.

    Why it is bad
        The first argument *is* the ctx, whatever its name. A reader takes ``self.y = y`` for state of an object that
        lives on; it lives for one call, and each call has its own.

    Example
        class Double(Function):
            @staticmethod
            def forward(self, x):  # PB102
                return 2 * x

            @staticmethod
            def backward(self, grad):  # PB102
                return 2 * grad

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad
    """
    for method in analysis.operator.methods.values():
        if method.name in PROTOCOL and not method.bound_to_class and _own(analysis, method.node):
            ctx = analysis.operator.ctx_of(method)
            if ctx in {"self", "cls"}:
                yield Hit(method.arguments[0], f"the ctx of {method.name} is called {ctx}", "ctx")


def _own(analysis: Analysis, method: ast.FunctionDef) -> bool:
    """Whether a method stands in this class and is not inherited from one that is looked at by itself."""
    return method in analysis.operator.node.body


@file_rule("PB103", "instance-called", "error")
def instance_called(source: Source, analyses: list[Analysis]) -> Iterator[Hit]:
    """An instance of a Function is called, instead of ``apply``.

    What it does
        Looks for ``F()(x)``, for ``F(x)``, and for a name that holds ``F()`` and is called.

    Why it is bad
        A Function has no instances: ``apply`` makes a fresh ctx for every call and records the node. Calling an instance
        raises, or, with a ``__call__`` of one's own, runs forward without any derivative.

    Example
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad


        def double(x):
            return Double()(x)  # PB103

    Use instead
        class Double(Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad


        def double(x):
            return Double.apply(x)
    """
    names = {analysis.operator.name for analysis in analyses}
    holders = {
        target.id: node.value.func.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign) and _makes(node.value, names)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        if _makes(node.func, names):
            name = node.func.func.id  # type: ignore[attr-defined]
            yield Hit(node, f"an instance of {name} is called", f"{name}.apply({_arguments(node)})")
        elif isinstance(node.func, ast.Name) and node.func.id in names and (node.args or node.keywords):
            yield Hit(
                node, f"the class {node.func.id} is called like a function", f"{node.func.id}.apply({_arguments(node)})"
            )
        elif isinstance(node.func, ast.Name) and node.func.id in holders:
            name = holders[node.func.id]
            yield Hit(node, f"{node.func.id}, an instance of {name}, is called", f"{name}.apply({_arguments(node)})")


def _makes(node: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in names
        and not (node.args or node.keywords)
    )


def _arguments(node: ast.Call) -> str:
    return ", ".join(ast.unparse(part) for part in [*node.args, *[w.value for w in node.keywords]])


@file_rule("PB104", "ctx-method-on-class", "error")
def ctx_method_on_class(source: Source, analyses: list[Analysis]) -> Iterator[Hit]:
    """A method of ctx is called on the class.

    What it does
        Looks for ``F.save_for_backward(x)``, ``F.mark_dirty(x)`` and their like.

    Why it is bad
        Nothing is saved or marked for the call that runs: torch takes it silently and does nothing with it.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                Square.save_for_backward(x)  # PB104
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
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
    names = {analysis.operator.name for analysis in analyses}
    for node in ast.walk(source.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CTX_METHODS):
            continue
        owner = node.func.value
        made = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id in names
        if made or (isinstance(owner, ast.Name) and owner.id in names):
            yield Hit(
                node,
                f"{node.func.attr} is called on {ast.unparse(owner)}, not on the ctx of this call",
                f"ctx.{node.func.attr}(…)",
            )


@rule("PB105", "decorator-order", "error")
def decorator_order(analysis: Analysis) -> Iterator[Hit]:
    """``@staticmethod`` does not stand above the other decorators.

    What it does
        Looks for a decorator above ``@staticmethod``, and for ``custom_fwd`` or ``custom_bwd`` on the wrong method.

    Why it is bad
        ``once_differentiable``, ``custom_fwd`` and ``custom_bwd`` wrap a plain function. Above ``@staticmethod`` they get
        the static method's object; what comes out is no static method any more.

    Example
        class Sine(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin()

            @once_differentiable  # PB105
            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * x.cos()

    Use instead
        class Sine(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin()

            @staticmethod
            @once_differentiable
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return grad * x.cos()
    """
    for method in analysis.operator.methods.values():
        short = [name.rpartition(".")[2] for name in method.decorators]
        nodes = method.node.decorator_list
        if "staticmethod" in short[1:] and len(nodes) == len(short):
            yield Hit(
                nodes[0], f"@{short[0]} stands above @staticmethod on {method.name}", "@staticmethod first, on top"
            )
        for wrong, place in (("custom_fwd", "backward"), ("custom_bwd", "forward")):
            if method.name == place and wrong in short:
                yield Hit(
                    method.node,
                    f"{place} is decorated with {wrong}",
                    f"custom_{'bwd' if place == 'backward' else 'fwd'} on {place}",
                )


@rule("PB106", "legacy-form", "warning")
def legacy_form(analysis: Analysis) -> Iterator[Hit]:
    """A form from before torch 0.4 or so.

    What it does
        Looks for ``ctx.saved_variables``, ``Variable(...)``, ``volatile``, ``ctx.mark_shared_storage``, an ``__init__`` in a
        Function, ``InplaceFunction``, and saved values that are read from an instance.

    Why it is bad
        They do nothing, or something else than they did: a Variable is a Tensor since 0.4, and the arguments of ``__init__``
        never reach a static method.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_variables  # PB106
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
    for base in analysis.operator.node.bases:
        if analysis.source.dotted(base).endswith("InplaceFunction"):
            yield Hit(base, "InplaceFunction means nothing any more", "Function, with ctx.mark_dirty in forward")
    for method in analysis.operator.methods.values():
        if not _own(analysis, method.node):
            continue
        if method.name == "__init__":
            yield Hit(
                method.node,
                "__init__ of a Function: static methods never see the instance",
                "arguments of forward (backward returns None for them), or a function that makes the class",
            )
        for node in ast.walk(method.node):
            if isinstance(node, ast.Attribute) and node.attr in {"saved_variables", "mark_shared_storage"}:
                yield Hit(
                    node,
                    f"ctx.{node.attr} belongs to the past",
                    "ctx.saved_tensors" if node.attr == "saved_variables" else "nothing",
                )
            elif isinstance(node, ast.Call) and analysis.source.dotted(node.func).rpartition(".")[2] == "Variable":
                yield Hit(node, "Variable(…) does nothing: a Tensor is one", "the Tensor itself")
            elif isinstance(node, ast.keyword) and node.arg == "volatile":
                yield Hit(node.value, "volatile has no effect", "with torch.no_grad()")


@rule("PB107", "ctx-beside-setup-context", "error")
def ctx_beside_setup_context(analysis: Analysis) -> Iterator[Hit]:
    """Forward takes a ctx although the class has ``setup_context``.

    What it does
        Looks for a parameter named ``ctx`` of ``forward`` in a class with ``setup_context``.

    Why it is bad
        With ``setup_context`` forward gets the arguments of ``apply`` only. The first of them is then called ctx.

    Example
        class Square(Function):
            @staticmethod
            def forward(ctx, x):  # PB107
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad

    Use instead
        class Square(Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad
    """
    operator = analysis.operator
    if operator.setup and operator.forward and operator.forward.arguments and _own(analysis, operator.setup.node):
        first = operator.forward.arguments[0]
        if first.arg in {"ctx", "context"}:
            yield Hit(
                first,
                f"forward takes {first.arg}, and setup_context gets the ctx",
                "forward(x, …) without ctx, or no setup_context",
            )
