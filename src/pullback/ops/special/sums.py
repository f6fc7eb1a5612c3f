"""Functions that are composed of others: SciPy's `logsumexp` and `softmax`, and the multivariate gamma function."""

from __future__ import annotations

import math
from typing import Any

from pullback.core import arrays
from pullback.ops.activations import log_softmax as log_softmax_of_axis
from pullback.ops.activations import softmax as softmax_of_axis
from pullback.ops.complexes import abs_, sign
from pullback.ops.elementary import exp, log
from pullback.ops.families import without_graph
from pullback.ops.reductions import logsumexp as plain_logsumexp
from pullback.ops.reductions import sum_
from pullback.ops.special.gammas import gammaln


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` over `axis`, without overflow.

    Parameters
    ----------
    a
        A Tensor or array.
    axis
        An axis, a tuple of axes, or ``None`` for all.
    b
        Factors of ``exp(a)``, broadcast with `a`; ``None`` for ones.  They may be 0 or negative, and are differentiable.
    return_sign
        Return ``(log |sum|, sign of sum)``; without it a negative sum gives NaN.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1000.0, 1000.0], requires_grad=True)
    >>> pb.autograd.grad(pb.special.logsumexp(x, b=[1.0, 3.0]), x)
    (tensor([0.25, 0.75]),)
    """
    if b is None and not return_sign:
        return plain_logsumexp(a, axis=axis, keepdims=keepdims)
    bare = without_graph(a)
    xp = arrays.namespace(bare)
    b = xp.asarray(1.0 if b is None else b, dtype=bare.dtype) if not hasattr(b, "dtype") else b
    live = xp.where(
        xp.not_equal(without_graph(b), 0), xp.real(bare) if arrays.is_complex(bare.dtype) else bare, -xp.inf
    )
    top = xp.max(live, axis=axis, keepdims=True)  # a constant: whatever it is, it cancels
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    total = sum_(b * exp(a - top), axis=axis, keepdims=keepdims)
    shift = top if keepdims else xp.reshape(top, total.shape)
    if return_sign:
        return log(abs_(total)) + shift, sign(total)
    return log(total) + shift


def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over `axis`: an axis, a tuple of axes, or ``None`` for all.

    >>> import pullback as pb
    >>> pb.special.softmax(pb.tensor([[0.0, 0.0], [0.0, 0.0]]))
    tensor([[0.25, 0.25],
            [0.25, 0.25]])
    """
    if isinstance(axis, int):
        return softmax_of_axis(x, axis)
    return exp(x - plain_logsumexp(x, axis=axis, keepdims=True))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, exact also where that is tiny.

    >>> import pullback as pb
    >>> pb.special.log_softmax(pb.tensor([0.0, 1000.0]))
    tensor([-1000.,     0.])
    """
    if isinstance(axis, int):
        return log_softmax_of_axis(x, axis)
    return x - plain_logsumexp(x, axis=axis, keepdims=True)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function: ``d(d - 1)/4 log π + Σ log Γ(a - j/2)`` over j < d.

    >>> import pullback as pb
    >>> pb.special.multigammaln(pb.tensor(3.0), 2)
    tensor(1.54991...)
    """
    total = gammaln(a)
    for j in range(1, int(d)):
        total = total + gammaln(a - j / 2)
    return total + d * (d - 1) / 4 * math.log(math.pi)
