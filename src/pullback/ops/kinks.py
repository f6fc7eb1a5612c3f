"""What to do at kinks: first derivatives follow a rule, second ones are refused, unless the kink cancels.

A cone (`hypot`, a norm, the absolute value of a complex number) has no derivative at its tip.  By rule the first one is
0 there, the subgradient of least length.  A second one does not exist, and computing it from that 0 would give a wrong
number without a sign of it, so it is refused.  But ``hypot(a, b)**2`` is smooth: its cotangent, ``2 y``, is a multiple
of the cone y.  Then ``ct a / y`` is computed as ``(ct / y) a``, with the quotient read off the graph instead of 0 / 0,
which is right to any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.dual import OPEN, dual_at
from pullback.core.engine import current_pass
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Node
from pullback.core.masked import Masked
from pullback.core.places import same_place
from pullback.core.primitive_node import SavedConstant
from pullback.core.recorded import Recorded
from pullback.core.saved import unpack
from pullback.core.tensor import Tensor, wrap

# ------------------------------------------------------------------------------------------------------------ refusing
SMOOTH_LENGTHS = (
    "x * x + y * y, or sum(x * x), for the square of a length; sqrt(x * x + y * y + eps) for a smooth one; or where(...) "
    "to leave the zeros out."
)


class Kink(Node):
    """Stands behind a slope that is right, but has itself no derivative at some entries: refuses it there."""

    __slots__ = ("instead", "operator_name", "where")

    def __init__(self, slope: Tensor, where: Any, operator_name: str, instead: str = SMOOTH_LENGTHS) -> None:
        super().__init__((slope._resolved(),), type(slope), slope._array.shape, slope.dtype)
        running = current_pass()
        same_place(self, running.node if running else None)
        self.where = where
        self.operator_name = operator_name
        self.instead = instead

    def _name(self) -> str:
        return "KinkBackward"

    def _pull(self, cotangents: list[Any], task: Any) -> list[Any]:
        ct = cotangents[0]
        at_kink = self.where & ct.mask if ct.__class__ is Masked else self.where
        if ct is not None and arrays.anywhere(at_kink):
            raise self.refusal(at_kink)
        return cotangents

    def refusal(self, at_kink: Any) -> DerivativeRefused:
        """What is raised where a cotangent arrives at these entries."""
        point = [tuple(map(int, index)) for index in np.argwhere(arrays.everything(at_kink))[:3]]
        return lesson(
            DerivativeRefused,
            f"the second derivative of {self.operator_name} at zero is refused (entries {', '.join(map(str, point))})",
            why="there its first derivative is 0 by convention; a second one does not exist.",
            instead=self.instead,
            node=self,
        )


def kink(slope: Any, where: Any, operator_name: str, instead: str = SMOOTH_LENGTHS) -> Any:
    """`slope`, with its derivative refused at the entries `where`; bare arrays come back as they are."""
    if not isinstance(slope, Tensor) or slope._edge is None:
        return slope
    xp = arrays.namespace(slope._array)
    mask = where._array if isinstance(where, Tensor) else where
    if not arrays.anywhere(mask):
        return slope
    return guarded(slope, Kink(slope, xp.broadcast_to(mask, slope._array.shape), operator_name, instead))


def guarded(slope: Tensor, node: Kink) -> Any:
    """`slope`, with `node` behind it, which refuses its derivative: at once, where it already has a tangent."""
    task = current_pass()
    if task is not None and task.linear:  # the slope itself is all that is asked for
        return slope
    if OPEN and dual_at(slope._edge) is not None:
        raise node.refusal(node.where)
    if slope._resolved() is None:
        return slope
    return wrap(type(slope), slope._array, slope._buffer, (node, 0))


# --------------------------------------------------------------------------------------------- quotients of the graph
#: How a factor passes through an operator: ``rule(node, part)``, where ``part(k)`` is the quotient of operand k, or None.
QUOTIENTS: dict[Any, Callable[[Any, Callable[[int], Any]], Any]] = {}
_DEEPEST = 50  # products nested deeper are not looked through


def exact_quotient(value: Any, ctx: Any) -> Any:
    """``value / y`` for the result y of the node `ctx`, where `value` was computed as a multiple of y; else ``None``.

    Nothing is divided: the factor is read off the graph.  ``None`` also for bare arrays, which have no graph.
    """
    if not isinstance(value, Tensor):
        return None
    found = _quotient(value._resolved(), ctx._number, {}, 0)
    return None if found is None else found * Recorded.xp.ones_like(value)


def _quotient(edge: Any, number: int, known: dict[Any, Any], depth: int) -> Any:
    """The quotient of what comes along `edge` by the result of the node with this creation number."""
    if not edge or depth > _DEEPEST:
        return None
    node: Any = edge[0]
    if node._number == number:
        return 1.0
    if edge not in known:
        operator = getattr(node, "_operator", None)
        rule = QUOTIENTS.get(operator) or getattr(operator, "quotient", None)

        def part(k: int) -> Any:
            """The quotient of operand k, if it has the shape of the result."""
            inner = node._edges[k]
            same = inner and inner[0]._specs[inner[1]][0] == node._specs[0][0]
            return _quotient(inner, number, known, depth + 1) if same else None

        known[edge] = rule(node, part) if rule is not None else None
    return known[edge]


def operand(node: Any, k: int) -> Any:
    """Operand k as it was saved: a Tensor in the graph, or a constant."""
    entry = node._entries()[k]
    return entry.array if isinstance(entry, SavedConstant) else unpack(entry, node, "an operand")
