"""Numbers at which rules break: zero, ties, the largest, the smallest, and those that are no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.numeric import DOUBLE, Ladder, rungs
from pullback.check.probing import jacobian
from pullback.check.probing.outcome import Fault, Outcome
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen

_POINTS = {
    "0": 0.0,
    "1": 1.0,
    "-1": -1.0,
    "a subnormal": 1e-310,
    "1e-20": 1e-20,
    "50": 50.0,
    "-50": -50.0,
    "800": 800.0,
    "-800": -800.0,
}


@probe("edges")
def edges(specimen: Specimen, outcome: Outcome) -> None:
    """Zeros, ties, very small and very large numbers.

    Each differentiated argument is filled with one such number at a time (all elements equal: a tie). Where the value and the
    slopes beside the point are finite, the gradient has to be finite too, and to lie between them. A value that overflows where
    the function itself grows slowly is named as well. What lies outside of the domain is left out.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    for position in specimen.wanted:
        base = specimen.arguments[position]
        if base.dtype.kind != "f" or not base.size:
            continue
        for label, number in _POINTS.items():
            _at(specimen, position, label, np.full_like(base, number), outcome)
        _overflow(specimen, position, outcome)
    if not outcome.tried and outcome.verdict == "pass":
        outcome.verdict = "not applicable"


def _at(specimen: Specimen, position: int, label: str, values: np.ndarray, outcome: Outcome) -> None:
    name = specimen.argument_name(position)
    other = specimen.with_arguments(specimen.moved(position, values))
    try:
        with np.errstate(all="ignore"):
            call = other.run()
            if not call.differentiable or not all(
                np.isfinite(y).all() for y in call.outputs if y is not None and y.dtype.kind in "fc"
            ):
                outcome.left_out.append(f"{name} = {label}: no finite value")
                return
            ones: list[Any] = [
                np.ones_like(y) for k, y in enumerate(call.outputs) if k in call.differentiable and y is not None
            ]
            gradient = call.pull(*ones)[specimen.wanted.index(position)]
    except Exception:
        outcome.left_out.append(f"{name} = {label}: forward or backward does not take it")
        return
    outcome.tried.append(f"{name} = {label}")
    if gradient is None or np.isfinite(gradient).all():
        return
    element = int(np.flatnonzero(~np.isfinite(gradient.reshape(-1)))[0])
    direction = np.zeros_like(values)
    direction.reshape(-1)[element] = 1.0
    along = jacobian.line(other, position, direction)
    ladder = Ladder(lambda t: along(t).sum(keepdims=True), rungs(DOUBLE, float(values.reshape(-1)[element])), DOUBLE)
    left, right = ladder.left, ladder.right
    if ladder.steepens[0] or not (np.isfinite(left.error[0]) and np.isfinite(right.error[0])):
        return  # the slope itself is infinite, or there is only one side: that is the function's
    if max(left.error[0], right.error[0]) > 0.05 * max(abs(left.value[0]), abs(right.value[0]), 1e-3):
        return
    index = np.unravel_index(element, values.shape)
    outcome.add(
        Fault(
            "nan-gradient",
            f"the gradient of {other.place(position, element)} is {gradient[index]} at {name} = {label}",
            found=str(gradient[index]),
            expected=f"between {min(left.value[0], right.value[0]):.6g} and {max(left.value[0], right.value[0]):.6g}",
            inputs=other.shown(),
            where=specimen.line_of("backward"),
        )
    )


def _overflow(specimen: Specimen, position: int, outcome: Outcome) -> None:
    """A value that is infinite where the function grows no faster than its argument."""
    base = specimen.arguments[position]
    for sign in (1.0, -1.0):
        sizes = []
        try:
            with np.errstate(all="ignore"):
                for number in (100.0, 200.0, 400.0, 1000.0):
                    value = specimen.values(specimen.moved(position, np.full_like(base, sign * number)))
                    sizes.append(float(np.abs(value).max(initial=0.0)))
        except Exception:
            return
        if np.isfinite(sizes[:3]).all() and not np.isfinite(sizes[3]) and sizes[2] < 5 * max(sizes[0], 1.0) + 1000:
            name = specimen.argument_name(position)
            message = (
                f"the value is not finite at {name} = {sign * 1000:g}, although it is {sizes[2]:.4g} at {sign * 400:g}"
            )
            outcome.add(Fault("overflow", message, where=specimen.line_of("forward")))
            return
