"""A bare array that is kept may share memory with an argument or a result: what a Primitive keeps, and what hangs on a ctx.

A write into that Tensor then changes what was kept.  Bare arrays log no writes, so the Tensor is kept beside them, and its log
is asked before the rule runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core.arrays import in_numpy
from pullback.core.attributes import become
from pullback.core.contents import held_in
from pullback.core.saved import SavedOutput, SavedPlain, pack, unpack
from pullback.core.tensor import Tensor

#: So many objects in the attributes of ctx are looked at.
LIMIT = 1000


class Aliasing:
    """Added in front of the class of a node that keeps memory of its arguments or results."""

    __slots__ = ()

    def _saved_entries(self: Any) -> Any:
        return [*super()._saved_entries(), *self._aliased]  # type: ignore[misc]

    def _pull(self: Any, cotangents: list[Any], task: Any) -> Any:
        for entry in self._aliased:
            unpack(entry, self, "memory")
        return super()._pull(cotangents, task)  # type: ignore[misc]


def watch_memory(ctx: Any, kept: Iterable[Any], args: Any, edges: Any, outputs: Any) -> None:
    """Let the node ask, before its rule runs, whether Tensors were written that share memory with what is `kept`."""
    arrays = [array for value in kept for array in held_in(value, LIMIT) or () if isinstance(array, np.ndarray)]
    shared = [
        pack(tensor, (tensor,), (edge,))
        for tensor, edge in zip(args, edges, strict=True)
        if isinstance(tensor, Tensor) and _among(tensor, arrays)
    ]
    for position, tensor in enumerate(outputs):
        if isinstance(tensor, Tensor) and _among(tensor, arrays):
            shared.append(SavedOutput(tensor, position) if tensor._edge is not None else SavedPlain(tensor))
    if shared:
        ctx._aliased = shared
        become(ctx, Aliasing)


def _among(tensor: Tensor, arrays: list[Any]) -> bool:
    memory = in_numpy(tensor._array)
    return memory is not None and any(np.may_share_memory(memory, array) for array in arrays)
