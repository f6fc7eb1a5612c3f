"""What the flow of a method knows about a value, without running anything.

A value is described by where it came from.  ``degree`` maps each *source* (an argument, a cotangent, a saved value) on
which it depends differentiably to how: `LINEAR`, `NONLINEAR`, or `UNKNOWN` where a function is not known.  ``same`` holds
the tokens of the objects that it may be, ``memory`` those whose memory it may share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

LINEAR, NONLINEAR, UNKNOWN = 1, 2, 3

# kinds of values; all but TENSOR, OTHER and the containers carry no derivative
TENSOR, MASK, INDEX, FACT, NONE, OTHER = "tensor", "mask", "index", "fact", "none", "other"
TUPLE, LIST, DICT = "tuple", "list", "dict"
WITHOUT_DERIVATIVE = {MASK, INDEX, FACT, NONE}


@dataclass(frozen=True)
class Value:
    """One abstract value."""

    kind: str = OTHER
    degree: Mapping[str, int] = field(default_factory=dict)
    same: frozenset[object] = frozenset()
    memory: frozenset[object] = frozenset()
    items: tuple[Value, ...] | None = None
    zero: bool = False  # zeros, whatever it was made from
    known: bool = True  # computed by nothing but operators and functions of array libraries
    cast: bool = False  # a mask or an index that was made floating point
    touched: frozenset[str] = (
        frozenset()
    )  # the sources whose values (not only shapes) it was computed from, differentiably or not
    text: str = ""  # the name by which a person knows it

    @property
    def depends(self) -> bool:
        """Whether it depends differentiably on any source."""
        return bool(self.degree)

    def on(self, prefix: str) -> list[str]:
        """The sources of one sort that it depends on, such as ``"grad:"``."""
        return [source for source in self.degree if source.startswith(prefix)]

    def fresh(self, token: object) -> Value:
        """The same dependence in a new object."""
        return replace(self, same=frozenset([token]), memory=frozenset([token]), items=None, text="")


def joined(values: Iterable[Value], how: int | None = None) -> dict[str, int]:
    """The sources of several values together; `how` they go in, if not as they are."""
    found: dict[str, int] = {}
    for value in values:
        for source, degree in value.degree.items():
            found[source] = max(found.get(source, 0), degree if how is None else max(how, degree))
    return found


def product(a: Value, b: Value) -> dict[str, int]:
    """The sources of a product: what stands in both factors is no longer linear."""
    found = joined((a, b))
    for source in set(a.degree) & set(b.degree):
        found[source] = max(found[source], NONLINEAR)
    return found


def touched(values: Iterable[Value]) -> frozenset[str]:
    """Everything that several values were computed from."""
    return frozenset().union(*(value.touched for value in values))


def merged(a: Value, b: Value) -> Value:
    """What is known where two branches meet."""
    if a is b:
        return a
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(merged(p, q) for p, q in zip(a.items, b.items, strict=True))
    kind = a.kind if a.kind == b.kind else b.kind if a.kind == NONE else a.kind if b.kind == NONE else OTHER
    if {a.kind, b.kind} & {TENSOR} and kind == OTHER:
        kind = TENSOR
    return Value(
        kind=kind,
        degree=joined((a, b)),
        same=a.same | b.same,
        memory=a.memory | b.memory,
        items=items,
        zero=a.zero and b.zero,
        known=a.known and b.known,
        cast=a.cast or b.cast,
        touched=a.touched | b.touched,
        text=a.text or b.text,
    )
