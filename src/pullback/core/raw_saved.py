"""Saved values as a node shows them: ``node._saved_self``, and handles of what is really kept, ``node._raw_saved_self``."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import lesson
from pullback.core.packing import Packed, SavedTensorHooks, pack_entry
from pullback.core.saved import SavedOutput
from pullback.core.tensor import Tensor, wrap

#: Of a binary operator all three are kept, ``None`` for those of no use.
PLACES = {"self": 0, "other": 1, "result": 2}


def place_of(entries: tuple[Any, ...], name: str) -> int | None:
    """Where a built-in operator keeps what torch calls by this name; ``None`` where it keeps no such value."""
    if len(entries) == len(PLACES):
        return PLACES[name]
    if name == "other":
        return None
    results = [_is_result(entry) for entry in entries]
    wanted = name == "result"
    return results.index(wanted) if wanted in results else None


def _is_result(entry: Any) -> bool:
    return getattr(entry, "source" if entry.__class__ is Packed else "origin", "input") == "output"


class SavedHandle:
    """One saved value of a node, as it is kept."""

    def __init__(self, node: Any, position: int) -> None:
        self.node = node
        self.position = position

    def _entry(self) -> Any:
        return self._entries()[self.position]

    def _entries(self) -> tuple[Any, ...]:
        saved = self.node._saved
        return saved if isinstance(saved, tuple) else self.node._entries()

    @property
    def data(self) -> Any:
        """What is kept: the input itself, the values of a result, or whatever the pack hook returned."""
        entry = self._entry()
        if entry.__class__ is Packed:
            return entry._value
        if entry.__class__ is SavedOutput:
            return wrap(entry.kind, entry._array, entry._buffer)
        return getattr(entry, "tensor", getattr(entry, "array", entry))

    @property
    def unpack_hook(self) -> Any:
        """The hook that makes a Tensor of `data`, ``None`` where there is none."""
        entry = self._entry()
        return entry._unpack if entry.__class__ is Packed else None

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Give this one saved value into the keeping of hooks, once."""
        entries = self._entries()
        entry = entries[self.position]
        if entry is None or entry.__class__ is Packed:
            raise lesson(
                RuntimeError,
                "Calling register_hooks on a saved tensor "
                + (
                    "with value None is forbidden"
                    if entry is None
                    else "whose hooks have already been set is forbidden"
                ),
                why="there is nothing to pack." if entry is None else "its value is packed already.",
                instead="check _raw_saved_tensors first; or saved_tensors_hooks around the forward, for all values.",
            )
        packed = pack_entry(entry, self.node, SavedTensorHooks(pack_hook, unpack_hook))
        fresh = (*entries[: self.position], packed, *entries[self.position + 1 :])
        if isinstance(self.node._saved, tuple):
            self.node._saved = fresh
        else:
            self.node._saved.entries = fresh

    def __repr__(self) -> str:
        return f"<SavedTensor object at {hex(id(self))}>"


def raw(node: Any, name: str) -> SavedHandle:
    """The handle of a built-in operator's saved value."""
    entries = node._entries()
    place = place_of(entries, name)
    if place is None or not (
        entries[place] is None or isinstance(entries[place], Tensor) or hasattr(entries[place], "_buffer")
    ):
        raise AttributeError(f"{node._name()} keeps no Tensor of the name {name!r}")
    return SavedHandle(node, place)
