"""Leaves: the place of a Tensor that the user made, and the node that fills its ``.grad``.

The node holds the leaf, and the graph holds the node; the leaf knows its node only weakly.
"""

from __future__ import annotations

import weakref
from _thread import allocate_lock
from sys import getrefcount
from typing import Any

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Node, next_number
from pullback.core.hooks import Hooks
from pullback.core.references import IN_A_LIST

#: Held while a leaf finds its node, and while a gradient is added to another.
accumulating = allocate_lock()


class Leaf:
    """The place of a Tensor that the user made and that requires gradients."""

    __slots__ = ("__weakref__", "hooks", "node", "number")

    def __init__(self) -> None:
        self.node: Any = None
        self.hooks: Hooks | None = None
        self.number = next_number()  # tells a Tensor made inside a forward from one captured by it

    def resolve(self, tensor: Any) -> tuple[Node, int]:
        """The edge to the leaf's `AccumulateGrad`, which lives as long as a graph needs it."""
        node = self.node() if self.node is not None else None
        if node is None:
            with accumulating:  # two threads that use a leaf for the first time must find one node
                node = self.node() if self.node is not None else None
                if node is None:
                    node = AccumulateGrad(tensor, self.hooks)
                    self.node = weakref.ref(node)
        return node, 0

    def hook_table(self, kind: Any) -> Hooks:
        with accumulating:
            if self.hooks is None:
                node = self.node() if self.node is not None else None
                self.hooks = (node._hooks if node is not None else None) or Hooks(kind)
                if node is not None:
                    node._hooks = self.hooks
            return self.hooks


class AccumulateGrad(Node):
    """The end of a path: adds the cotangent to the ``.grad`` of its leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any, hooks: Hooks | None) -> None:
        self._edges = ()
        self._number = LEAF_NUMBER
        self._saved = None
        self._hooks = hooks
        self._kind = type(variable)
        self._specs = ((variable._array.shape, arrays.dtype_of(variable._array)),)
        self.variable = variable

    def _pull(self, cotangents: list[Any], task: Any) -> None:
        if self.variable._edge is None:  # it stopped asking for gradients meanwhile
            return
        if cotangents[0] is None:
            pass  # nothing to add, but the hooks run all the same, as in torch
        elif task.record:
            settle = task.settle or (lambda found: task.connect(found, ((self, 0),), True))
            self.variable._accumulate(settle(cotangents[0]), True)
        elif getrefcount(cotangents[0]) == IN_A_LIST and not (
            self._hooks and self._hooks.post
        ):  # only this list holds it
            self.variable._accumulate(cotangents.pop(), False, fresh=True)
        else:
            self.variable._accumulate(cotangents[0], False)
        if self._hooks is not None:
            for hook in list(self._hooks.after_accumulate.values()):
                self._check_returned(hook(self.variable))

    def _check_returned(self, result: Any) -> None:
        if result is None or result is self.variable:
            return
        instead = "change tensor.grad in place inside the hook, and return nothing."
        if isinstance(result, self._kind._base_class):
            raise lesson(RuntimeError, "Tensor post accumulate grad hooks should return None.", instead=instead)
        raise lesson(
            TypeError,
            f"expected Variable, but hook returned {type(result).__name__!r}; post accumulate grad hooks should return None",
            instead=instead,
        )
