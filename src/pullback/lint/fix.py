"""Repairs that cannot change what a program means: libcst rewrites the source, and every other character stays.

PB101   ``@staticmethod`` above a rule that lacks it
PB102   ``ctx`` for ``self``, where the method has no other ``ctx``
PB309   a tuple for the list that backward returns
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback.lint.finding import Finding
from pullback.lint.operators import RULES as PROTOCOL
from pullback.lint.rules import RULES

FIXABLE = frozenset(code for code, rule in RULES.items() if rule.fixable)


def fixed(text: str, findings: Iterable[Finding]) -> str:
    """Source text with the repairs for those of the findings that have one.

    Raises ImportError, with what to install, where libcst is missing.
    """
    wanted = {(finding.code, finding.line) for finding in findings if finding.code in FIXABLE}
    if not wanted:
        return text
    try:
        import libcst as cst
        from libcst.metadata import MetadataWrapper
    except ImportError:
        raise ImportError("--fix needs libcst: pip install 'pullback[check]'") from None
    return str(MetadataWrapper(cst.parse_module(text)).visit(_repairs(cst, wanted)).code)


def _repairs(cst: Any, wanted: set[tuple[str, int]]) -> Any:
    """The transformer; made here because libcst is loaded only when something is repaired."""
    from libcst.metadata import PositionProvider

    class Repairs(cst.CSTTransformer):
        METADATA_DEPENDENCIES = (PositionProvider,)

        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []  # of the ctx that is renamed in the methods around the place

        def line(self, node: Any) -> int:
            return int(self.get_metadata(PositionProvider, node).start.line)

        def visit_FunctionDef(self, node: Any) -> bool:  # noqa: N802
            self.names.append(self._renamed(node))
            return True

        def leave_FunctionDef(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            self.names.pop()
            if original_node.name.value in PROTOCOL and ("PB101", self._def_line(original_node)) in wanted:
                decorator = cst.Decorator(decorator=cst.Name("staticmethod"))
                above = updated_node.leading_lines
                decorators = [decorator.with_changes(leading_lines=above), *updated_node.decorators]
                return updated_node.with_changes(decorators=decorators, leading_lines=[])
            return updated_node

        def _def_line(self, node: Any) -> int:
            return self.line(node.name)

        def _renamed(self, node: Any) -> str:
            if not node.params.params or node.name.value not in PROTOCOL:
                return ""
            first = node.params.params[0]
            if ("PB102", self.line(first)) not in wanted or _mentions(cst, node, "ctx"):
                return ""
            return str(first.name.value)

        def leave_Name(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            if any(name and name == original_node.value for name in self.names):
                return updated_node.with_changes(value="ctx")
            return updated_node

        def leave_Attribute(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            return updated_node.with_changes(attr=original_node.attr)  # ``x.self`` is another name

        def leave_Arg(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            return updated_node.with_changes(keyword=original_node.keyword)

        def leave_Return(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802
            value = updated_node.value
            if isinstance(value, cst.List) and ("PB309", self.line(original_node)) in wanted:
                return updated_node.with_changes(value=_tuple(cst, value))
            return updated_node

    return Repairs()


def _mentions(cst: Any, node: Any, name: str) -> bool:
    found = False

    class Look(cst.CSTVisitor):
        def visit_Name(self, node: Any) -> None:  # noqa: N802
            nonlocal found
            found = found or node.value == name

    node.visit(Look())
    return found


def _tuple(cst: Any, value: Any) -> Any:
    elements = list(value.elements)
    if len(elements) == 1 and not isinstance(elements[0].comma, cst.Comma):
        elements[0] = elements[0].with_changes(comma=cst.Comma())
    lpar = cst.LeftParen(whitespace_after=value.lbracket.whitespace_after)
    rpar = cst.RightParen(whitespace_before=value.rbracket.whitespace_before)
    return cst.Tuple(elements=elements, lpar=[lpar], rpar=[rpar])
