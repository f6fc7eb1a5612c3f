"""From a graph to a plain model of boxes and arrows, which every output format draws.

The model holds text only: no node, no Tensor, nothing that changes from run to run.  Boxes come in the order in which
the program made them, so the same program always gives the same model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Node, reach
from pullback.core.refusal import Refusal
from pullback.core.tensor import Tensor
from pullback.draw import labels

#: More operations than this make a picture that nobody can read.
MAX_NODES = 500


class Kind(StrEnum):
    """What a box stands for."""

    LEAF = "leaf"
    OUTPUT = "output"
    BASE = "base of a view"
    OPERATION = "operation"
    FUNCTION = "your operator"
    ACCUMULATE = "adds to .grad"
    SAVED = "saved for backward"
    REFUSED = "derivative refused"
    MORE = "left out"


#: Colours have a meaning: the name that Graphviz knows, and the same colour for everything else.
COLOURS: dict[Kind, tuple[str, str]] = {
    Kind.LEAF: ("lightblue", "#add8e6"),
    Kind.OUTPUT: ("darkolivegreen1", "#caff70"),
    Kind.BASE: ("darkolivegreen3", "#a2cd5a"),
    Kind.OPERATION: ("lightgrey", "#d3d3d3"),
    Kind.FUNCTION: ("plum", "#dda0dd"),
    Kind.ACCUMULATE: ("whitesmoke", "#f5f5f5"),
    Kind.SAVED: ("orange", "#ffa500"),
    Kind.REFUSED: ("lightcoral", "#f08080"),
    Kind.MORE: ("khaki", "#f0e68c"),
}


@dataclass(frozen=True)
class Box:
    """One box: `lines` and, below a rule, `attributes`; `spec` and `detail` are for listings and tooltips."""

    key: str
    kind: Kind
    lines: tuple[str, ...]
    spec: str = ""
    attributes: tuple[str, ...] = ()
    detail: str = ""
    owner: str = ""  # of a saved value: the key of the operation that keeps it


@dataclass(frozen=True)
class Arrow:
    """From the box of a value's producer to the box of its consumer."""

    tail: str
    head: str
    output: int | None = None  # which result of the producer, where it has several
    argument: str = ""  # which argument of the consumer
    dotted: bool = False  # from the base of a view to the view


@dataclass(frozen=True)
class Model:
    """Boxes and arrows; `hidden` nodes are left out."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    hidden: int = 0

    def kinds(self) -> list[Kind]:
        """The kinds that occur, in the order of the legend."""
        present = {box.kind for box in self.boxes}
        return [kind for kind in Kind if kind in present]


def model(
    var: Any,
    params: Mapping[str, Tensor] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
    max_nodes: int | None = MAX_NODES,
) -> Model:
    """The boxes and arrows of the graph behind `var`; see `pullback.draw.make_dot` for the parameters."""
    outputs = _distinct(_tensors(var))
    bases = _distinct(base for tensor in outputs if (base := tensor._base) is not None)
    order, leaves = reach(edge[0] for tensor in [*outputs, *bases] if (edge := tensor._resolved()))
    limit = len(order) + len(leaves) if max_nodes is None else max_nodes
    draft = _Draft(_Names(params or {}, outputs), show_attrs, show_saved, max_attr_chars, limit)
    draft.operations(order)
    draft.results(outputs, bases)
    draft.left_out(order, leaves)
    return Model(tuple(draft.boxes), tuple(draft.arrows), draft.hidden)


def _tensors(var: Any) -> list[Tensor]:
    tensors = list(var) if isinstance(var, (tuple, list)) else [var]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise lesson(
                TypeError,
                f"only graphs of pullback Tensors can be drawn, got {type(tensor).__name__}",
                instead="a Tensor that was computed with recording on, or a tuple of such Tensors.",
            )
    if not tensors:
        raise lesson(ValueError, "there is nothing to draw: got an empty tuple", instead="at least one Tensor.")
    return tensors


def _distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


class _Names:
    """The user's names for Tensors, found by the Tensor itself or by its place in the graph."""

    def __init__(self, params: Mapping[str, Tensor], outputs: list[Tensor]) -> None:
        self.by_id: dict[int, str] = {}
        self.by_edge: dict[Any, str] = {}
        self.has_box = {tensor._resolved() for tensor in outputs}  # results that have a box of their own
        for name, tensor in params.items():
            if not isinstance(tensor, Tensor):
                raise lesson(
                    TypeError,
                    f"params[{name!r}] is a {type(tensor).__name__}, expected a Tensor",
                    instead='a dict from names to Tensors: params={"x": x, "out": out}.',
                )
            self.by_id.setdefault(id(tensor), labels.printable(name))
            if edge := tensor._resolved():
                self.by_edge.setdefault(edge, labels.printable(name))

    def of(self, tensor: Any, edge: Any = None) -> str:
        """The name of a Tensor, or of whatever came out at its place in the graph; empty without one."""
        return self.by_id.get(id(tensor)) or (self.by_edge.get(edge, "") if edge else "")

    def inside(self, node: Node) -> tuple[str, ...]:
        """Lines that name those results of a node which are not drawn as boxes."""
        found = [(k, self.by_edge.get((node, k), "")) for k in range(len(node.specs)) if (node, k) not in self.has_box]
        return tuple(f"= {name}" if len(node.specs) == 1 else f"[{k}] = {name}" for k, name in found if name)


class _Draft:
    """A model in the making."""

    def __init__(self, names: _Names, show_attrs: bool, show_saved: bool, max_attr_chars: int, limit: int) -> None:
        self.names = names
        self.show_attrs, self.show_saved, self.max_attr_chars, self.limit = (
            show_attrs,
            show_saved,
            max_attr_chars,
            limit,
        )
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.hidden = 0
        self.used: Counter[str] = Counter()
        self.node_keys: dict[Node, str] = {}  # of a leaf: its AccumulateGrad
        self.tensor_keys: dict[int, str] = {}
        self.leaves: set[Node] = set()
        self.more: dict[str, None] = {}  # keys of boxes that an arrow from what is left out leads to

    def key(self, name: str) -> str:
        """A key that no other box has: the name itself, or with a number."""
        while True:
            self.used[name] += 1
            if self.used[name] == 1:
                return name
            name = f"{name}_{self.used[name]}"

    # ---------------------------------------------------------------------------------------------------- the graph
    def operations(self, order: list[Node]) -> None:
        """The latest nodes and their leaves, producers first."""
        for node in reversed(order[: self.limit]):
            tails = [self.source(edge[0]) if edge else "" for edge in node.edges]
            key = self.node_keys[node] = self.key(node.name())
            arguments = labels.argument_names(node)
            self.boxes.append(self.operation(node, key, arguments))
            for edge, tail, argument in zip(node.edges, tails, arguments, strict=True):
                if edge:
                    self.arrow(tail, key, edge, argument)
            self.saved(node, key)

    def operation(self, node: Node, key: str, arguments: list[str]) -> Box:
        kind = Kind.OPERATION if type(node).__module__.split(".")[0] == "pullback" else Kind.FUNCTION
        detail = f"{node.name()}({', '.join(arguments)}) -> {labels.specs(node)}"
        if isinstance(node, Refusal):
            kind, detail = Kind.REFUSED, f"{node.what}. {node.why}"
        attributes = labels.attributes(node, self.max_attr_chars) if self.show_attrs else ()
        lines = (labels.printable(node.name()), *self.names.inside(node))
        return Box(key, kind, lines, labels.specs(node), attributes, labels.printable(detail))

    def source(self, node: Node) -> str:
        """The key of a producer, empty if it is left out; a leaf gets its boxes when its first consumer is drawn."""
        if node.number == LEAF_NUMBER and node not in self.leaves and len(self.leaves) < self.limit:
            self.leaf(node)
        return self.node_keys.get(node, "")

    def leaf(self, node: Any) -> None:
        self.leaves.add(node)
        tail = self.tensor(node.variable, Kind.LEAF, "leaf")
        key = self.node_keys[node] = self.key(node.name())
        self.boxes.append(Box(key, Kind.ACCUMULATE, (node.name(),), labels.specs(node), (), f"adds to {tail}.grad"))
        self.arrows.append(Arrow(tail, key))

    def arrow(self, tail: str, head: str, edge: Any, argument: str = "") -> None:
        if tail:
            self.arrows.append(Arrow(tail, head, edge[1] if len(edge[0].specs) > 1 else None, argument))
        else:
            self.more[head] = None

    def saved(self, node: Node, key: str) -> None:
        """Saved values beside the operation that keeps them: of the user's operators always, of others if asked for."""
        if not self.show_saved and self.boxes[-1].kind is not Kind.FUNCTION:
            return
        for kept in labels.kept_by(node):
            name = self.names.of(kept.tensor, kept.edge)
            what = f"{name} {kept.spec}".strip()
            weight = "" if kept.size is None else f", {kept.size} bytes"
            detail = f"{node.name()} keeps {what}: {kept.origin}{weight}"
            place = self.key(f"{key} keeps {kept.origin}")
            self.boxes.append(Box(place, Kind.SAVED, (what, kept.origin), kept.spec, detail=detail, owner=key))

    # -------------------------------------------------------------------------------------------------- the Tensors
    def tensor(self, tensor: Tensor, kind: Kind, unnamed: str) -> str:
        """A box for a Tensor: its name and shape."""
        name = self.names.of(tensor)
        key = self.tensor_keys[id(tensor)] = self.key(name or unnamed)
        spec = labels.spec(tensor._array.shape, tensor.dtype)
        lines = (name or key, spec) if tensor.requires_grad else (name or key, spec, "no gradient")
        self.boxes.append(Box(key, kind, lines, spec, detail=f"{key}: {kind}, {spec}"))
        return key

    def results(self, outputs: list[Tensor], bases: list[Tensor]) -> None:
        """The Tensors that were asked for, and those that they are views of."""
        for tensors, kind in ((outputs, Kind.OUTPUT), (bases, Kind.BASE)):
            for tensor in tensors:
                if id(tensor) not in self.tensor_keys:
                    self.result(tensor, kind)
        for tensor in outputs:
            base = tensor._base
            if base is not None:
                self.arrows.append(Arrow(self.tensor_keys[id(base)], self.tensor_keys[id(tensor)], dotted=True))

    def result(self, tensor: Tensor, kind: Kind) -> None:
        edge = tensor._resolved()
        leaf = bool(edge) and edge[0].number == LEAF_NUMBER
        key = self.tensor(tensor, Kind.LEAF if leaf else kind, "leaf" if leaf else str(kind).split()[0])
        if leaf:
            self.leaves.add(edge[0])
        elif edge:
            self.arrow(self.source(edge[0]), key, edge)

    # -------------------------------------------------------------------------------------------------- what is left
    def left_out(self, order: list[Node], leaves: Iterable[Node]) -> None:
        """One box for all nodes beyond the limit."""
        hidden = order[self.limit :]
        self.hidden = len(hidden) + sum(leaf not in self.leaves for leaf in leaves)
        if not self.hidden:
            return
        key = self.key("more")
        lines = (f"… {self.hidden} more node{'s' if self.hidden > 1 else ''}", f"(max_nodes={self.limit})")
        self.boxes.insert(0, Box(key, Kind.MORE, lines, detail="nodes beyond max_nodes; max_nodes=None draws them all"))
        shared = {self.node_keys[e[0]]: None for node in hidden for e in node.edges if e and e[0] in self.node_keys}
        self.arrows += [Arrow(tail, key) for tail in shared]
        self.arrows += [Arrow(key, head) for head in self.more]
