"""What a call gives: how its result depends on its arguments, and what it does to them."""

from __future__ import annotations

import ast
from dataclasses import replace

from pullback.lint import vocabulary as words
from pullback.lint.events import XP, Called
from pullback.lint.expressions import Expressions
from pullback.lint.values import (
    FACT,
    INDEX,
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
    product,
    touched,
)


class Calls(Expressions):
    """Calls of functions and methods."""

    def _of_call(self, node: ast.Call) -> Value:
        name = self.source.dotted(node.func)
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        tail = node.func.attr if isinstance(node.func, ast.Attribute) else name
        values = [self.value(part) for part in node.args]
        keywords = {word.arg or "**": self.value(word.value) for word in node.keywords}
        starred = any(isinstance(part, ast.Starred) for part in node.args)
        called = Called(node, name, tail, receiver, values, keywords, self.branch, starred)
        self.calls[id(node)] = called
        return self._result(called)

    def _result(self, called: Called) -> Value:
        node, tail = called.node, called.tail
        method = called.receiver is not None and not self._is_module(called)
        self._note_writes(called, method)
        self._note_leaving(called, method)
        operands = ([called.receiver] if method and called.receiver else []) + called.values
        everything = operands + list(called.keywords.values())
        token: frozenset[object] = frozenset([id(node)])
        seen = touched(everything)
        if tail in {"tuple", "list", "reversed", "sorted", "set", "zip", "enumerate", "filter", "map"} and not method:
            first = operands[0] if operands else Value(LIST)
            kind = TUPLE if tail == "tuple" else LIST
            return replace(
                first, kind=kind, items=first.items if tail in {"tuple", "list"} else None, degree=joined(operands)
            )
        if tail == "append" or tail == "extend":
            if isinstance(node.func, ast.Attribute):
                for value in called.values:
                    self._absorb(node.func.value, value)
                    self._store(node.func.value, value, node)
            return Value(NONE)
        if tail in (words.FACT_METHODS if method else words.FACT_CALLS) or (
            method and tail == "type" and not called.values
        ):
            return Value(FACT, touched=seen)
        if tail in words.CREATORS:
            return Value(TENSOR, {}, token, token, zero=tail in words.ZEROS)
        if tail in {"tensor", "as_tensor", "array"} and operands and operands[0].kind == FACT:
            return Value(TENSOR, {}, token, token)
        if tail in words.MASK_CALLS or (tail in words.INDEX_CALLS and operands):
            return Value(MASK if tail in words.MASK_CALLS else INDEX, {}, token, token, touched=seen)
        if tail in words.CASTS and method and called.receiver is not None:
            return self._casted(called.receiver, called)
        if (
            method
            and called.receiver is not None
            and called.receiver.kind in {MASK, INDEX}
            and tail in words.LINEAR_CALLS
        ):
            return replace(called.receiver, same=token)
        memory = token
        if tail in words.MAYBE_SAME or tail in words.VIEWS:
            memory = operands[0].memory if operands else token
        same = operands[0].same if tail in words.MAYBE_SAME and operands else token
        if words.writes(tail) and method and called.receiver is not None:
            same, memory = called.receiver.same, called.receiver.memory
        degree, known = self._degree(called, operands, everything)
        kind = TENSOR if self._is_array_call(called) or method or tail == "apply" else OTHER
        if operands and all(v.kind in {FACT, NONE} for v in everything) and kind == TENSOR and not seen:
            known = known or self._is_array_call(called)
        result = Value(kind, degree, same, memory, None, False, known, False, seen)
        if (tail in {"where"} and len(operands) == 3) or (tail == "where" and method):
            result = replace(result, zero=False)
        if tail in words.VALUES_AND_INDICES and _many(called, method):
            index = Value(INDEX, {}, frozenset([(id(node), 1)]), touched=seen)
            return replace(result, kind=TUPLE, items=(result, index))
        return result

    def _casted(self, value: Value, called: Called) -> Value:
        integer = any(_names_integer(part) for part in [*called.node.args, *(w.value for w in called.node.keywords)])
        if integer:
            return Value(INDEX, {}, frozenset([id(called.node)]), touched=value.touched)
        cast = value.kind in {MASK, INDEX}
        return replace(value, same=frozenset([id(called.node)]), cast=cast or value.cast, text="")

    def _degree(self, called: Called, operands: list[Value], everything: list[Value]) -> tuple[dict[str, int], bool]:
        tail = called.tail.rstrip("_") or called.tail
        array = self._is_array_call(called) or (called.receiver is not None and not self._is_module(called))
        known = array and all(v.known for v in everything)
        if tail == "where":
            parts = operands[1:] if len(operands) == 3 and not self._condition_last(called) else operands
            return joined([p for p in parts if p.kind not in WITHOUT_DERIVATIVE]), known
        if array and tail in words.PRODUCTS:
            found: dict[str, int] = {}
            so_far = Value()
            for value in [*operands, *called.keywords.values()]:
                found = product(so_far, value)
                so_far = Value(degree=found)
            return found, known
        if array and tail in words.QUOTIENTS and len(operands) > 1:
            return product(operands[0], replace(operands[1], degree=joined(operands[1:], NONLINEAR))), known
        if array and tail in words.LINEAR_CALLS:
            return joined(everything), known
        if array and tail in words.CURVED:
            return joined(everything, NONLINEAR), known
        if tail == "apply":
            return joined(everything, UNKNOWN), False
        return joined(everything, UNKNOWN), False

    def _condition_last(self, called: Called) -> bool:
        return called.receiver is not None and not self._is_module(called)  # x.where(condition, y)

    def _is_module(self, called: Called) -> bool:
        """Whether what stands before the dot is a module, a class or anything else but a value of this method."""
        if called.receiver is not None and XP in called.receiver.same:
            return True
        func = called.node.func
        root = func
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and root.id not in self.environment and isinstance(func, ast.Attribute)

    def _is_array_call(self, called: Called) -> bool:
        if called.receiver is not None and XP in called.receiver.same:
            return True
        return words.computes(called.name) or called.name.partition(".")[0] == "xp"

    def _note_writes(self, called: Called, method: bool) -> None:
        node, tail = called.node, called.tail
        if method and words.writes(tail) and called.receiver is not None:
            self._write(called.receiver, node, f".{tail}()")
        elif self._is_array_call(called) and words.writes(tail) and called.values:
            self._write(called.values[0], node, f"{tail}()")
        elif called.values and any(w.arg == "inplace" and _is_true(w.value) for w in node.keywords):
            self._write(called.values[0], node, "inplace=True")
        if "out" in called.keywords:
            self._write(called.keywords["out"], node, "out=")

    def _note_leaving(self, called: Called, method: bool) -> None:
        tail = called.tail
        if method and tail in words.LEAVING_CALLS and called.receiver is not None:
            self._leave(called.receiver, called.node, f".{tail}()")
        elif called.name.partition(".")[0] in words.NUMPY_LIKE and tail not in words.CREATORS:
            for value in called.values:
                self._leave(value, called.node, called.name)
        elif tail in {"float", "int"} and called.receiver is None:
            for value in called.values:
                if value.kind == TENSOR:
                    self._leave(value, called.node, f"{tail}()")


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _names_integer(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return text.rpartition(".")[2] in {"int64", "int32", "int16", "int8", "uint8", "long", "int", "bool", "short"}


def _many(called: Called, method: bool) -> bool:
    """Whether ``max`` and its like return values and indices here: they do along an axis, and where there is only one way."""
    arguments = len(called.values) - (0 if method else 1)
    if called.tail in {"sort", "topk", "kthvalue", "mode", "cummax", "cummin"}:
        return called.name.partition(".")[0] not in words.NUMPY_LIKE
    return bool({"dim", "axis"} & set(called.keywords)) or (arguments == 1 and called.values[-1].kind == FACT)
