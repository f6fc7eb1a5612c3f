"""The ctx of one call of a `Function`: what forward may say, and what backward may read.

The ctx is the node of the call in the graph (``pulling.py`` adds how it is pulled back through), and while forward runs it is
also the mode, so that operators inside know whose arguments are whose.
"""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from typing import Any, ClassVar

from pullback.core import arrays, rules
from pullback.core.capture import warn_captured
from pullback.core.contents import rebuild, tensors_in
from pullback.core.errors import lesson
from pullback.core.graph import Freed, Node
from pullback.core.lost import freed
from pullback.core.raw_saved import SavedHandle
from pullback.core.saved import SavedOutput, unpack
from pullback.core.tensor import Tensor

pulling: ContextVar[Pull | None] = ContextVar("pullback running backward", default=None)


class Marks:
    """What ``forward`` declared about its results with ``ctx.mark_…`` and ``ctx.set_…``."""

    __slots__ = ("dirty", "late", "materialize", "non_differentiable", "save_for_forward", "written")

    def __init__(self) -> None:
        self.dirty: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize = True
        self.written: list[Tensor] = []
        self.late: Tensor | None = None  # written after it was saved
        self.save_for_forward: tuple[Any, ...] = ()

    def forget_tensors(self) -> None:
        """After apply: a dirty Tensor holds its node, so the node must not hold the Tensor."""
        self.dirty, self.written, self.late = (), [], None
        self.non_differentiable = tuple([mark for mark in self.non_differentiable if isinstance(mark, int)])


class Pull:
    """What one call of ``backward`` sees in place of what the node holds: narrowed flags, recomputed values."""

    __slots__ = ("_outer", "attributes", "entries", "needs", "node")

    def __init__(self, node: Ctx, needs: tuple[bool, ...]) -> None:
        self.node = node
        self.needs = needs
        self.entries: tuple[Any, ...] | None = None
        self.attributes: dict[str, Any] = {}
        self._outer = pulling.get()


def pull_of(node: Any) -> Pull | None:
    """What the running call of the backward of `node` sees, if there is one."""
    pull = pulling.get()
    while pull is not None and pull.node is not node:
        pull = pull._outer
    return pull


class Ctx(Node):
    """The ctx of one call of a `Function`, and its node in the graph.

    Besides the members below, any attribute may be set in forward and read in backward.  Tensors set this way are looked after
    like saved ones: their versions are checked, outputs are held weakly, intermediates are recomputed when needed.
    """

    __slots__ = (
        *("__dict__", "_aliased", "_beside", "_inputs", "_kept"),
        *("_marks", "_needs", "_opaque", "_outer", "_to_save"),
    )

    _operator: ClassVar[Any]
    _aliased: list[Any]  # arguments and results that share memory with an array on ctx, see aliased.py
    _inputs: tuple[Any, ...]  # the arguments, while forward runs
    _kept: dict[str, Any] | None  # attributes that hold Tensors, as (structure, entries)
    _marks: Marks | None
    _needs: tuple[bool, ...]
    _opaque: Any  # how values left the graph in forward; afterwards (attributes that may carry them, how)
    _outer: Any  # the mode around a running forward
    _to_save: tuple[Any, ...]
    _recording: ClassVar[bool] = False  # a running forward is a mode, see modes.py
    _materialize_non_diff_grads = True

    # ------------------------------------------------------------------------------------------ what forward may call
    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Tensors (or ``None``) for backward; the last call counts."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep Tensors for ``jvp``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise lesson(
                    AssertionError,
                    f"save_for_forward expects all arguments to be tensors, got {type(tensor).__name__}",
                    instead="set other values as attributes: ctx.name = value.",
                )
        self._marked().save_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that forward writes in place; each must be returned.  The last call counts."""
        self._marked().dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs that carry no gradient.  Integer and boolean outputs never do."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise lesson(
                    RuntimeError,
                    f"mark_non_differentiable only accepts variable arguments, but got {type(tensor).__name__}",
                    instead="pass the output Tensors that carry no gradient; other outputs need no mark.",
                )
        self._marked().non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """``True`` (default): a missing incoming gradient becomes zeros; ``False``: it stays ``None``."""
        self._marked().materialize = bool(value)

    @property
    def materialize_grads(self) -> bool:
        return self._marks is None or self._marks.materialize

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        self.set_materialize_grads(value)

    def _marked(self) -> Marks:
        if self._marks is None:
            self._marks = Marks()
        return self._marks

    # ------------------------------------------------------------------------------------------ what backward may read
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` was given: the same object for an input, a fresh Tensor for an output."""
        if pulling.get() is not None:
            pull = pull_of(self)
            if pull is not None and pull.entries is not None:
                return pull.entries
        saved = self._saved
        if saved.__class__ is not tuple:
            saved = self._entries()
        for entry in saved:
            if entry is None or entry._buffer is not None or not isinstance(entry, Tensor):
                return tuple([unpack(entry, self, "a value") for entry in saved])
        return saved  # arguments that were never written nor viewed: they are their own entries

    def _entries(self) -> tuple[Any, ...]:
        saved = self._saved
        if saved.__class__ is Freed:
            raise freed(self)
        return () if saved is None else saved.entries

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The name of `saved_tensors` long ago."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """Handles of the saved values, one each."""
        count = len(self._saved if isinstance(self._saved, tuple) else self._entries())
        return tuple([SavedHandle(self, position) for position in range(count)])

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Per argument, whether a gradient is wanted: in backward, only what the running pass asks for."""
        pull = pulling.get()
        if pull is not None:
            pull = pull_of(self)
            if pull is not None:
                return pull.needs
        return self._needs

    @needs_input_grad.setter
    def needs_input_grad(self, value: Any) -> None:
        self._needs = tuple(value)

    def _kept_attribute(self, name: str) -> Any:
        """Tensors that were set as attributes in forward, see attributes.py."""
        if not self._kept or name not in self._kept:
            raise AttributeError(f"{type(self).__name__!r} object (the ctx) has no attribute {name!r}")
        pull = pull_of(self)
        if pull is not None and name in pull.attributes:
            return pull.attributes[name]
        structure, entries = self._kept[name]
        if not entries:
            return structure
        value = rebuild(structure, iter([unpack_attribute(entry, self, f"ctx.{name}") for entry in entries]))
        if pull is not None:
            pull.attributes[name] = value  # the same container at every reading: backward may change it
        return value

    # ------------------------------------------------------------------------------------------ as a mode, in forward
    @property
    def _settings(self) -> Any:
        """Those of the mode around, and this ctx: a plain mode entered inside forward still belongs to it.

        Whoever watches around does not: what leaves the graph in here is the business of this Function and its rule.
        """
        return self._outer._settings.replace(function=self, watcher=None)

    def _leaves(self, tensor: Tensor, how: str) -> None:
        """A value left the graph inside forward: allowed, and noted."""
        self._opaque = self._opaque or []
        if how not in self._opaque:
            self._opaque.append(how)
        if tensor.requires_grad and not how.startswith((".data", "detach")):
            self._reads(tensor)
        if not self._outer._recording:  # an enclosing forward wants to know; an enclosing recorded backward need not
            self._outer._leaves(tensor, how)

    def _wrote(self, tensor: Tensor) -> None:
        """A Tensor was written in place inside forward."""
        marks = self._marked()
        marks.written.append(tensor)
        for value in self._to_save:
            same = isinstance(value, Tensor) and value._buffer is tensor._buffer
            if same and arrays.shares_memory(value._array, tensor._array):
                marks.late = value
        self._outer._wrote(tensor)

    def _created(self, node: Node) -> None:
        """Nothing is recorded while a forward is the mode."""

    def _reads(self, tensor: Tensor) -> None:
        """An operator inside forward read a Tensor that requires gradients: is it an argument, or made here?"""
        for value in self._inputs:
            if value is tensor:
                return
        if not tensor.requires_grad:  # a view of an argument, made in here
            return
        if tensor._born() < self._number and not any(tensor is t for value in self._inputs for t in tensors_in(value)):
            warn_captured(self, tensor)

    # ------------------------------------------------------------------------------------------ as a node
    def _saved_entries(self) -> Any:
        saved = () if self._saved is CLEARED else super()._saved_entries()
        kept = self._kept or {}
        return [*saved, *[entry for _, entries in kept.values() for entry in entries]]

    def _argument_names(self) -> list[str]:
        return rules.parameter_names(self._operator.forward, 0 if self._operator.separate else 1)

    @property
    def _forward_cls(self) -> Any:
        return self._operator


class Cleared:
    """Stands in ``saved`` after the one reading that ``clear_saved_tensors_on_access`` allows."""

    rerun = None

    @property
    def entries(self) -> Any:
        raise lesson(
            RuntimeError,
            "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function.",
            instead="read ctx.saved_tensors once, or set clear_saved_tensors_on_access=False.",
        )


CLEARED: Any = Cleared()


def unpack_attribute(entry: Any, node: Node, what: str) -> Any:
    """The Tensor behind an attribute of ctx: the very output while it lives."""
    return entry.same_or_again(node, what) if isinstance(entry, SavedOutput) else unpack(entry, node, what)
