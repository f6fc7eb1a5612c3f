"""Batching rules of products: the batch is one more axis of a stack of matrices, or one more letter of an einsum."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from pullback.batching.batched import Batch, Batched, batch_of, namespace_for, padded, within
from pullback.batching.elementwise import again, line_up, named
from pullback.batching.shapes import expand_dims, moveaxis, reshape
from pullback.core.batches import ReadOut


def shared(value: Any, batch: Batch) -> bool:
    """Whether an array is the same for all entries."""
    return value.__class__ is not Batched or value.batch is not batch or (value.value.shape[0] == 1 != batch.size)


def one_of(value: Any, batch: Batch) -> Any:
    """The array that all entries share."""
    if value.__class__ is Batched and value.batch is batch:
        return value.value[0, ...]
    return value


def matmul(a: Any, b: Any, /, **options: Any) -> Any:
    """Stacks of matrices; what is the same for all entries is multiplied once with all of them."""
    batch = batch_of((a, b))
    run = named("matmul")
    if batch is None:
        return run(a, b, **options)
    if not a.shape or not b.shape:
        raise ValueError("matmul: an operand has no axes")
    if shared(a, batch) and shared(b, batch):
        a, b = one_of(a, batch), one_of(b, batch)
        return again(namespace_for((a, b)).expand_dims(run(a, b, **options), axis=0), batch)
    left, right = len(a.shape) == 1, len(b.shape) == 1
    if shared(b, batch) and len(b.shape) <= 2:
        return again(_times_one(a.value, one_of(b, batch), run, options), batch)
    if shared(a, batch) and len(a.shape) == 2 and (right or (len(b.shape) == 2 and b.shape[1] == 1)):
        xp = namespace_for((a, b))  # one matrix with many vectors: a product of two matrices
        vectors = b.value if right else xp.reshape(b.value, b.value.shape[:-1])
        found = run(vectors, xp.matrix_transpose(one_of(a, batch)), **options)
        return again(found if right else xp.expand_dims(found, axis=-1), batch)
    a = expand_dims(a, 0) if left else a
    b = expand_dims(b, -1) if right else b
    found = again(run(*line_up((a, b), batch), **options), batch)
    gone = [k for k, one in ((found.ndim - 2, left), (found.ndim - 1, right)) if one]
    return reshape(found, tuple([n for k, n in enumerate(found.shape) if k not in gone])) if gone else found


def _times_one(stack: Any, matrix: Any, run: Any, options: dict[str, Any]) -> Any:
    """A stack of matrices times one: as a product of two matrices, where that needs no copy."""
    if isinstance(stack, np.ndarray) and len(stack.shape) > 2 and stack.flags.c_contiguous and 0 not in stack.shape:
        rows = run(stack.reshape(-1, stack.shape[-1]), matrix, **options)
        return rows.reshape(*stack.shape[:-1], *matrix.shape[1:])
    return run(stack, matrix, **options)


def vecdot(a: Any, b: Any, /, *, axis: int = -1) -> Any:
    """Products of vectors along an axis."""
    batch = batch_of((a, b))
    if batch is None:
        return named("vecdot")(a, b, axis=axis)
    if axis >= 0:
        axis -= max(len(a.shape), len(b.shape))
    return again(named("vecdot")(*line_up((a, b), batch), axis=axis), batch)


def tensordot(a: Any, b: Any, /, axes: Any = 2) -> Any:
    """Sums over pairs of axes: as one product of matrices for each entry."""
    batch = batch_of((a, b))
    if batch is None:
        return named("tensordot")(a, b, axes=axes)
    of_a, of_b = _pairs(a, b, axes)
    free_a = [k for k in range(len(a.shape)) if k not in of_a]
    free_b = [k for k in range(len(b.shape)) if k not in of_b]
    rows = tuple([a.shape[k] for k in free_a])
    columns = tuple([b.shape[k] for k in free_b])
    inner = math.prod([a.shape[k] for k in of_a])
    left = _matrix(a, [*free_a, *of_a], (math.prod(rows), inner))
    right = _matrix(b, [*of_b, *free_b], (inner, math.prod(columns)))
    return reshape(matmul(left, right), (*rows, *columns))


def _pairs(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        return list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    of_a, of_b = axes
    of_a = [of_a] if isinstance(of_a, int) else of_a
    of_b = [of_b] if isinstance(of_b, int) else of_b
    return [normalize_axis_index(k, len(a.shape)) for k in of_a], [normalize_axis_index(k, len(b.shape)) for k in of_b]


def _matrix(x: Any, order: list[int], shape: tuple[int, int]) -> Any:
    if x.__class__ is Batched:
        return reshape(moveaxis(x, tuple(order), tuple(range(len(order)))), shape)
    xp = namespace_for((x,))
    return xp.reshape(xp.permute_dims(x, tuple(order)), shape)


def outer(a: Any, b: Any, /) -> Any:
    """All products of entries of two vectors."""
    if batch_of((a, b)) is None:
        return named("outer")(a, b)
    a, b = (reshape(x, (-1,)) for x in (a, b))
    return reshape(a, (-1, 1)) * reshape(b, (1, -1))


def inner(a: Any, b: Any, /) -> Any:
    """Sums of products over the last axes."""
    if batch_of((a, b)) is None:
        return named("inner")(a, b)
    return a * b if not a.shape or not b.shape else tensordot(a, b, axes=(-1, -1))


def dot(a: Any, b: Any, /) -> Any:
    """NumPy's dot."""
    if batch_of((a, b)) is None:
        return named("dot")(a, b)
    if not a.shape or not b.shape:
        return a * b
    return tensordot(a, b, axes=(-1, -1 if len(b.shape) == 1 else -2))


def einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    """The batch is one more letter."""
    batch = batch_of(operands)
    if batch is None:
        return named("einsum")(subscripts, *operands, **options) if isinstance(subscripts, str) else _refused()
    if not isinstance(subscripts, str):
        return _refused()
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    if "->" not in subscripts:
        letters = sorted({c for c in inputs if c.isalpha() and inputs.count(c) == 1})
        output = ("..." if "..." in inputs else "") + "".join(letters)
    new = next(c for c in string.ascii_letters if c not in subscripts)
    terms, values = [], []
    some = False
    for term, x in zip(inputs.split(","), operands, strict=True):
        if shared(x, batch):
            terms.append(term)
            values.append(one_of(x, batch))
        else:
            some = True
            terms.append(new + term)
            values.append(x.value)
    found = _einsum(f"{','.join(terms)}->{new if some else ''}{output}", values, options)
    return again(found if some else namespace_for((found,)).expand_dims(found, axis=0), batch)


def _einsum(subscripts: str, values: list[Any], options: dict[str, Any]) -> Any:
    if batch_of(values) is not None:
        return einsum(subscripts, *values, **options)
    return namespace_for(values).einsum(subscripts, *values, **options)


def _refused() -> Any:
    raise ReadOut("einsum with lists of numbers for subscripts has no batching rule")


def kron(a: Any, b: Any, /) -> Any:
    """All products of entries, in blocks."""
    if batch_of((a, b)) is None:
        return named("kron")(a, b)
    ndim = max(len(a.shape), len(b.shape))
    shapes = [(1,) * (ndim - len(x.shape)) + tuple(x.shape) for x in (a, b)]
    apart = [
        reshape(x, tuple([n for pair in _interleaved(s, k) for n in pair]))
        for k, (x, s) in enumerate(zip((a, b), shapes, strict=True))
    ]
    return reshape(apart[0] * apart[1], tuple([n * m for n, m in zip(*shapes, strict=True)]))


def _interleaved(shape: tuple[int, ...], k: int) -> list[tuple[int, int]]:
    return [(n, 1) if k == 0 else (1, n) for n in shape]


def cross(a: Any, b: Any, /, *, axis: int = -1) -> Any:
    """Products of vectors in space."""
    batch = batch_of((a, b))
    if batch is None:
        return namespace_for((a, b)).linalg.cross(a, b, axis=axis)
    ndim = max(len(a.shape), len(b.shape))
    axis = normalize_axis_index(axis, ndim) - ndim
    values = [padded(within(x, batch), ndim) for x in (a, b)]
    xp = namespace_for(values)
    return again(xp.linalg.cross(*xp.broadcast_arrays(*values), axis=axis), batch)


def convolve(a: Any, b: Any, /, mode: str = "full") -> Any:
    """Convolution of two lines: no rule, entry by entry."""
    if batch_of((a, b)) is None:
        return named("convolve")(a, b, mode=mode)
    raise ReadOut("convolve has no batching rule")


RULES: dict[str, Callable[..., Any]] = {
    "convolve": convolve,
    "cross": cross,
    "dot": dot,
    "einsum": einsum,
    "inner": inner,
    "kron": kron,
    "matmul": matmul,
    "outer": outer,
    "tensordot": tensordot,
    "vecdot": vecdot,
}
