"""``np.fft``: transforms along several axes are made of those along one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.doors.numpy.shapes import roll
from pullback.doors.numpy.tools import arr, into, offers, xp
from pullback.ops import fourier

_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hfft(x: Any, *, n: Any, axis: int, norm: Any) -> Any:
    n = (x.shape[axis] - 1) * 2 if n is None else n
    return fourier.irfft(xp.conj(x), n=n, axis=axis, norm=_OTHER[norm])


def _ihfft(x: Any, *, n: Any, axis: int, norm: Any) -> Any:
    return xp.conj(fourier.rfft(x, n=n, axis=axis, norm=_OTHER[norm]))


def _one_axis(name: str, operator: Callable[..., Any]) -> None:
    def rule(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return into(out, operator(arr(a), n=n, axis=axis, norm=norm))

    offers(f"fft.{name}")(rule)


def _along_axes(x: Any, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """Pairs of a length and an axis."""
    if s is None:
        chosen = list(range(len(x.shape))) if axes is None else list(axes)
        return [(x.shape[k], k) for k in chosen]
    lengths = list(s)
    chosen = list(range(-len(lengths), 0)) if axes is None else list(axes)
    if len(lengths) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    return [(x.shape[k] if n == -1 else n, k) for n, k in zip(lengths, chosen, strict=True)]


def _complex_to_complex(one: Callable[..., Any], x: Any, s: Any, axes: Any, norm: Any) -> Any:
    for n, axis in reversed(_along_axes(x, s, axes)):
        x = one(x, n=n, axis=axis, norm=norm)
    return x


def _rfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    *others, (n, axis) = _along_axes(x, s, axes)
    x = fourier.rfft(x, n=n, axis=axis, norm=norm)
    for length, k in reversed(others):
        x = fourier.fft(x, n=length, axis=k, norm=norm)
    return x


def _irfftn(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    *others, (n, axis) = _along_axes(x, s, axes)
    for length, k in others:
        x = fourier.ifft(x, n=length, axis=k, norm=norm)
    return fourier.irfft(x, n=2 * (n - 1) if s is None else n, axis=axis, norm=norm)


def _several_axes(name: str, transform: Callable[..., Any]) -> None:
    def rule(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        return into(out, transform(arr(a), s, axes, norm))

    def of_two(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return into(out, transform(arr(a), s, axes, norm))

    offers(f"fft.{name}n")(rule)
    offers(f"fft.{name}2")(of_two)


for _name in ("fft", "ifft", "rfft", "irfft"):
    _one_axis(_name, getattr(fourier, _name))
_one_axis("hfft", _hfft)
_one_axis("ihfft", _ihfft)
_several_axes("fft", lambda x, s, axes, norm: _complex_to_complex(fourier.fft, x, s, axes, norm))
_several_axes("ifft", lambda x, s, axes, norm: _complex_to_complex(fourier.ifft, x, s, axes, norm))
_several_axes("rfft", _rfftn)
_several_axes("irfft", _irfftn)


def _shift(name: str, steps: Callable[[int], int]) -> None:
    def rule(x: Any, axes: Any = None) -> Any:
        x = arr(x)
        chosen = list(range(len(x.shape))) if axes is None else np.atleast_1d(axes).tolist()
        return roll(x, [steps(x.shape[k]) for k in chosen], chosen) if chosen else x

    offers(f"fft.{name}")(rule)


_shift("fftshift", lambda n: n // 2)
_shift("ifftshift", lambda n: -(n // 2))
