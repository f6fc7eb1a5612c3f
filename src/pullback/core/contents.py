"""What a value holds that a user hung on ctx, gave to apply, or returned: the Tensors in it, and what may hide in it.

Containers of which every part can be found and replaced are *trees*.  Everything else is only searched: for Tensors, and for
anything that numbers can hide in.  No search is recursive, and those that run at every call of apply give up at `LIMIT`.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import gc
import numbers
import types
from typing import Any, Generic

import numpy as np

from pullback.core import arrays
from pullback.core.tensor import Tensor

#: A search that meets more than this says that anything may be there.
LIMIT = 10_000
#: Containers nested more deeply than this are no tree.
DEPTH = 100
#: Kinds of value that hold no Tensor and cannot carry a derivative.
HARMLESS = frozenset(
    {int, bool, str, bytes, type(None), slice, np.dtype(float).__class__, type(Ellipsis), range, types.ModuleType}
)
_PLAIN = HARMLESS | {float, complex}
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_TEXT = frozenset({str, bytes})  # in which a number may have been written down
_SILENT = HARMLESS - _TEXT


def parts(value: Any) -> Any:
    """The contents of a container, ``None`` for anything else.  Records (dataclasses) count; other objects do not."""
    if isinstance(value, CONTAINERS):
        return value.values() if isinstance(value, dict) else value
    record = dataclasses.is_dataclass(value) and not isinstance(value, type)
    if (record and hasattr(value, "__dict__")) or isinstance(value, types.SimpleNamespace):
        return vars(value).values()
    return None


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors in a value: itself, or the contents of containers, at any depth; a shared container counts once."""
    if isinstance(value, Tensor):
        return [value]
    found: list[Tensor] = []
    seen: set[int] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, Tensor):
            found.append(value)
        elif value.__class__ not in _PLAIN:
            contents = parts(value)
            if contents is not None and id(value) not in seen and not _PLAIN.issuperset(map(type, contents)):
                seen.add(id(value))
                pending.extend(list(contents)[::-1])
    return found


def tensors_in_tree(value: Any) -> list[Tensor] | None:
    """The same, in the order of `rebuild`; ``None`` for what cannot be taken apart and rebuilt.

    That is: containers that hold themselves, one container twice, or too much; and sets of several Tensors, which have no order.
    """
    found: list[Tensor] = []
    seen: set[int] = set()
    pending = [(value, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, Tensor):
            found.append(value)
            continue
        contents = parts(value)
        if contents is None or _PLAIN.issuperset(map(type, contents)):
            continue
        if isinstance(value, (set, frozenset)) and len(tensors_in(value)) > 1:
            return None
        if id(value) in seen or depth > DEPTH or len(seen) + len(pending) + len(contents) > LIMIT:
            return None
        seen.add(id(value))
        pending.extend([(item, depth + 1) for item in contents][::-1])
    return found


def rebuild(value: Any, tensors: Any) -> Any:
    """A tree with its Tensors replaced, in the order of `tensors_in`, by those of an iterator."""
    if isinstance(value, Tensor):
        return next(tensors)
    contents = parts(value)
    return value if contents is None else assemble(value, [rebuild(item, tensors) for item in contents])


def assemble(value: Any, fresh: list[Any]) -> Any:
    """A container like `value` with other contents."""
    if isinstance(value, tuple):
        return type(value)(*fresh) if hasattr(value, "_fields") else type(value)(fresh)
    if isinstance(value, (list, set, frozenset)):
        return type(value)(fresh)
    twin = copy.copy(value)
    if isinstance(value, collections.deque):
        twin.clear()
        twin.extend(fresh)
    elif isinstance(value, dict):
        twin.update(zip(value, fresh, strict=True))
    else:
        vars(twin).update(zip(vars(value), fresh, strict=True))
    return twin


def is_among(value: Any, args: Any) -> bool:
    """True when `value` is one of `args`: the very object."""
    for argument in args:  # noqa: SIM110 - a loop is one call less than any()
        if argument is value:
            return True
    return False


def plain(values: Any, numbers_count: bool) -> bool:
    """A first look: True when every value is a name, a shape, a flag, or a number that cannot have come of the inputs."""
    for value in values:
        kind = value.__class__
        if kind in HARMLESS:
            if numbers_count and kind in _TEXT and _tells_a_number(value):
                return False
        elif (numbers_count or kind is not float) and not (kind is tuple and all_harmless(value)):
            return False
    return True


def all_harmless(values: tuple[Any, ...]) -> bool:
    """True for a tuple of shapes, axes, names."""
    for value in values:  # noqa: SIM110 - a loop is one call less than all()
        if value.__class__ not in HARMLESS:
            return False
    return True


def may_carry(value: Any, known: Any, numbers_count: bool, hidden: bool = False) -> bool:
    """True for a value on ctx through which something that depends on the inputs may reach backward unseen.

    Bare numbers and arrays, and whatever they can be converted to, count when `numbers_count` is true: otherwise nothing
    left the graph, and Tensors alone can carry.  The arguments themselves (`known`) do not count, nor Tensors in a tree,
    which are looked after one by one, but only those that are `hidden` within objects and closures.
    """
    pending = [(value, hidden)]
    seen: set[tuple[int, bool]] = set()
    while pending:
        value, hidden = pending.pop()
        place = id(value), hidden
        if place in seen or is_among(value, known):
            continue
        seen.add(place)
        carries = _carries(value, numbers_count, hidden)
        if carries is None:
            members = _members(value, numbers_count, hidden)
            if members is None or len(seen) + len(pending) + len(members) > LIMIT:
                return True
            pending.extend(members)
        elif carries:
            return True
    return False


def _carries(value: Any, numbers_count: bool, hidden: bool) -> bool | None:
    """Whether the value itself carries; ``None`` where that depends on what it holds."""
    kind = value.__class__
    if kind in HARMLESS:
        return numbers_count and kind in _TEXT and _tells_a_number(value)
    if isinstance(value, Tensor):
        return hidden
    if isinstance(value, (int, enum.Enum)):
        return False
    if arrays.is_array(value):
        held = arrays.dtype_of(value).kind
        return held == "O" or (numbers_count and (held in "VSU" or arrays.is_inexact(value.dtype)))
    if isinstance(value, numbers.Number):  # Fraction and Decimal too
        return numbers_count
    return None


def _members(value: Any, numbers_count: bool, hidden: bool) -> list[tuple[Any, bool]] | None:
    """What a container or an object holds, and whether Tensors are hidden there; ``None`` for too much, or no telling."""
    contents = parts(value)
    if contents is None:
        held = _held_by(value)
        shown = held or type(value) in _EMPTY if not hasattr(value, "__dict__") else _shows_all(type(value))
        if numbers_count and not shown:
            return None  # made by compiled code, which keeps its numbers where nobody can look
        return [(item, True) for item in held]
    keys = value if isinstance(value, dict) else ()
    silent = _SILENT if numbers_count else _PLAIN
    if silent.issuperset(map(type, contents)) and silent.issuperset(map(type, keys)):
        members = []
    elif len(contents) > LIMIT:
        return None
    else:
        members = [(item, hidden) for item in contents] + [(key, True) for key in keys]
    if isinstance(value, CONTAINERS) and hasattr(value, "__dict__"):  # a subclass, with attributes of its own
        members += [(item, True) for item in vars(value).values()]
    return members


def _held_by(value: Any) -> list[Any]:
    """What an object refers to; of functions and classes only what a call of forward can have put there."""
    if isinstance(value, types.FunctionType):
        defaults = (value.__kwdefaults__ or {}).values()
        return [*(value.__closure__ or ()), *(value.__defaults__ or ()), *defaults, *vars(value).values()]
    if isinstance(value, type):
        return list(vars(value).values()) if "<locals>" in value.__qualname__ else []
    if isinstance(value, contextvars.ContextVar):
        return [value.get(None)]
    return [item for item in gc.get_referents(value) if item is not type(value) or "<locals>" in item.__qualname__]


def _tells_a_number(text: str | bytes) -> bool:
    return text.__class__ is bytes or not _DIGITS.isdisjoint(text)


_DIGITS = frozenset("0123456789")
_EMPTY = frozenset({object, types.CellType})
#: Compiled classes whose instances have attributes, and keep nothing beside what the garbage collector is told of.
_OPEN = (
    *CONTAINERS,
    BaseException,
    functools.partial,
    types.FunctionType,
    types.MethodType,
    types.SimpleNamespace,
    Generic,
)
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE


def _shows_all(kind: type) -> bool:
    """True for a class written in Python, down to `object` or a class that is known to hide nothing."""
    compiled = [base for base in kind.__mro__[:-1] if not base.__flags__ & _HEAP or base.__flags__ & _IMMUTABLE]
    return all(issubclass(base, _OPEN) for base in compiled)


def held_in(value: Any, limit: int) -> list[Any] | None:
    """The Tensors, arrays and numbers in a value, its containers and its objects; ``None`` for more than `limit`."""
    found: list[Any] = []
    pending = [value]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if value.__class__ in HARMLESS or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (Tensor, numbers.Number)) or arrays.is_array(value):
            found.append(value)
        elif not isinstance(value, (type, types.FunctionType)):
            contents = parts(value)
            pending.extend(_held_by(value) if contents is None else contents)
        if len(seen) + len(pending) > limit:
            return None
    return found


def snapshot(value: Any, limit: int) -> dict[int, Any] | None:
    """What `held_in` finds, to compare with later: by identity, with the versions of Tensors."""
    held = held_in(value, limit)
    return None if held is None else {id(item): (item, getattr(item, "_version", 0)) for item in held}


def changes(value: Any, before: dict[int, Any], limit: int) -> list[Any]:
    """What a value holds now and did not hold before, or was written to since."""
    now = snapshot(value, limit) or {}
    return [item for key, (item, version) in now.items() if key not in before or before[key][1] != version]
