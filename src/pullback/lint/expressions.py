"""What is known of an expression."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from pullback.lint import vocabulary as words
from pullback.lint.binding import Binding, of_part
from pullback.lint.events import CTX
from pullback.lint.values import (
    DICT,
    FACT,
    INDEX,
    LINEAR,
    LIST,
    MASK,
    NONE,
    NONLINEAR,
    OTHER,
    TENSOR,
    TUPLE,
    UNKNOWN,
    WITHOUT_DERIVATIVE,
    Value,
    joined,
    merged,
    product,
    touched,
)


class Expressions(Binding):
    """Expressions of every kind but calls."""

    def value(self, node: ast.AST | None) -> Value:
        """What is known of an expression."""
        if node is None:
            return Value(NONE)
        method = getattr(self, "_of_" + type(node).__name__.lower(), None)
        if method is not None:
            found = method(node)
            return found
        return self._unknown(node)

    def _unknown(self, node: ast.AST) -> Value:
        parts = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return Value(OTHER, joined(parts, UNKNOWN), known=False, touched=touched(parts))

    def _of_constant(self, node: ast.Constant) -> Value:
        return Value(
            NONE if node.value is None else FACT, zero=node.value in (0, 0.0) and not isinstance(node.value, bool)
        )

    def _of_joinedstr(self, node: ast.JoinedStr) -> Value:
        return Value(FACT)

    def _of_name(self, node: ast.Name) -> Value:
        return self.environment.get(node.id) or Value(OTHER, text=node.id, same=frozenset([("outside", node.id)]))

    def _of_tuple(self, node: ast.Tuple | ast.List, kind: str = TUPLE) -> Value:
        values = [self.value(part) for part in node.elts]
        starred = any(isinstance(part, ast.Starred) for part in node.elts)
        if starred:
            spread: list[Value] | None = []
            for part, value in zip(node.elts, values, strict=True):
                if not isinstance(part, ast.Starred):
                    spread.append(value)  # type: ignore[union-attr]
                elif value.items is not None:
                    spread.extend(value.items)  # type: ignore[union-attr]
                else:
                    spread = None
                    break
        else:
            spread = values
        items = None if spread is None else tuple(spread)
        return Value(kind, joined(values), items=items, known=all(v.known for v in values), touched=touched(values))

    def _of_list(self, node: ast.List) -> Value:
        return self._of_tuple(node, LIST)

    def _of_starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def _of_dict(self, node: ast.Dict) -> Value:
        values = [self.value(part) for part in node.values]
        return Value(DICT, joined(values), known=all(v.known for v in values), touched=touched(values))

    def _of_namedexpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self._bind(node.target, value, node)
        return value

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return merged(self.value(node.body), self.value(node.orelse))

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        values = [self.value(part) for part in node.values]
        kind = MASK if all(v.kind in WITHOUT_DERIVATIVE for v in values) else OTHER
        return Value(kind, joined(values), touched=touched(values), known=all(v.known for v in values))

    def _of_compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left), *(self.value(part) for part in node.comparators)]
        facts = all(v.kind in {FACT, NONE} for v in values)
        return Value(FACT if facts else MASK, touched=touched(values), same=frozenset([id(node)]))

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        return value if isinstance(node.op, ast.Not) and value.kind == FACT else value.fresh(id(node))

    def _of_binop(self, node: ast.BinOp) -> Value:
        return self._operate(node, self.value(node.left), node.op, self.value(node.right))

    def _operate(self, node: ast.AST, a: Value, op: ast.operator, b: Value) -> Value:
        token = frozenset([id(node)])
        kinds = {a.kind, b.kind}
        if isinstance(op, (ast.Mult, ast.MatMult)):
            degree = product(a, b)
        elif isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)):
            degree = product(a, replace(b, degree=joined((b,), NONLINEAR)))
        elif isinstance(op, ast.Pow):
            degree = joined((a, b), NONLINEAR)
        else:
            degree = joined((a, b))
        if kinds <= {FACT, NONE}:
            kind = FACT
        elif isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)) or (kinds <= {MASK, INDEX, FACT} and not degree):
            kind = MASK if MASK in kinds else INDEX
        elif LIST in kinds or TUPLE in kinds:
            kind = LIST if LIST in kinds else TUPLE
        else:
            kind = TENSOR if TENSOR in kinds or (kinds & {MASK, INDEX} and degree) else OTHER
        items = None
        if isinstance(op, ast.Add) and kind in {LIST, TUPLE} and a.items is not None and b.items is not None:
            items = a.items + b.items
        if isinstance(op, ast.Mult) and kind in {LIST, TUPLE}:
            items = _repeated(node, a, b)
        zero = (a.zero or b.zero) if isinstance(op, ast.Mult) else a.zero and b.zero
        cast = kind in {MASK, INDEX} and (a.cast or b.cast)
        return Value(kind, degree, token, token, items, zero, a.known and b.known, cast, touched((a, b)))

    def _of_lambda(self, node: ast.Lambda) -> Value:
        return Value(OTHER, known=False)

    def _comprehension(self, node: Any, kind: str) -> Value:
        before = dict(self.environment)
        for generator in node.generators:
            source = self.value(generator.iter)
            self._bind(generator.target, element(source, generator.iter), node)
        parts = [self.value(part) for part in ([node.value] if isinstance(node, ast.DictComp) else [node.elt])]
        self.environment = before
        return Value(kind, joined(parts), known=all(v.known for v in parts), touched=touched(parts))

    def _of_listcomp(self, node: ast.ListComp) -> Value:
        return self._comprehension(node, LIST)

    def _of_setcomp(self, node: ast.SetComp) -> Value:
        return self._comprehension(node, LIST)

    def _of_generatorexp(self, node: ast.GeneratorExp) -> Value:
        return self._comprehension(node, LIST)

    def _of_dictcomp(self, node: ast.DictComp) -> Value:
        return self._comprehension(node, DICT)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        self.value(node.slice)
        if base.kind == FACT:
            return replace(base, items=None)
        if base.items is not None:
            return _item(base, node.slice)
        kind = of_part(base) if base.kind in {TUPLE, LIST, DICT} else base.kind
        return replace(base, kind=kind, same=frozenset([id(node)]), items=None, text="")

    def _of_slice(self, node: ast.Slice) -> Value:
        return Value(FACT)

    def _of_attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if CTX in base.same:
            return self.attribute(node.attr) or Value(
                OTHER, {f"ctx:{node.attr}": LINEAR}, text=f"ctx.{node.attr}", same=frozenset([f"ctx.{node.attr}"])
            )
        if node.attr in words.FACT_ATTRIBUTES:
            return Value(FACT)
        if node.attr in {"T", "mT", "H", "mH", "real", "imag"}:
            return replace(
                base, same=frozenset([id(node)]), kind=base.kind if base.kind in WITHOUT_DERIVATIVE else TENSOR
            )
        if node.attr in words.LEAVING_ATTRIBUTES:
            self._leave(base, node, ".data")
            return replace(base, same=frozenset([id(node)]))
        return Value(OTHER, joined((base,), UNKNOWN), known=base.known and not base.depends, touched=base.touched)


def element(value: Value, node: ast.AST) -> Value:
    """One round's value of a loop over something."""
    if value.items:
        found = value.items[0]
        for item in value.items[1:]:
            found = merged(found, item)
        return found
    return replace(value, kind=of_part(value), items=None, same=frozenset([(id(node), "each")]), text="")


def _item(base: Value, index: ast.expr) -> Value:
    items = base.items or ()
    if isinstance(index, ast.Slice) and index.step is None:
        low, high = (None if bound is None else _integer(bound) for bound in (index.lower, index.upper))
        if (low is None) == (index.lower is None) and (high is None) == (index.upper is None):
            part = items[low:high]
            return replace(base, items=part, degree=joined(part))
    number = _integer(index)
    if number is not None and -len(items) <= number < len(items):
        return items[number]
    return replace(base, items=None, kind=OTHER)


def _integer(node: ast.expr) -> int | None:
    """The number that an expression spells, if it is a plain integer."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None


def _repeated(node: ast.AST, a: Value, b: Value) -> tuple[Value, ...] | None:
    if not isinstance(node, ast.BinOp):
        return None
    items, count = (a.items, node.right) if a.items is not None else (b.items, node.left)
    if items is not None and isinstance(count, ast.Constant) and isinstance(count.value, int):
        return items * count.value
    return None
