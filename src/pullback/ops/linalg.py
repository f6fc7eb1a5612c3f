"""Products of vectors, matrices and more: matmul, tensordot, einsum and their kin."""

from __future__ import annotations

import math
import string
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.axes import conj
from pullback.ops.indexing import diagonal
from pullback.ops.named import named
from pullback.ops.reductions import sum_
from pullback.ops.registry import Make, Sample, register


def _save_factors(ctx: Any, a: Any, b: Any) -> None:
    """Keep of two factors what the vjp of a product needs: each one for the other."""
    need_a, need_b = ctx.needs_input_grad
    ctx.shapes = (a.shape, b.shape)
    ctx.save_for_backward(a if need_b else None, b if need_a else None)


# -------------------------------------------------------------------------------------------------------------- matmul
class Matmul(Primitive):
    """``A B``, over stacks of matrices; vectors are rows on the left and columns on the right.

    vjp: Ā = Ȳ Bᴴ, B̄ = Aᴴ Ȳ, summed over broadcast stacks
    """

    node_name = "MatmulBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        _save_factors(ctx, a, b)
        return ctx.xp.matmul(a, b)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        (need_a, need_b), (shape_a, shape_b) = ctx.needs_input_grad, ctx.shapes
        xp = ctx.xp
        if len(shape_a) == 1:
            ct = xp.expand_dims(ct, axis=-1 if len(shape_b) == 1 else -2)
        if len(shape_b) == 1:
            ct = xp.expand_dims(ct, axis=-1)
        grad_a = _left(xp, ct, b, shape_a) if need_a else None
        grad_b = _right(xp, ct, a, shape_b) if need_b else None
        return grad_a, grad_b


def _left(xp: Any, ct: Any, b: Any, shape: tuple[int, ...]) -> Any:
    """``Ȳ Bᴴ`` in the shape of the left factor."""
    b = conj(xp, xp.expand_dims(b, axis=1) if len(b.shape) == 1 else b)
    found = xp.matmul(ct, xp.matrix_transpose(b))
    return _fold(xp, found, shape, (1, *shape))


def _right(xp: Any, ct: Any, a: Any, shape: tuple[int, ...]) -> Any:
    """``Aᴴ Ȳ`` in the shape of the right factor."""
    a = conj(xp, xp.expand_dims(a, axis=0) if len(a.shape) == 1 else a)
    if len(shape) <= 2 and len(a.shape) > 2:  # one matrix for a whole stack: a single tall product
        a, ct = _flat(xp, a), _flat(xp, ct)
    found = xp.matmul(xp.matrix_transpose(a), ct)
    return _fold(xp, found, shape, (*shape, 1))


def _flat(xp: Any, a: Any) -> Any:
    """A stack of matrices as one tall matrix."""
    return xp.reshape(a, (math.prod(a.shape[:-1]), a.shape[-1]))


def _fold(xp: Any, found: Any, shape: tuple[int, ...], vector_as_matrix: tuple[int, ...]) -> Any:
    """Sum over broadcast stacks; a vector that was made a matrix becomes one again."""
    if len(shape) > 1:
        return arrays.sum_to(found, shape, xp)
    return xp.reshape(arrays.sum_to(found, vector_as_matrix, xp), shape)


def matmul(a: Any, b: Any, /) -> Any:
    """The matrix product ``a @ b``.

    Parameters
    ----------
    a, b
        Arrays or Tensors of shapes (..., n, k) and (..., k, m), whose leading axes broadcast; or vectors (k,).

    Returns
    -------
    The product, of shape (..., n, m), without the axis that a vector lacks.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> (a @ pb.tensor([1.0, -1.0])).sum().backward()
    >>> a.grad
    tensor([[ 1., -1.],
            [ 1., -1.]])
    """
    return Matmul.apply(a, b)


# ------------------------------------------------------------------------------------------------------ other products
class Vecdot(Primitive):
    """``Σ a* b`` along one axis.  vjp: ā = ȳ* b, b̄ = ȳ a"""

    node_name = "LinalgVecdotBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
        ctx.axis = axis
        _save_factors(ctx, a, b)
        return ctx.xp.vecdot(a, b, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        xp, (need_a, need_b), (shape_a, shape_b) = ctx.xp, ctx.needs_input_grad, ctx.shapes
        ct = xp.expand_dims(ct, axis=ctx.axis)
        grad_a = arrays.sum_to(conj(xp, ct) * b, shape_a, xp) if need_a else None
        grad_b = arrays.sum_to(ct * a, shape_b, xp) if need_b else None
        return grad_a, grad_b


class Outer(Primitive):
    """``yᵢⱼ = aᵢ bⱼ``.  vjp: ā = Ȳ b*, b̄ = Ȳᵀ a*"""

    node_name = "OuterBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        _save_factors(ctx, a, b)
        return ctx.xp.linalg.outer(a, b)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        xp, (need_a, need_b) = ctx.xp, ctx.needs_input_grad
        grad_a = xp.matmul(ct, conj(xp, b)) if need_a else None
        grad_b = xp.matmul(conj(xp, a), ct) if need_b else None
        return grad_a, grad_b


class Cross(Primitive):
    """``a × b``.  vjp: ā = b* × ȳ, b̄ = ȳ × a*"""

    node_name = "LinalgCrossBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, *, axis: int = -1) -> Any:
        ctx.axis = axis
        _save_factors(ctx, a, b)
        return ctx.xp.linalg.cross(a, b, axis=axis)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        xp, (need_a, need_b), (shape_a, shape_b) = ctx.xp, ctx.needs_input_grad, ctx.shapes
        grad_a = arrays.sum_to(cross(conj(xp, b), ct, axis=ctx.axis), shape_a, xp) if need_a else None
        grad_b = arrays.sum_to(cross(ct, conj(xp, a), axis=ctx.axis), shape_b, xp) if need_b else None
        return grad_a, grad_b


class Kron(Primitive):
    """The Kronecker product: every entry of `a` times all of `b`.  vjp: ȳ cut into blocks, contracted with b* and a*"""

    node_name = "KronBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        _save_factors(ctx, a, b)
        rows, columns = _blocks(a.shape, b.shape)
        split_a = [n for pair in zip(rows, (1,) * len(rows), strict=True) for n in pair]
        split_b = [n for pair in zip((1,) * len(rows), columns, strict=True) for n in pair]
        blocks = ctx.xp.reshape(a, tuple(split_a)) * ctx.xp.reshape(b, tuple(split_b))
        return ctx.xp.reshape(blocks, tuple([n * m for n, m in zip(rows, columns, strict=True)]))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        xp, (need_a, need_b), (shape_a, shape_b) = ctx.xp, ctx.needs_input_grad, ctx.shapes
        rows, columns = _blocks(shape_a, shape_b)
        ct = xp.reshape(ct, tuple([n for pair in zip(rows, columns, strict=True) for n in pair]))
        of_a, of_b = tuple(range(0, 2 * len(rows), 2)), tuple(range(1, 2 * len(rows), 2))
        grad_a = grad_b = None
        if need_a:
            whole_b = conj(xp, xp.reshape(b, columns))
            grad_a = xp.reshape(tensordot(ct, whole_b, axes=(of_b, tuple(range(len(columns))))), shape_a)
        if need_b:
            whole_a = conj(xp, xp.reshape(a, rows))
            grad_b = xp.reshape(tensordot(ct, whole_a, axes=(of_a, tuple(range(len(rows))))), shape_b)
        return grad_a, grad_b


def _blocks(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both shapes with as many axes, filled up in front."""
    ndim = max(len(a), len(b))
    return (1,) * (ndim - len(a)) + tuple(a), (1,) * (ndim - len(b)) + tuple(b)


@named
def vecdot(a: Any, b: Any, /, *, axis: int = -1) -> Any:
    """The inner product of vectors along `axis`, the first one conjugated; other axes broadcast.

    >>> import pullback as pb
    >>> pb.vecdot(pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0]))
    tensor(11.)
    """
    return Vecdot.apply(a, b, axis=axis)


@named
def outer(a: Any, b: Any, /) -> Any:
    """The matrix of all products of entries of the vectors `a` (n,) and `b` (m,).

    >>> import pullback as pb
    >>> pb.outer(pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    return Outer.apply(a, b)


@named
def cross(a: Any, b: Any, /, *, axis: int = -1) -> Any:
    """The cross product of vectors of three entries along `axis`; other axes broadcast.

    >>> import pullback as pb
    >>> pb.cross(pb.tensor([1.0, 0.0, 0.0]), pb.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return Cross.apply(a, b, axis=axis)


def kron(a: Any, b: Any, /) -> Any:
    """The Kronecker product of two arrays.

    >>> import pullback as pb
    >>> pb.kron(pb.tensor([1.0, 10.0]), pb.tensor([1.0, 2.0]))
    tensor([ 1.,  2., 10., 20.])
    """
    return Kron.apply(a, b)


@named
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of the last two axes.

    >>> import pullback as pb
    >>> pb.trace(pb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    return sum_(diagonal(x, offset, -2, -1), -1, dtype=dtype)


# ----------------------------------------------------------------------------------------------------------- tensordot
class Tensordot(Primitive):
    """The product of two arrays, summed over pairs of axes.  vjp: ȳ contracted with the other factor's free axes"""

    node_name = "TensordotBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
        ctx.axes = axes
        _save_factors(ctx, a, b)
        return ctx.xp.tensordot(a, b, axes=axes)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        xp, (need_a, need_b), (axes_a, axes_b) = ctx.xp, ctx.needs_input_grad, ctx.axes
        free_a, free_b = (
            [k for k in range(len(shape)) if k not in axes] for shape, axes in zip(ctx.shapes, ctx.axes, strict=True)
        )
        first, last = tuple(range(len(free_a))), tuple(range(len(free_a), len(free_a) + len(free_b)))
        grad_a = grad_b = None
        if need_a:  # the axes come as: free ones of a, then the summed ones in the order they have in b
            found = tensordot(ct, conj(xp, b), axes=(last, tuple(free_b)))
            grad_a = _put_axes(xp, found, free_a + [axes_a[axes_b.index(k)] for k in sorted(axes_b)])
        if need_b:
            found = tensordot(ct, conj(xp, a), axes=(first, tuple(free_a)))
            grad_b = _put_axes(xp, found, free_b + [axes_b[axes_a.index(k)] for k in sorted(axes_a)])
        return grad_a, grad_b


def _put_axes(xp: Any, x: Any, places: list[int]) -> Any:
    """`x` with its axis k moved to ``places[k]``."""
    return xp.permute_dims(x, tuple(sorted(range(len(places)), key=places.__getitem__)))


@named
def tensordot(a: Any, b: Any, /, *, axes: Any = 2) -> Any:
    """The product of two arrays, summed over pairs of axes.

    Parameters
    ----------
    a, b
        Arrays or Tensors.
    axes
        Two sequences of axes of `a` and `b`, paired in order; or a number n: the last n of `a` with the first n of `b`.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> pb.tensordot(a, a, axes=((0, 1), (0, 1)))
    tensor(30.)
    """
    ndim_a, ndim_b = len(a.shape), len(b.shape)
    if isinstance(axes, int):
        pairs = tuple(range(ndim_a - axes, ndim_a)), tuple(range(axes))
    else:
        of_a, of_b = ((k,) if isinstance(k, int) else tuple(k) for k in axes)
        pairs = tuple([k % ndim_a for k in of_a]), tuple([k % ndim_b for k in of_b])
    return Tensordot.apply(a, b, axes=pairs)


# -------------------------------------------------------------------------------------------------------------- einsum
class Einsum(Primitive):
    """A product of arrays with named axes, summed over the names that the result lacks.

    Every name of an operand stands once in it, and somewhere else too; so the vjp of an operand is again an einsum, of
    ȳ and the other operands, with the operand's names as result.
    """

    node_name = "EinsumBackward0"

    @staticmethod
    def forward(ctx: Any, *operands: Any, names: tuple[str, ...], result: str) -> Any:
        ctx.names, ctx.result = names, result
        ctx.shapes = tuple([x.shape for x in operands])
        ctx.save_for_backward(*operands)
        return _run_einsum(ctx.xp, f"{','.join(names)}->{result}", operands)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        operands, xp = ctx.saved_tensors, ctx.xp
        grads: list[Any] = []
        for k, need in enumerate(ctx.needs_input_grad):
            if not need:
                grads.append(None)
                continue
            others = [conj(xp, x) for j, x in enumerate(operands) if j != k]
            names = [ctx.result, *[n for j, n in enumerate(ctx.names) if j != k]]
            found = einsum(f"{','.join(names)}->{ctx.names[k]}", ct, *others)
            found = arrays.sum_to(found, ctx.shapes[k], xp)  # an axis of length 1 was stretched ...
            grads.append(xp.broadcast_to(found, ctx.shapes[k]))  # ... or stretched the operand's own
        return tuple(grads)


#: From this many entries on, planning the contractions of an einsum is worth its time.
_WORTH_PLANNING = 4096


def _run_einsum(xp: Any, subscripts: str, operands: tuple[Any, ...]) -> Any:
    if xp is not np:
        return xp.einsum(subscripts, *operands) if hasattr(xp, "einsum") else _sum_of_products(xp, subscripts, operands)
    large = max([x.size for x in operands], default=0) >= _WORTH_PLANNING
    return np.einsum(subscripts, *operands, optimize=large or len(operands) > 2)


def _sum_of_products(xp: Any, subscripts: str, operands: tuple[Any, ...]) -> Any:
    """An einsum in the words of the Array API standard: all operands over all names, multiplied, summed."""
    left, _, result = subscripts.partition("->")
    terms = left.split(",")
    summed = "".join(sorted(set(left) - {","} - set(result)))
    whole = None
    for x, term in zip(operands, terms, strict=True):
        present = [name for name in result + summed if name in term]
        x = xp.permute_dims(x, tuple([term.index(name) for name in present]))
        lengths = dict(zip(present, x.shape, strict=True))
        x = xp.reshape(x, tuple([lengths.get(name, 1) for name in result + summed]))
        whole = x if whole is None else whole * x
    return xp.sum(whole, axis=tuple(range(len(result), len(result) + len(summed)))) if summed else whole


def einsum(subscripts: str, /, *operands: Any) -> Any:
    """Einstein's summation convention: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    Parameters
    ----------
    subscripts
        Names of the axes of each operand, and of the result after ``->``; without it, the names that stand once,
        sorted. ``...`` stands for any further axes, which broadcast.
    operands
        Arrays or Tensors.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> pb.einsum("ii", a)
    tensor(5., grad_fn=<SumBackward0>)
    """
    if not isinstance(subscripts, str):
        raise TypeError('einsum takes its axes as a string, for example "ij,jk->ik"')
    names, result = _parse(subscripts, [len(x.shape) for x in operands])
    plain = [_single(x, own) for x, own in zip(operands, names, strict=True)]
    reduced = []
    for k, (x, own) in enumerate(plain):
        elsewhere = set(result).union(*[other for j, (_, other) in enumerate(plain) if j != k])
        lonely = tuple([axis for axis, name in enumerate(own) if name not in elsewhere])
        if lonely:
            x, own = sum_(x, lonely), "".join([name for name in own if name in elsewhere])
        reduced.append((x, own))
    if len(reduced) == 1 and reduced[0][1] == result:
        return reduced[0][0]
    return Einsum.apply(*[x for x, _ in reduced], names=tuple([own for _, own in reduced]), result=result)


def _parse(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """The names of the axes of each operand and of the result, with ``...`` written out."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {subscripts!r} names {len(terms)} operands, but {len(ndims)} were given")
    free = [name for name in reversed(string.ascii_letters) if name not in subscripts]
    hidden = [
        ndim - len(term.replace("...", "")) if "..." in term else 0 for term, ndim in zip(terms, ndims, strict=True)
    ]
    spare = "".join(free[: max(hidden, default=0)])
    names = [term.replace("...", spare[len(spare) - n :]) for term, n in zip(terms, hidden, strict=True)]
    for term, own, ndim in zip(terms, names, ndims, strict=True):
        if len(own) != ndim:
            raise ValueError(f"einsum: {term!r} names {len(own)} axes of an operand that has {ndim}")
    if arrow:
        return names, right.replace("...", spare)
    once = sorted({name for name in left if name.isalpha() and left.count(name) == 1})
    return names, spare + "".join(once)


def _single(x: Any, names: str) -> tuple[Any, str]:
    """An operand whose names stand once: repeated ones mean its diagonal."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            if x.shape[first] != x.shape[second]:
                raise ValueError(f"einsum: the axes named {name!r} have lengths {x.shape[first]} and {x.shape[second]}")
            x = diagonal(x, 0, first, second)
            names = names[:first] + names[first + 1 : second] + names[second + 1 :] + name
    return x, names


# ------------------------------------------------------------------------------------------------------------ registry
def _matrices(make: Make) -> Any:
    for a, b in (
        ((2, 3), (3, 2)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (2, 3, 2)),
        ((2, 1, 2, 3), (2, 3, 1)),
        ((2, 2, 3), (3,)),
        ((3,), (2, 3, 2)),
        ((0, 3), (3, 2)),
    ):
        yield Sample((make(*a), make(*b)))


def _dots(make: Make) -> Any:
    yield Sample((make(3), make(3)))
    yield Sample((make(2, 1, 3), make(2, 3)))
    yield Sample((make(3, 2), make(3, 1)), {"axis": -2})


def _vectors(make: Make) -> Any:
    yield Sample((make(3), make(2)))


def _crosses(make: Make) -> Any:
    yield Sample((make(3), make(3)))
    yield Sample((make(2, 3), make(3)))
    yield Sample((make(3, 2), make(3, 1)), {"axis": -2})


def _krons(make: Make) -> Any:
    yield Sample((make(2, 3), make(2, 1)))
    yield Sample((make(2), make(2, 2)))


def _squares(make: Make) -> Any:
    yield Sample((make(3, 3),))
    yield Sample((make(2, 2, 3),), {"offset": 1})


def _contractions(make: Make) -> Any:
    yield Sample((make(2, 3), make(3, 2)), {"axes": 1})
    yield Sample((make(2, 3, 2), make(2, 2, 3)), {"axes": ((1, 0), (-1, 0))})
    yield Sample((make(2), make(3)), {"axes": 0})


def _sums(make: Make) -> Any:
    yield Sample(("ij,jk->ki", make(2, 3), make(3, 2)))
    yield Sample(("ijj->ij", make(2, 3, 3)))
    yield Sample(("ij->j", make(2, 3)))
    yield Sample(("i,ij,j", make(2), make(2, 3), make(3)))
    yield Sample(("...ij,...j->...i", make(2, 2, 3), make(3)))
    yield Sample(("iij,kj->ki", make(2, 2, 3), make(2, 3)))
    yield Sample(("ij,ij->i", make(1, 3), make(2, 3)))
    yield Sample(("ij->ji", make(2, 3)))


def _numpy_trace(x: Any, offset: int = 0) -> Any:
    return np.trace(x, offset, axis1=-2, axis2=-1)


register("cross", Cross, _crosses, call=cross, reference=np.linalg.cross)
register("einsum", Einsum, _sums, call=einsum, reference=np.einsum)
register("kron", Kron, _krons, call=kron, reference=np.kron)
register("matmul", Matmul, _matrices, call=matmul, reference=np.matmul, dunder="matmul", methods=("matmul",))
register("outer", Outer, _vectors, call=outer, reference=np.linalg.outer)
register("tensordot", Tensordot, _contractions, call=tensordot, reference=np.tensordot)
register("trace", None, _squares, call=trace, reference=_numpy_trace, methods=("trace",))
register("vecdot", Vecdot, _dots, call=vecdot, reference=np.vecdot)
