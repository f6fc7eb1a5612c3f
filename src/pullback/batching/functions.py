"""User's Functions within a batch.

Without more ado, forward and backward run once, on Tensors that show the shape of one entry.  A Function with a ``vmap`` of its
own gets whole arrays and says where the batch is in its results; its backward runs on the entries all the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.batching import batched
from pullback.batching.batched import Batch, Batched, batches
from pullback.batching.crossing import enter, leave, share
from pullback.batching.looping import innermost
from pullback.core import batches as machine
from pullback.core.errors import lesson
from pullback.core.function import Function
from pullback.core.tensor import Tensor


class VmapInfo(NamedTuple):
    """What ``vmap`` of a Function learns of the batch."""

    batch_size: int
    randomness: str


def for_function(cls: Any, args: Any) -> tuple[Any, Any]:
    """The arguments with their places within the batch, and what computes the results in the place of ``forward``."""
    bare = [a._array if isinstance(a, Tensor) else a for a in args]
    batch = innermost(bare)
    if batch is None:
        return args, cls.forward
    args = list(args)
    share(args, bare, [a._resolved() if isinstance(a, Tensor) else None for a in args], {})
    own = cls.vmap
    if own is Function.vmap:
        return tuple(args), cls.forward
    if cls.generate_vmap_rule:
        raise lesson(
            RuntimeError,
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity.",
            instead="one of the two.",
        )
    if not cls.separate:
        raise lesson(
            RuntimeError,
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            f"setup_context staticmethod: {cls.__name__} has a vmap staticmethod and forward takes ctx",
            why="the results come from vmap, so forward does not run, and cannot save what backward needs.",
            instead="forward(*args) and setup_context(ctx, inputs, output).",
        )
    return tuple(args), lambda *given: _by_own_rule(cls, own, given, batch)


def _by_own_rule(cls: Any, own: Any, args: tuple[Any, ...], batch: Batch) -> Any:
    in_dims = tuple([_axis(a, batch) for a in args])
    values = [a if d is None else leave(a, batch, d) for a, d in zip(args, in_dims, strict=True)]
    token = batched.opened.set(tuple([b for b in batched.opened.get() if b is not batch]))
    try:
        found = own(VmapInfo(batch.size, batch.randomness), in_dims, *values)
    finally:
        batched.opened.reset(token)
    if not isinstance(found, tuple) or len(found) != 2:
        raise lesson(
            RuntimeError,
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
            f"the output. Got a {type(found).__name__}: {cls.__name__}",
            instead="return outputs, out_dims.",
        )
    outputs, out_dims = found
    if not isinstance(outputs, tuple):
        return _within(outputs, out_dims, batch)
    dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(outputs)
    return tuple([_within(y, d, batch) for y, d in zip(outputs, dims, strict=True)])


def _axis(value: Any, batch: Batch) -> int | None:
    if not isinstance(value, Tensor):
        return None
    array = value._array
    if array.__class__ is not Batched or batch not in batches(array):
        return None
    return array.axis if array.axis <= len(array.shape) else 0


def _within(value: Any, axis: Any, batch: Batch) -> Any:
    if axis is None or not isinstance(value, Tensor):
        return value
    return enter(value, batch, axis % len(value.shape))


machine.for_function = for_function
