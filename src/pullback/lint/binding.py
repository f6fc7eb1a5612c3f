"""Names, items and attributes that take up values."""

from __future__ import annotations

import ast
from dataclasses import replace

from pullback.lint.events import CTX, Event, Notes
from pullback.lint.values import DICT, FACT, LIST, OTHER, TUPLE, Value, joined


class Binding(Notes):
    """The targets of assignments."""

    def value(self, node: ast.AST | None) -> Value:
        """What is known of an expression."""
        raise NotImplementedError

    def _bind(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.environment[target.id] = value if value.text else replace(value, text=target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, node)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, replace(value, kind=LIST, items=None), node)
        elif isinstance(target, ast.Subscript):
            base = self.value(target.value)
            self.value(target.slice)
            if base.kind in {LIST, DICT}:
                self._absorb(target.value, value)
            self._write(base, node, "item")
            self._store(target.value, value, node)
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            if CTX in base.same:
                self.kept[id(target)] = Event(node, value, self.branch, target.attr)
            elif target.attr == "data":
                self._write(base, node, "data")
            else:
                self._store(target, value, node)

    def _store(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Something that was not made here takes up a value."""
        root = target
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.environment:
            self.stored.append(Event(node, value, self.branch, root.id))

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, node: ast.AST) -> None:
        parts = target.elts
        items = value.items
        stars = [k for k, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if items is not None and not stars and len(items) == len(parts):
            pairs = list(items)
        elif items is not None and len(stars) == 1 and len(items) >= len(parts) - 1:
            k, after = stars[0], len(parts) - stars[0] - 1
            middle = Value(LIST, joined(items[k : len(items) - after]), known=False)
            pairs = [*items[:k], middle, *items[len(items) - after :]]
        else:
            pairs = [self._part(value, node, k) for k in range(len(parts))]
        for part, item in zip(parts, pairs, strict=True):
            self._bind(part, item, node)

    def _part(self, value: Value, node: ast.AST, k: int) -> Value:
        return replace(value, items=None, same=frozenset([(id(node), k)]), kind=of_part(value), text="")

    def _absorb(self, container: ast.expr, value: Value) -> None:
        """A list or a dict that was made here takes up a value."""
        if isinstance(container, ast.Name) and container.id in self.environment:
            old = self.environment[container.id]
            self.environment[container.id] = replace(
                old,
                degree=joined((old, value)),
                touched=old.touched | value.touched,
                items=None,
                known=old.known and value.known,
                zero=False,
            )

    def _write(self, value: Value, node: ast.AST, how: str) -> None:
        if value.kind not in {LIST, DICT, TUPLE, FACT}:
            self.written.append(Event(node, value, self.branch, how))

    def _leave(self, value: Value, node: ast.AST, how: str) -> None:
        if value.depends:
            self.left.append(Event(node, value, self.branch, how))


def of_part(value: Value) -> str:
    """The kind of a part of a value that is not taken apart."""
    return OTHER if value.kind in {TUPLE, LIST, DICT} else value.kind
