"""What is known of one Function: the facts that rules ask for, each found out once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pullback.lint.events import CTX, XP, Called, Event
from pullback.lint.flow import Flow
from pullback.lint.operators import Method, Operator
from pullback.lint.values import (
    DICT,
    FACT,
    INDEX,
    LINEAR,
    LIST,
    MASK,
    NONE,
    OTHER,
    TENSOR,
    TUPLE,
    WITHOUT_DERIVATIVE,
    Value,
    merged,
)


@dataclass
class Saved:
    """One value given to ``save_for_backward``."""

    node: ast.expr
    value: Value
    call: Called


def _annotated(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation is not None else ""


def argument_kind(argument: ast.arg, default: ast.expr | None) -> str:
    """What an argument's annotation or default says about it."""
    text = _annotated(argument)
    if "Tensor" in text:
        return TENSOR
    if text.split("[")[0] in {
        "int",
        "float",
        "bool",
        "str",
        "tuple",
        "Callable",
        "torch.dtype",
        "torch.Size",
        "list[int]",
        "Sequence",
    }:
        return FACT
    if isinstance(default, ast.Constant) and default.value is not None:
        return FACT
    return OTHER


class Analysis:
    """The facts of one Function class."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.source = operator, operator.source

    # -------------------------------------------------------------------------------------------------- arguments
    @cached_property
    def _gradient_rows(self) -> list[list[Value] | None]:
        """What backward returns, seen without knowing what forward keeps."""
        if self.operator.backward is None:
            return []
        return [gradients_of(event) for event in self._pull(self.operator.backward, lambda name: None).returned]

    @cached_property
    def differentiated(self) -> frozenset[str]:
        """The arguments to which backward gives a gradient: they are Tensors."""
        rows = [row for row in self._gradient_rows if row is not None]
        names = self.operator.argument_names
        return frozenset(
            name for k, name in enumerate(names) if any(k < len(row) and row[k].kind != NONE for row in rows)
        )

    @cached_property
    def never_differentiated(self) -> frozenset[str]:
        """The arguments for which backward always returns None (or which are plainly no Tensors)."""
        operator = self.operator
        found = set()
        spec = operator.forward.node.args if operator.forward else None
        if spec is not None:
            every = [*spec.posonlyargs, *spec.args]
            defaults = [None] * (len(every) - len(spec.defaults)) + list(spec.defaults)
            found = {a.arg for a, d in zip(every, defaults, strict=True) if argument_kind(a, d) == FACT}
            if operator.primitive:
                found |= {a.arg for a in spec.kwonlyargs}
        rows = self._gradient_rows
        for k, name in enumerate(operator.argument_names):
            if rows and all(row is not None and k < len(row) and row[k].kind == NONE for row in rows):
                found.add(name)
        return frozenset(found)

    def _argument(self, argument: ast.arg) -> Value:
        name = argument.arg
        token = frozenset([f"in:{name}"])
        if name in self.never_differentiated:
            return Value(FACT if argument_kind(argument, None) == FACT else OTHER, {}, token, token, text=name)
        tensor = name in self.differentiated or argument_kind(argument, None) == TENSOR
        return Value(TENSOR if tensor else OTHER, {f"in:{name}": LINEAR}, token, token, text=name)

    # ------------------------------------------------------------------------------------------------------ flows
    def _enter(self, method: Method, arguments: dict[str, Value]) -> dict[str, Value]:
        ctx = self.operator.ctx_of(method)
        environment = dict(arguments)
        if ctx:
            environment[ctx] = Value(OTHER, same=frozenset([CTX]), text=ctx)
        for argument in method.arguments:
            environment.setdefault(
                argument.arg, Value(OTHER, same=frozenset([f"arg:{argument.arg}"]), text=argument.arg)
            )
        return environment

    @cached_property
    def forward(self) -> Flow | None:
        method = self.operator.forward
        if method is None:
            return None
        spec = method.node.args
        arguments = {a.arg: self._argument(a) for a in [*self.operator.parameters(method), *spec.kwonlyargs]}
        if spec.vararg:
            name = spec.vararg.arg
            arguments[name] = Value(
                TUPLE, {f"in:*{name}": LINEAR}, frozenset([f"in:*{name}"]), frozenset([f"in:*{name}"]), text=name
            )
        if spec.kwarg:
            arguments[spec.kwarg.arg] = Value(DICT)
        flow = Flow(self.source, self._enter(method, arguments), self._in_forward)
        return flow.follow(method.node.body)

    def _in_forward(self, name: str) -> Value | None:
        if name == "xp":
            return Value(OTHER, same=frozenset([XP]))
        return Value(FACT) if name == "needs_input_grad" else None

    @cached_property
    def setup(self) -> Flow | None:
        method = self.operator.setup
        if method is None or self.forward is None or self.operator.forward is None:
            return None
        spec = self.operator.forward.node.args
        names = [a.arg for a in self.operator.parameters(self.operator.forward)]
        start = {a.arg: self._argument(a) for a in self.operator.parameters(self.operator.forward)}
        items = None if spec.vararg else tuple(start[name] for name in names)
        inputs = Value(TUPLE, {}, items=items) if items is not None else Value(TUPLE, {"in:*": LINEAR})
        results = [event.value for event in self.forward.returned]
        output = results[0] if results else Value(OTHER)
        for other in results[1:]:
            output = merged(output, other)
        given = dict(zip([a.arg for a in self.operator.parameters(method)], (inputs, output), strict=False))
        flow = Flow(self.source, self._enter(method, given), self._in_forward)
        return flow.follow(method.node.body)

    def _pull(self, method: Method, attribute: object) -> Flow:
        arguments = {
            a.arg: Value(
                TENSOR,
                {f"grad:{a.arg}": LINEAR},
                _one(f"grad:{a.arg}"),
                _one(f"grad:{a.arg}"),
                touched=_one(f"grad:{a.arg}"),
                text=a.arg,
            )
            for a in self.operator.parameters(method)
        }
        if method.vararg:
            token = _one(f"grad:*{method.vararg}")
            arguments[method.vararg] = Value(
                TUPLE, {f"grad:*{method.vararg}": LINEAR}, token, token, touched=token, text=method.vararg
            )
        flow = Flow(self.source, self._enter(method, arguments), attribute)  # type: ignore[arg-type]
        return flow.follow(method.node.body)

    @cached_property
    def backward(self) -> Flow | None:
        method = self.operator.backward
        return None if method is None else self._pull(method, self._in_backward)

    def _in_backward(self, name: str) -> Value | None:
        if name in {"saved_tensors", "saved_variables"}:
            return self._saved_values()
        if name == "needs_input_grad":
            return Value(FACT)
        if name == "xp":
            return Value(OTHER, same=_one(XP))
        events = [event for event in self.kept if event.name == name]
        if events:
            value = events[-1].value
            token = _one(f"ctx:{name}")
            if value.kind in WITHOUT_DERIVATIVE or not (value.depends or value.kind == TENSOR):
                return Value(
                    value.kind,
                    {},
                    token,
                    token,
                    text=f"ctx.{name}",
                    known=value.known or value.kind in WITHOUT_DERIVATIVE,
                )
            if value.items is not None and value.kind in {TUPLE, LIST}:
                items = tuple(
                    Value(v.kind, {f"ctx:{name}[{k}]": LINEAR} if v.depends else {}, _one(f"ctx:{name}[{k}]"))
                    for k, v in enumerate(value.items)
                )
                return Value(value.kind, {f"ctx:{name}": LINEAR}, token, token, items, text=f"ctx.{name}")
            return Value(value.kind, {f"ctx:{name}": LINEAR}, token, token, text=f"ctx.{name}", touched=token)
        return None

    def _saved_values(self) -> Value:
        if self.saved is None:
            return Value(TUPLE, {"saved:*": LINEAR}, touched=_one("saved:*"))
        items = []
        for k, entry in enumerate(self.saved):
            token = _one(f"saved:{k}")
            degree = (
                {f"saved:{k}": LINEAR} if entry.value.depends and entry.value.kind not in WITHOUT_DERIVATIVE else {}
            )
            kind = entry.value.kind if entry.value.kind in WITHOUT_DERIVATIVE else TENSOR
            items.append(Value(kind, degree, token, token, touched=token, text=entry.value.text, known=True))
        return Value(TUPLE, {}, items=tuple(items), touched=frozenset().union(*(v.touched for v in items)))

    # ------------------------------------------------------------------------------------------------- collected
    @property
    def keeping(self) -> list[Flow]:
        """The flows in which values are kept for backward."""
        return [flow for flow in (self.forward, self.setup) if flow is not None]

    def ctx_calls(self, tail: str) -> list[Called]:
        """The calls of a method of ctx, in forward or setup_context; each place once."""
        every = [called for flow in self.keeping for called in flow.calls.values()]
        return [c for c in every if c.tail == tail and c.receiver is not None and CTX in c.receiver.same]

    @cached_property
    def saves(self) -> list[Called]:
        return self.ctx_calls("save_for_backward")

    @cached_property
    def every_saved(self) -> list[Saved]:
        """Every value given to ``save_for_backward`` by itself."""
        found = []
        for called in self.saves:
            nodes, values = list(called.node.args), list(called.values)
            if called.starred:
                pairs = [(n, v) for n, v in zip(nodes, values, strict=True) if not isinstance(n, ast.Starred)]
                for n, v in zip(nodes, values, strict=True):
                    if isinstance(n, ast.Starred) and v.items is not None:
                        pairs += [(n, item) for item in v.items]
            else:
                pairs = list(zip(nodes, values, strict=True))
            found += [Saved(n, v, called) for n, v in pairs]
        return found

    @cached_property
    def saved(self) -> list[Saved] | None:
        """What ``ctx.saved_tensors`` will hold; None where that cannot be told."""
        if not self.saves:
            return []
        if len(self.saves) != 1 or any(isinstance(part, ast.Starred) for part in self.saves[0].node.args):
            return None
        return self.every_saved

    @cached_property
    def kept(self) -> list[Event]:
        """The attributes that forward or setup_context set on ctx; each place once."""
        return [event for flow in self.keeping for event in flow.kept.values()]

    @cached_property
    def outputs(self) -> list[list[Value]]:
        """The results of forward, for each ``return``."""
        if self.forward is None:
            return []
        return [
            list(e.value.items) if e.value.items is not None and e.value.kind in {TUPLE, LIST} else [e.value]
            for e in self.forward.returned
        ]

    @cached_property
    def output_tokens(self) -> frozenset[object]:
        return frozenset().union(*(value.same for row in self.outputs for value in row))

    def is_input(self, value: Value) -> str:
        """The name of the argument that a value is; "" if it is none."""
        for token in value.same:
            if isinstance(token, str) and token.startswith("in:"):
                return token[3:]
        return ""

    def is_output(self, value: Value) -> bool:
        return bool(value.same & self.output_tokens)

    def is_intermediate(self, value: Value) -> bool:
        """Whether a value is differentiable, and neither an input nor an output."""
        return (
            value.depends
            and value.kind not in WITHOUT_DERIVATIVE
            and not self.is_input(value)
            and not self.is_output(value)
        )

    @cached_property
    def gradients(self) -> list[tuple[ast.AST, list[Value]]]:
        """The gradients that backward returns, for each ``return`` where they can be told apart."""
        found = []
        for event in self.backward.returned if self.backward else []:
            row = gradients_of(event)
            if row is not None:
                found.append((event.node, row))
        return found

    def marked(self, tail: str) -> list[tuple[Called, ast.expr, Value]]:
        return [
            (called, node, value)
            for called in self.ctx_calls(tail)
            for node, value in zip(called.node.args, called.values, strict=True)
        ]

    @property
    def once(self) -> bool:
        return self.operator.backward is not None and self.operator.backward.once

    def reads(self, attribute: str) -> bool:
        """Whether a rule reads ``ctx.attribute``."""
        for name in ("backward", "jvp", "vjp", "vmap"):
            method = self.operator.methods.get(name)
            if method is not None and any(
                isinstance(n, ast.Attribute) and n.attr == attribute for n in ast.walk(method.node)
            ):
                return True
        return False


def _one(token: str) -> frozenset[str]:
    return frozenset([token])


def gradients_of(event: Event) -> list[Value] | None:
    """The gradients of one ``return``; None where their number cannot be told."""
    node = event.node.value if isinstance(event.node, ast.Return) else None
    value = event.value
    if value.kind in {TUPLE, LIST}:
        return None if value.items is None else list(value.items)
    if node is None or isinstance(node, ast.Constant) or value.kind in {TENSOR, MASK, INDEX, FACT}:
        return [value]
    return None  # it may be a tuple


def walk(method: Method | None) -> Iterator[ast.AST]:
    """The nodes of a method's body, without those of its decorators and annotations."""
    for statement in method.node.body if method else []:
        yield from ast.walk(statement)
