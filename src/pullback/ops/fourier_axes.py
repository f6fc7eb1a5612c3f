"""Fourier transforms along several axes, of Hermitian numbers, their shifts and frequencies: made of those along one axis."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.ops.complexes import conj
from pullback.ops.creation import check_device, no_samples
from pullback.ops.fourier import OTHER, fft, ifft, irfft, rfft
from pullback.ops.named import named
from pullback.ops.registry import MADE, Make, Sample, register
from pullback.ops.shapes import roll, shape_of


# ---------------------------------------------------------------------------------------------------------- several axes
def _lengths(name: str, x: Any, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """Pairs of a length (``None``: as long as `x`) and an axis."""
    ndim = len(shape_of(x))
    if s is None:
        chosen = range(ndim) if axes is None else axes
        return [(None, operator.index(k)) for k in chosen]
    lengths = [None if n is None or n == -1 else operator.index(n) for n in s]
    chosen = range(ndim - len(lengths), ndim) if axes is None else axes
    if len(lengths) != len(chosen):
        raise lesson(
            ValueError,
            f"{name}() needs one length in s for every axis in axes, but got {len(lengths)} and {len(chosen)}",
        )
    return list(zip(lengths, chosen, strict=True))


def _one_after_the_other(one: Any, x: Any, places: Sequence[tuple[Any, int]], norm: Any) -> Any:
    for n, axis in reversed(places):
        x = one(x, n=n, axis=axis, norm=norm)
    return x


def _split_last(name: str, x: Any, s: Any, axes: Any) -> tuple[list[tuple[Any, int]], tuple[Any, int]]:
    places = _lengths(name, x, s, axes)
    if not places:
        raise lesson(ValueError, f"{name}() needs at least one axis")
    return places[:-1], places[-1]


@named
def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    """The discrete Fourier transform along several axes.

    Parameters
    ----------
    x
        Real or complex.
    s
        The lengths of the transforms: `x` is cut off, or continued by zeros.  Without `axes` they are those of the last axes.
    axes
        All of them when left out.
    norm
        As in `fft`.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.fft.fftn(pb.tensor([[1.0, 0.0], [0.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]])
    """
    return _one_after_the_other(fft, x, _lengths("fftn", x, s, axes), norm)


@named
def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    """The inverse of `fftn`, with the same parameters."""
    return _one_after_the_other(ifft, x, _lengths("ifftn", x, s, axes), norm)


@named
def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    """`fftn` of real numbers: along the last of `axes` only the first half, which determines the other."""
    others, (n, axis) = _split_last("rfftn", x, s, axes)
    return _one_after_the_other(fft, rfft(x, n=n, axis=axis, norm=norm), others, norm)


@named
def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: Any = "backward") -> Any:
    """The inverse of `rfftn`: along the last of `axes` an even number of entries where it is not given."""
    others, (n, axis) = _split_last("irfftn", x, s, axes)
    for length, k in others:
        x = ifft(x, n=length, axis=k, norm=norm)
    return irfft(x, n=n, axis=axis, norm=norm)


# ------------------------------------------------------------------------------------------------------------- Hermitian
@named
def hfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """The transform of numbers whose second half is the mirrored conjugate of the first, which is given: it is real.

    Parameters
    ----------
    n
        The length of the result; ``2 (m - 1)`` for m numbers when left out.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.fft.hfft(pb.tensor([1.0, 0.5j, 0.0]))
    tensor([1., 2., 1., 0.])
    """
    return irfft(conj(x) if n is None or n > 0 else x, n=n, axis=axis, norm=OTHER[norm])


@named
def ihfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: Any = "backward") -> Any:
    """The inverse of `hfft`: the first half of the numbers whose transform is the real `x`."""
    return conj(rfft(x, n=n, axis=axis, norm=OTHER[norm]))


# ------------------------------------------------------------------------------------------------- shifts and frequencies
def _shifted(x: Any, axes: Any, steps: Any) -> Any:
    shape = shape_of(x)
    chosen = range(len(shape)) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    moved = tuple([operator.index(k) for k in chosen])
    return roll(x, tuple([steps(shape[k]) for k in moved]), axis=moved)


@named
def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """`x` with the entry of frequency 0 moved to the middle along `axes` (all when left out).

    >>> import pullback as pb
    >>> pb.fft.fftshift(pb.tensor([0.0, 1.0, 2.0, 3.0]))
    tensor([2., 3., 0., 1.])
    """
    return _shifted(x, axes, lambda n: n // 2)


@named
def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, lambda n: -(n // 2))


@named
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the entries of `fft`, for `n` samples at a distance of `d`.

    >>> import pullback as pb
    >>> pb.fft.fftfreq(4, d=0.5)
    tensor([ 0. ,  0.5, -1. , -0.5])
    """
    check_device(device)
    return Tensor(np.fft.fftfreq(n, d).astype(np.float64 if dtype is None else dtype))


@named
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the entries of `rfft`, for `n` samples at a distance of `d`."""
    check_device(device)
    return Tensor(np.fft.rfftfreq(n, d).astype(np.float64 if dtype is None else dtype))


# -------------------------------------------------------------------------------------------------------------- registry
def _planes(make: Make) -> Any:
    yield Sample((make(2, 3),))
    yield Sample((make(2, 2, 3),), {"axes": (0, -1), "norm": "ortho"})
    yield Sample((make(2, 3),), {"s": (3, 4), "axes": (0, 1), "norm": "forward"})


def _lines(make: Make) -> Any:
    yield Sample((make(4),))
    yield Sample((make(3, 2),), {"axis": 0, "norm": "ortho"})
    yield Sample((make(2, 3),), {"n": 5, "norm": "forward"})


def _shifts(make: Make) -> Any:
    yield Sample((make(2, 3),))
    yield Sample((make(2, 3),), {"axes": 1})
    yield Sample((make(5),), {"axes": (0,)})


for _call, _samples, _complex in (
    (fftn, _planes, True),
    (ifftn, _planes, True),
    (rfftn, _planes, False),
    (irfftn, _planes, True),
    (hfft, _lines, True),
    (ihfft, _lines, False),
    (fftshift, _shifts, True),
    (ifftshift, _shifts, True),
):
    register(
        f"fft.{_call.__name__}",
        None,
        _samples,
        call=_call,
        reference=getattr(np.fft, _call.__name__),
        public=False,
        complex=_complex,
    )
for _made in (fftfreq, rfftfreq):
    register(f"fft.{_made.__name__}", None, no_samples, call=_made, public=False, differentiable=False, reason=MADE)
