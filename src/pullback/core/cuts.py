"""Where values left the graph, and the errors about missing paths, which say what is known of the reason.

The latest places at which a value left (``detach()``, ``numpy()``, a cast to integers) are kept in a short list, each with a weak
reference to what made the value: what nobody holds any longer is of no help, and is not kept alive.  Nothing is guessed.  A cut
is told of when it lies between the input and the outputs in time, and its value depends on the input.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import ref

from pullback.core import arrays, modes
from pullback.core.dual import Dual
from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Node, leading_to, next_number, reach
from pullback.core.leaf import Leaf
from pullback.core.places import caller, line_of, recorded_at

#: So many cuts are remembered, and so many of them told of.
REMEMBERED, TOLD = 100, 4
_cuts: deque[tuple[Any, str, tuple[Any, int], int]] = deque(maxlen=REMEMBERED)


def note_cut(edge: Any, how: str, place: tuple[Any, int] | None = None) -> None:
    """The value at the place `edge` in the graph leaves it, by an instruction of the user's: the one that is running."""
    if place is None:
        place = caller(3)
    if edge.__class__ is not Leaf:
        while edge is not None and edge.__class__ is not tuple:
            edge = (
                edge.inner if edge.__class__ is Dual else getattr(edge, "edge", None)
            )  # a view: where it was last seen
        if edge is None:
            return
        edge = edge[0]
        if edge._number == LEAF_NUMBER:
            edge = edge.variable._edge
            if edge.__class__ is not Leaf:
                return
    _cuts.append((ref(edge), how, place, next_number()))


def note_all(tensor: Any, how: str) -> None:
    """The same under anomaly detection: noted at every leaf, so that it is known when what lies between is gone."""
    edge = tensor._resolved()
    if edge is None or current_pass() is not None:
        return
    place = caller(4)
    for node in reach([edge[0]])[1]:
        note_cut((node, 0), how, place)


modes.note_cut = note_all


def never_recorded(x: Any) -> bool:
    """True for a leaf that no recorded operation has used.  Ask before its place in the graph is looked up, which is a use."""
    place = getattr(x, "_edge", None)
    return place.__class__ is Leaf and place.node is None


def no_path(output: Any, position: int) -> RuntimeError:
    """The error for an output that has no graph."""
    why = "nothing it was computed from requires gradients, or it was computed without recording (no_grad, detach(), NumPy)."
    instead = (
        "make the inputs with requires_grad=True, and compute with Tensor operators; a derivative that is to be differentiated "
        "again, with create_graph=True."
    )
    if not arrays.is_inexact(output.dtype):
        why = f"its dtype is {output.dtype}: what cannot change by small amounts has no derivative."
        instead = "differentiate a floating-point value; whole numbers and booleans can be used in it as constants."
    error = lesson(
        RuntimeError,
        f"element {position} of tensors does not require grad and does not have a grad_fn",
        why=why,
        instead=instead,
        position=position,
    )
    if not modes.current()._recording:
        error.add_note("Nothing is recorded at this point (no_grad or inference_mode): was the output computed here?")
    return error


def unused(position: int, edge: Any, outputs: list[Node], unrecorded: bool) -> RuntimeError:
    """The error for an input, at `edge`, to which nothing came back from `outputs`."""
    error = lesson(
        RuntimeError,
        f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior.",
        why="no recorded path brings a gradient from the outputs to it: it was not used, or the path was cut by detach(), "
        "no_grad, an integer cast, NumPy, or a rule that returned None.",
        instead="use the Tensor itself; or materialize_grads=True to get zeros, allow_unused=True to get None.",
        position=position,
    )
    for sentence in _reasons(edge, outputs, unrecorded):
        error.add_note(sentence)
    return error


def _reasons(edge: Any, outputs: list[Node], unrecorded: bool) -> list[str]:
    """What is known of the reason, in sentences."""
    order, leaves = reach(outputs)
    node = edge[0]
    if node in leaves or node in order:
        return [_stopped(order, node)]
    latest = order[0]._number if order else None
    leaf = node.variable._edge if node._number == LEAF_NUMBER else None
    born = node._number if leaf is None else leaf.number if leaf.__class__ is Leaf else -1
    if latest is not None and born > latest:
        return [_too_late(node, leaf)]
    known = ["No operation has recorded it since it requires gradients."] if unrecorded else []
    told = _told(node, leaf, latest)
    if not told and not modes.current()._settings.detect_anomaly:
        told = [
            "Run it all inside `with detect_anomaly():`, and more of the places are noted where values leave the graph."
        ]
    return known + told


def _stopped(order: list[Node], node: Node) -> str:
    """There is a path, so a rule on it gave no gradient; rules of the library do not do that, so look at the others first."""
    between = leading_to(order, {node})
    way = [n for n in order if n in between]
    own = [n for n in way if not type(n).__module__.startswith("pullback.")]
    told = [recorded_at(n) or n._name() for n in (own or way)[:TOLD]]
    return "\n".join(
        ["It was used, but an operation on the way from the outputs to it returned None as its gradient:", *told]
    )


def _too_late(node: Node, leaf: Any) -> str:
    if leaf is not None:
        return "It was made, or asked to require gradients, only after the outputs were computed."
    return (
        "It is a result that was computed after the outputs, so they cannot depend on it: differentiate with respect to what was "
        f"used (grad(y, x)[0][i], not grad(y, x[i])). {recorded_at(node)}"
    )


def _told(node: Node, leaf: Any, latest: int | None) -> list[str]:
    """The cuts of values that depend on `node`, before the node numbered `latest`; the latest first, each line once."""
    alive = [
        (source, how, place)
        for r, how, place, n in list(_cuts)
        if (source := r()) is not None and (latest is None or n < latest)
    ]
    order, _ = reach([source for source, _, _ in alive if isinstance(source, Node)])
    depending = leading_to(order, {node})
    told: dict[str, None] = {}
    for source, how, place in reversed(alive):
        if source is leaf or source is node or source in depending:
            told[f"A value that depends on it left the graph by {how} at {line_of(*place)}"] = None
    return list(told)[:TOLD]
