"""Other dtypes: as far as forward takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.probing.outcome import Fault, Outcome, raises
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen

_UNIT = {
    "float16": 9.8e-4,
    "bfloat16": 7.9e-3,
    "float32": 1.2e-7,
    "float64": 2.3e-16,
    "complex64": 1.2e-7,
    "complex128": 2.3e-16,
}


@probe("dtypes")
def dtypes(specimen: Specimen, outcome: Outcome) -> None:
    """Half, single and double precision, bfloat16 where the library has it, and mixtures.

    The result has the dtype of the arguments, each gradient that of its argument, and both lie as close to double precision
    as the dtype allows. Dtypes that forward does not take are left out, and named.
    """
    if not specimen.first.differentiable or not specimen.wanted:
        outcome.verdict = "not applicable"
        return
    declared = getattr(specimen.target, "dtypes", None)
    cotangents = specimen.cotangents(specimen.rng)
    reference = specimen.run().pull(*cotangents)
    complex_ones = any(specimen.arguments[k].dtype.kind == "c" for k in specimen.wanted)
    _double(specimen, outcome)
    for dtype in specimen.world.dtypes:
        if (dtype.startswith("complex")) != complex_ones or dtype in {"float64", "complex128"}:
            continue
        _in(specimen, dtype, cotangents, reference, dtype in (declared or ()), outcome)
    if len(specimen.wanted) > 1 and not complex_ones:
        _mixed(specimen, outcome)


def _double(specimen: Specimen, outcome: Outcome) -> None:
    for k in specimen.first.differentiable:
        output = specimen.first.outputs[k]
        inputs = [specimen.arguments[j] for j in specimen.wanted]
        if (
            output is not None
            and output.dtype in (np.float32, np.float16, np.complex64)
            and all(a.dtype in (np.float64, np.complex128) for a in inputs)
        ):
            message = f"output {k} is {output.dtype} for {inputs[0].dtype} arguments"
            outcome.add(
                Fault(
                    "precision-lost",
                    message,
                    str(output.dtype),
                    str(inputs[0].dtype),
                    where=specimen.line_of("forward"),
                )
            )


def _cast(specimen: Specimen, which: dict[int, str]) -> list[Any]:
    made = specimen.make(None, ())
    for position, dtype in which.items():
        made[position] = specimen.world.cast(specimen.arguments[position], dtype, True)
    for k, value in enumerate(specimen.arguments):
        if k not in which and isinstance(value, np.ndarray) and value.dtype.kind == "f" and which:
            made[k] = specimen.world.cast(value, next(iter(which.values())))
    return made


def _in(
    specimen: Specimen,
    dtype: str,
    cotangents: list[np.ndarray],
    reference: list[np.ndarray | None],
    promised: bool,
    outcome: Outcome,
) -> None:
    world, where = specimen.world, specimen.line_of("backward")
    try:
        call = world.vjp(specimen.function, _cast(specimen, dict.fromkeys(specimen.wanted, dtype)), specimen.wanted)
    except Exception as error:
        if promised:
            outcome.add(
                Fault(
                    "dtype-fails",
                    f"the class says that it takes {dtype}, and forward raises {type(error).__name__}",
                    where=where,
                )
            )
        else:
            outcome.left_out.append(f"{dtype}: forward does not take it")
        return
    if not call.differentiable:
        return
    outcome.tried.append(dtype)
    given = [world.cast(c, world.dtype(call.raw[k])) for k, c in zip(call.differentiable, cotangents, strict=False)]
    try:
        found = call.pull(*given)
    except Exception as error:
        outcome.add(Fault("dtype-fails", f"{dtype}: backward {raises(error)}", where=where))
        return
    slack = 200 * _UNIT[dtype]
    for position, a, b in zip(specimen.wanted, found, reference, strict=True):
        if a is None or b is None or not np.isfinite(b).all():
            continue
        scale = float(np.abs(b).max(initial=0.0))
        with np.errstate(all="ignore"):
            off = float(np.abs(a.astype(b.dtype) - b).max(initial=0.0)) if a.shape == b.shape else np.inf
        if dtype in {"float32", "complex64"} and not off <= slack * max(scale, 1.0) * 50:
            name = specimen.argument_name(position)
            message = f"{dtype}: the gradient of {name} is off by {off:.3g}, of {scale:.3g}"
            outcome.add(Fault("dtype-fails", message, where=where, inputs=specimen.shown()))
        elif dtype in {"float16", "bfloat16"} and not np.isfinite(off):
            outcome.note(f"{dtype}: the gradient of {specimen.argument_name(position)} is not finite")


def _mixed(specimen: Specimen, outcome: Outcome) -> None:
    """One argument in single precision beside double ones: its gradient has its dtype."""
    world = specimen.world
    first = specimen.wanted[0]
    made = specimen.make()
    made[first] = world.cast(specimen.arguments[first], "float32", True)
    try:
        call = world.vjp(specimen.function, made, specimen.wanted)
    except Exception:
        outcome.left_out.append("mixed float32 and float64: forward does not take it")
        return
    if not call.differentiable:
        return
    outcome.tried.append("float32 and float64 mixed")
    try:
        given = [world.cast(np.ones(call.outputs[k].shape), world.dtype(call.raw[k])) for k in call.differentiable]  # type: ignore[union-attr]
        call.pull(*given)
    except Exception as error:
        outcome.add(
            Fault(
                "dtype-fails",
                f"float32 and float64 mixed: backward {raises(error)}",
                where=specimen.line_of("backward"),
            )
        )
