"""Hooks on saved values: what ``save_for_backward`` keeps may be packed away (to disk, compressed) and unpacked later.

The hooks in force when an operation is recorded are those of the innermost context.  ``pack`` is called once per saved Tensor,
``unpack`` whenever the value is read; the result takes the place in the graph that the saved Tensor had, so that derivatives of
any order go on through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import modes
from pullback.core.contents import tensors_in
from pullback.core.errors import lesson
from pullback.core.graph import Freed
from pullback.core.saved import Saved, SavedOutput, SavedTensor, unpack
from pullback.core.tensor import Tensor, wrap
from pullback.core.versions import BORROWED, Buffer


class SavedTensorHooks:
    """A pair of functions: ``pack(tensor) -> anything`` and ``unpack(anything) -> tensor``."""

    __slots__ = ("pack", "unpack")

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self.pack = pack
        self.unpack = unpack


class Forbidden:
    """In the place of hooks: why none may be entered here."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


class Packed(SavedTensor):
    """A saved value in the keeping of a user's hooks."""

    __slots__ = ("_place", "_same", "_shape", "_unpack", "_value", "source")

    def __init__(self, value: Any, unpack: Any, shown: Tensor, place: Any, source: str, entry: Any) -> None:
        self._value = value
        self._unpack = unpack
        self._place = place
        self._buffer = BORROWED  # never the short path
        self._shape = shown._array.shape
        self._same = entry if any(t._array is shown._array for t in tensors_in(value)) else None
        self.tensor = type(shown)
        self.source = source

    def _check(self, node: Any, what: str) -> None:
        """The hooks answer for the value, unless what they keep is the very memory that was saved."""
        if self._same is not None:
            unpack(self._same, node, what)

    def unpack(self, node: Any, what: str) -> Any:
        self._check(node, what)
        settings = modes.current()._settings
        token = modes.enter(modes.plain(modes.current()._recording, settings.replace(watcher=None)))
        try:
            value = self._unpack(self._value)
        finally:
            modes.leave(token)
        if not isinstance(value, Tensor):
            raise lesson(
                TypeError,
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(value).__name__}",
                instead="return the Tensor that pack was given, or an equal one.",
            )
        if value._array.shape != self._shape:
            raise lesson(
                RuntimeError,
                f"Output of saved tensor unpack_hook has the shape {tuple(value._array.shape)}, but what was saved has "
                f"{tuple(self._shape)}",
                why="broadcasting could hide it, and the gradient would be wrong.",
                instead="return the Tensor that pack was given, or an equal one.",
            )
        place = (node, self._place) if self.source == "output" else self._place  # holding the node would be a cycle
        if place is None and value._edge is None:
            return value
        return wrap(self.tensor, value._array, value._buffer, place)


def pack_saved(node: Any, hooks: Any) -> None:
    """Hand everything that a fresh node saved to the hooks."""
    if isinstance(hooks, Forbidden):
        return
    saved = node._saved
    if saved is not None and saved.__class__ is not Freed:
        if saved.__class__ is Saved:
            saved.entries = tuple([pack_entry(entry, node, hooks) for entry in saved.entries])
        else:
            node._saved = tuple([pack_entry(entry, node, hooks) for entry in saved])
    kept = getattr(node, "_kept", None)
    if kept:
        node._kept = {
            name: (structure, [pack_entry(entry, node, hooks) for entry in entries])
            for name, (structure, entries) in kept.items()
        }


modes.pack_saved = pack_saved


def pack_entry(entry: Any, node: Any, hooks: SavedTensorHooks) -> Any:
    """One saved value as the hooks keep it; what is no Tensor stays as it is."""
    node._hook_table()  # unpacking may register hooks of this very node: never the short path
    if isinstance(entry, Tensor):
        return pack_tensor(entry, hooks)
    if entry.__class__ is SavedOutput:
        entry._buffer = entry._buffer or node._log_of(entry.position, Buffer())
        shown = wrap(entry.kind, entry._array, entry._buffer)
        return _packed(entry, shown, entry.position, "output", hooks)
    if isinstance(entry, SavedTensor):
        return _packed(entry, entry.tensor, entry._edge, entry.origin, hooks)
    return entry


def pack_tensor(tensor: Tensor, hooks: SavedTensorHooks) -> Packed:
    """A Tensor as the hooks keep it; what comes back has its place in the graph."""
    return _packed(tensor, tensor, tensor._resolved(), "input", hooks)


def _packed(entry: Any, shown: Tensor, place: Any, source: str, hooks: SavedTensorHooks) -> Any:
    version = shown._version
    settings = modes.current()._settings.replace(hooks=None, function=None, watcher=None)
    token = modes.enter(modes.plain(False, settings))
    try:
        value = hooks.pack(shown)
    finally:
        modes.leave(token)
    if shown._version != version:
        raise lesson(
            RuntimeError,
            "A saved tensor pack hook is modifying its input in place",
            why="the value is saved for backward, and others may hold the same memory.",
            instead="pack a copy: tensor.clone().",
        )
    return Packed(value, hooks.unpack, shown, place, source, entry)


class saved_tensors_hooks(modes._Switch):  # noqa: N801 - used like a statement
    """Inside, saved values go through ``pack_hook`` when they are saved and through ``unpack_hook`` when they are read.

    Parameters
    ----------
    pack_hook
        Called once per saved Tensor with that Tensor, without recording; whatever it returns is kept in its place.
    unpack_hook
        Called with what `pack_hook` returned, at every reading; returns a Tensor with the saved values.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> with pb.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tobytes(), lambda b: pb.tensor(3.0)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __new__(cls, pack_hook: Any, unpack_hook: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        super().__init__()
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def mode(self) -> Any:
        old = modes.current()
        if isinstance(old._settings.hooks, Forbidden):
            raise lesson(RuntimeError, old._settings.hooks.message)
        return modes.plain(
            old._recording, old._settings.replace(hooks=SavedTensorHooks(self.pack_hook, self.unpack_hook))
        )

    def _again(self) -> Any:
        return type(self)(self.pack_hook, self.unpack_hook)


class disable_saved_tensors_hooks(modes._Switch):  # noqa: N801
    """Inside, entering `saved_tensors_hooks` is an error with this message; so is entering this inside of one."""

    def __new__(cls, error_message: str) -> Any:
        return object.__new__(cls)

    def __init__(self, error_message: str) -> None:
        super().__init__()
        self.message = error_message

    def mode(self) -> Any:
        old = modes.current()
        if isinstance(old._settings.hooks, SavedTensorHooks):
            raise lesson(
                RuntimeError,
                self.message,
                why="hooks on saved values are in force here.",
                instead="leave the block of saved_tensors_hooks first.",
            )
        return modes.plain(old._recording, old._settings.replace(hooks=Forbidden(self.message)))

    def _again(self) -> Any:
        return type(self)(self.message)
