"""What a reduction does to axes, and how its rule undoes it.

A reduction leaves ``ctx.form = (shape, axis, keepdims)``: the shape of its argument and the options that say which axes
went.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import arrays
from pullback.core.masked import Masked, unmask
from pullback.core.primitive import Primitive
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor

Form = tuple[tuple[int, ...], Any, bool]


def reduced_axes(ndim: int, axis: Any) -> tuple[int, ...]:
    """The axes that go, counted from the front: all of them for ``None``.

    >>> reduced_axes(3, (-1, 0))
    (2, 0)
    """
    if axis is None or ndim == 0:  # NumPy accepts axis=0 and -1 of a number
        return tuple(range(ndim))
    return tuple([k % ndim for k in (axis if isinstance(axis, tuple) else (axis,))])


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many entries are reduced to one."""
    return math.prod([shape[k] for k in reduced_axes(len(shape), axis)])


def keep(xp: Any, value: Any, form: Form) -> Any:
    """A reduced value with the axes that went put back, of length 1."""
    shape, axis, keepdims = form
    if keepdims or not shape:
        return value
    gone = reduced_axes(len(shape), axis)
    return xp.reshape(value, tuple([1 if k in gone else n for k, n in enumerate(shape)]))


def spread(xp: Any, value: Any, form: Form) -> Any:
    """A reduced value repeated over the axes that went: the adjoint of a sum.  A view, not a copy."""
    shape, axis, keepdims = form
    if axis is not None and not keepdims:
        value = keep(xp, value, form)
    return xp.broadcast_to(value, shape)


def to_rows(xp: Any, x: Any, axis: Any) -> Any:
    """`x` with the reduced axes moved to the end and made one."""
    order, gone = _rows_last(len(x.shape), axis)
    moved = xp.permute_dims(x, order) if order != tuple(range(len(order))) else x
    rest = moved.shape[: len(order) - gone]
    return xp.reshape(moved, (*rest, math.prod(moved.shape[len(rest) :])))


def from_rows(xp: Any, rows: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Undo `to_rows` for an `x` of this shape."""
    order, _ = _rows_last(len(shape), axis)
    moved = xp.reshape(rows, tuple([shape[k] for k in order]))
    return xp.permute_dims(moved, tuple(sorted(range(len(order)), key=order.__getitem__)))


def _rows_last(ndim: int, axis: Any) -> tuple[tuple[int, ...], int]:
    gone = reduced_axes(ndim, axis)
    return (*[k for k in range(ndim) if k not in gone], *gone), len(gone)


def along(ndim: int, axis: int, index: slice) -> tuple[slice, ...]:
    """The index that takes a slice of one axis.

    >>> along(3, 1, slice(2))
    (slice(None, None, None), slice(None, 2, None), slice(None, None, None))
    """
    where = [slice(None)] * ndim
    where[axis] = index
    return tuple(where)


def conj(xp: Any, x: Any) -> Any:
    """The complex conjugate; real values as they are, without a copy."""
    return xp.conj(x) if arrays.is_complex(x.dtype) else x


def mask_of(condition: Any) -> Any:
    """The bare boolean array of a condition that a rule computed, on arrays or on Tensors."""
    return condition._array if isinstance(condition, Tensor) else condition


class Reduction(Primitive):
    """Base of the operators that reduce axes: where no cotangent comes, none goes to all that was reduced."""

    @staticmethod
    def mask_rule(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
        """Structural zeros of the result are structural zeros of everything it was reduced from."""
        value = unmask(grad)

        def mask() -> Any:
            inner = masked.mask
            found = spread(arrays.namespace(inner), inner, ctx.form)
            return found & grad.mask if grad.__class__ is Masked else found

        if xp is not Recorded.xp and arrays.behaves_like_numpy(value) and not arrays.has_nan(value):
            return Masked(value, mask)  # zero times a finite slope is zero already
        known = mask()
        return Masked(xp.where(known, value, xp.zeros_like(value)), known)
