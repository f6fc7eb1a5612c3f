"""Analytical Jacobians: one backward pass per element of the outputs, each with a one-hot cotangent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.check.errors import failure
from pullback.check.moving import host, like
from pullback.check.subject import Subject
from pullback.core import arrays
from pullback.core.differentiate import grad
from pullback.core.errors import DerivativeRefused
from pullback.core.refusal import Refusal
from pullback.core.tensor import Tensor, wrap


def cotangent(output: Tensor, values: np.ndarray) -> Tensor:
    """NumPy values as a cotangent of an output, with the memory layout that they have."""
    return wrap(type(output), like(values, output._array))


def pull(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor]) -> list[Any]:
    """One backward pass: a NumPy array per input, ``None`` where nothing arrived.  A refusal is a verdict."""
    try:
        found = grad(outputs, inputs, cotangents, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        node = getattr(error, "node", None)
        if not isinstance(error, DerivativeRefused) and not isinstance(node, Refusal):
            raise
        raise failure("refused", str(error), *getattr(error, "__notes__", []), node=node) from error
    return [None if g is None else host(g._array) for g in found]


def as_rows(x: Tensor, gradient: Any) -> np.ndarray:
    """A gradient as real numbers, one per direction of the input; zeros for ``None``."""
    size = int(np.prod(x.shape))
    is_complex = arrays.is_complex(x.dtype)
    if gradient is None:
        return np.zeros(2 * size if is_complex else size)
    flat = gradient.reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if is_complex else flat.astype(np.float64)


def one_hots(subject: Subject) -> Iterator[tuple[int, np.ndarray]]:
    """For every number that the function returns: its output, and the cotangent that picks it."""
    for part in subject.parts:
        dtype = subject.kinds[subject.chosen.index(part.output)][1]
        for index in np.ndindex(part.shape):
            values = np.zeros(part.shape, dtype)
            values[index] = 1j if part.name == "imaginary" else 1
            yield part.output, values


def jacobians(subject: Subject, outputs: tuple[Any, ...] | None = None) -> list[np.ndarray]:
    """Per wanted input a real matrix of shape (directions, numbers of the outputs)."""
    outputs = subject.outputs if outputs is None else outputs
    inputs = [x for _, x in subject.wanted]
    columns: list[list[np.ndarray]] = [[] for _ in inputs]
    for position, values in one_hots(subject):
        output = outputs[position]
        for column, x, g in zip(columns, inputs, pull([output], inputs, [cotangent(output, values)]), strict=True):
            column.append(as_rows(x, g))
    return [
        np.stack(column, axis=1) if column else np.zeros((as_rows(x, None).size, 0))
        for column, x in zip(columns, inputs, strict=True)
    ]
