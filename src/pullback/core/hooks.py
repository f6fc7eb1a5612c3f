"""Functions that users hang on a Tensor or a node, and the order in which they run.

At a node: the tensor hooks of each output, then ``retain_grad``, then node pre-hooks, the node itself, node post-hooks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from pullback.core.errors import lesson

#: The edge of an argument that is no Tensor; falsy like ``None``, the edge of a Tensor without gradients.
NOT_A_TENSOR: Any = ()
_keys = itertools.count()


class RemovableHandle:
    """What registering a hook returns: call ``remove()``, or use it as a context manager."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks = hooks
        self.id = key

    def remove(self) -> None:
        """Take the hook out; doing it twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register(hooks: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    """Add `hook` at the end of an ordered dict of hooks."""
    key = next(_keys)
    hooks[key] = hook
    return RemovableHandle(hooks, key)


class Hooks:
    """The hooks of one node.

    ``tensor`` and ``retain`` map an output number to hooks and to the Tensor whose ``.grad`` is filled.  ``kind`` is the class
    of Tensor that users see: its ``_show`` makes one of a cotangent, ``_hide`` takes it back, ``_was_written`` tells whether a
    hook wrote into it, which counts as returning it.
    """

    __slots__ = ("after_accumulate", "kind", "post", "pre", "retain", "tensor")

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.tensor: dict[int, dict[int, Any]] = {}
        self.retain: dict[int, Any] = {}
        self.pre: dict[int, Any] = {}
        self.post: dict[int, Any] = {}
        self.after_accumulate: dict[int, Any] = {}

    def on_cotangents(self, cotangents: list[Any], task: Any) -> list[Any]:
        """Run tensor hooks, then fill the ``.grad`` of retained Tensors."""
        if not (self.tensor or self.retain):
            return cotangents
        cotangents = list(cotangents)
        for position, hooks in self.tensor.items():
            for hook in list(hooks.values()):
                shown = self.kind._show(cotangents[position], task.record)
                before = self.kind._state(shown)
                result = hook(shown)
                if result is not None:
                    _check_replacement(hook, result, shown, self.kind)
                elif self.kind._was_written(shown, before, hook):
                    result = shown
                if result is not None:
                    cotangents[position] = self.kind._hide(result, task.record)
        for position, reference in self.retain.items():
            tensor = reference()
            cotangent = cotangents[position]
            if tensor is not None and cotangent is not None:
                if task.record:
                    cotangent = task.connect(cotangent, (tensor._resolved(),), True)
                tensor._accumulate(cotangent, task.record)
        return cotangents

    def before(self, cotangents: list[Any], task: Any) -> list[Any]:
        """Run node pre-hooks: ``hook(grad_outputs) -> None | tuple``."""
        for hook in list(self.pre.values()):
            shown = tuple(self.kind._show(c, task.record) for c in cotangents)
            for k, value in self._call(hook, (shown,), task).items():
                cotangents = [value if k == position else c for position, c in enumerate(cotangents)]
        return cotangents

    def after(self, node: Any, grads: Any, cotangents: list[Any], task: Any) -> Any:
        """Run node post-hooks: ``hook(grad_inputs, grad_outputs) -> None | tuple``."""
        if not self.post:
            return grads
        full = list(grads) if grads is not None else [None] * len(node._edges)
        slots = [k for k, edge in enumerate(node._edges) if edge is not NOT_A_TENSOR or not hasattr(node, "_inputs")]
        outer = tuple(self.kind._show(c, task.record) for c in cotangents)
        for hook in list(self.post.values()):
            inner = tuple(self.kind._show(full[k] if k < len(full) else None, task.record) for k in slots)
            for k, value in self._call(hook, (inner, outer), task).items():
                full[slots[k]] = value
        return full

    def _call(self, hook: Any, groups: tuple[Any, ...], task: Any) -> dict[int, Any]:
        """Call a hook of a node on groups of gradients: what it returned for the first group, or wrote into it."""
        shown = groups[0]
        before = [self.kind._state(value) for value in shown]
        result = hook(*groups)
        if result is None:
            pairs = enumerate(zip(shown, before, strict=True))
            changed = {k: value for k, (value, old) in pairs if self.kind._was_written(value, old, hook)}
        else:
            self._check(hook, result, shown)
            changed = dict(enumerate(result))
        return {k: self.kind._hide(value, task.record) for k, value in changed.items()}

    def _check(self, hook: Any, result: Any, shown: tuple[Any, ...]) -> None:
        if not isinstance(result, tuple):
            raise lesson(
                TypeError,
                f"expected tuple, but hook returned {type(result).__name__!r}",
                instead="return None to leave the gradients alone, or a tuple with one entry per gradient.",
            )
        if len(result) != len(shown):
            raise lesson(
                RuntimeError,
                f"hook {name_of(hook)!r} has returned an incorrect number of values "
                f"(got {len(result)}, but expected {len(shown)})",
                instead=f"return a tuple of {len(shown)} gradients, None where one is unknown.",
            )
        for new, old in zip(result, shown, strict=True):
            if new is not None:
                _check_replacement(hook, new, old, self.kind)


def name_of(hook: Any) -> str:
    """How messages call a hook."""
    return getattr(hook, "__name__", type(hook).__name__)


def _check_replacement(hook: Any, new: Any, old: Any, kind: Any) -> None:
    if not isinstance(new, kind._base_class):
        raise lesson(
            TypeError,
            f"expected Variable, but hook returned {type(new).__name__!r}",
            instead="return None to leave the gradient alone, or a Tensor of the same shape and dtype.",
        )
    if old is None:
        return
    if new.shape != old.shape:
        raise lesson(
            RuntimeError,
            f"hook {name_of(hook)!r} has changed the size of value",
            why=f"the gradient has shape {tuple(old.shape)}, the hook returned {tuple(new.shape)}.",
            instead="return a Tensor of the gradient's own shape.",
        )
    if new.dtype != old.dtype:
        raise lesson(
            RuntimeError,
            f"hook {name_of(hook)!r} has changed the type of value (was {old.dtype} got {new.dtype})",
            instead="cast the result back to the gradient's dtype before returning it.",
        )
