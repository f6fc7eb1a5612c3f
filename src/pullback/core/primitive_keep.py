"""After the forward of a `Primitive`: where did every array come from that was saved, or set on ctx?"""

from __future__ import annotations

from typing import Any

from pullback.core import arrays, modes
from pullback.core.aliased import watch_memory
from pullback.core.attributes import hand_out
from pullback.core.contents import may_carry, plain
from pullback.core.primitive_node import OWN, Intermediate, SavedConstant
from pullback.core.recompute import Rerun
from pullback.core.recorded import Recorded
from pullback.core.saved import Saved, SavedOutput, SavedPlain, pack
from pullback.core.tensor import Tensor

_new = object.__new__


def keep_values(ctx: Any, args: Any, edges: Any, outputs: Any, options: Any) -> None:
    """Find the origin of every saved array, and keep the arguments where one has none."""
    values = ctx._to_save
    entries: tuple[Any, ...] | None = None
    intermediate = False
    if values is not None:
        ctx._to_save = None
        found = []
        for value in values:
            for argument in args:
                if isinstance(argument, Tensor) and argument._array is value and argument._buffer is None:
                    found.append(argument)
                    break
            else:
                entry = _entry(value, args, edges, outputs, options)
                intermediate = intermediate or entry.__class__ is Intermediate
                found.append(entry)
        entries = tuple(found)
    ctx._saved = entries
    if ctx.__dict__:
        intermediate = _keep_attributes(ctx, args, edges, outputs, options) or intermediate
    kept = [entry.array for entry in entries or () if entry.__class__ is Intermediate]
    kept += [value for name, value in ctx.__dict__.items() if name not in OWN and not _alone(value)]
    if kept:
        watch_memory(ctx, kept, args, edges, outputs)
    if intermediate:
        ctx._saved = Saved(entries or (), Rerun(args, edges, _run_again, options))
    if modes.current() is not modes.ON:
        modes.current()._created(ctx)


def _alone(value: Any) -> bool:
    """Whether no memory of an attribute can be written from outside."""
    return getattr(value, "_pullback_own", False) or plain((value,), True)


def _run_again(ctx: Any, args: list[Any], options: Any) -> Any:
    """Forward on Tensors, with the differentiable namespace; its ctx has the saved values in the graph."""
    again = _new(ctx._operator._node)
    again.xp = Recorded.xp
    again._to_save = ()
    again.needs_input_grad = ctx.needs_input_grad
    ctx._operator.forward(again, *args, **options)
    return again


def _entry(value: Any, args: Any, edges: Any, outputs: Any, options: Any) -> Any:
    """Find the origin of a saved array: an input, an output, a constant, or none of these."""
    for argument, edge in zip(args, edges, strict=True):
        if argument is value:
            return SavedConstant(value)
        if isinstance(argument, Tensor) and argument._array is value:
            return pack(argument, (argument,), (edge,))
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and output._array is value:
            return SavedOutput(output, position) if output._edge is not None else SavedPlain(output)
    return Intermediate(value) if may_carry(value, options.values(), True) else SavedConstant(value)


def _keep_attributes(ctx: Any, args: Any, edges: Any, outputs: Any, options: Any) -> bool:
    """Keep arguments and results that are attributes of ctx like saved ones.

    True when another attribute holds numbers: forward may have computed them from the inputs.
    """
    constants: Any = None
    kept = {}
    intermediate = False
    for name, value in ctx.__dict__.items():
        if plain((value,), True):
            continue
        if arrays.is_array(value):
            entry = _entry(value, args, edges, outputs, options)
            if not isinstance(entry, SavedConstant):
                kept[name] = None, (entry,)
                continue
        if constants is None:
            constants = [
                a._array if isinstance(a, Tensor) else a for a, edge in zip(args, edges, strict=True) if not edge
            ]
            constants.extend(options.values())
        intermediate = intermediate or may_carry(value, constants, True)
    if constants:
        ctx.__dict__["_constants"] = constants
    if kept:
        for name in kept:
            del ctx.__dict__[name]
        ctx.__dict__["_kept"] = kept
        hand_out(ctx)
    return intermediate
