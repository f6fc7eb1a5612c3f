"""The same again: does the function, and does its backward, give the same when asked twice?"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.errors import failure
from pullback.check.report import place
from pullback.check.subject import Subject

#: How often a function is called again before it counts as deterministic.
RERUNS = 4


def apart(a: Any, b: Any) -> np.ndarray:
    """How far two arrays lie apart, entry by entry; equal infinities and two NaN not at all, one NaN infinitely."""
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf))


def check_deterministic(subject: Subject, tolerance: float) -> None:
    """The same inputs give the same outputs, every time, but for the rounding of sums in another order."""
    first = subject.read(subject.outputs)
    tolerance = max(tolerance, 64 * subject.unit() * float(np.abs(first[np.isfinite(first)]).max(initial=0.0)))
    for _ in range(RERUNS):
        off = apart(subject.observe(), first)
        if off.max(initial=0.0) > tolerance:
            part = next(p for p in subject.parts if off[p.columns].max(initial=0.0) > tolerance)
            if getattr(subject.func, "of_backward", False):
                raise _varying_gradient(part.output, off[part.columns].max())
            raise failure(
                "not deterministic",
                f"func is not deterministic: called again with the same inputs, its output {part.output} changed by up "
                f"to {off[part.columns].max():.4g}",
                "Why it matters: a derivative compares values at nearby inputs; random numbers, or state that a call "
                "changes, drown them.",
                "Write instead: draw random numbers once, outside func, and pass them as an argument; or seed the "
                "generator inside func.",
                output=part.output,
            )


def _varying_gradient(output: int, off: float) -> Exception:
    return failure(
        "not reentrant",
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
        f"values: gradient {output} changed by up to {off:.4g}",
        "Why it matters: its derivative compares gradients at nearby inputs; random numbers drown them.",
        "Write instead: a func and a backward without random numbers, and a backward that leaves ctx and its saved values as "
        "they were.",
        output=output,
    )


def check_noise(position: int, output: int, first: np.ndarray, second: np.ndarray, numerical: np.ndarray) -> None:
    """Wrong entries are wrong by more than two backward passes differ."""
    noise = float(apart(first, second).max())
    if noise > 0.1 * float(apart(first, numerical).max()):
        raise failure(
            "not reentrant",
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, and neither of them matches the numerical gradient.",
            f"Where: input {position}, output {output}: two passes differ by up to {noise:.4g}.",
            "Write instead: a backward without random numbers, and one that leaves ctx and its saved values as they "
            "were.",
            output=output,
            input=position,
        )


def check_reentrant(subject: Subject, first: list[np.ndarray], second: list[np.ndarray], tolerance: float) -> None:
    """Two backward passes with the same cotangents give the same gradients."""
    for (position, x), one, two in zip(subject.wanted, first, second, strict=True):
        off = apart(one, two)
        if off.max(initial=0.0) > tolerance:
            row, column = np.unravel_index(off.argmax(), off.shape)
            index = np.unravel_index(row % max(1, int(np.prod(x.shape))), tuple(x.shape))
            raise failure(
                "not reentrant",
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {tolerance}.",
                f"Where: input {position}{place(tuple(map(int, index)))}: two passes differ by {off[row, column]:.4g}.",
                "Write instead: nothing, if the order of a parallel sum is all that varies: pass a nondet_tol above "
                "the difference. Otherwise backward draws random numbers, or changes ctx, saved values or its "
                "incoming gradient.",
                input=position,
            )
