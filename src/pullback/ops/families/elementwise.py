"""What elementwise operators have in common: one entry of the result per entry of the arguments.

So a structural zero of the cotangent (see `pullback.core.masked`) is one of what is sent back, whatever the partial
derivative is: they select instead of multiplying.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.core.primitive import Primitive
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor

ndarray = np.ndarray

#: A partial derivative of 1, -1 or 0 everywhere: the cotangent itself, its negative, zeros.
ONE: Any = "one"
MINUS_ONE: Any = "minus one"
ZERO: Any = "zero"


def select(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
    """The mask rule of elementwise operators: a structural zero stays zero whatever the partial derivative is."""
    if grad.__class__ is Masked:  # from a rule that selects: it multiplied by nothing
        return Masked(grad.value, lambda: grad.mask & masked.mask)
    if grad.shape != masked.shape:
        return grad
    if xp is not Recorded.xp and arrays.behaves_like_numpy(grad) and not arrays.has_nan(grad):
        # zero times a finite partial derivative is zero already
        return Masked(grad, lambda: masked.mask)
    return Masked(xp.where(masked.mask, grad, 0.0), lambda: masked.mask)


def carry(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
    """The mask rule of elementwise operators that multiply by nothing: zeros are still zeros."""
    return Masked(grad, lambda: masked.mask) if grad.shape == masked.shape else grad


def chosen(mask: Any, ct: Any, xp: Any) -> Masked:
    """What a selecting operator sends back: the cotangent where `mask` holds, a structural zero elsewhere."""

    def full_mask() -> Any:
        bare_mask = without_graph(mask)
        if bare_mask.shape == ct.shape:
            return bare_mask
        return arrays.namespace(bare_mask).broadcast_to(bare_mask, ct.shape)

    return Masked(xp.where(mask, ct, 0.0), full_mask)


def without_graph(value: Any) -> Any:
    """The bare array, whether a rule runs on arrays or on Tensors."""
    return value._array if isinstance(value, Tensor) else value


class ElementwiseNode(PrimitiveNode):
    """The node of an elementwise operator: silent about what happens where the cotangent is structurally zero."""

    __slots__ = ()

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        if ct.__class__ is not Masked:
            return PrimitiveNode._pull(self, cotangents, task)
        with np.errstate(all="ignore"):
            if task.record or ct.value.__class__ is not ndarray or self._broadcasts(ct.shape):
                return PrimitiveNode._pull(self, cotangents, task)
            grads = self._pull([ct.value], task)  # the short path, where there is one
            rule = self._operator.mask_rule
            return [grad if grad is None else rule(self, grad, ct, k, np) for k, grad in enumerate(grads)]

    def _broadcasts(self, shape: Any) -> bool:
        """True when an argument has another shape than the result: masks must come before sums then."""
        return any(edge and edge[0]._specs[edge[1]][0] != shape for edge in self._edges)


class Elementwise(Primitive):
    """Base of elementwise operators that write their own rule."""

    mask_rule = staticmethod(select)
    node_base = ElementwiseNode


def times(ct: Any, partial: Any, xp: Any) -> Any:
    """``ct * conj(partial)``, the vjp of an elementwise operator."""
    if partial.__class__ is complex:
        partial = partial.conjugate()
    elif hasattr(partial, "dtype") and arrays.is_complex(partial.dtype):
        partial = xp.conj(partial)
    return ct * partial


def directional(names: tuple[str, ...], partials: Any, uses: Any) -> Any:
    """The jvp of an elementwise operator: the tangents times the partial derivatives."""

    def jvp(xp: Any, args: Any, tangents: Any, y: Any) -> Any:
        values = {"xp": xp, "y": y, **dict(zip(names, args, strict=True))}
        total = None
        for partial, used, tangent in zip(partials, uses, tangents, strict=True):
            if tangent is None or partial is None or partial is ZERO:
                continue
            if isinstance(partial, str):
                term = tangent if partial is ONE else -tangent
            else:
                term = tangent * partial(*[values[name] for name in used])
            total = term if total is None else total + term
        return total

    return jvp


def note_reads(mode: Any, a: Any, edge_a: Any, b: Any, edge_b: Any) -> None:
    """Tell a running forward which of the operands are differentiable and not its arguments."""
    inputs = mode._inputs
    if edge_a is not None:
        for value in inputs:
            if value is a:
                break
        else:
            mode._reads(a)
    if edge_b is not None and b is not a:
        for value in inputs:
            if value is b:
                break
        else:
            mode._reads(b)
