"""Derivatives by finite differences, and operators as functions of their arrays, for tests.

Nothing here uses `pullback.check`, so that the checker and the operators are not tested against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.tensor import Tensor

#: A power of two, so that the points of the stencil are exact; errors are about 1e-13 for functions of order 1.
STEP = 2.0**-8
#: Central differences of sixth order: offset in steps, weight.
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def slope(f: Callable[[float], Any]) -> Any:
    """``f'(0)`` of a function of one number, with values of any shape."""
    return sum(weight * (f(k * STEP) - f(-k * STEP)) for k, weight in STENCIL) / STEP


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The real inner product of two lists of arrays, real or complex: what every dot test compares."""
    return math.fsum(float(np.sum(np.real(np.conj(x) * y))) for x, y in zip(a, b, strict=True))


def size_of(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The same sum of absolute values: the yardstick for its rounding errors."""
    return max(1.0, math.fsum(float(np.sum(np.abs(x) * np.abs(y))) for x, y in zip(a, b, strict=True)))


def along(values: Sequence[Any], direction: Sequence[Any], t: float) -> list[Any]:
    """The point at distance `t` from `values` in a direction."""
    return [np.asarray(x + t * v, dtype=x.dtype) for x, v in zip(values, direction, strict=True)]


def directions_like(arrays: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Random arrays of the same shapes and dtypes, with entries between -1 and 1."""

    def one(x: Any) -> Any:
        values: Any = rng.uniform(-1, 1, x.shape)
        if x.dtype.kind == "c":
            values = values + 1j * rng.uniform(-1, 1, x.shape)
        return np.asarray(values, dtype=x.dtype)

    return [one(x) for x in arrays]


def bare(values: Sequence[Any]) -> list[Any]:
    """The values of Tensors as NumPy arrays."""
    return [np.asarray(v._array) for v in values]


class Call:
    """One sample of an operator as a function of its differentiable arrays: ``call(values)`` gives a list of results.

    Attributes
    ----------
    arrays
        The floating-point and complex arrays among the arguments, also those inside lists and options.
    """

    def __init__(self, record: Any, sample: Any) -> None:
        self.record = record
        self.arrays: list[Any] = []
        self._form = self._flatten((tuple(sample.args), dict(sample.options)))

    def _flatten(self, value: Any) -> Callable[[Iterator[Any], Any], Any]:
        if isinstance(value, list | tuple):
            parts = [self._flatten(v) for v in value]
            return lambda arrays, other: type(value)([part(arrays, other) for part in parts])
        if isinstance(value, dict):
            entries = {key: self._flatten(v) for key, v in value.items()}
            return lambda arrays, other: {key: part(arrays, other) for key, part in entries.items()}
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            self.arrays.append(value)
            return lambda arrays, other: next(arrays)
        if isinstance(value, np.ndarray):
            return lambda arrays, other: other(value)
        return lambda arrays, other: value

    def arguments(self, values: Sequence[Any], other: Callable[[Any], Any] = lambda array: array) -> Any:
        """Positional and named arguments with `values` in the place of the arrays; `other` converts integer arrays."""
        return self._form(iter(values), other)

    def __call__(self, values: Sequence[Any], other: Callable[[Any], Any] = lambda array: array) -> list[Any]:
        args, options = self.arguments(values, other)
        result = self.record.call(*args, **options)
        if self.record.observe is not None:
            result = self.record.observe(result)
        return [r for r in as_list(result) if hasattr(r, "dtype")]

    def differentiable(self, values: Sequence[Any], other: Callable[[Any], Any] = lambda array: array) -> list[Any]:
        """Those results that have a gradient."""
        return with_gradient(self(values, other))


def with_gradient(results: Sequence[Any]) -> list[Any]:
    """Those of some results that belong to a graph."""
    return [r for r in results if isinstance(r, Tensor) and r.requires_grad]


def as_list(result: Any) -> list[Any]:
    """Results in a list, however they were returned."""
    return list(result) if isinstance(result, list | tuple) else [result]


def tensors(values: Sequence[Any], requires_grad: bool = True) -> list[Any]:
    """Tensors over the very arrays."""
    return [Tensor(v, requires_grad) for v in values]


def pull(outputs: Any, inputs: Any, cotangents: Sequence[Any], create_graph: bool = False) -> list[Any]:
    """`pullback.autograd.grad` with zeros for what does not take part."""
    seeds = [c if isinstance(c, Tensor) else Tensor(c) for c in cotangents]
    return list(
        pb.autograd.grad(outputs, inputs, seeds, create_graph=create_graph, materialize_grads=True, retain_graph=True)
    )


def gradient(call: Call, values: Sequence[Any], weights: Sequence[Sequence[Any]]) -> list[Any]:
    """The derivative of order ``len(weights)``: each list of weights contracts one order.

    The first contracts the results, the others the gradients; what comes back has the shapes of `values`.
    """
    xs = tensors(values)
    found = call.differentiable(xs)
    for k, weight in enumerate(weights):
        found = pull(found, xs, weight, create_graph=k < len(weights) - 1)
    return bare(found)


def contracted(call: Call, values: Sequence[Any], weights: Sequence[Sequence[Any]]) -> float:
    """The number whose gradient `gradient` is: a contraction of the derivative of one order less."""
    if len(weights) == 1:
        results = [np.asarray(r) for r in call(values)]
        return inner(weights[0], [r for r in results if r.dtype.kind in "fc"])
    return inner(weights[-1], gradient(call, values, weights[:-1]))


def check_order(call: Call, order: int, rng: np.random.Generator, tolerance: float = 1e-6) -> None:
    """The gradient of the given order against the slope of the order below, in a random direction."""
    outputs = bare(call.differentiable(tensors(call.arrays)))
    weights = [directions_like(outputs, rng)] + [directions_like(call.arrays, rng) for _ in range(order - 1)]
    direction = directions_like(call.arrays, rng)
    exact = gradient(call, call.arrays, weights)
    for x, g in zip(call.arrays, exact, strict=True):
        assert g.shape == x.shape
        assert g.dtype == x.dtype
    found = inner(exact, direction)
    expected = slope(lambda t: contracted(call, along(call.arrays, direction, t), weights))
    assert abs(found - expected) <= tolerance * size_of(exact, direction), (
        f"derivative of order {order} in a random direction: {found}, finite differences say {expected}"
    )
