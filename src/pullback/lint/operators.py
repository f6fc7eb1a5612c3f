"""Finding the Function classes of a file, and the parts of each that the rules speak about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pullback.lint.source import Source

FORWARD, BACKWARD, SETUP = "forward", "backward", "setup_context"
RULES = (FORWARD, BACKWARD, SETUP, "jvp", "vjp", "vmap")

_BASES = {
    "torch.autograd.Function",
    "torch.autograd.function.Function",
    "torch.autograd.function.InplaceFunction",
    "torch.autograd.function.NestedIOFunction",
    "torch.autograd._functions.Function",
    "pullback.Function",
    "pullback.Primitive",
    "pullback.autograd.Function",
    "pullback.autograd.function.Function",
    "pullback.torch.autograd.Function",
    "pullback.torch.autograd.function.Function",
    "pullback.core.function.Function",
    "pullback.core.primitive.Primitive",
}
_SHORT = {"Function", "InplaceFunction", "NestedIOFunction"}


@dataclass
class Method:
    """One method of a Function."""

    node: ast.FunctionDef
    name: str
    decorators: list[str]  # dotted names, outermost first

    @property
    def static(self) -> bool:
        return any(name.rpartition(".")[2] == "staticmethod" for name in self.decorators)

    @property
    def bound_to_class(self) -> bool:
        return any(name.rpartition(".")[2] == "classmethod" for name in self.decorators)

    @property
    def once(self) -> bool:
        """Whether it says that it cannot be differentiated."""
        return any(name.rpartition(".")[2] == "once_differentiable" for name in self.decorators)

    @cached_property
    def arguments(self) -> list[ast.arg]:
        spec = self.node.args
        found = [*spec.posonlyargs, *spec.args]
        return found[1:] if self.bound_to_class else found

    @property
    def vararg(self) -> str:
        return self.node.args.vararg.arg if self.node.args.vararg else ""

    @property
    def open(self) -> bool:
        """Whether the number of its arguments cannot be read off."""
        spec = self.node.args
        return bool(spec.vararg or spec.kwarg or spec.kwonlyargs)


@dataclass
class Operator:
    """A class derived from ``Function`` (torch's or pullback's) or from ``Primitive``."""

    source: Source
    node: ast.ClassDef
    native: bool  # pullback's, pullback.torch's included
    primitive: bool
    methods: dict[str, Method] = field(default_factory=dict)
    assigned: dict[str, ast.expr] = field(default_factory=dict)  # class attributes

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def forward(self) -> Method | None:
        return self.methods.get(FORWARD)

    @property
    def backward(self) -> Method | None:
        return self.methods.get(BACKWARD) or self.methods.get("vjp")

    @property
    def setup(self) -> Method | None:
        return self.methods.get(SETUP)

    def ctx_of(self, method: Method) -> str:
        """The name that a method has for its ctx; "" if it takes none."""
        found = method.arguments
        if method.name == FORWARD and self.setup is not None and not self.primitive:
            return "ctx" if found and found[0].arg == "ctx" else ""  # a mistake, which has a rule of its own
        names = [argument.arg for argument in found[:2]]
        if not method.static and not method.bound_to_class and names in (["self", "ctx"], ["self", "context"]):
            return names[1]  # forward(self, ctx, x): an ordinary method that has a ctx besides
        return names[0] if names else ""

    def parameters(self, method: Method) -> list[ast.arg]:
        """The arguments after the ctx."""
        ctx = self.ctx_of(method)
        found = method.arguments
        names = [argument.arg for argument in found]
        return found[names.index(ctx) + 1 :] if ctx in names else found

    @cached_property
    def argument_names(self) -> list[str]:
        """The names of what ``apply`` takes by position."""
        return [a.arg for a in self.parameters(self.forward)] if self.forward else []


def _base_kind(dotted: str, known: dict[str, Operator]) -> tuple[bool, bool] | None:
    """(native, primitive) for a base that makes a class a Function; None for any other."""
    if dotted in known:
        return known[dotted].native, known[dotted].primitive
    last = dotted.rpartition(".")[2]
    if dotted in _BASES:
        return dotted.startswith("pullback"), last == "Primitive"
    if last in _SHORT and dotted.rpartition(".")[0].rpartition(".")[2] in {"autograd", "function", "functional"}:
        return False, False  # such as paddle-like wrappers that re-export torch's
    if dotted in _SHORT:
        return False, False  # a star import: the methods decide
    return None


def operators(source: Source) -> list[Operator]:
    """The Function classes of a file, in order, subclasses of such classes included."""
    known: dict[str, Operator] = {}
    found: list[Operator] = []
    for node in _classes(source.tree):
        for base in node.bases:
            dotted = source.dotted(base)
            kind = _base_kind(dotted, known) if dotted else None
            if kind is None:
                continue
            operator = Operator(source, node, *kind)
            _collect(operator)
            if dotted in known:
                operator.methods = {**known[dotted].methods, **operator.methods}
            if dotted in _SHORT and not ({FORWARD, BACKWARD} & set(operator.methods)):
                continue
            known[node.name] = operator
            found.append(operator)
            break
    return found


def _classes(tree: ast.AST) -> Iterator[ast.ClassDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node


def _collect(operator: Operator) -> None:
    for statement in operator.node.body:
        if isinstance(statement, ast.FunctionDef):
            names = [operator.source.dotted(_callee(d)) for d in statement.decorator_list]
            operator.methods[statement.name] = Method(statement, statement.name, names)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    operator.assigned[target.id] = statement.value
    for name in RULES:  # forward = staticmethod(forward)
        value = operator.assigned.get(name)
        if (
            name in operator.methods
            and isinstance(value, ast.Call)
            and operator.source.dotted(value.func) == "staticmethod"
        ):
            operator.methods[name].decorators.insert(0, "staticmethod")


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node
