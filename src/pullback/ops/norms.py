"""Vector norms, and what to do at their kinks.

A norm is a cone: at the zero vector it has no derivative.  By rule the first derivative there is 0 (the subgradient of
least length).  A second derivative does not exist, and computing it from that 0 would give a wrong number without a
sign of it.  So it is refused, with two exceptions: where no cotangent comes (a structural zero), and where the kink
cancels.  ``norm(x)**2`` is smooth: its cotangent, ``2 y``, is a multiple of the norm y, and ``ct x / y`` is then
computed as ``(ct / y) x`` with the quotient read off the graph instead of 0 / 0, which is right to any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.graph import Edge, Node, next_number
from pullback.core.masked import Masked
from pullback.core.primitive import SavedConstant
from pullback.core.recorded import Recorded
from pullback.core.saved import unpack
from pullback.core.tensor import Tensor, wrap
from pullback.ops.arithmetic import Add, Divide, Multiply, Negative, Subtract
from pullback.ops.axes import Reduction, keep, mask_of
from pullback.ops.elementary import Square
from pullback.ops.powers import Pow
from pullback.ops.reductions import axis_samples, max_, min_
from pullback.ops.registry import Make, Sample, register
from pullback.ops.selection import Where


# ------------------------------------------------------------------------------------------------------------ the kink
class Kink(Node):
    """Stands behind a right slope whose own derivative does not exist at some entries, and refuses it there."""

    __slots__ = ("operator_name", "where")

    def __init__(self, slope: Tensor, where: Any, operator_name: str) -> None:
        self._edges = (slope._resolved(),)
        self._number = next_number()
        self._saved = None
        self._hooks = None
        self._kind = type(slope)
        self._specs = ((slope._array.shape, slope.dtype),)
        self.where = where
        self.operator_name = operator_name

    def _name(self) -> str:
        return "KinkBackward"

    def _pull(self, cotangents: list[Any], task: Any) -> list[Any]:
        ct = cotangents[0]
        at_kink = self.where & ct.mask if ct.__class__ is Masked else self.where
        if ct is not None and arrays.namespace(at_kink).any(at_kink):
            raise self._refusal(at_kink)
        return cotangents

    def _refusal(self, at_kink: Any) -> DerivativeRefused:
        point = [tuple(map(int, index)) for index in np.argwhere(np.asarray(at_kink))[:3]]
        return lesson(
            DerivativeRefused,
            f"the second derivative of {self.operator_name} where it is 0 is refused (entries "
            f"{', '.join(map(str, point))} of its argument)",
            why="the function has a kink there: its first derivative is 0 by convention, a second one does not exist.",
            instead="sum(x * x) for the square of a 2-norm, sqrt(sum(x * x) + eps) for a smooth norm, or where(...) to "
            "leave the zeros out.",
            node=self,
        )


def kink(slope: Any, where: Any, operator_name: str) -> Any:
    """`slope`, with its derivative refused at the entries `where`; a bare array, which has none, comes back."""
    if not isinstance(slope, Tensor) or slope._resolved() is None or not Recorded.xp.any(where):
        return slope
    xp = arrays.namespace(slope._array)
    mask = xp.broadcast_to(mask_of(where), slope.shape)
    return wrap(type(slope), slope._array, slope._buffer, (Kink(slope, mask, operator_name), 0))


# ----------------------------------------------------------------------------------------------- quotients of the graph
_DEEPEST = 50  # products nested deeper are not looked through


def exact_quotient(value: Tensor, y: Tensor) -> Tensor | None:
    """``value / y`` without dividing, where `value` is seen to be a multiple of `y`; ``None`` elsewhere."""
    found = _quotient(value._resolved(), y._resolved(), {}, 0)
    return None if found is None else found * Recorded.xp.ones_like(y)


def _quotient(edge: Edge | None, y: Edge, known: dict[Any, Any], depth: int) -> Any:
    """The quotient of what comes along `edge` by what comes along `y`."""
    if not edge or depth > _DEEPEST:
        return None
    if edge == y:
        return 1.0
    if edge not in known:
        node: Any = edge[0]
        rule = _QUOTIENTS.get(getattr(node, "_operator", None))

        def part(k: int) -> Any:
            """The quotient of operand k, if it has the shape of the result."""
            inner = node._edges[k]
            same = inner and inner[0]._specs[inner[1]][0] == node._specs[0][0]
            return _quotient(inner, y, known, depth + 1) if same else None

        known[edge] = rule(node, part) if rule is not None else None
    return known[edge]


def _operand(node: Any, k: int) -> Any:
    """Operand k as it was saved: a Tensor in the graph, or a constant."""
    entry = node._entries()[k]
    return entry.array if isinstance(entry, SavedConstant) else unpack(entry, node, "an operand")


def _of_product(node: Any, part: Callable[[int], Any]) -> Any:
    for k in (0, 1):
        found = part(k)
        if found is not None:
            return found * _operand(node, 1 - k)
    return None


def _of_fraction(node: Any, part: Callable[[int], Any]) -> Any:
    found = part(0)
    return None if found is None else found / _operand(node, 1)


def _of_sum(node: Any, part: Callable[[int], Any]) -> Any:
    first, second = part(0), part(1)
    return None if first is None or second is None else first + second


def _of_difference(node: Any, part: Callable[[int], Any]) -> Any:
    first, second = part(0), part(1)
    return None if first is None or second is None else first - second


def _of_negative(node: Any, part: Callable[[int], Any]) -> Any:
    found = part(0)
    return None if found is None else -found


def _of_square(node: Any, part: Callable[[int], Any]) -> Any:
    found = part(0)
    return None if found is None else found * _operand(node, 0)


def _of_power(node: Any, part: Callable[[int], Any]) -> Any:
    found, exponent = part(0), _operand(node, 1)
    if found is None or isinstance(exponent, Tensor) or np.any(np.less(exponent, 1)):
        return None
    return found if np.all(np.equal(exponent, 1)) else found * _operand(node, 0) ** (exponent - 1)


def _of_choice(node: Any, part: Callable[[int], Any]) -> Any:
    """``where(mask, multiple, 0.0)``: what the rules of selecting operators leave in the graph."""
    found = part(1)
    if found is None or node.__dict__.get("otherwise") != 0:
        return None
    (mask,) = node._entries()
    return Where.apply(mask.array, found, 0.0)


_QUOTIENTS: dict[Any, Callable[[Any, Callable[[int], Any]], Any]] = {
    Add: _of_sum,
    Divide: _of_fraction,
    Multiply: _of_product,
    Negative: _of_negative,
    Pow: _of_power,
    Square: _of_square,
    Where: _of_choice,
    Subtract: _of_difference,
}


# ------------------------------------------------------------------------------------------------------------ the norms
def times_unit(ctx: Any, ct: Any, x: Any, y: Any, name: str) -> Any:
    """``ct x / y`` for ``y = c |x|`` reduced by ``ctx.form``: the vjp of a 2-norm, by rule 0 where y = 0."""
    xp, form = ctx.xp, ctx.form
    zero = y == 0
    if isinstance(y, Tensor) and xp.any(zero):
        quotient = exact_quotient(ct, y)
        if quotient is not None:
            return keep(xp, quotient, form) * x
    length, zero = keep(xp, y, form), keep(xp, zero, form)
    unit = x / xp.where(zero, xp.ones_like(length), length)
    return keep(xp, ct, form) * kink(unit, zero, name)


class VectorNorm(Reduction):
    """``(Σ |x|^p)^(1/p)``.  vjp: x̄ = ȳ sign(x) (|x| / y)^(p-1), by rule 0 where x = 0 or y = 0"""

    node_name = "LinalgVectorNormBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
        ctx.form, ctx.ord = (x.shape, axis, keepdims), ord
        y = arrays.asarray(ctx.xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord), ctx.xp)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, y = ctx.saved_tensors
        xp, p = ctx.xp, ctx.ord
        if p == 2:
            return times_unit(ctx, ct, x, y, "vector_norm")
        if p == 0:
            return xp.zeros_like(x)
        if abs(p) == np.inf:
            return _slope_of_extremum(ctx, ct, x, y)
        slope = xp.sign(x) if p == 1 else _slope_of_power(xp, x, keep(xp, y, ctx.form), p)
        special = keep(xp, y, ctx.form) == 0
        if p < 2 and p != 1:
            special = xp.logical_or(special, x == 0)
        return keep(xp, ct, ctx.form) * kink(slope, special, "vector_norm")


def _slope_of_power(xp: Any, x: Any, y: Any, p: float) -> Any:
    """``sign(x) (|x| / y)^(p-1)``, with 0 at the special points: zero rows, and zeros where the power is infinite."""
    zero = y == 0
    y = xp.where(zero, xp.ones_like(y), y)
    if p > 2 and p % 2 == 0 and not arrays.is_complex(x.dtype):
        return (x / y) ** (p - 1)  # a polynomial in x, smooth also at 0
    if p < 2:
        zero = xp.logical_or(zero, x == 0)
    size = xp.where(zero, xp.ones_like(y), xp.abs(x))
    return xp.where(zero, xp.zeros_like(x), xp.sign(x) * (size / y) ** (p - 1))


def _slope_of_extremum(ctx: Any, ct: Any, x: Any, y: Any) -> Any:
    """The vjp of ``max |x|`` and ``min |x|``: shared among those that attain it."""
    xp, form = ctx.xp, ctx.form
    length = keep(xp, y, form)
    chosen = xp.abs(x) == length
    share = keep(xp, ct, form) / xp.sum(xp.astype(chosen, ct.dtype), axis=form[1], keepdims=True)
    slope = kink(xp.sign(x), length == 0, "vector_norm")
    return Masked(xp.where(chosen, share * slope, xp.zeros_like(x)), mask_of(chosen))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm of the entries of `x` over `axis`, taken as one vector.

    Parameters
    ----------
    x
        An array or Tensor, real or complex.
    axis
        An axis, a tuple of axes, or ``None`` for all.
    keepdims
        Keep the reduced axes, with length 1.
    ord
        2 (Euclidean), 1, any other number, inf (largest magnitude), -inf (smallest), 0 (how many are not zero).

    Raises
    ------
    DerivativeRefused
        By a second derivative at the zero vector, where the norm has a kink (its first derivative there is 0 by
        rule).  Where the kink cancels, as in ``vector_norm(x)**2``, derivatives are right to any order.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> y = pb.vector_norm(x)
    >>> y.backward()
    >>> x.grad
    tensor([0.6, 0.8])
    """
    return VectorNorm.apply(x, axis=axis, keepdims=keepdims, ord=ord)


def norm(x: Any, /, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:
    """A vector or matrix norm with the conventions of ``numpy.linalg.norm``.

    Parameters
    ----------
    x
        An array or Tensor, real or complex.
    ord
        ``None``: the 2-norm of all entries.  For vectors any number, see `vector_norm`.  For matrices ``"fro"``, 1
        (largest column sum), -1 (smallest), inf (largest row sum), -inf (smallest).
    axis
        An axis: norms of vectors.  Two axes: norms of matrices.  ``None``: `x` is one vector or matrix.
    keepdims
        Keep the reduced axes, with length 1.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.norm(pb.tensor([[3.0, 0.0], [4.0, 1.0]]), 1)
    tensor(7.)
    """
    ndim = len(x.shape)
    if ord is None or ord == "fro":
        if ord == "fro" and (ndim if axis is None else np.size(axis)) != 2:
            raise ValueError("the Frobenius norm needs a matrix: two dimensions, or two axes")
        return vector_norm(x, axis=axis, keepdims=keepdims)
    if axis is None:
        if ndim not in (1, 2):
            raise ValueError(f"norm of an array of {ndim} dimensions needs an axis, or no ord")
        axis = tuple(range(ndim))
    if np.size(axis) == 1:
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return _matrix_norm(x, ord, tuple(axis), keepdims)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    if ord not in (1, -1, np.inf, -np.inf):
        raise lesson(
            NotImplementedError,
            f"matrix norm with ord={ord!r}",
            why="it needs singular values.",
            instead='ord="fro", 1, -1, inf or -inf; vector_norm(x, axis=..., ord=...) for the entries as one vector.',
        )
    summed = axes[0] if abs(ord) == 1 else axes[1]
    sums = vector_norm(x, axis=summed, keepdims=True, ord=1)
    return (max_ if ord > 0 else min_)(sums, axis=axes, keepdims=keepdims)


# ------------------------------------------------------------------------------------------------------------ registry
def _vectors(make: Make) -> Any:
    yield from axis_samples(make)
    for order in (0, 1, 3, 4, 1.5, np.inf, -np.inf):
        yield Sample((make(2, 3),), {"axis": 1, "ord": order})


def _norms(make: Make) -> Any:
    yield Sample((make(3),), {})
    yield Sample((make(2, 3),), {"ord": "fro"})
    yield Sample((make(2, 3),), {"ord": 1})
    yield Sample((make(2, 2, 3),), {"ord": -np.inf, "axis": (0, 2), "keepdims": True})
    yield Sample((make(2, 3),), {"ord": 3, "axis": 0})


register("norm", None, _norms, call=norm, reference=np.linalg.norm)
register("vector_norm", VectorNorm, _vectors, call=vector_norm, reference=np.linalg.vector_norm)
