"""Choosing between values: `where`, `clip`, `maximum`, `minimum`.

What is not chosen gets no cotangent, and that zero is *structural*: it stops an infinite or NaN derivative further back, as
in ``where(x > 0, sqrt(x), x)`` at -1 (see `pullback.core.masked`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.families import Elementwise, chosen
from pullback.ops.registry import Make, Sample, register
from pullback.ops.samples import pairs


class Where(Elementwise):
    """`a` where the condition holds, else `b`.  vjp: ā = ȳ where it holds, b̄ = ȳ where it does not"""

    node_name = "WhereBackward0"

    @staticmethod
    def forward(ctx: Any, condition: Any, a: Any, b: Any) -> Any:
        if not hasattr(condition, "dtype"):
            condition = ctx.xp.asarray(condition)
        if arrays.dtype_of(condition) != np.bool_:
            condition = condition != 0
        ctx.save_for_backward(condition)
        return ctx.xp.where(condition, a, b)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        (condition,) = ctx.saved_tensors
        _, need_a, need_b = ctx.needs_input_grad
        return (
            None,
            chosen(condition, ct, ctx.xp) if need_a else None,
            chosen(~condition, ct, ctx.xp) if need_b else None,
        )


class Clip(Elementwise):
    """``x`` moved into the interval from `low` to `high`.

    vjp: the cotangent goes to `low` where x is below it, to `high` where x is above it (and everywhere where low > high), and
    to x elsewhere; x on the border counts as inside.
    """

    node_name = "ClampBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, low: Any, high: Any) -> Any:
        ctx.save_for_backward(x, low, high)
        return ctx.xp.clip(x, low, high)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, low, high = ctx.saved_tensors
        need_x, need_low, need_high = ctx.needs_input_grad
        below = above = None
        if low is not None:
            below = x < low
        if high is not None:
            above = x > high
            if low is not None:
                above = above | (low > high)
                below = below & (low <= high)
        outside = below if above is None else above if below is None else below | above
        return (
            (ct if outside is None else chosen(~outside, ct, ctx.xp)) if need_x else None,
            chosen(below, ct, ctx.xp) if need_low else None,
            chosen(above, ct, ctx.xp) if need_high else None,
        )


def _extremum(name: str, loses: Callable[[Any, Any], Any]) -> type[Elementwise]:
    """`maximum` or `minimum`: the winner takes the cotangent, at a tie each gets one half."""

    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return getattr(ctx.xp, name)(a, b)

    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        shared = ctx.xp.where(a == b, ct / 2, ct)
        return tuple(
            [
                chosen(~loses(x, other), shared, ctx.xp) if need else None
                for need, x, other in zip(ctx.needs_input_grad, (a, b), (b, a), strict=True)
            ]
        )

    space = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "node_name": f"{name.title()}Backward0",
        "__doc__": f"The {name} of a and b, elementwise.  vjp: ȳ to the winner, ȳ / 2 to each at a tie",
        "__module__": __name__,
    }
    return type(Elementwise)(name.title(), (Elementwise,), space)


Maximum = _extremum("maximum", operator.lt)
Minimum = _extremum("minimum", operator.gt)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:  # noqa: A002 - the standard's names
    """`x` moved into the interval from `min` to `max`, each a Tensor, an array, a number or ``None``.

    The cotangent of an entry goes to `x` where it lies inside or on the border, otherwise to the bound that replaced it.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([-1.0, 0.5, 1.0, 3.0], requires_grad=True)
    >>> pb.autograd.grad(pb.clip(x, 0.0, 1.0), x, pb.tensor([1.0, 1.0, 1.0, 1.0]))
    (tensor([0., 1., 1., 0.]),)
    """
    return Clip.apply(x, min, max)


def _choices(make: Make) -> Any:
    condition = np.asarray([True, False, True])
    yield Sample((condition, make(3), make(3)))
    yield Sample((condition, make(2, 1), make(3)))
    yield Sample((condition, make(), make(2, 3)))
    yield Sample((condition, make(3), 0.5))
    yield Sample((condition, 0.5, make(3)))
    yield Sample((np.asarray(True), make(3), make(3)))
    yield Sample((np.asarray([True]), make(2, 0), make(1)))


def _intervals(make: Make) -> Any:
    yield Sample((make(6), make(6, low=-1.5, high=-0.5), make(6, low=0.5, high=1.5)))
    yield Sample((make(2, 3), -1.0, 1.0))
    yield Sample((make(4), -1.0))
    yield Sample((make(4), None, 1.0))
    yield Sample((make(4), make(), None))
    yield Sample((make(2, 0), -1.0, 1.0))


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    return np.clip(x, low, high)


where = register("where", Where, _choices, reference=np.where, elementwise=True)
clip = register("clip", Clip, _intervals, call=clip, reference=_clip, elementwise=True, complex=False)
maximum = register("maximum", Maximum, pairs(), reference=np.maximum, elementwise=True, complex=False)
minimum = register("minimum", Minimum, pairs(), reference=np.minimum, elementwise=True, complex=False)
