"""Discrete Fourier transforms along one axis; those along several are one after the other.

Each is linear over the real numbers, so a rule is its adjoint.  Without its factor the transform F of n numbers is
symmetric, hence the adjoint of F is F* = n F⁻¹: the inverse transform with the other convention of factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor
from pullback.ops.axes import along
from pullback.ops.indexing import embed, key_of, read
from pullback.ops.named import named
from pullback.ops.registry import Make, Sample, register

#: The convention of factors that makes the inverse transform the adjoint.
OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
_INVERSE = {"fft": "ifft", "ifft": "fft"}


def _options(norm: Any) -> dict[str, Any]:
    return {"norm": "backward" if norm is None else norm}


def _complex(xp: Any, x: Any) -> Any:
    """Other libraries transform complex numbers only."""
    if xp is np or arrays.is_complex(x.dtype):
        return x
    return arrays.cast(x, np.result_type(arrays.dtype_of(x), np.complex64), xp)


def _fit(x: Any, length: int, axis: int) -> Any:
    """`x` cut off, or continued by zeros, to a length along an axis: the adjoint of doing the opposite."""
    have, ndim = x.shape[axis], len(x.shape)
    key = key_of(along(ndim, axis, slice(0, min(have, length))))
    if have > length:
        return read(x, key)
    shape = tuple([length if k == axis % ndim else n for k, n in enumerate(x.shape)])
    return embed(x, shape, key) if have < length else x


class Fft(Primitive):
    """``yₖ = Σⱼ xⱼ exp(∓2πi jk / n)`` times a factor: ``fft`` or ``ifft``.  vjp: x̄ = the other of both, of ȳ, cut to size"""

    linear = True
    node_name = "FftC2CBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, name: str, n: int, axis: int, norm: Any) -> Any:
        ctx.name, ctx.axis, ctx.norm, ctx.length = name, axis, norm, x.shape[axis]
        return getattr(ctx.xp.fft, name)(_complex(ctx.xp, x), n=n, axis=axis, **_options(norm))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        n = ct.shape[ctx.axis]
        found = Fft.apply(ct, name=_INVERSE[ctx.name], n=n, axis=ctx.axis, norm=OTHER[ctx.norm])
        return _fit(found, ctx.length, ctx.axis)


class Rfft(Primitive):
    """``fft`` of real numbers, the first half.  vjp: x̄ = real part of the adjoint of ``fft``, of ȳ continued by zeros"""

    linear = True
    node_name = "FftR2CBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, n: int, axis: int, norm: Any) -> Any:
        ctx.n, ctx.axis, ctx.norm, ctx.length = n, axis, norm, x.shape[axis]
        return ctx.xp.fft.rfft(x, n=n, axis=axis, **_options(norm))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        whole = _fit(ct, ctx.n, ctx.axis)
        found = Fft.apply(whole, name="ifft", n=ctx.n, axis=ctx.axis, norm=OTHER[ctx.norm])
        return _fit(ctx.xp.real(found), ctx.length, ctx.axis)


class Irfft(Primitive):
    """The real numbers whose ``rfft`` is x.  vjp: x̄ = w ``rfft(ȳ)``, w counting how often an entry stands in the whole"""

    linear = True
    node_name = "FftC2RBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, n: int, axis: int, norm: Any) -> Any:
        ctx.n, ctx.axis, ctx.norm, ctx.length = n, axis, norm, x.shape[axis]
        return ctx.xp.fft.irfft(_complex(ctx.xp, x), n=n, axis=axis, **_options(norm))

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        found = Rfft.apply(ct, n=ctx.n, axis=ctx.axis, norm=OTHER[ctx.norm])
        half = found.shape[ctx.axis]
        twice = np.full(half, 2.0)
        twice[0] = 1.0
        if ctx.n % 2 == 0:
            twice[-1] = 1.0
        weights = twice.reshape([half if k == ctx.axis % len(found.shape) else 1 for k in range(len(found.shape))])
        bare = found._array if isinstance(found, Tensor) else found
        if not isinstance(bare, np.ndarray):
            weights = arrays.namespace(bare).asarray(weights)
        weights = arrays.cast(weights, found.dtype, arrays.namespace(weights))
        return _fit(found * weights, ctx.length, ctx.axis)


def _length(x: Any, n: Any, axis: int) -> int:
    n = x.shape[axis] if n is None else int(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


@named
def fft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """The discrete Fourier transform along `axis`.

    Parameters
    ----------
    x
        Real or complex.
    n
        The length of the transform: `x` is cut off, or continued by zeros.
    norm
        Where the factor 1/n stands: ``"backward"`` (in the inverse, also for ``None``), ``"forward"``, or ``"ortho"``
        (its root in both).

    Examples
    --------
    >>> import pullback as pb
    >>> pb.fft.fft(pb.tensor([1.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    return Fft.apply(x, name="fft", n=_length(x, n, axis), axis=axis, norm=norm)


@named
def ifft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """The inverse of `fft`, with the same parameters."""
    return Fft.apply(x, name="ifft", n=_length(x, n, axis), axis=axis, norm=norm)


@named
def rfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """`fft` of real numbers: the first ``n // 2 + 1`` entries, which determine the others."""
    return Rfft.apply(x, n=_length(x, n, axis), axis=axis, norm=norm)


@named
def irfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """The inverse of `rfft`: `n` real numbers, an even number where it is not given."""
    n = 2 * (x.shape[axis] - 1) if n is None else int(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return Irfft.apply(x, n=n, axis=axis, norm=norm)


# -------------------------------------------------------------------------------------------------------------- registry
def _lines(make: Make) -> Any:
    yield Sample((make(4),))
    yield Sample((make(2, 3),), {"axis": 0, "norm": "ortho"})
    yield Sample((make(2, 3),), {"n": 5, "norm": "forward"})
    yield Sample((make(2, 5),), {"n": 3})


def _halves(make: Make) -> Any:
    yield from _lines(make)
    yield Sample((make(3),), {"n": 5})


def _register(name: str, operator: Any, call: Any, samples: Any, **facts: Any) -> None:
    register(f"fft.{name}", operator, samples, call=call, reference=getattr(np.fft, name), public=False, **facts)


_register("fft", Fft, fft, _lines)
_register("ifft", Fft, ifft, _lines)
_register("irfft", Irfft, irfft, _halves)
_register("rfft", Rfft, rfft, _lines, complex=False)
