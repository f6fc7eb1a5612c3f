"""Backward is linear in its cotangent, and does not care how the cotangent lies in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pullback.check.compare import allowed
from pullback.check.errors import GradcheckError, failure
from pullback.check.probes import inputs_of, random_cotangent
from pullback.check.pulling import as_rows, cotangent, pull
from pullback.check.repeat import apart
from pullback.check.subject import Subject
from pullback.check.tolerance import Tolerance


def layouts(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same values in other memory layouts; gaps in memory hold NaN, so that reading them shows."""
    if values.ndim > 1 and sum(n > 1 for n in values.shape) > 1:
        yield "transposed", np.asfortranarray(values)
    if values.size > 1:
        wide = np.full((*values.shape[:-1], 2 * values.shape[-1]), np.nan, values.dtype)
        wide[..., ::2] = values
        yield "strided", wide[..., ::2]
        every = (slice(None, None, -1),) * values.ndim
        yield "reversed", np.ascontiguousarray(values[every])[every]


def check_cotangents(
    subject: Subject, analytical: list[np.ndarray] | None, rng: np.random.Generator, tolerance: Tolerance
) -> None:
    """Try a random cotangent in several layouts; `analytical` are the Jacobians that it is to be weighted with."""
    for position in subject.chosen:
        output = subject.outputs[position]
        if int(np.prod(output.shape)) == 0:
            continue
        values = random_cotangent(output, rng)
        reference = _rows(subject, position, values)
        if analytical is not None:
            _check_linear(subject, position, values, reference, analytical, tolerance)
        if not isinstance(output._array, np.ndarray):
            continue
        for layout, same in layouts(values):
            _compare_layouts(subject, position, layout, same, reference, tolerance)
        if values.size > 1:
            scalar = values.reshape(-1)[:1].reshape(())
            full = _rows(subject, position, np.full(values.shape, scalar, values.dtype))
            _compare_layouts(subject, position, "expanded", np.broadcast_to(scalar, values.shape), full, tolerance)


def _rows(subject: Subject, position: int, values: np.ndarray) -> list[np.ndarray]:
    output = subject.outputs[position]
    found = pull([output], inputs_of(subject), [cotangent(output, values)])
    return [as_rows(x, g) for x, g in zip(inputs_of(subject), found, strict=True)]


def _check_linear(
    subject: Subject,
    output: int,
    values: np.ndarray,
    found: list[np.ndarray],
    analytical: list[np.ndarray],
    tolerance: Tolerance,
) -> None:
    weights = np.zeros(subject.size)
    for part in subject.parts:
        if part.output == output:
            flat = values.reshape(-1)
            weights[part.columns] = flat.imag if part.name == "imaginary" else flat.real
    for (position, _), rows, matrix in zip(subject.wanted, found, analytical, strict=True):
        used = weights != 0
        expected = matrix[:, used] @ weights[used]
        slack = allowed(matrix[:, used], tolerance.atol, tolerance.rtol) @ np.abs(weights[used])
        with np.errstate(invalid="ignore"):
            off = np.abs(rows - expected)
        if np.any(off > slack):
            raise failure(
                "not linear",
                f"backward is not linear in grad_output: the gradient of input {position} for several elements of "
                f"output {output} is not the sum of its gradients for each of them",
                f"Where: the worst element is off by {np.nanmax(off):.4g}.",
                "Why it matters: a vector-Jacobian product is linear in the vector. One-hot gradients alone do not "
                "show a clipped, squared or normalised incoming gradient.",
                output=output,
                input=position,
            )


def _compare_layouts(
    subject: Subject,
    output: int,
    layout: str,
    values: np.ndarray,
    reference: list[np.ndarray],
    tolerance: Tolerance,
) -> None:
    where = (
        f"a {layout} grad_output of output {output} (shape {list(values.shape)}, strides {list(values.strides)} bytes)"
    )
    remedy = (
        "Write instead: make the incoming gradient contiguous before reading memory (np.ascontiguousarray); or leave "
        "out any_layout = True, and cotangents come C-contiguous."
    )
    facts = {"output": output, "layout": layout}
    try:
        found = _rows(subject, output, values)
    except GradcheckError:
        raise
    except Exception as error:
        what = (
            f"backward depends on the memory layout of grad_output: {type(error).__name__} for a {layout} one: {error}"
        )
        raise failure("layout", what, f"Where: {where}.", remedy, **facts) from error
    for (position, _), rows, expected in zip(subject.wanted, found, reference, strict=True):
        off = apart(rows, expected)
        if np.any(off > allowed(np.max(np.abs(expected), initial=0.0), tolerance.atol, tolerance.rtol)):
            raise failure(
                "layout",
                f"backward depends on the memory layout of grad_output: input {position} gets another gradient when "
                f"the same numbers come {layout}",
                f"Where: {where}; the worst element is off by {off.max():.4g}.",
                "Why it matters: the rest of a graph hands over transposed and expanded gradients; sum() alone does.",
                remedy,
                input=position,
                **facts,
            )
