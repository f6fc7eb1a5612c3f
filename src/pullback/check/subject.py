"""The function under examination, with its inputs: runs it, and reads its outputs as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.check.errors import failure
from pullback.check.moving import Movable, host, unit_of
from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor


class Part(NamedTuple):
    """A real part of one output, and where its numbers stand in the flat array of all of them."""

    output: int
    name: str
    columns: slice
    shape: tuple[int, ...]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A Tensor alone, a tuple or a list, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class Subject:
    """A function and its inputs.

    Attributes
    ----------
    wanted
        ``(position, Tensor)`` of every input that requires gradients.
    outputs
        What the first run returned, as a tuple; its graph is kept.
    chosen
        Positions of the differentiable outputs; of all Tensors among them when none is differentiable.
    differentiable
        Whether any output is.
    parts
        Where the numbers of each chosen output stand in what `observe` returns.
    """

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        self.func = func
        self.inputs = inputs
        self.wanted = [(k, x) for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        before = [np.array(host(x._array)) for _, x in self.wanted]
        self.outputs = self.run()
        self._check_unchanged(before)
        tensors = [k for k, y in enumerate(self.outputs) if isinstance(y, Tensor)]
        self.chosen = [k for k in tensors if self.outputs[k].requires_grad]
        self.differentiable = bool(self.chosen)
        if not self.chosen:
            self.chosen = tensors
        self.kinds = self._kinds(self.outputs)
        self.parts = self._parts()
        self.size = self.parts[-1].columns.stop if self.parts else 0

    def run(self, arguments: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """Call the function, with other arguments in the place of its own if there are any; its outputs as a tuple."""
        result = self.func(*(self.inputs if arguments is None else arguments))
        outputs = as_tuple(result)
        if isinstance(result, Tensor) or (isinstance(result, (tuple, list)) and not _loose(outputs)):
            return outputs
        kind = next((type(y).__name__ for y in outputs if _loose([y])), type(result).__name__)
        raise lesson(
            TypeError,
            f"func returned a {kind} where a Tensor or a tuple of Tensors is expected",
            why="only a Tensor has a graph to differentiate.",
            instead="compute with pullback's own functions, without leaving for NumPy, and return the Tensors.",
        )

    def observe(self) -> np.ndarray:
        """Run the function; the numbers of the chosen outputs as one flat real array."""
        return self.read(self.run())

    def read(self, outputs: tuple[Any, ...]) -> np.ndarray:
        """The numbers of the chosen outputs, which must have the shapes and dtypes of the first run."""
        kinds = self._kinds(outputs)
        if kinds != self.kinds:
            raise lesson(
                AssertionError,
                "Expected `func` to return outputs with the same shape and dtype when inputs are perturbed, but got "
                f"{_describe(self.kinds)} at the point itself and {_describe(kinds)} beside it.",
                why="a difference quotient subtracts outputs of nearby inputs.",
                instead="a function whose output shapes and dtypes do not depend on the values of its inputs.",
            )
        flat = []
        for k in self.chosen:
            values = host(outputs[k]._array).reshape(-1)
            if values.dtype.kind == "c":
                flat += [values.real, values.imag]
            else:
                flat.append(values)
        return np.concatenate(flat).astype(np.float64) if flat else np.zeros(0)

    def unit(self) -> float:
        """Spacing at 1 of the coarsest numbers that go in or come out."""
        dtypes = [x.dtype for _, x in self.wanted] + [dtype for _, dtype in self.kinds if arrays.is_inexact(dtype)]
        return max(map(unit_of, dtypes))

    def movable(self, tensor: Tensor) -> Movable:
        """What moves the values of an input, on a private copy where another leaf lives in the same memory."""
        shared = any(
            other is not tensor
            and isinstance(other, Tensor)
            and other.is_leaf
            and tensor.is_leaf
            and _same_memory(other._array, tensor._array)
            for other in self.inputs
        )
        return Movable(tensor, self.observe, private=shared)

    def _kinds(self, outputs: tuple[Any, ...]) -> list[tuple[tuple[int, ...], Any]]:
        return [(tuple(outputs[k].shape), outputs[k].dtype) for k in self.chosen if k < len(outputs)]

    def _parts(self) -> list[Part]:
        parts = []
        start = 0
        for k, (shape, dtype) in zip(self.chosen, self.kinds, strict=True):
            size = int(np.prod(shape))
            for name in ("real", "imaginary") if arrays.is_complex(dtype) else ("",):
                parts.append(Part(k, name, slice(start, start + size), shape))
                start += size
        return parts

    def _check_unchanged(self, before: list[np.ndarray]) -> None:
        for (position, x), old in zip(self.wanted, before, strict=True):
            now = host(x._array)
            if now.shape != old.shape or not np.array_equal(now, old, equal_nan=True):
                raise failure(
                    "input changed",
                    f"func changes its input {position} in place, so there is no fixed point to differentiate at",
                    "Write instead: a function that works on input.clone().",
                    input=position,
                )


def _loose(outputs: Any) -> bool:
    """True when arrays that are no Tensors, or containers, hide among the outputs."""
    return any(
        isinstance(y, (dict, list, tuple)) or (arrays.is_array(y) and arrays.is_inexact(y.dtype))
        for y in outputs
        if not isinstance(y, Tensor)
    )


def _same_memory(a: Any, b: Any) -> bool:
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and arrays.shares_memory(a, b)


def _describe(kinds: list[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{dtype} {list(shape)}" for shape, dtype in kinds) or "nothing"
