"""State outside ctx: what forward leaves in a global variable, a closure or a class, and backward picks up there.

A value that forward computed counts as constant in a recorded backward, which on ctx is seen and mended (``keep.py``).  Outside
of ctx only the places that forward *and* backward name can be watched: usually there are none.  Where there are some, what they
hold is compared before and after forward; a Function that left something there has no second derivative.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.contents import HARMLESS, changes, is_among, may_carry, snapshot
from pullback.core.tensor import Tensor

#: A place that holds more objects than this is not watched: looking at it would cost more than forward.
LIMIT = 300
#: Arrays with more entries than this are not compared.
LARGEST = 100_000
#: Names of what writes into an array, beside ``a[...] = b``.
_FILLING = {"copyto", "fill", "out", "place", "put", "put_along_axis", "putmask"}
#: Helpers that are looked into, at most.
HELPERS = 50
#: The places of a Function that was never called.
UNKNOWN: Any = ("unknown",)
_IDLE = (
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType, staticmethod, classmethod, property),
    *(float, complex, np.ndarray, np.generic, np.ufunc),
)


class Place(NamedTuple):
    """Something that forward and backward both name; `fixed` where it is a Tensor, which forward could only write into.

    `filled` where forward writes into arrays, of whatever name: then those that the place holds are compared.
    """

    name: str
    read: Callable[[], Any]
    fixed: bool
    filled: bool = False


def look(operator: Any) -> Any:
    """What the places that `operator` shares between forward and backward hold now; ``None`` where there are none."""
    if operator._outside is UNKNOWN:
        operator._outside = tuple(_shared_places(operator))
    found = []
    for place in operator._outside:
        if place.fixed:
            continue
        before = snapshot(place.read(), LIMIT)
        if before is None:
            operator._outside = tuple([other for other in operator._outside if other is not place])
        else:
            found.append((place, before, _copies(before) if place.filled else ()))
    return found or None


def _copies(held: dict[int, Any]) -> list[tuple[Any, Any]]:
    """Arrays with what they contain now."""
    return [
        (item, item.copy()) for item, _ in held.values() if isinstance(item, np.ndarray) and item.dtype.kind in "fc"
    ]


def note_changes(operator: Any, before: Any, numbers_count: bool, args: Any) -> None:
    """After forward: did it leave a Tensor in one of the places, or, where values left the graph, a number?"""
    for place, known, copies in before:
        filled = numbers_count and not all(np.array_equal(a, old, equal_nan=True) for a, old in copies)
        if filled or _left(place.read(), known, numbers_count, args):
            operator._left_outside = place.name


def look_at_arguments(args: Any) -> Any:
    """What the objects and containers among the arguments hold before forward; ``None`` where there are none."""
    found = []
    for value in args:
        if not isinstance(value, Tensor) and (_may_change(value) or isinstance(value, types.FunctionType)):
            before = snapshot(_inside(value), LIMIT)
            if before is not None:
                found.append((value, before))
    return found or None


def note_changed_arguments(operator: Any, before: Any, kept: Any, numbers_count: bool, args: Any) -> None:
    """After forward: did it leave something in an argument that is now among the attributes `kept` on ctx?"""
    changed = [value for value, known in before if _left(_inside(value), known, numbers_count, args)]
    rest = [value for value in args if not is_among(value, changed)]
    for name, value in kept.items() if changed else ():
        if may_carry(value, rest, numbers_count, True) and not may_carry(value, args, numbers_count, True):
            operator._left_outside = f"an argument that is also ctx.{name}"


def _inside(value: Any) -> Any:
    return value.__closure__ if isinstance(value, types.FunctionType) else value


def _left(value: Any, before: dict[int, Any], numbers_count: bool, args: Any) -> bool:
    new = changes(value, before, LIMIT)
    return any(_counts(item, numbers_count) and not is_among(item, args) for item in new)


def note_write(operator: Any, written: Tensor) -> None:
    """Forward wrote into a Tensor that is no argument: does backward know it?"""
    for place in operator._outside:
        value = place.read() if place.fixed else None
        if isinstance(value, Tensor) and value._buffer is written._buffer:
            operator._left_outside = place.name


def why_refuse(operator: Any) -> str:
    """Why what `operator` was seen to do forbids second derivatives; empty where it does not."""
    place = operator._left_outside
    return (
        f"its forward leaves what it computed in {place}, outside of ctx, and its backward uses that too"
        if place
        else ""
    )


def _counts(value: Any, numbers_count: bool) -> bool:
    if isinstance(value, Tensor):
        return arrays.is_inexact(value.dtype) and not value.requires_grad
    return numbers_count and (isinstance(value, (float, complex)) or arrays.is_array(value))


def _shared_places(operator: Any) -> Iterator[Place]:
    forward = _Reach(operator, operator.forward, getattr(operator, "setup_context", None))
    backward = _Reach(operator, operator.backward, getattr(operator, "vjp", None), getattr(operator, "jvp", None))
    owners = {operator._node: "type(ctx)"} | {owner: owner.__name__ for owner in _classes_of(operator)}
    others = {id(holder): holder for holder in map(_holder, backward.values())}  # may have another name there
    for key, (name, read) in forward.variables.items():
        value = read()
        holder = _holder(value)
        common = key in backward.variables
        if not common and id(holder) not in others:
            continue
        owners.update(
            {owner: owner.__name__ for owner in _classes_of(holder if isinstance(holder, type) else type(holder))}
        )
        if common and name in forward.stored:
            yield Place(name, read, False)
        elif isinstance(value, types.FunctionType) and forward.stored & backward.names:
            yield Place(f"an attribute of {name}", functools.partial(vars, value), False)
        elif not isinstance(holder, type) and (_may_change(holder) or (forward.fills and _is_buffer(holder))):
            reach = read if common else functools.partial(_itself, holder)
            yield Place(name, reach, isinstance(holder, Tensor), forward.fills)
    for owner, name in owners.items():
        for attribute in forward.names & backward.names:
            value, assigned = _attribute(owner, attribute), attribute in forward.stored
            if assigned or (not isinstance(value, type) and _may_change(value)):
                read = functools.partial(_attribute, owner, attribute)
                yield Place(f"{name}.{attribute}", read, isinstance(value, Tensor) and not assigned)


def _holder(value: Any) -> Any:
    """The object whose state a variable gives access to: that of a bound method, otherwise its value."""
    return value.__self__ if isinstance(value, (types.MethodType, types.BuiltinFunctionType)) else value


def _itself(value: Any) -> Any:
    return value


def _classes_of(owner: Any) -> list[Any]:
    """A class and its bases, as far as the user wrote them."""
    return [base for base in owner.__mro__ if not is_library(base.__module__)]


def is_library(module: Any) -> bool:
    """True for the name of a module that nobody keeps state in."""
    return str(module).partition(".")[0] in {"builtins", "numpy", "pullback"}


def _may_change(value: Any) -> bool:
    """True for what can hold something else without being assigned anew."""
    return value.__class__ not in HARMLESS and not isinstance(value, _IDLE)


def _is_buffer(value: Any) -> bool:
    """True for an array that can be written and is not too large to be compared at every call."""
    return isinstance(value, np.ndarray) and value.flags.writeable and value.size <= LARGEST


def _attribute(owner: Any, name: str) -> Any:
    return vars(owner).get(name)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


class _Reach:
    """The variables and names that some functions use, and the helpers that these call by name."""

    def __init__(self, operator: Any, *functions: Any) -> None:
        self.names: set[str] = set()
        self.stored: set[str] = set()
        self.fills = False
        self.variables: dict[Any, tuple[str, Callable[[], Any]]] = {}  # by cell, or by module and name
        self._operator = operator
        self._seen: list[Any] = []
        self._rules = [inspect.unwrap(rule) for rule in functions if rule is not None]
        pending = list(functions)
        while pending and len(self._seen) < HELPERS:
            candidate = pending.pop()
            candidate = getattr(candidate, "__func__", candidate)
            function = inspect.unwrap(candidate) if callable(candidate) else None
            if not isinstance(function, types.FunctionType) or is_library(function.__module__):
                continue
            if function not in self._seen:
                self._seen.append(function)
                pending.extend(self._look_at(function))

    def _look_at(self, function: Any) -> Iterator[Any]:
        """Note what one function uses; gives what may be helpers."""
        names, stored = _names_in(function.__code__, function in self._rules)
        self.fills = self.fills or _fills(function.__code__)
        self.names |= names
        self.stored |= stored
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.variables[id(cell)] = name, functools.partial(_content, cell)
            yield _content(cell)
        space = function.__globals__
        for name in names:
            self.variables[id(space), name] = name, functools.partial(space.get, name)
            helper = space.get(name)
            if getattr(helper, "__globals__", None) is space:
                yield helper
        for owner in {*_classes_of(self._operator), *self._owners(space)}:
            for name in names & vars(owner).keys():
                helper = vars(owner)[name]
                yield from (helper.fget, helper.fset) if isinstance(helper, property) else (helper,)

    def values(self) -> list[Any]:
        return [read() for _, read in self.variables.values()]

    def _owners(self, space: Any) -> Iterator[Any]:
        """Classes of the same module that are named, or have a named instance: their methods are helpers."""
        for holder in map(_holder, self.values()):
            kind = holder if isinstance(holder, type) else type(holder)
            yield from [owner for owner in _classes_of(kind) if owner.__module__ == space.get("__name__")]


@functools.lru_cache(maxsize=1024)
def _fills(code: types.CodeType) -> bool:
    """Whether code may write into an array that it has got from somewhere."""
    keywords = [name for value in code.co_consts if isinstance(value, tuple) for name in value if isinstance(name, str)]
    return (
        not _FILLING.isdisjoint([*code.co_names, *keywords])
        or any(step.opname == "STORE_SUBSCR" for step in dis.get_instructions(code))
        or any(_fills(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))
    )


@functools.lru_cache(maxsize=1024)
def _names_in(code: types.CodeType, is_rule: bool) -> tuple[frozenset[str], frozenset[str]]:
    """The names of globals and attributes that code uses, and those that it assigns; a rule may assign to its ctx."""
    names, stored = set(code.co_names), set()
    ctx = code.co_varnames[0] if is_rule and code.co_argcount else None
    before: Any = None
    for step in dis.get_instructions(code):
        owner = before[-1] if isinstance(before, tuple) and before else before
        if step.opname in {"STORE_GLOBAL", "STORE_DEREF"} or (step.opname == "STORE_ATTR" and owner != ctx):
            stored.add(step.argval)
        before = step.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, inner_stored = _names_in(constant, False)
            names |= inner
            stored |= inner_stored
    return frozenset(names), frozenset(stored)
