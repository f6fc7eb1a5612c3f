"""After forward: where did everything come from that was saved, or set on ctx?"""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.attributes import hand_out
from pullback.core.errors import lesson
from pullback.core.recompute import HARMLESS, Rerun, is_tree, parts, rebuild, tensors_in
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
    if ctx.__dict__ and not plain(ctx.__dict__.values(), bool(ctx._opaque)):
        intermediate = _keep_attributes(ctx, args, returned, outputs) or intermediate
        intermediate = _keep_carriers(ctx, args) or intermediate
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
        tensors = _looked_after(value, args)
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
        hand_out(ctx)
    return intermediate


def _looked_after(value: Any, args: Any) -> list[Tensor]:
    """The Tensors in an attribute that are kept one by one; containers that share contents are carriers instead."""
    if isinstance(value, Tensor):
        return [value]
    return [] if is_among(value, args) or not is_tree(value) else tensors_in(value)


def _keep_carriers(ctx: Any, args: Any) -> bool:
    """Take what may carry something unseen out of ctx's attributes, so that a second run can replace it."""
    numbers = bool(ctx._opaque)
    names = [name for name, value in ctx.__dict__.items() if may_carry(value, args, numbers)]
    ctx._opaque = (tuple(names), ", ".join(ctx._opaque or ())) if names else None
    if names:
        kept = ctx._kept or {}
        for name in names:
            kept[name] = (ctx.__dict__.pop(name), ())
        ctx._kept = kept
        hand_out(ctx)
    return bool(names)


_SINGLE = Tensor(np.empty(0))


def _why_no_rerun(ctx: Any) -> str:
    return "forward wrote into its arguments, so it cannot be run again." if ctx._marks and ctx._marks.written else ""


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


def plain(values: Any, numbers: bool) -> bool:
    """A first look: True when every value is a name, a shape, a flag, or a number that cannot have come of the inputs."""
    for value in values:
        kind = value.__class__
        if kind not in HARMLESS and (numbers or kind is not float) and not (kind is tuple and all_harmless(value)):
            return False
    return True


def all_harmless(values: tuple[Any, ...]) -> bool:
    """True for a tuple of shapes, axes, names."""
    for value in values:  # noqa: SIM110 - a loop is one call less than all()
        if value.__class__ not in HARMLESS:
            return False
    return True


def may_carry(value: Any, known: Any, numbers: bool, seen: set[int] | None = None, tensors: bool = False) -> bool:
    """True for a value on ctx through which something that depends on the inputs may reach backward unseen.

    Bare numbers and arrays count when `numbers` is true.  Closures, bound methods and objects may hold anything.  The
    arguments themselves (`known`) do not count, nor Tensors, which are looked after one by one, except within objects
    (`tensors`), where nobody finds them.
    """
    if value.__class__ in HARMLESS or isinstance(value, (type, enum.Enum)) or is_among(value, known):
        return False
    if isinstance(value, Tensor):
        return tensors
    if isinstance(value, (float, complex)):
        return numbers
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        bound = isinstance(getattr(value, "__self__", None), Tensor)
        return bound or bool(getattr(value, "__closure__", None) or getattr(value, "__defaults__", None))
    if arrays.is_array(value):
        return arrays.dtype_of(value).kind == "O" or (numbers and arrays.is_inexact(value.dtype))
    return _holds_carrier(value, known, numbers, set() if seen is None else seen, tensors)


def _holds_carrier(value: Any, known: Any, numbers: bool, seen: set[int], tensors: bool) -> bool:
    """The same of what a container or an object of a Python class holds; anything else may hold anything."""
    contents = parts(value)
    if contents is not None:
        if HARMLESS.issuperset(map(type, contents)) and not isinstance(value, dict):
            return False
        if not is_tree(value) and tensors_in(value):
            return True
        if isinstance(value, dict) and any(isinstance(key, Tensor) for key in value):
            return True
        members = [*value, *contents] if isinstance(value, dict) else contents
    else:
        members, tensors = _members(value), True
        if members is None:
            return True
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(may_carry(m, known, numbers, seen, tensors) for m in members)


def _members(value: Any) -> list[Any] | None:
    """What an instance of a plain Python class holds; ``None`` for what cannot be looked into."""
    kind = type(value)
    if not kind.__flags__ & _PYTHON_CLASS or kind.__module__ in {"builtins", "functools"}:
        return None
    slots = [name for base in kind.__mro__ for name in _names(getattr(base, "__slots__", ()))]
    held = [getattr(value, name, None) for name in slots if name not in {"__dict__", "__weakref__"}]
    return held + list(getattr(value, "__dict__", {}).values())


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


_PYTHON_CLASS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
