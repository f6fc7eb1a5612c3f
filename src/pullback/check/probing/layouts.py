"""The same numbers, lying in memory in other ways; and other shapes that forward takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.check.layouts import layouts as layouts_of
from pullback.check.numeric import central
from pullback.check.probing import jacobian
from pullback.check.probing.agree import agree, show_furthest
from pullback.check.probing.outcome import Fault, Outcome, first_line, raises
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen


@probe("layouts")
def layouts(specimen: Specimen, outcome: Outcome) -> None:
    """Memory layouts and shapes of arguments and incoming gradients.

    The same values come transposed, strided, with gaps that hold NaN, and expanded from one number (stride 0, which is
    what sum() hands over): values and gradients must not change. Then the arguments become empty, 0-d, or broadcast against each
    other, as far as forward takes them: backward must give gradients of the right shape and value.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    _of_cotangents(specimen, outcome)
    _of_arguments(specimen, outcome)
    _shapes(specimen, outcome)


def variants(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The layouts that gradcheck tries, without the reversed one: torch has no negative strides."""
    return ((label, same) for label, same in layouts_of(values) if label != "reversed")


def _of_cotangents(specimen: Specimen, outcome: Outcome) -> None:
    base = specimen.cotangents(specimen.rng)
    for k, values in enumerate(base):
        tries = [(label, same, values) for label, same in variants(values)]
        if values.size > 1:
            one = values.reshape(-1)[:1].reshape((1,) * values.ndim)
            tries.append(
                (
                    "expanded",
                    np.broadcast_to(one, values.shape),
                    np.ascontiguousarray(np.broadcast_to(one, values.shape)),
                )
            )
        for label, same, plain in tries:
            given = [same if j == k else c for j, c in enumerate(base)]
            expected = specimen.run().pull(*[plain if j == k else c for j, c in enumerate(base)])
            outcome.tried.append(f"incoming gradient {label}")
            _compare(
                specimen,
                lambda given=given: specimen.run().pull(*given),
                expected,
                f"an incoming gradient that is {label}",
                outcome,
            )


def _of_arguments(specimen: Specimen, outcome: Outcome) -> None:
    cotangents = specimen.cotangents(specimen.rng)
    reference = specimen.run().pull(*cotangents)
    for position in specimen.wanted:
        for label, same in variants(specimen.arguments[position]):
            outcome.tried.append(f"{specimen.argument_name(position)} {label}")
            arguments = specimen.moved(position, same)
            what = f"{specimen.argument_name(position)} {label} in memory"
            _compare(
                specimen,
                lambda arguments=arguments: specimen.run(arguments).pull(*cotangents),
                reference,
                what,
                outcome,
            )


def _compare(specimen: Specimen, pull: object, expected: list[np.ndarray | None], what: str, outcome: Outcome) -> None:
    where = specimen.line_of("backward")
    try:
        found = pull()  # type: ignore[operator]
    except Exception as error:
        outcome.add(
            Fault(
                "layout-dependent",
                f"{type(error).__name__} for {what}: {first_line(error)}",
                where=where,
                inputs=specimen.shown(),
            )
        )
        return
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        if not agree(a, b, 1e-6, 1e-9):
            message = f"{specimen.argument_name(specimen.wanted[k])} gets another gradient for {what}"
            fault = Fault("layout-dependent", message, where=where, inputs=specimen.shown())
            if a is not None and b is not None and a.shape == b.shape:
                show_furthest(fault, a, b)
            outcome.add(fault)
            return


# -------------------------------------------------------------------------------------------------------------- shapes
def _shapes(specimen: Specimen, outcome: Outcome) -> None:
    for label, arguments in _other_shapes(specimen):
        other = specimen.with_arguments(arguments)
        try:
            call = other.run()
        except Exception:
            outcome.left_out.append(f"{label}: forward does not take it")
            continue
        if not call.differentiable:
            continue
        outcome.tried.append(label)
        name = "broadcast-fails" if label.startswith("broadcast") else "empty-fails"
        where = specimen.line_of("backward")
        try:
            found = call.pull(
                *[np.ones_like(y) for k, y in enumerate(call.outputs) if k in call.differentiable and y is not None]
            )
        except Exception as error:
            outcome.add(Fault(name, f"{label}: backward {raises(error)}", inputs=other.shown(), where=where))
            continue
        for position, gradient in zip(other.wanted, found, strict=True):
            value = arguments[position]
            if gradient is not None and gradient.shape != value.shape:
                message = (
                    f"{label}: {other.argument_name(position)} has shape {value.shape}, its gradient {gradient.shape}"
                )
                outcome.add(Fault(name, message, inputs=other.shown(), where=where))
        if label.startswith("broadcast") and outcome.verdict != "fault":
            _numbers(other, found, label, outcome)


def _numbers(specimen: Specimen, found: list[np.ndarray | None], label: str, outcome: Outcome) -> None:
    """The sum over all outputs, differentiated by differences."""
    for position, gradient in zip(specimen.wanted, found, strict=True):
        base = specimen.arguments[position]
        if gradient is None or base.dtype.kind != "f":
            continue
        slope = central(jacobian.line(specimen, position, np.ones_like(base)), 1e-6).sum()
        told = float(gradient.sum())
        if np.isfinite(slope) and abs(slope - told) > 1e-4 * max(1.0, abs(slope)):
            message = f"{label}: the gradient of {specimen.argument_name(position)} is wrong"
            outcome.add(
                Fault(
                    "broadcast-fails",
                    message,
                    f"{told:.6g}",
                    f"{slope:.6g}",
                    inputs=specimen.shown(),
                    where=specimen.line_of("backward"),
                )
            )


def _other_shapes(specimen: Specimen) -> Iterator[tuple[str, list[Any]]]:
    arrays = [k for k in specimen.wanted if specimen.arguments[k].ndim]
    if not arrays:
        return
    shapes = {specimen.arguments[k].shape for k in arrays}
    if len(shapes) == 1:
        yield "empty arguments", [a[:0] if k in arrays else a for k, a in enumerate(specimen.arguments)]
        yield (
            "0-d arguments",
            [a.reshape(-1)[0].reshape(()) if k in arrays and a.size else a for k, a in enumerate(specimen.arguments)],
        )
    if len(arrays) > 1 and len(shapes) == 1:
        for position in arrays:
            base = specimen.arguments[position]
            if base.shape[0] > 1:
                yield (
                    f"broadcast {specimen.argument_name(position)} (first axis of length 1)",
                    specimen.moved(position, base[:1].copy()),
                )
