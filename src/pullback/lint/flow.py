"""Following values through a method, statement by statement, without running it.

Both branches of an ``if`` are followed and what is known is merged; a loop's body is followed twice, so that what it carries
from one round to the next is seen.  The result is a list of events: what was called, returned, kept on ctx and written.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from pullback.lint.calls import Calls
from pullback.lint.events import Event
from pullback.lint.expressions import element
from pullback.lint.values import NONE, OTHER, WITHOUT_DERIVATIVE, Value, merged


class Flow(Calls):
    """What happens in one method."""

    def follow(self, body: list[ast.stmt]) -> Flow:
        for statement in body:
            self._statement(statement)
        return self

    # ------------------------------------------------------------------------------------------------- statements
    def _statement(self, node: ast.stmt) -> None:
        method = getattr(self, "_on_" + type(node).__name__.lower(), None)
        if method is not None:
            method(node)

    def _on_expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _on_return(self, node: ast.Return) -> None:
        value = self.value(node.value) if node.value is not None else Value(NONE)
        self.returned.append(Event(node, value, self.branch))

    def _on_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._bind(target, value, node)

    def _on_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self.value(node.value), node)

    def _on_augassign(self, node: ast.AugAssign) -> None:
        old, change = self.value(node.target), self.value(node.value)
        value = self._operate(node, old, node.op, change)
        if isinstance(node.target, ast.Name):
            if old.kind not in WITHOUT_DERIVATIVE and node.target.id in self.environment:
                self._write(old, node, "augmented")
                self.environment[node.target.id] = replace(value, same=old.same, memory=old.memory, text=old.text)
            else:
                self.environment[node.target.id] = value
        else:
            self._bind(node.target, value, node)

    def _on_for(self, node: ast.For) -> None:
        source = self.value(node.iter)
        for _ in range(2):
            self._bind(node.target, element(source, node.iter), node)
            self._branch(node, "loop", node.body)
        self.follow(node.orelse)

    def _on_while(self, node: ast.While) -> None:
        self.value(node.test)
        for _ in range(2):
            self._branch(node, "loop", node.body)
        self.follow(node.orelse)

    def _branch(self, node: ast.stmt, side: str, body: list[ast.stmt]) -> None:
        """Follow statements that may or may not run."""
        before, branch = dict(self.environment), self.branch
        self.branch = (*branch, (id(node), side))
        self.follow(body)
        self.branch = branch
        self.environment = _meet(before, self.environment)

    def _on_if(self, node: ast.If) -> None:
        self.value(node.test)
        before, branch = dict(self.environment), self.branch
        ends = []
        for side, body in (("body", node.body), ("else", node.orelse)):
            self.environment, self.branch = dict(before), (*branch, (id(node), side))
            self.follow(body)
            if not _leaves(body):
                ends.append(self.environment)
        self.branch = branch
        self.environment = before if not ends else ends[0] if len(ends) == 1 else _meet(*ends)

    def _on_with(self, node: ast.With) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, value, node)
            called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
            if self.source.dotted(called).rpartition(".")[2] in {"no_grad", "inference_mode"}:
                self.unrecorded.append(node)
        self.follow(node.body)

    def _on_try(self, node: ast.Try) -> None:
        self.follow(node.body)
        for handler in node.handlers:
            self._branch(node, f"except {handler.lineno}", handler.body)
        self.follow(node.orelse)
        self.follow(node.finalbody)

    def _on_match(self, node: ast.Match) -> None:
        self.value(node.subject)
        for case in node.cases:
            self._branch(node, f"case {case.pattern.lineno}", case.body)

    def _on_assert(self, node: ast.Assert) -> None:
        pass  # what is only asserted goes nowhere

    def _on_functiondef(self, node: ast.FunctionDef) -> None:
        self.environment[node.name] = Value(OTHER, known=False, text=node.name)


def _meet(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    found = dict(a)
    for name, value in b.items():
        found[name] = merged(a[name], value) if name in a else value
    return found


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether control never goes on behind these statements."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
