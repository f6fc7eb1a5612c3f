"""What is written into the boxes: shapes, attributes, and the facts about saved values.

Nothing here changes from run to run: no ``id()``, no creation number, no address inside a ``repr``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from pullback.core.graph import Freed, Node
from pullback.core.primitive_node import SavedConstant
from pullback.core.tensor import Tensor

_parameters: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()  # signatures are slow to read
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: Any) -> str:
    """One line that XML accepts, without memory addresses."""
    return _UNPRINTABLE.sub(" ", _ADDRESS.sub("", str(text)))


def shape(dimensions: Any) -> str:
    """``(2, 3)``, ``(3)``, ``()``."""
    return f"({', '.join(str(d) for d in dimensions)})"


def spec(dimensions: Any, dtype: Any) -> str:
    """Shape, and the dtype unless it is the usual float64."""
    return shape(dimensions) if str(dtype) == "float64" else f"{shape(dimensions)} {dtype}"


def specs(node: Node) -> str:
    """What a node's operation returned: ``(3)``, or ``(3), (3) float32`` for several results."""
    return ", ".join("no Tensor" if s is None else spec(*s) for s in node.specs)


def cut(text: str, limit: int) -> str:
    """`text`, shortened to `limit` characters with an ellipsis."""
    limit = max(limit, 3)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def argument_names(node: Node) -> list[str]:
    """One name per edge, from the signature of the operator's ``forward``; empty where there is none."""
    known = _parameters.get(type(node))
    if known is None:
        find = getattr(node, "_argument_names", None)
        known = _parameters[type(node)] = tuple(find()) if find is not None else ()
    names = list(known)
    if names and names[-1].startswith("*"):
        rest = names.pop()[1:]
        names += [f"{rest}[{k}]" for k in range(len(node.edges) - len(names))]
    return [names[k] if k < len(names) else "" for k in range(len(node.edges))]


def attributes(node: Node, limit: int) -> tuple[str, ...]:
    """What hangs on a ctx besides saved Tensors, one ``name: value`` per line."""
    found = getattr(node, "__dict__", {})
    return tuple(f"{printable(k)}: {cut(_value(v), limit)}" for k, v in found.items() if not k.startswith("_"))


def _value(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype") and value.shape != ():
        return f"[array {spec(value.shape, value.dtype)}]"
    try:
        return printable(value)
    except Exception:  # a broken __str__ of a user's object must not spoil a picture
        return f"[{type(value).__name__}]"


# --------------------------------------------------------------------------------------------------------- saved values
@dataclass(frozen=True)
class Kept:
    """One value that a node keeps for its backward: what it is, and where it came from."""

    spec: str
    origin: str  # "input a", "output", "output 2", "intermediate", "constant b"; with "ctx.name, " before it
    size: int | None = None  # in bytes
    tensor: Tensor | None = None
    edge: Any = None


def kept_by(node: Node) -> list[Kept]:
    """What `node` saved with ``save_for_backward`` or as Tensors on its ctx."""
    if node.saved.__class__ is Freed:
        return [Kept("saved values", "released by backward")]
    names = argument_names(node)
    taken: set[int] = set()
    return [_kept(node, entry, k, name, names, taken) for k, name, entry in _entries(node) if entry is not None]


def _entries(node: Node) -> Iterator[tuple[int, str, Any]]:
    try:
        saved = getattr(node.saved, "entries", node.saved) or ()
    except RuntimeError:  # clear_saved_tensors_on_access, and they were accessed
        saved = ()
    for k, entry in enumerate(saved):
        yield k, "", entry
    for name, (_, entries) in (getattr(node, "_kept", None) or {}).items():
        for k, entry in enumerate(entries):
            yield -1, f"ctx.{name}, " if len(entries) == 1 else f"ctx.{name}[{k}], ", entry


def _kept(node: Node, entry: Any, index: int, attribute: str, names: list[str], taken: set[int]) -> Kept:
    if isinstance(entry, SavedConstant):
        origin = "constant" if entry.__class__ is SavedConstant else "intermediate"
        if origin == "constant" and 0 <= index < len(names) and not node.edges[index]:
            origin = f"constant {names[index]}".strip()
        return Kept(_array(entry.array), attribute + origin, getattr(entry.array, "nbytes", None))
    if isinstance(entry, Tensor):
        tensor, origin, edge = entry, "input", entry._resolved()
    else:
        tensor, origin, edge = entry.tensor, entry.origin, entry._edge
    array = entry._array
    if origin == "input":
        origin = f"input {_argument(node, edge, index, names, taken)}".strip()
    elif origin == "output":
        position = getattr(entry, "position", 0)
        edge = (node, position)
        origin = "output" if len(node.specs) == 1 else f"output {position}"
    known = tensor if isinstance(tensor, Tensor) else None  # of an output only a weak reference is kept
    return Kept(_array(array), attribute + origin, getattr(array, "nbytes", None), known, edge)


def _argument(node: Node, edge: Any, index: int, names: list[str], taken: set[int]) -> str:
    """The name of the argument that was saved: each argument once, so that ``a * a`` keeps an ``a`` and a ``b``."""
    places = [k for k, other in enumerate(node.edges) if other == edge]
    places = [k for k in places if k not in taken] or places
    if not places:
        return ""
    place = index if index in places else places[0]
    if index >= 0:
        taken.add(place)
    return names[place]


def _array(array: Any) -> str:
    dimensions = getattr(array, "shape", ())
    if dimensions == () and getattr(getattr(array, "dtype", None), "kind", "O") in "O":
        return cut(printable(array), 20)
    return spec(dimensions, getattr(array, "dtype", "float64"))
