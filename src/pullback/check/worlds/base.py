"""What a probe asks of the library that a Function was written for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = list[np.ndarray | None]


@dataclass
class Call:
    """One call of a function that can be pulled back.

    ``outputs`` are the values it returned, as NumPy arrays (None for what is no Tensor); ``differentiable`` the positions of
    those that have gradients; ``pull`` takes a cotangent for each of these and gives a gradient for each input that was asked
    for, None where there is none.
    """

    outputs: Arrays
    differentiable: list[int]
    pull: Callable[..., Arrays]
    raw: Any = None  # what the function returned, as it was


class World:
    """One library.  ``name`` is for people; ``recorded`` says whether its Functions have a ctx that can be watched."""

    name = ""
    recorded = True
    dtypes: tuple[str, ...] = ("float16", "float32", "float64", "complex64", "complex128")

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        """A Tensor with the values and the memory layout of an array, over memory of its own."""
        raise NotImplementedError

    def array(self, tensor: Any) -> np.ndarray:
        """The values of a Tensor: a copy."""
        raise NotImplementedError

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is one of this library's Tensors."""
        raise NotImplementedError

    def dtype(self, tensor: Any) -> str:
        """The name of a Tensor's dtype."""
        raise NotImplementedError

    def cast(self, array: np.ndarray, dtype: str, requires_grad: bool = False) -> Any:
        """A Tensor of a dtype, named as text: NumPy does not have all of them."""
        raise NotImplementedError

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Call:
        """Call a function on the library's own values, without derivatives."""
        outputs = as_tuple(function(*arguments))
        return Call([self.array(y) if self.is_tensor(y) else None for y in outputs], [], lambda *_: [], outputs)

    def vjp(self, function: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[int]) -> Call:
        """Call a function so that it can be pulled back to the arguments at `wanted`; they are Tensors made for it."""
        raise NotImplementedError

    def derivative(
        self, function: Callable[..., Any], wanted: Sequence[int], taken: Sequence[int], count: int
    ) -> Callable[..., Any]:
        """The function ``(*arguments, *cotangents) -> gradients``, which can itself be differentiated.

        `count` is the number of arguments, `wanted` the positions of those that are differentiated, `taken` those of the
        outputs that get a cotangent.
        """
        raise NotImplementedError

    def modes(self) -> dict[str, Callable[[], AbstractContextManager[Any]]]:
        """Name → context in which a call has to give the same values."""
        return {}

    def running(self) -> AbstractContextManager[Any]:
        """Around everything that a probe computes."""
        return nullcontext()

    def seed(self, number: int) -> None:
        """Set the library's random numbers."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A Tensor alone, a tuple or a list, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
