"""Where a tangent stands: in the place of its Tensor, beside the edge.

A Tensor's place in the graph is one slot.  That of a dual number holds a `Dual`: the place it would have anyway, and the
tangent.  So a Tensor without tangent pays nothing, and an operator finds a dual number where it looks for edges.  A view has
no tangent of its own; it is that part of its base's.

This module knows neither arrays nor Tensors; `pullback.core.forward` does, and puts its functions in here.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

#: The levels that are open, in whatever thread.  While it is empty, and it nearly always is, nobody looks for tangents.
OPEN: list[Level] = []


class Level:
    """The time during which dual numbers exist.

    Attributes
    ----------
    holders
        Everything that holds a tangent of this level, so that leaving it drops them all.
    results
        Node of an operation whose arguments had tangents -> output number -> tangent.  A saved result is not the result
        itself; this is how it finds its tangent when a backward pass reads it.
    """

    def __init__(self) -> None:
        self.holders: WeakSet[Any] = WeakSet()
        self.results: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()

    def close(self) -> None:
        """Drop all tangents."""
        OPEN.remove(self)
        for holder in list(self.holders):
            holder.tangent = None
        self.results.clear()


class Dual:
    """The place of a Tensor that has a tangent; once the level is left, the place alone.  Never changed, only replaced.

    Attributes
    ----------
    inner
        The place without the tangent: ``None``, an edge, or the `View` that a user's Function returned.
    tangent
        A Tensor of the same shape, which has no tangent itself; ``None`` after the level was left.
    """

    __slots__ = ("__weakref__", "inner", "level", "tangent", "version")

    def __init__(self, level: Level, inner: Any, tangent: Any, version: int = 0) -> None:
        self.level = level
        self.version = version  # of the memory, where the tangent is not that of the base
        self.inner = inner
        self.tangent = tangent
        level.holders.add(self)

    def resolve(self, tensor: Any) -> Any:
        """The edge."""
        inner = self.inner
        return inner if inner is None or inner.__class__ is tuple else inner.resolve(tensor)


def dual_at(place: Any) -> Dual | None:
    """The `Dual` that gives a Tensor at this place its tangent: its own, or that of the base of a view."""
    if place is None or place.__class__ is tuple:
        return None
    if place.__class__ is not Dual:
        base = getattr(place, "base", None)
        if base is None or base._edge.__class__ is not Dual:
            return None
        place = base._edge
    return place if place.tangent is not None else None


def without(place: Any) -> Any:
    """The place without a tangent."""
    return place.inner if place.__class__ is Dual else place


# What forward.py puts in here, for the modules that it needs itself.
#: ``push(operator, args, options)``: apply an operator to arguments of which some have tangents.
push: Any = None
#: ``tangent_of(tensor)``: its tangent, or ``None``.
tangent_of: Any = None
#: ``at(place, tensor)``: a place that is given the tangent of a Tensor.
at: Any = lambda place, tensor: place  # noqa: E731
#: ``written(target, tangent)``: the tangent that a write gives to the base of `target`; ``place(target, that)`` sets it.
written: Any = None
place: Any = None
#: ``reopened(node, value, task)``: a saved value as a recorded rule has to see it.
reopened: Any = None
#: ``moves(node, cotangents)``: whether what a rule computes has a tangent.
moves: Any = None
#: ``settle(roots, seeds)``: what has to become of the results of a pass whose values have tangents; ``None`` for others.
settle: Any = None
