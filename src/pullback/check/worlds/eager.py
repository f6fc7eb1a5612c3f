"""What torch, pullback.torch and pullback have in common: Tensors that carry their history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.check.worlds.base import Arrays, Call, World, as_tuple


class EagerWorld(World):
    """A library with ``requires_grad`` and ``grad(outputs, inputs, cotangents)``."""

    def pull(self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], record: bool) -> list[Any]:
        """The gradients of some outputs, as Tensors; None for an input without one.  The graph is kept."""
        raise NotImplementedError

    def vjp(self, function: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[int]) -> Call:
        inputs = [arguments[k] for k in wanted]
        outputs = as_tuple(function(*arguments))
        differentiable = [k for k, y in enumerate(outputs) if self.is_tensor(y) and y.requires_grad]

        def pull(*cotangents: Any) -> Arrays:
            pairs = [(outputs[k], c) for k, c in zip(differentiable, cotangents, strict=True) if c is not None]
            if not pairs:
                return [None] * len(inputs)
            given = [self.tensor(np.asarray(c)) if isinstance(c, (np.ndarray, np.generic)) else c for _, c in pairs]
            found = self.pull([y for y, _ in pairs], inputs, given, False)
            return [None if g is None else self.array(g) for g in found]

        values = [self.array(y) if self.is_tensor(y) else None for y in outputs]
        return Call(values, differentiable, pull, outputs)

    def derivative(
        self, function: Callable[..., Any], wanted: Sequence[int], taken: Sequence[int], count: int
    ) -> Callable[..., Any]:
        def gradients(*values: Any) -> tuple[Any, ...]:
            arguments, cotangents = list(values[:count]), values[count:]
            for k in wanted:  # called for its values alone, it gets Tensors that nobody differentiates
                if not arguments[k].requires_grad:
                    arguments[k] = arguments[k].detach().requires_grad_()
            outputs = as_tuple(function(*arguments))
            pairs = [(outputs[k], c) for k, c in zip(taken, cotangents, strict=True) if outputs[k].requires_grad]
            inputs = [arguments[k] for k in wanted]
            if not pairs:
                return tuple(self.zeros_like(x) for x in inputs)
            found = self.pull([y for y, _ in pairs], inputs, [c for _, c in pairs], True)
            return tuple(self.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))

        return gradients

    def zeros_like(self, tensor: Any) -> Any:
        """A Tensor of zeros without history."""
        return self.tensor(np.zeros_like(self.array(tensor)))
