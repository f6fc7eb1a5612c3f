"""Attributes of a ctx that the machine keeps for it: Tensors, arguments, results, what may carry intermediates.

They are taken out of ``ctx.__dict__`` after forward and handed out by ``__getattr__``; a rule may delete them.  A class with
that method pays for it at every attribute that it reads, found or not, so only a ctx that has such attributes becomes an
instance of one.
"""

from __future__ import annotations

from typing import Any


class Keeping:
    """Added in front of the class of a node some of whose attributes are kept elsewhere."""

    __slots__ = ()

    _kept: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._kept_attribute(name)

    def __delattr__(self, name: str) -> None:
        if name not in (self._kept or ()):
            super().__delattr__(name)
            return
        self._kept = {other: kept for other, kept in self._kept.items() if other != name}
        self.__dict__.pop(name, None)


def hand_out(node: Any) -> None:
    """Let the node's kept attributes be read under their names."""
    become(node, Keeping)


def become(node: Any, mixin: type) -> None:
    """Give one node the methods of `mixin`, in front of those of its class."""
    kind = type(node)
    if not issubclass(kind, mixin):
        name = f"_with_{mixin.__name__.lower()}"
        if name not in vars(kind):
            setattr(kind, name, type(kind.__name__, (mixin, kind), {"__slots__": (), "__module__": kind.__module__}))
        node.__class__ = vars(kind)[name]
