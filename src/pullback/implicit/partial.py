"""Partial derivatives: a function of several Tensors, differentiated in each of them as if it were independent.

The unknown of an equation depends on its parameters, and the function that states the equation may read further Tensors that
nobody handed to it.  So each call gets variables of its own, which stand in no graph while derivatives are taken, and are
connected to what they stand for only afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.differentiate import GradientEdge
from pullback.core.differentiate import grad as _grad
from pullback.core.errors import lesson
from pullback.core.graph import next_number
from pullback.core.leaving import running_transforms
from pullback.core.tangents import at, carries
from pullback.core.tensor import Tensor, wrap
from pullback.transforms import Variable


class Own(Variable):
    """The place of a variable that is not yet connected to what it stands for."""

    __slots__ = ("way",)

    def __init__(self, x: Tensor) -> None:
        super().__init__(type(x), x._array, None)
        self.way = x._resolved()

    def connect(self) -> None:
        """From now on derivatives go on to where the value came from."""
        self.open = False
        self._edges = (self.way,) if self.way else ()


@contextmanager
def recorded() -> Iterator[None]:
    """Recording on.  Nobody watches: what leaves the graph inside leaves it by the user's own will."""
    settings = modes.current()._settings
    token = modes.enter(modes.plain(True, settings.replace(watcher=None, function=None)))
    try:
        yield
    finally:
        modes.leave(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Recording off.  Only an enclosing forward, where nothing is recorded anyway, hears what is read."""
    mode = modes.current()
    token = modes.enter(modes.OFF if mode._recording else modes.plain(False, mode._settings))
    try:
        yield
    finally:
        modes.leave(token)


class Call:
    """One recorded call of ``f(tensors) -> tensors``, on variables of its own.

    Attributes
    ----------
    values
        What `f` returned.
    captured
        Edges to all that `f` depends on and that is no argument: Tensors in its closure, global ones, attributes.
    """

    def __init__(self, f: Callable[[list[Any]], list[Any]], points: Sequence[Tensor]) -> None:
        self.start = next_number()
        self.own = []
        for x in points:
            node = Own(x)
            variable = wrap(type(x), arrays.readonly(x._array), None, (node, 0))
            variable._edge = at(variable._edge, x)
            self.own.append(variable)
        self.moving = any(carries(x) for x in points)
        running_transforms.add(id(self))
        try:
            with recorded():
                self.values = f(self.own)
        finally:
            running_transforms.discard(id(self))

    @property
    def captured(self) -> list[Any]:
        found: dict[Any, None] = {}
        edges = [edge for y in self.values if isinstance(y, Tensor) and (edge := y._resolved())]
        seen = set()
        while edges:
            edge = edges.pop()
            node = edge[0]
            if node._number < self.start:  # leaves have negative numbers
                found[edge] = None
            elif node not in seen:
                seen.add(node)
                edges.extend(filter(None, node._edges))
        return list(found)

    def refuse_captured_tangents(self, name: str) -> None:
        """A Tensor with a tangent that is no argument cannot be found again, so it is refused."""
        if not self.moving and any(isinstance(y, Tensor) and carries(y) for y in self.values):
            raise lesson(
                RuntimeError,
                f"the function given to {name} uses a Tensor with a tangent that is not an argument",
                why="in forward mode only arguments are followed; its tangent would be lost without a word.",
                instead=f"hand it over as a parameter of {name}.",
            )

    def pull(
        self,
        weights: Sequence[Any],
        captured: Sequence[Any] = (),
        record: bool = False,
        retain: bool | None = None,
        first: int | None = None,
        batched: bool = False,
    ) -> list[Any]:
        """Cotangents of the arguments, then of what was captured; ``None`` where nothing depends on one.

        Of the `first` arguments only, if that is given; `batched` weights have one more axis in front, and so have the results.
        """
        live = [k for k, y in enumerate(self.values) if isinstance(y, Tensor) and y.requires_grad]
        targets = [*self.own[:first], *[GradientEdge(*edge) for edge in captured]]
        if not live or not targets:
            return [None] * len(targets)
        with recorded():
            return list(
                _grad(
                    [self.values[k] for k in live],
                    targets,
                    [weights[k] for k in live],
                    retain_graph=retain,
                    create_graph=record,
                    allow_unused=True,
                    is_grads_batched=batched,
                )
            )

    def connect(self) -> None:
        """Once all derivatives of this call are taken."""
        for x in self.own:
            x._resolved()[0].connect()


def placeholder(edge: Any) -> Tensor:
    """A Tensor that stands at the place of something captured; its values are not known, and not needed."""
    node, position = edge
    shape, dtype = node._specs[position]
    zero = np.broadcast_to(np.zeros((), dtype), shape)
    return wrap(node._kind if isinstance(node._kind, type) else Tensor, zero, None, edge)


def zero_at(edge: Any, like: Any) -> Tensor:
    """Zeros of the shape and dtype of something captured, in the kind and library of a Tensor."""
    node, position = edge
    shape, dtype = node._specs[position]
    return wrap(type(like), arrays.zeros(shape, dtype, arrays.namespace(like._array)))


def zero_like(x: Any) -> Tensor:
    """Zeros of the kind, shape and dtype of a Tensor."""
    return wrap(type(x), arrays.namespace(x._array).zeros_like(x._array))
