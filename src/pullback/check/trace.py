"""What happens in a Function, step by step: the first questions of debugging, answered for each forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.check.probing.specimen import Specimen, shown
from pullback.check.probing.watch import Pulled, Seen, Witness, watched
from pullback.check.whole import prepare
from pullback.check.worlds import as_tuple


def trace(fn: Any, inputs: Sequence[Any] | None = None, *, seed: int = 0, library: str = "") -> str:
    """The calls of a Function as text: two forwards, then their backwards, in crossed order.

    For each: a serial number, the arguments, the saved values with where they come from (an argument, a result, neither), whether
    they are the same object, their shapes and values, the gradients that come in and go out.
    """
    report, specimen = prepare(fn, inputs, 1, seed, library)
    head = f"{report.name}  ({report.world})  {report.where}"
    if specimen is None:
        reason = report.error or "; ".join(fault.message for fault in report.faults)
        return f"{head}\n  not run: {reason}"
    found = watched(specimen)
    if found is None:
        return f"{head}\n  has no ctx that could be watched"
    witness, apply = found
    return "\n".join([head, *_calls(specimen, witness, apply)])


def _calls(specimen: Specimen, witness: Witness, apply: Any) -> list[str]:
    lines: list[str] = []
    points = [
        list(specimen.arguments),
        [a * 0.5 if k in specimen.wanted else a for k, a in enumerate(specimen.arguments)],
    ]
    calls = []
    for arguments in points:
        calls.append(specimen.world.vjp(apply, specimen.make(arguments), specimen.wanted))
        lines += _forward(specimen, witness, witness.calls[-1])
    for number in (0, 1):
        ones = [
            np.ones_like(y)
            for k, y in enumerate(calls[number].outputs)
            if k in calls[number].differentiable and y is not None
        ]
        gradients = calls[number].pull(*ones)
        if witness.calls[number].pulls:
            lines += _backward(specimen, witness, witness.calls[number], witness.calls[number].pulls[-1], gradients)
    return lines


def _forward(specimen: Specimen, witness: Witness, seen: Seen) -> list[str]:
    lines = ["", f"  call {seen.serial}: forward"]
    for k, value in enumerate(seen.inputs):
        lines.append(f"    argument {specimen.argument_name(k)} = {_said(specimen, value)}")
    for k, value in enumerate(seen.saved):
        lines.append(f"    saved {k} = {_said(specimen, value)}   {_origin(specimen, seen, value)}")
    for name, value in seen.attributes.items():
        lines.append(f"    ctx.{name} = {_said(specimen, value)}   {_origin(specimen, seen, value)}")
    for k, value in enumerate(as_tuple(seen.output)):
        lines.append(f"    result {k} = {_said(specimen, value)}")
    if seen.changed:
        names = ", ".join(specimen.argument_name(k) for k in seen.changed)
        lines.append(f"    written in place: {names}{'' if seen.dirty else ', not marked dirty'}")
    return lines


def _origin(specimen: Specimen, seen: Seen, value: Any) -> str:
    for k, given in enumerate(seen.inputs):
        if value is given:
            return f"is the argument {specimen.argument_name(k)}, the same object"
    for k, result in enumerate(as_tuple(seen.output)):
        if value is result:
            return f"is the result {k}, the same object"
    if not specimen.world.is_tensor(value):
        return ""
    array = specimen.world.array(value)
    for k, given in enumerate(seen.inputs):
        if specimen.world.is_tensor(given) and _equal(array, specimen.world.array(given)):
            return f"equals the argument {specimen.argument_name(k)}, but is another object"
    return (
        "was computed in forward: neither argument nor result" if array.dtype.kind in "fc" else "integers or booleans"
    )


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")


def _backward(
    specimen: Specimen, witness: Witness, seen: Seen, pulled: Pulled, gradients: Sequence[np.ndarray | None]
) -> list[str]:
    lines = ["", f"  call {seen.serial}: backward"]
    for k, value in enumerate(pulled.cotangents):
        lines.append(f"    gradient of result {k} comes in = {_said(specimen, value)}")
    returned = as_tuple(pulled.returned)
    for k, value in enumerate(returned):
        if k < len(seen.inputs):
            lines.append(f"    gradient of {specimen.argument_name(k)} goes out = {_said(specimen, value)}")
    for what, positions in (("incoming gradient", pulled.cotangent_changed), ("saved value", pulled.saved_changed)):
        lines += [f"    {what} {k} was written in place" for k in positions]
    return lines


def _said(specimen: Specimen, value: Any) -> str:
    if specimen.world.is_tensor(value):
        array = specimen.world.array(value)
        return f"{shown(array)}  shape {array.shape}"
    return shown(value)
