"""What a right backward does with other cotangents than one-hot ones: zeros, none, batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.errors import GradcheckError, failure
from pullback.check.moving import host, unit_of
from pullback.check.pulling import as_rows, cotangent, pull
from pullback.check.subject import Subject
from pullback.core import arrays
from pullback.core.differentiate import grad
from pullback.core.engine import Pass, run
from pullback.core.tensor import Tensor


def differentiable(subject: Subject, outputs: tuple[Any, ...] | None = None) -> list[Tensor]:
    """The outputs that have gradients, of the first run or of another one."""
    outputs = subject.outputs if outputs is None else outputs
    return [outputs[k] for k in subject.chosen]


def inputs_of(subject: Subject) -> list[Tensor]:
    """The inputs that require gradients."""
    return [x for _, x in subject.wanted]


def random_cotangent(output: Tensor, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers in the shape and dtype of an output."""
    values = rng.standard_normal(tuple(output.shape))
    if arrays.is_complex(output.dtype):
        values = values + 1j * rng.standard_normal(tuple(output.shape))
    return np.asarray(values, dtype=output.dtype)


# ------------------------------------------------------------------------------------------------ zeros and nothing
def is_deaf(subject: Subject) -> int | None:
    """Position of an input that gets a gradient although every cotangent is zero; ``None`` where all is well."""
    outputs = differentiable(subject)
    zeros = [cotangent(y, np.zeros(tuple(y.shape), y.dtype)) for y in outputs]
    for (position, _), g in zip(subject.wanted, pull(outputs, inputs_of(subject), zeros), strict=True):
        if g is not None and not np.all(g == 0):
            return position
    return None


def check_zero(subject: Subject) -> None:
    """Zero cotangents give exactly zero gradients."""
    position = is_deaf(subject)
    if position is not None:
        raise failure(
            "not multiplied",
            "backward not multiplied by grad_output",
            f"Where: the gradient of input {position} is not zero although every incoming gradient is.",
            "Write instead: multiply every returned gradient by the incoming one (the chain rule).",
            input=position,
            pattern="upstream",
        )


def check_undefined(subject: Subject) -> None:
    """A missing cotangent is the same as zeros: backward must neither fail nor invent a gradient."""
    outputs = differentiable(subject, subject.run())
    note = (
        "Write instead: leave ctx.set_materialize_grads alone, so that missing gradients arrive as zeros; or test "
        "every incoming gradient for None before using it."
    )
    what = "Expected backward function to handle undefined output grads"
    edges = [x._resolved() for x in inputs_of(subject)]
    task = Pass(record=False, retain=True, targets=edges)
    try:
        run([(y._resolved(), None) for y in outputs], task)
    except GradcheckError:
        raise
    except RuntimeError as error:
        raise failure("undefined", f"{what}; it raised {type(error).__name__}: {error}", note) from error
    for (position, _), edge in zip(subject.wanted, edges, strict=True):
        found = task.captured.get(edge)
        if found is not None and np.any(host(bare_of(found)) != 0):
            raise failure("undefined", f"{what}: without any, input {position} got a gradient", note, input=position)


def bare_of(found: Any) -> Any:
    """The bare array of what a backward pass captured."""
    return getattr(found, "value", found)


# ------------------------------------------------------------------------------------------------ batches, dtypes
def check_batched(subject: Subject, rng: np.random.Generator) -> None:
    """Two cotangents at once give what each gives alone."""
    inputs = inputs_of(subject)
    for position in subject.chosen:
        output = subject.outputs[position]
        rows = [random_cotangent(output, rng) for _ in range(2)]
        alone = [pull([output], inputs, [cotangent(output, row)]) for row in rows]
        both = cotangent(output, np.stack(rows))
        together = grad([output], inputs, [both], retain_graph=True, allow_unused=True, is_grads_batched=True)
        for (number, x), first, second, found in zip(subject.wanted, *alone, together, strict=True):
            one = np.stack([as_rows(x, first), as_rows(x, second)])
            two = np.zeros_like(one) if found is None else np.stack([as_rows(x, g) for g in host(found._array)])
            if not np.allclose(one, two, rtol=np.sqrt(unit_of(x.dtype)), atol=np.sqrt(unit_of(x.dtype))):
                raise failure(
                    "batched",
                    f"is_grads_batched gives another gradient of input {number} than one pass per cotangent, for "
                    f"output {position}",
                    input=number,
                    output=position,
                )


def check_dtypes(subject: Subject) -> None:
    """Gradients have the dtype of their input."""
    inputs = inputs_of(subject)
    for output in differentiable(subject):
        ones = cotangent(output, np.ones(tuple(output.shape), output.dtype))
        for (position, x), g in zip(subject.wanted, pull([output], inputs, [ones]), strict=True):
            if g is not None and g.dtype != x.dtype:
                raise failure(
                    "dtype", f"the gradient of input {position} is {g.dtype}, the input {x.dtype}", input=position
                )
