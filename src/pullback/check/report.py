"""The words for a Jacobian that does not match: the two matrices, the worst entry, and what the mistake looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.check.compare import Case, Pattern, recognise
from pullback.check.errors import GradcheckError, failure
from pullback.check.examine import Finding
from pullback.core import rules


def matrix(values: Any) -> str:
    """A matrix as it is printed in a message; long ones are shortened."""
    values = np.asarray(values)
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    body = np.array2string(
        values, precision=4, suppress_small=bool(1e-2 < size < 1e5), separator=", ", prefix="tensor(", threshold=400
    )
    return f"tensor({body})"


def number(value: Any) -> str:
    """One number with the digits that matter."""
    value = complex(value)
    return f"{value.real:.6g}" if value.imag == 0 else f"{value:.6g}"


def place(index: tuple[int, ...]) -> str:
    """An index as it is written in Python; nothing for a 0-d array."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def prefix(part: str) -> str:
    """What a message starts with when only one part of a complex output is meant."""
    return f"While considering the {part} part of complex outputs only, " if part else ""


def input_name(func: Callable[..., Any], position: int) -> str:
    """``input 1 ('weight')``, with the name where the function tells it."""
    owner = getattr(func, "__self__", None)
    forward = getattr(owner, "forward", None) if getattr(func, "__name__", "") == "apply" else None
    names = rules.parameter_names(forward or func, 0 if forward is None or getattr(owner, "separate", False) else 1)
    known = position < len(names) and not names[position].startswith("*")
    return f"input {position} ({names[position]!r})" if known else f"input {position}"


def mismatch(
    case: Case,
    numbers: np.ndarray,
    entry: tuple[int, int],
    finding: Finding,
    func: Callable[..., Any],
    output: int,
    position: int,
    part: str,
    forward: bool = False,
) -> GradcheckError:
    """The error for a Jacobian that is wrong, or that nothing can be said about; `numbers` is the numerical one."""
    row, column = entry
    numerical, analytical = numbers[entry], case.analytical[entry]
    with np.errstate(all="ignore"):
        ratio = np.true_divide(analytical, numerical)
    where = (
        tuple(map(int, np.unravel_index(row, case.in_shape))),
        tuple(map(int, np.unravel_index(column, case.out_shape))),
    )
    pattern = recognise(case) if finding.verdict == "mismatch" else Pattern("", "")
    what = (
        f"{prefix(part)}{_headline(finding.verdict, forward)} for output {output} with respect to input {position},\n"
        f"numerical:{matrix(numbers)}\nanalytical:{matrix(case.analytical)}"
    )
    worst = (
        f"Worst entry: {input_name(func, position)}{place(where[0])} to output {output}{place(where[1])}: numerical "
        f"{number(numerical)}, analytical {number(analytical)}, ratio {number(ratio)}; {int(case.wrong.sum())} of "
        f"{case.wrong.size} entries are off."
    )
    return failure(
        finding.verdict,
        what,
        worst,
        f"Pattern: {pattern.text}." if pattern.text else "",
        _explanation(finding),
        output=output,
        input=position,
        part=part,
        numerical=numbers,
        analytical=case.analytical,
        entry=where,
        ratio=ratio.item(),
        pattern=pattern.name,
        factor=pattern.factor,
        finding=finding,
    )


def _headline(verdict: str, forward: bool) -> str:
    return {
        "mismatch": "Jacobian computed with forward mode mismatch" if forward else "Jacobian mismatch",
        "inconclusive": "Inconclusive, precision too low: cannot judge the Jacobian",
        "kink": "No derivative at a kink, and the analytical value is none of its slopes",
        "jump": "No derivative at a jump, and the analytical value is not the slope beside it",
        "edge": "No two-sided derivative at the edge of the domain, and the analytical value is not the one-sided one",
        "not finite": "Not finite: cannot judge the Jacobian",
    }[verdict]


def _explanation(finding: Finding) -> str:
    slopes = f"slope {number(finding.left)} from the left, {number(finding.right)} to the right"
    if finding.steepens:
        return (
            "Note: the numerical slope grows without end as the step shrinks: the derivative is infinite at this "
            "point, or func jumps there. Move the inputs away from it to check the rule."
        )
    if finding.verdict == "mismatch":
        return ""
    return {
        "inconclusive": f"Note: with the best step the numerical slope is {number(finding.slope)}, give or take "
        f"{number(finding.error)}: rounding hides whether the analytical value is right. Check with float64 inputs, "
        "and with a function that computes in float64 throughout.",
        "kink": f"Note: {slopes}. Any value between them is accepted. Move the inputs off the kink to check the rule.",
        "jump": f"Note: beside the jump, {slopes}. Move the inputs off the jump to check the rule.",
        "edge": f"Note: func has values on one side only; {slopes}. Move the inputs into the domain to check the rule.",
        "not finite": "Note: func gives NaN or infinity at this point or beside it. Move the inputs into its domain.",
    }[finding.verdict]
