"""The graph: nodes, and edges from a consumer to the producers of its inputs.  Knows no arrays.

A node is one recorded operation.  ``node._edges`` has one entry per argument of that operation::

    (producer, output_number)   the argument came out of another node, or is a leaf that requires gradients
    None                        a Tensor without gradients
    NOT_A_TENSOR                anything else (also falsy, so that ``if edge:`` asks "is there a path?")

Nodes are numbered as they are created.  An operation can only consume what already exists, so descending numbers are a
topological order, and `reach` needs a sort instead of a recursion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from pullback.core.hooks import NOT_A_TENSOR as NOT_A_TENSOR
from pullback.core.hooks import Hooks, register

Edge = tuple["Node", int]

#: Leaves carry this instead of a creation number: they are visited by their last consumer's position, not their own.
LEAF_NUMBER = -1


class Freed:
    """What stands in ``node._saved`` after the values were released; ``place`` is the line that started the pass.

    The short paths of operators ask the first saved value for its write log, and go the long way where it has one: this is
    how they find out, without a question that only a second pass needs.
    """

    __slots__ = ("place",)
    _buffer = True
    place: Any  # code and instruction, or None

    def __getitem__(self, position: int) -> Freed:
        return self

    def __repr__(self) -> str:
        return "<freed>"


#: Released by a pass of which nothing is known.
FREED = Freed()
FREED.place = None
_numbers = itertools.count()
next_number = _numbers.__next__
by_number = attrgetter("_number")


class _Shown:
    """Shows a slot under a plain name.  Gives way to an attribute of that name which a user sets on a ctx."""

    def __init__(self, slot: str) -> None:
        self._get = attrgetter(slot)

    def __get__(self, node: Any, kind: Any = None) -> Any:
        return self if node is None else self._get(node)


class OutputMetadata(NamedTuple):
    """What a node knows of one of its outputs."""

    shape: tuple[int, ...]
    dtype: Any


class Node:
    """One recorded operation: where its inputs came from, and how to pull a cotangent back through it.

    The slots have an underscore because the ctx of a user's Function is a node too, and a user may call an attribute of
    ctx whatever they like; `edges`, `number`, `saved` and `specs` read them.

    Attributes
    ----------
    edges
        One edge per argument, see the module's docstring.
    number
        Creation number: consumers have larger ones than their producers.
    saved
        What the rule needs; ``None`` when it needs nothing, a `Freed` after release.
    specs
        ``(shape, dtype)`` of each output, ``None`` for an output that is not a Tensor.
    """

    __slots__ = (
        *(
            "__weakref__",
            "_code",
            "_edges",
            "_hooks",
            "_instruction",
            "_kind",
            "_logs",
            "_metadata",
            "_number",
            "_saved",
        ),
        "_specs",
    )

    _edges: tuple[Any, ...]
    _number: int
    _saved: Any
    _specs: tuple[Any, ...]
    _code: Any  # with `_instruction`: the user's code that called the operator, see places.py
    _instruction: int
    _hooks: Any  # a `pullback.core.hooks.Hooks`, or None
    _kind: Any  # the class of Tensor that the operation produced, in which hooks see cotangents
    _metadata: dict[Any, Any]  # empty until it is asked for
    _logs: dict[int, Any]  # write logs of outputs that were made for aliases of them; empty until there is one

    edges: Any = _Shown("_edges")
    number: Any = _Shown("_number")
    saved: Any = _Shown("_saved")
    specs: Any = _Shown("_specs")

    def __init__(self, edges: Iterable[Any], kind: Any, shape: tuple[int, ...], dtype: Any) -> None:
        """A node with one output that keeps nothing.  Those of operators are made without this, slot by slot."""
        self._edges = tuple(edges)
        self._number = next_number()
        self._saved = self._hooks = None
        self._kind = kind
        self._specs = ((shape, dtype),)

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        """Cotangents of the outputs to cotangents of the inputs, one per edge."""
        raise NotImplementedError

    def _adopt_buffer(self, position: int, buffer: Any) -> None:
        """Told when output `position` gets a write log: whoever saved that output must know it."""
        for entry in self._saved_entries():
            if getattr(entry, "position", None) == position and entry._buffer is None:
                entry._buffer = buffer

    def _log_of(self, position: int, fresh: Any = None) -> Any:
        """The write log that aliases of output `position` have already; else `fresh`, which becomes that log."""
        try:
            logs = self._logs
        except AttributeError:
            if fresh is None:
                return None
            self._logs = logs = {}
        return logs.get(position) if fresh is None else logs.setdefault(position, fresh)

    def _saved_entries(self) -> Iterable[Any]:
        """Everything that is kept for backward, as it is kept."""
        saved = self._saved
        return () if saved is None or saved.__class__ is Freed else getattr(saved, "entries", saved)

    def name(self) -> str:
        """The name that pictures and messages show, for example ``'MulBackward0'``."""
        return self._name()

    def _name(self) -> str:
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as torch shows them: ``(node, output number)`` per Tensor argument, ``(None, 0)`` where no path is."""
        return tuple(edge or (None, 0) for edge in self._edges if edge is not NOT_A_TENSOR)

    @property
    def _input_metadata(self) -> tuple[OutputMetadata | None, ...]:
        """Shape and dtype of each output, which are those of the cotangents that come in."""
        return tuple(spec and OutputMetadata(*spec) for spec in self._specs)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for whatever a user wants to attach to the node."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata = {}
            return self._metadata

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_outputs)`` before the node runs; it may return a tuple of replacements."""
        return register(self._hook_table().pre, hook)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; it may return replacements for `grad_inputs`."""
        return register(self._hook_table().post, hook)

    def _hook_table(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks(self._kind)
        return self._hooks

    def _sequence_nr(self) -> int:
        return self.number if self.number >= 0 else 2**64 - 1

    def __repr__(self) -> str:
        return f"<{self._name()} object at {hex(id(self))}>"


def reach(roots: Iterable[Node]) -> tuple[list[Node], dict[Node, Node | None]]:
    """Every node reachable from `roots`: the inner ones, consumers before producers, and the leaves with their last consumer.

    A leaf that is itself a root and has no consumer maps to ``None``.
    """
    seen: dict[Node, None] = {}  # in the order found, which for chains is already the order wanted
    leaves: dict[Node, Node | None] = {}
    stack: list[Node] = []
    for root in roots:
        if root._number < 0:
            leaves.setdefault(root, None)
        elif root not in seen:
            seen[root] = None
            stack.append(root)
    pop, push = stack.pop, stack.append
    while stack:
        node = pop()
        for edge in node._edges:
            if edge:
                producer = edge[0]
                if producer not in seen:
                    if producer._number >= 0:
                        seen[producer] = None
                        push(producer)
                    else:
                        last = leaves.get(producer)
                        if last is None or node._number < last._number:
                            leaves[producer] = node
    return sorted(seen, key=by_number, reverse=True), leaves


def closing_leaves(leaves: dict[Node, Node | None]) -> dict[Node | None, list[Node]]:
    """What `reach` found, the other way round: per node the leaves that are complete once it ran, in the order of its edges."""
    found: dict[Node | None, list[Node]] = {}
    for leaf, last in leaves.items():
        found.setdefault(last, []).append(leaf)
    for node, group in found.items():
        if len(group) > 1 and node is not None:
            these = set(group)
            found[node] = list(dict.fromkeys([edge[0] for edge in node._edges if edge and edge[0] in these]))
    return found


def leading_to(order: list[Node], targets: set[Node]) -> set[Node]:
    """Those nodes of `order` from which a path leads to one of `targets`; a target counts only if it leads to another."""
    found: set[Node] = set()
    for node in reversed(order):
        for edge in node._edges:
            if edge and (edge[0] in targets or edge[0] in found):
                found.add(node)
                break
    return found


def walk(roots: Iterable[Node]) -> Iterator[Node]:
    """Inner nodes, then leaves: for drawing, linting and searching."""
    order, leaves = reach(roots)
    yield from order
    yield from leaves
