"""JAX: functions, ``jax.custom_vjp`` ones among them.  Double precision is on while a probe runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from pullback.check.worlds.base import Arrays, Call, World, as_tuple


class JaxWorld(World):
    """JAX on the CPU."""

    name = "jax"
    recorded = False

    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def running(self) -> AbstractContextManager[Any]:
        """Double precision, which JAX has switched off."""
        if not hasattr(self.jax, "enable_x64"):  # it moved there from jax.experimental
            from jax.experimental import enable_x64

            return enable_x64(True)
        return self.jax.enable_x64(True)

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        return self.jax.numpy.asarray(np.array(array))

    def array(self, tensor: Any) -> np.ndarray:
        found = np.array(tensor)
        return found if found.dtype.kind in "biufc" else found.astype(np.float32)  # bfloat16

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.jax.Array)

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype)

    def cast(self, array: np.ndarray, dtype: str, requires_grad: bool = False) -> Any:
        return self.jax.numpy.asarray(array, dtype)

    def vjp(self, function: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[int]) -> Call:
        def some(*chosen: Any) -> tuple[Any, ...]:
            full = list(arguments)
            for k, value in zip(wanted, chosen, strict=True):
                full[k] = value
            return as_tuple(function(*full))

        outputs, pull_back = self.jax.vjp(some, *[arguments[k] for k in wanted])
        differentiable = [k for k, y in enumerate(outputs) if np.asarray(y).dtype.kind in "fc"]

        def pull(*cotangents: Any) -> Arrays:
            given: dict[int, Any] = dict(zip(differentiable, cotangents, strict=True))
            seeds = tuple(self._cotangent(y, given.get(k)) for k, y in enumerate(outputs))
            return [self.array(g) for g in pull_back(seeds)]

        return Call([self.array(y) for y in outputs], differentiable, pull, outputs)

    def _cotangent(self, output: Any, value: Any) -> Any:
        if np.asarray(output).dtype.kind not in "fc":
            return np.zeros(output.shape, self.jax.dtypes.float0)
        return (
            self.jax.numpy.zeros_like(output) if value is None else self.jax.numpy.asarray(np.conj(value), output.dtype)
        )

    def derivative(
        self, function: Callable[..., Any], wanted: Sequence[int], taken: Sequence[int], count: int
    ) -> Callable[..., Any]:
        def gradients(*values: Any) -> tuple[Any, ...]:
            arguments, cotangents = list(values[:count]), values[count:]

            def some(*chosen: Any) -> tuple[Any, ...]:
                for k, value in zip(wanted, chosen, strict=True):
                    arguments[k] = value
                outputs = as_tuple(function(*arguments))
                return tuple(outputs[k] for k in taken)

            _, pull_back = self.jax.vjp(some, *[values[k] for k in wanted])
            return tuple(pull_back(tuple(cotangents)))

        return gradients
