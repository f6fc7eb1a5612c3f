"""Discrete convolution of vectors; imported when NumPy's door is first used."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.primitive import Primitive
from pullback.ops.axes import conj
from pullback.ops.indexing import key_of, read
from pullback.ops.registry import Make, Sample, register
from pullback.ops.shapes import reshape


class Convolve(Primitive):
    """``yₖ = Σⱼ aⱼ bₖ₋ⱼ``, all of it.  vjp: āⱼ = Σₖ ȳₖ b*ₖ₋ⱼ, the middle of ȳ convolved with b* reversed; b̄ likewise"""

    node_name = "ConvolutionBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.lengths = a.shape[0], b.shape[0]
        need_a, need_b = ctx.needs_input_grad
        ctx.save_for_backward(a if need_b else None, b if need_a else None)
        return np.convolve(a, b) if ctx.xp is np else _by_matrix(ctx.xp, a, b)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        a, b = ctx.saved_tensors
        (n, m), (need_a, need_b) = ctx.lengths, ctx.needs_input_grad
        return (
            _middle(ctx.xp, ct, b, m - 1, n) if need_a else None,
            _middle(ctx.xp, ct, a, n - 1, m) if need_b else None,
        )


def _middle(xp: Any, ct: Any, other: Any, start: int, length: int) -> Any:
    found = Convolve.apply(ct, xp.flip(conj(xp, other), axis=0))
    return read(found, key_of(slice(start, start + length)))


def _by_matrix(xp: Any, a: Any, b: Any) -> Any:
    """The same in the words of the Array API standard: shifted copies of b, side by side, times a."""
    n, m = a.shape[0], b.shape[0]
    zeros = xp.zeros(n - 1, dtype=b.dtype)
    padded = xp.concat([zeros, b, zeros])
    rows = xp.stack([padded[n - 1 - j : n - 1 - j + n + m - 1] for j in range(n)])
    return xp.sum(rows * xp.expand_dims(a, axis=1), axis=0)


def convolve(a: Any, b: Any, /) -> Any:
    """The convolution of two vectors of lengths n and m, neither empty: a vector of length ``n + m - 1``.

    >>> import pullback as pb
    >>> from pullback.ops.convolution import convolve
    >>> convolve(pb.tensor([1.0, 2.0]), pb.tensor([1.0, 1.0, 1.0]))
    tensor([1., 3., 3., 2.])
    """
    return Convolve.apply(*[x if x.shape else reshape(x, (1,)) for x in (a, b)])


def _vectors(make: Make) -> Any:
    yield Sample((make(4), make(3)))
    yield Sample((make(2), make(3)))
    yield Sample((make(1), make(1)))


register("convolve", Convolve, _vectors, call=convolve, reference=np.convolve, public=False)
