"""The order of the elements: ``flip``, ``rot90``, ``roll``.  All copy: torch has no negative strides."""

from __future__ import annotations

from typing import Any

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.ops.shapes import Flip, swapaxes
from pullback.torch._dims import along_an_axis, axis_of
from pullback.torch._export import both, variadic, xp


class _Flip(Flip):
    """Entries in reverse order along some axes; a copy.  vjp: x̄ = flip(ȳ)"""

    node_name = "FlipBackward0"
    view = False

    @staticmethod
    def forward(ctx: Any, x: Any, **options: Any) -> Any:
        found = Flip.forward(ctx, x, **options)
        return arrays.copy(found, ctx.xp) if hasattr(found, "batch") else found  # in a batch it would be a view


@both("flip")
@variadic("dims")
@along_an_axis
def _flip(input: Any, dims: Any) -> Any:
    """The order of the elements along `dims` reversed."""
    return _Flip.apply(input, axis=dims)


@both("fliplr", plain=True)
def _fliplr(input: Any) -> Any:
    """The columns in reverse order."""
    return _flip(input, 1)


@both("flipud", plain=True)
def _flipud(input: Any) -> Any:
    """The rows in reverse order."""
    return _flip(input, 0)


@both("rot90")
def _rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turned `k` times by 90 degrees, from the first axis of `dims` towards the second."""
    first, second = (axis_of(input, dim) for dim in dims)
    if first == second:
        raise lesson(
            RuntimeError, f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}"
        )
    turned = [(), (second,), (first, second), (first,)][k % 4]
    flipped = _flip(input, turned)
    return swapaxes(flipped, first, second) if k % 2 else flipped


@both("roll")
def _roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """The elements moved along `dims`, and round the border."""
    return xp.roll(input, shifts, axis=dims)
