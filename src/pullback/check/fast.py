"""Fast mode: one random projection of each Jacobian instead of all of its entries.

Compares ``vᵀ (J u)``, two runs of the function, with ``(vᵀ J) u``, one backward pass.  The entries of u and v are
positive and none is small, so that no single entry of the Jacobian goes nearly unweighed; yet an error in one entry of
thousands drowns in the tolerance.  It is a smoke test for large inputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.check.compare import disagree
from pullback.check.differences import Differences, directions
from pullback.check.pulling import as_rows, cotangent, pull
from pullback.check.pushing import push
from pullback.check.repeat import check_reentrant
from pullback.check.subject import Part, Subject
from pullback.check.tolerance import Tolerance


class Projection(NamedTuple):
    """Both sides of one comparison, and the weight of all entries in it."""

    numerical: Any
    analytical: Any
    weight: float


def weights(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Positive numbers of unit norm, no two of them further apart than a factor of 3."""
    values = rng.uniform(0.5, 1.5, shape)
    norm = float(np.sqrt(np.sum(values**2)))
    return np.asarray(values / norm if norm else values)


def projections(
    subject: Subject, differences: Differences, rng: np.random.Generator, forward: bool = False
) -> list[list[Projection]]:
    """Per part of an output and per wanted input, the two projections.  Runs the function twice per real dimension.

    `forward` tells which derivative is projected: that of backward, or the tangents of forward mode.
    """
    along = []
    for _, x in subject.wanted:
        us = [weights(tuple(x.shape), rng) for _ in directions(x)]
        along.append([(u, d, differences.along(x, u, d)) for u, d in zip(us, directions(x), strict=True)])
    if forward:
        return _pushed(subject, along, rng)
    table = []
    for part in subject.parts:
        v = weights(part.shape, rng)
        gradients = _pull(subject, part, v)
        table.append([_project(part, v, moved, g) for moved, g in zip(along, gradients, strict=True)])
    return table


def _pushed(subject: Subject, along: list[list[Any]], rng: np.random.Generator) -> list[list[Projection]]:
    tangents = [[push(subject, {number: u * d}) for u, d, _ in moved] for number, moved in enumerate(along)]
    table = []
    for part in subject.parts:
        v = weights(part.shape, rng)
        flat = v.reshape(-1)
        row = []
        for moved, pushed in zip(along, tangents, strict=True):
            numerical = sum(float(values[part.columns] @ flat) * d for _, d, values in moved)
            analytical = sum(float(t[part.columns] @ flat) * d for t, (_, d, _) in zip(pushed, moved, strict=True))
            row.append(Projection(numerical, analytical, float(sum(u.sum() for u, _, _ in moved) * v.sum())))
        table.append(row)
    return table


def _pull(subject: Subject, part: Part, v: np.ndarray) -> list[np.ndarray]:
    output = subject.outputs[part.output]
    inputs = [x for _, x in subject.wanted]
    seed = cotangent(output, v * 1j if part.name == "imaginary" else v)
    return [as_rows(x, g) for x, g in zip(inputs, pull([output], inputs, [seed]), strict=True)]


def _project(part: Part, v: np.ndarray, moved: list[Any], gradient: np.ndarray) -> Projection:
    rows = np.split(gradient, len(moved))
    numerical = sum(float(values[part.columns] @ v.reshape(-1)) * d for _, d, values in moved)
    analytical = sum(float(row @ u.reshape(-1)) * d for row, (u, d, _) in zip(rows, moved, strict=True))
    return Projection(numerical, analytical, float(sum(u.sum() for u, _, _ in moved) * v.sum()))


def check_again(subject: Subject, rng: np.random.Generator, nondet: float) -> None:
    """Two backward passes with one random cotangent give the same gradients."""
    for part in subject.parts:
        v = weights(part.shape, rng)
        first, second = ([g[:, None] for g in _pull(subject, part, v)] for _ in range(2))
        check_reentrant(subject, first, second, nondet)


def first_disagreement(table: list[list[Projection]], tolerance: Tolerance) -> Projection | None:
    """The first comparison that fails, if one does."""
    for row in table:
        for found in row:
            if disagree(found.analytical, found.numerical, tolerance.atol * found.weight, tolerance.rtol):
                return found
    return None
