"""After forward: where did everything come from that was saved, or set on ctx?"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.errors import lesson
from pullback.core.recompute import Rerun, parts, rebuild, tensors_in
from pullback.core.saved import Saved, is_intermediate, pack
from pullback.core.tensor import Tensor

_new = object.__new__
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)


def keep(ctx: Any, args: tuple[Any, ...], returned: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """After forward: find the origin of everything that was saved or set on ctx.

    `outputs` are the Tensors that apply gives back for what forward `returned`.
    """
    edges = ctx._edges
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
    if ctx.__dict__:
        intermediate = _keep_attributes(ctx, args, returned, outputs) or intermediate
    if intermediate:
        ctx._saved = Saved(entries, Rerun(args, edges, _run_again, None, _why_no_rerun(ctx)))
    elif entries:
        ctx._saved = entries
    ctx._to_save = ()


def is_among(value: Any, args: Any) -> bool:
    """True when `value` is one of `args`: the very object."""
    for argument in args:  # noqa: SIM110 - a loop is one call less than any()
        if argument is value:
            return True
    return False


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
    """Take Tensors out of ctx's attributes and keep them like saved ones.  True when one is an intermediate."""
    intermediate = False
    kept = {}
    for name, value in ctx.__dict__.items():
        tensors = () if is_among(value, args) and not isinstance(value, Tensor) else tensors_in(value)
        if tensors:
            entries = [pack(tensor, args, ctx._edges, returned, outputs) for tensor in tensors]
            kept[name] = (value if not isinstance(value, Tensor) else _SINGLE, entries)
            intermediate = intermediate or any(not isinstance(e, Tensor) and is_intermediate(e) for e in entries)
    for name, (structure, entries) in kept.items():
        del ctx.__dict__[name]
        if structure is not _SINGLE:
            kept[name] = (rebuild(structure, iter([_SINGLE] * len(entries))), entries)
    if kept:
        ctx._kept = kept
    return intermediate


_SINGLE = Tensor(np.empty(0))


def _why_no_rerun(ctx: Any) -> str:
    return "forward wrote into its arguments, so it cannot be run again." if ctx._marks and ctx._marks.written else ""


def _run_again(ctx: Any, args: list[Any], options: None) -> Any:
    """Forward with recording on, on a ctx of its own."""
    again = _new(type(ctx))
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


def opaque(ctx: Any, args: tuple[Any, ...], cuts: list[str]) -> Any:
    """``(attribute, how)`` when a value left the graph in forward and ctx holds a bare number that may have come of it."""
    for name, value in ctx.__dict__.items():
        if has_bare_numbers(value, args):
            return name, ", ".join(cuts)
    return None


#: Kinds of value that cannot carry a derivative.
HARMLESS = frozenset({int, bool, str, type(None), slice, type, np.dtype(float).__class__})


def all_harmless(values: tuple[Any, ...]) -> bool:
    """True for a tuple of shapes, axes, names."""
    for value in values:  # noqa: SIM110 - a loop is one call less than all()
        if value.__class__ not in HARMLESS:
            return False
    return True


def has_bare_numbers(value: Any, args: Any) -> bool:
    """True for floating-point numbers and bare arrays of them, also in containers, that are none of `args`."""
    if value.__class__ in HARMLESS or isinstance(value, Tensor) or is_among(value, args):
        return False
    contents = parts(value)
    if contents is not None:
        return any(has_bare_numbers(item, args) for item in contents)
    return isinstance(value, (float, complex)) or (arrays.is_array(value) and arrays.is_inexact(value.dtype))
