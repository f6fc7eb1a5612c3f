"""The measurements: values and derivatives of a case, the same way in torch and in pullback.

A case is made part of a program: its inputs are results of other operations, and its outputs are used nonlinearly, so that
derivatives flow through the Function and past it. That is where a Function that loses its second derivative gives a wrong
number instead of an error. (Outputs whose gradient is no derivative are used linearly: differences of the first gradient
would otherwise see the output move as it does, and the second derivative as it is said to.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torch_functions.case import Case, generator

STEP, LONG_STEP = 1e-5, 2e-2  # the latter where single precision is used inside


@dataclass
class Point:
    """Where a case is measured: its inputs, the weights of its outputs, and weights for each derivative."""

    case: Case
    inputs: list[np.ndarray]
    seeds: list[np.ndarray]

    def moved(self, inputs: list[np.ndarray], seeds: list[np.ndarray], step: float) -> Point:
        """The point, moved along a direction."""
        return Point(
            self.case,
            [a + step * u if u is not None else a for a, u in zip(self.inputs, inputs, strict=True)],
            [a + step * u for a, u in zip(self.seeds, seeds, strict=True)],
        )


def value_tensors(torch: Any, case: Case, inputs: list[np.ndarray]) -> tuple[list[Any], list[Any], list[Any]]:
    """The leaves, those that are differentiated, and the outputs that are Tensors."""
    wanted = case.differentiated()
    leaves = [torch.tensor(a).requires_grad_(w) for a, w in zip(inputs, wanted, strict=True)]
    outputs = case.call(*[x * 1 if w else x for x, w in zip(leaves, wanted, strict=True)])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return [x for x, w in zip(leaves, wanted, strict=True) if w], leaves, [y for y in outputs if torch.is_tensor(y)]


def start(torch: Any, case: Case) -> Point:
    """The point that belongs to a case; the shapes of its outputs are found by calling it."""
    inputs = case.arrays()
    *_, outputs = value_tensors(torch, case, inputs)
    rng = generator(case.name + " seeds")
    return Point(case, inputs, [rng.uniform(0.5, 1.5, tuple(y.shape)) for y in outputs if y.requires_grad])


def values(torch: Any, point: Point) -> list[np.ndarray]:
    """What the case gives."""
    *_, outputs = value_tensors(torch, point.case, point.inputs)
    return [y.detach().numpy() for y in outputs]


def loss(torch: Any, point: Point) -> tuple[Any, list[Any]]:
    """One real number that depends on all outputs, and the leaves that it is differentiated by."""
    leaves, _, outputs = value_tensors(torch, point.case, point.inputs)
    seeds = [torch.tensor(s).requires_grad_() for s in point.seeds]
    total = 0.0
    for seed, y in zip(seeds, [y for y in outputs if y.requires_grad], strict=True):
        if y.is_complex():
            y = y.real + y.imag * 0.7
        total = total + (seed * (y + 0.5 * y * y if point.case.exact else y)).sum()
    return total, leaves + seeds


def derivatives(torch: Any, point: Point, order: int) -> list[np.ndarray]:
    """The derivatives of the given order: of the loss, or of a weighted sum of those of the order below."""
    total, leaves = loss(torch, point)
    for step in range(1, order + 1):
        found = torch.autograd.grad(total, leaves, create_graph=step < order, allow_unused=True)
        found = [torch.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]
        if step < order:
            total = weighted(torch, found, weights(point, step))
    return [g.detach().numpy() for g in found]


def weights(point: Point, step: int) -> list[np.ndarray]:
    """The weights of the derivatives of order `step`: of all, or of the first ones."""
    rng = generator(f"{point.case.name} order {step}")
    like = [a for a, w in zip(point.inputs, point.case.differentiated(), strict=True) if w]
    found = [direction(rng, a) for a in like + point.seeds]
    if step == 1 and not point.case.exact:  # the derivatives by the seeds are the outputs
        return found[: len(like)]
    return found


def direction(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """A random direction in the space of `like`."""
    found = rng.standard_normal(like.shape)
    return (found + 1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else found).astype(like.dtype)


def weighted(torch: Any, found: list[Any], by: list[np.ndarray]) -> Any:
    """The sum of all derivatives times their weights, a real number."""
    total = 0.0
    for g, w in zip(found, by, strict=False):
        part = torch.tensor(w.conj()) * g
        total = total + (part.real if part.is_complex() else part).sum()
    return total


def scalar(torch: Any, point: Point, order: int) -> float:
    """What the derivatives of order `order` + 1 are derivatives of."""
    if order == 0:
        return float(loss(torch, point)[0].detach())
    return pairing(derivatives(torch, point, order), weights(point, order))


def pairing(found: list[np.ndarray], by: list[np.ndarray]) -> float:
    """The sum of all entries times their weights."""
    return float(sum(np.sum(w.conj().astype(complex) * g).real for g, w in zip(found, by, strict=False)))


def by_differences(torch: Any, point: Point, order: int, attempt: int) -> tuple[list[Any], float]:
    """A direction, and the derivative of ``scalar(order - 1)`` along it by central differences (of fourth order)."""
    rng = generator(f"{point.case.name} direction {attempt}")
    wanted = point.case.differentiated()
    step = LONG_STEP if point.case.loose else STEP
    inputs = [direction(rng, a) if w else None for a, w in zip(point.inputs, wanted, strict=True)]
    seeds = [direction(rng, a) for a in point.seeds]

    def at(t: float) -> float:
        return scalar(torch, point.moved(inputs, seeds, t), order - 1)

    slope = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)
    return [u for u in inputs if u is not None] + seeds, slope
