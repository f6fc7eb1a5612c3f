"""Delayed errors: nodes that stand where a derivative would be silently wrong, and say so when somebody asks for it.

A refusal keeps edges to everything the wrong derivative would have to reach, so that no route goes around it: neither
``backward()`` nor ``grad(..., x)``, at any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback.core import arrays, dual
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Node
from pullback.core.masked import unmask
from pullback.core.places import recorded_at, same_place
from pullback.core.tensor import Tensor, wrap

#: What every refusal of a second derivative proposes.
THREE_REMEDIES = (
    "save inputs or outputs and compute the rest from them in backward; or return the value as an extra output and use its "
    "incoming gradient; or write the backward as a Function of its own."
)
#: What a refusal adds where backward took a value out of the graph, perhaps only to show it.
TO_LOOK = (
    "Only looking at a value takes nothing out of the graph if it is printed (print(g), f'{g.sum():.3f}'), compared "
    "(g.max() > 10) or kept as the Tensor that it is (log.append(g))."
)


class Refusal(Node):
    """Raises when it is pulled back through."""

    __slots__ = ("error", "instead", "source", "what", "why")

    def __init__(
        self,
        edges: Iterable[Any],
        tensor: Tensor,
        what: str,
        why: str,
        instead: str,
        error: type[RuntimeError],
        at: Any,
    ) -> None:
        super().__init__(filter(None, edges), type(tensor), tensor._array.shape, tensor.dtype)
        self.what, self.why, self.instead, self.error = what, why, instead, error
        self.source = at._name()
        same_place(self, at)

    def _name(self) -> str:
        return "Error"

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        error = lesson(self.error, self.what, why=self.why, instead=self.instead, node=self)
        line = recorded_at(self, self.source)
        if line:
            error.add_note(line)
        error._pullback_refusal = True  # type: ignore[attr-defined]
        error._pullback_located = True  # type: ignore[attr-defined]  # it names the Function; this node is of no interest
        raise error


class Constant(Node):
    """A derivative that does not depend on the inputs: differentiating it again gives zeros, not an error."""

    __slots__ = ()

    def __init__(self, edges: Iterable[Any], tensor: Tensor) -> None:
        super().__init__(filter(None, edges), type(tensor), tensor._array.shape, tensor.dtype)

    def _name(self) -> str:
        return "ConstantBackward"

    def _pull(self, cotangents: list[Any], task: Any) -> list[Any]:
        if cotangents[0] is None:
            return [None] * len(self._edges)
        like = unmask(cotangents[0])
        xp = arrays.namespace(arrays.behind(like._array if task.record else like))
        zeros = []
        for producer, position in self._edges:
            shape, dtype = producer._specs[position]
            zero = arrays.zeros(shape, dtype, xp)
            zeros.append(wrap(type(like), zero) if task.record else zero)
        return zeros


def refused(
    tensor: Tensor,
    edges: Iterable[Any],
    at: Node,
    what: str,
    why: str,
    instead: str = THREE_REMEDIES,
    error: type[RuntimeError] = DerivativeRefused,
) -> Any:
    """The same values, with a delayed error as their place in the graph; `at` is the node whose derivative it is."""
    own = tensor._resolved()
    node = Refusal((*edges, own), tensor, what, why, instead, error, at)
    return wrap(type(tensor), tensor._array, tensor._buffer, dual.at((node, 0), tensor)) if node._edges else tensor


def constant(tensor: Tensor, edges: Iterable[Any]) -> Any:
    """The same values, connected to the inputs by a derivative of zero."""
    node = Constant(edges, tensor)
    return wrap(type(tensor), tensor._array, tensor._buffer, dual.at((node, 0), tensor)) if node._edges else tensor
