"""After forward: where did everything come from that was saved, or set on ctx?"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.aliased import watch_memory
from pullback.core.attributes import hand_out
from pullback.core.contents import is_among, may_carry, plain, rebuild, tensors_in, tensors_in_tree
from pullback.core.errors import lesson
from pullback.core.recompute import Rerun
from pullback.core.saved import Saved, is_intermediate, pack
from pullback.core.tensor import Tensor

_new = object.__new__


def keep(ctx: Any, args: tuple[Any, ...], returned: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """After forward: find the origin of everything that was saved or set on ctx.

    `outputs` are the Tensors that apply gives back for what forward `returned`.
    """
    edges = ctx._edges
    if ctx._marks is not None and ctx._marks.written:
        args = _without_results(args, ctx._marks)
    found: list[Any] = []
    intermediate = False
    for value in ctx._to_save:
        if isinstance(value, Tensor) and value._buffer is None and is_among(value, args):
            found.append(value)
        else:
            entry = _pack_saved(value, len(found), args, edges, returned, outputs)
            intermediate = intermediate or (entry is not None and is_intermediate(entry))
            found.append(entry)
    entries = tuple(found)
    if ctx.__dict__ and not plain(ctx.__dict__.values(), bool(ctx._opaque)):
        intermediate = _keep_attributes(ctx, args, returned, outputs) or intermediate
    if intermediate:
        reason, written = _written(ctx, returned) if ctx._marks is not None and ctx._marks.written else ("", ())
        ctx._saved = Saved(entries, Rerun(ctx._inputs, edges, _run_again, None, reason, written))
    elif entries:
        ctx._saved = entries
    ctx._to_save = ()


def _without_results(args: tuple[Any, ...], marks: Any) -> tuple[Any, ...]:
    """The arguments that are still what they were: a constant one into which forward wrote is a value that it computed."""
    written = [tensor._buffer for tensor in marks.written]
    dirty = [tensor._buffer for tensor in marks.dirty]
    return tuple(
        [
            None
            if isinstance(value, Tensor) and is_among(value._buffer, written) and not is_among(value._buffer, dirty)
            else value
            for value in args
        ]
    )


def _pack_saved(value: Any, position: int, args: Any, edges: Any, returned: Any, outputs: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise lesson(
            TypeError,
            f"save_for_backward can only save variables, but argument {position} is of type {type(value).__name__}",
            instead="set other values as attributes: ctx.name = value. Several Tensors are separate arguments, not a list.",
        )
    return pack(value, args, edges, returned, outputs)


def _keep_attributes(ctx: Any, args: Any, returned: Any, outputs: Any) -> bool:
    """Take Tensors out of ctx's attributes and keep them like saved ones, and take out what may carry something unseen.

    True when one is an intermediate, or a carrier: then a second run of forward must be able to replace it.
    """
    numbers_count = bool(ctx._opaque)
    if numbers_count:
        watch_memory(ctx, ctx.__dict__.values(), args, ctx._edges, outputs)
    kept: dict[str, tuple[Any, Any]] = {}
    carriers = []
    intermediate = False
    for name, value in ctx.__dict__.items():
        tensors = () if is_among(value, args) and not isinstance(value, Tensor) else tensors_in_tree(value)
        if tensors:
            entries = [pack(tensor, args, ctx._edges, returned, outputs) for tensor in tensors]
            structure = _SINGLE if isinstance(value, Tensor) else rebuild(value, iter([_SINGLE] * len(entries)))
            kept[name] = (structure, entries)
            intermediate = intermediate or any(not isinstance(e, Tensor) and is_intermediate(e) for e in entries)
        if may_carry(value, args, numbers_count, hidden=tensors is None):
            carriers.append(name)
            kept.setdefault(name, (value, ()))
        elif tensors == () and tensors_in(value):
            kept[name] = (value, ())  # an argument, which is what it was
    for name in kept:
        del ctx.__dict__[name]
    if kept:
        ctx._kept = kept
        hand_out(ctx)
    ctx._opaque = (tuple(carriers), ", ".join(ctx._opaque or ())) if carriers else None
    return intermediate or bool(carriers)


_SINGLE = Tensor(np.empty(0))


def _written(ctx: Any, returned: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Why forward cannot run again, after it wrote in place; or else weak references to what else it wrote into.

    Writing into what forward made itself does no harm. What it made and did not keep dies with its variables: memory that
    is still alive when forward shall run again is a state that somebody else holds, and which it would change once more.
    """
    buffers = [tensor._buffer for tensor in ctx._marks.written]
    if wrote_into_arguments(ctx):
        return "forward wrote into its arguments, so it cannot be run again.", ()
    kept = [tensor._buffer for value in (*returned, *ctx._to_save) for tensor in tensors_in(value)]
    kept += [entry._buffer for _, entries in (ctx._kept or {}).values() for entry in entries]
    return "", tuple([weakref.ref(buffer) for buffer in buffers if not is_among(buffer, kept)])


def wrote_into_arguments(ctx: Any) -> bool:
    """Whether forward wrote in place into a Tensor that it was given."""
    buffers = [tensor._buffer for tensor in ctx._marks.written] if ctx._marks is not None else []
    return bool(buffers) and any(is_among(t._buffer, buffers) for value in ctx._inputs for t in tensors_in(value))


def _run_again(ctx: Any, args: list[Any], options: None) -> Any:
    """Forward with recording on, on a ctx of its own."""
    again = _new(ctx._operator._node)
    again._number = ctx._number
    again._needs, again._edges, again._inputs, again._specs = ctx._needs, ctx._edges, tuple(args), ()
    again._marks = again._kept = again._opaque = again._saved = again._hooks = None
    again._to_save = ()
    again._outer, again._kind = modes.ON, ctx._kind
    if ctx._operator.separate:
        output = ctx._operator.forward(*args)
        ctx._operator.setup_context(again, tuple(args), output)
    else:
        ctx._operator.forward(again, *args)
    return again
