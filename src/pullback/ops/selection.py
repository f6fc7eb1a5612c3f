"""Choosing between values: `where`, `clip`, `maximum`, `minimum`.

What is not chosen gets no cotangent, and that zero is *structural*: it stops an infinite or NaN derivative further
back, as in ``where(x > 0, sqrt(x), x)`` at -1 (see `pullback.core.masked`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.ops.families import Elementwise, chosen, function_of
from pullback.ops.kinks import QUOTIENTS, operand
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
        ctx.otherwise = b if isinstance(b, (int, float)) else None
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


def _of_choice(node: Any, part: Any) -> Any:
    """Of ``where(mask, multiple, 0)``, which the rules of selecting operators leave in the graph."""
    found = part(1)
    return None if found is None or node.otherwise != 0 else Where.apply(operand(node, 0), found, 0.0)


QUOTIENTS[Where] = _of_choice  # see `pullback.ops.kinks`


class Clip(Elementwise):
    """``x`` moved into the interval from `low` to `high`.

    vjp: the cotangent goes to `low` where x is below it, to `high` where x is above it (and wherever low > high), else
    to x; x on the border counts as inside.
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
    return type(name.title(), (Elementwise,), space)


Maximum = _extremum("maximum", operator.lt)
Minimum = _extremum("minimum", operator.gt)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """`x` moved into the interval from `min` to `max`.

    Parameters
    ----------
    x
        A Tensor or array of real numbers.
    min, max
        Tensors, arrays, numbers, or ``None`` for no bound; broadcast with `x`.

    Returns
    -------
    A Tensor of the broadcast shape.  The cotangent of an entry goes to `x` where it lies inside or on the border, else
    to the bound that replaced it; where ``min > max`` the value is `max`.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([-1.0, 0.5, 1.0, 3.0], requires_grad=True)
    >>> pb.autograd.grad(pb.clip(x, 0.0, 1.0), x, pb.tensor([1.0, 1.0, 1.0, 1.0]))
    (tensor([0., 1., 1., 0.]),)
    """
    return Clip.apply(x, min, max)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` where the condition holds, `x2` elsewhere.

    Parameters
    ----------
    condition
        Booleans: a Tensor or an array.  Never differentiable.
    x1, x2
        Tensors, arrays or numbers; all three are broadcast together.

    Returns
    -------
    A Tensor of the broadcast shape.  The derivative of the branch not taken is left out, even where it is infinite.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([0.0, 4.0], requires_grad=True)
    >>> y = pb.where(x > 0, pb.sqrt(x), 0.0)
    >>> pb.autograd.grad(y, x, pb.tensor([1.0, 1.0]))
    (tensor([0.  , 0.25]),)
    """
    return Where.apply(condition, x1, x2)


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


where = register("where", Where, _choices, call=where, reference=np.where, elementwise=True)
clip = register("clip", Clip, _intervals, call=clip, reference=_clip, elementwise=True, complex=False)
maximum = register(
    "maximum",
    Maximum,
    pairs(),
    call=function_of(Maximum, "maximum", "a", "b"),
    reference=np.maximum,
    elementwise=True,
    complex=False,
)
minimum = register(
    "minimum",
    Minimum,
    pairs(),
    call=function_of(Minimum, "minimum", "a", "b"),
    reference=np.minimum,
    elementwise=True,
    complex=False,
)
