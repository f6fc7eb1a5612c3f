"""Sorting and searching: where entries stand carries no derivative, what stands there does."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.named import named
from pullback.ops.registry import POSITIONS, Make, Sample, register


class Sort(Primitive):
    """``x`` in a given order along an axis.  vjp: x̄ = ȳ in the inverse order"""

    node_name = "SortBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, order: Any, axis: int) -> Any:
        ctx.order, ctx.axis = order, axis
        return ctx.xp.take_along_axis(x, order, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return Sort.apply(ct, order=_inverse(ctx), axis=ctx.axis)

    @staticmethod
    def mask_rule(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
        """Structural zeros move with their entries."""
        return Masked(grad, lambda: Sort.apply(masked.mask, order=_inverse(ctx), axis=ctx.axis))


def _inverse(ctx: Any) -> Any:
    """The order that undoes ``ctx.order``; orders are bare arrays, also while a rule is recorded."""
    return arrays.namespace(ctx.order).argsort(ctx.order, axis=ctx.axis)


def _order(xp: Any, x: Any, axis: int, descending: bool, stable: bool) -> Any:
    """``argsort`` of a bare array; descending and stable means that equal entries keep their order all the same."""
    if xp is not np and not arrays.behaves_like_numpy(x):
        return xp.argsort(x, axis=axis, descending=descending, stable=stable)
    xp = arrays.namespace(x)
    if not descending:
        return xp.argsort(x, axis=axis, stable=stable)
    backwards = xp.argsort(xp.flip(x, axis=axis), axis=axis, stable=stable)
    return arrays.asarray(x.shape[axis] - 1 - xp.flip(backwards, axis=axis), xp)


class Argsort(Primitive):
    """The order that sorts ``x``; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return _order(ctx.xp, x, axis, descending, stable)


class Argmax(Primitive):
    """Where the largest entry stands; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ctx.xp.argmax(x, axis=axis, keepdims=keepdims)


class Argmin(Primitive):
    """Where the smallest entry stands; no derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return ctx.xp.argmin(x, axis=axis, keepdims=keepdims)


@named
def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The entries of `x` sorted along `axis`.

    Parameters
    ----------
    x
        A real array or Tensor with at least one axis.
    axis
        The axis to sort along.
    descending
        Largest first.
    stable
        Equal entries keep their order.  Their cotangents go to the places the entries came from; at ties the function
        has a kink, and this is one of its one-sided derivatives.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([3.0, 1.0, 2.0], requires_grad=True)
    >>> pb.sort(x)[0].backward()
    >>> x.grad
    tensor([0., 1., 0.])
    """
    order = argsort(x, axis, descending=descending, stable=stable)
    return Sort.apply(x, order=order._array if isinstance(order, Tensor) else order, axis=axis)


@named
def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort `x` along `axis`; see `sort` for the parameters.

    >>> import pullback as pb
    >>> pb.argsort(pb.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return Argsort.apply(x, axis=axis, descending=descending, stable=stable)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the largest entry of `x` along `axis` (of the flattened array for ``None``); the first of several.

    >>> import pullback as pb
    >>> pb.argmax(pb.tensor([3.0, 7.0, 2.0]))
    tensor(1)
    """
    return Argmax.apply(x, axis=axis, keepdims=keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest entry of `x`; see `argmax`.

    >>> import pullback as pb
    >>> pb.argmin(pb.tensor([3.0, 7.0, 2.0]))
    tensor(2)
    """
    return Argmin.apply(x, axis=axis, keepdims=keepdims)


# ------------------------------------------------------------------------------------------------------------ registry
def _sorted(make: Make) -> Any:
    yield Sample((make(5),))
    yield Sample((make(2, 3),), {"axis": 0})
    yield Sample((make(2, 3),), {"axis": 1, "descending": True})
    yield Sample((make(2, 0),))


def _searched(make: Make) -> Any:
    yield Sample((make(5),))
    yield Sample((make(2, 3),))
    yield Sample((make(2, 3),), {"axis": 0})
    yield Sample((make(2, 3),), {"axis": 1, "keepdims": True})


def _numpy_sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)


def _numpy_argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.argsort(-x if descending else x, axis=axis, stable=True)


def _register(name: str, operator: Any, call: Any, samples: Any, reference: Any, **facts: Any) -> None:
    """Register what needs an order: complex numbers have none."""
    register(name, operator, samples, call=call, reference=reference, complex=False, **facts)


_register("argmax", Argmax, argmax, _searched, np.argmax, methods=("argmax",), differentiable=False, reason=POSITIONS)
_register("argmin", Argmin, argmin, _searched, np.argmin, methods=("argmin",), differentiable=False, reason=POSITIONS)
_register(
    "argsort", Argsort, argsort, _sorted, _numpy_argsort, methods=("argsort",), differentiable=False, reason=POSITIONS
)
_register("sort", Sort, sort, _sorted, _numpy_sort)
