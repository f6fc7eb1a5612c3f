"""``np.fft``: the transforms of the standard's extension, with NumPy's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback import fft as fft_namespace
from pullback.doors.numpy.tools import arr, into, offers

#: The extension of the standard.
fft: Any = fft_namespace


def _one_axis(name: str, operator: Callable[..., Any]) -> None:
    def rule(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return into(out, operator(arr(a), n=n, axis=axis, norm=norm))

    offers(f"fft.{name}")(rule)


def _several_axes(name: str, transform: Callable[..., Any]) -> None:
    def rule(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        return into(out, transform(arr(a), s=s, axes=axes, norm=norm))

    def of_two(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return into(out, transform(arr(a), s=s, axes=axes, norm=norm))

    offers(f"fft.{name}n")(rule)
    offers(f"fft.{name}2")(of_two)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _one_axis(_name, getattr(fft, _name))
for _name in ("fft", "ifft", "rfft", "irfft"):
    _several_axes(_name, getattr(fft, f"{_name}n"))


@offers("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Any:
    """``np.fft.fftshift``."""
    return fft.fftshift(arr(x), axes=axes)


@offers("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Any:
    """``np.fft.ifftshift``."""
    return fft.ifftshift(arr(x), axes=axes)
