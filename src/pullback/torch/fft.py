"""``torch.fft``: discrete Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as _np

from pullback.core.errors import lesson as _lesson
from pullback.ops import fourier as _fourier
from pullback.torch._dims import axis_of as _axis_of
from pullback.torch._dtypes import as_dtype as _as_dtype
from pullback.torch._dtypes import get_default_dtype as _get_default_dtype
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._export import numpy_names as _numpy_names
from pullback.torch._export import xp as _xp
from pullback.torch._functions_creation import made as _made
from pullback.torch._missing import refuse as _refuse
from pullback.torch._promotion import as_float as _as_float
from pullback.torch._promotion import category as _category

__all__: list[str] = []
_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _enter(call: Any) -> Any:
    __all__.append(call.__name__)
    return _numpy_names(call, call.__name__)


def _ready(name: str, x: Any, real: bool = False) -> Any:
    """The argument as floating-point numbers; of transforms of real numbers only, refused where complex."""
    if real and _category(x.dtype) == 3:
        raise _lesson(RuntimeError, f"{name} expects a real input tensor, but got {x.dtype}", instead="torch.fft.fft.")
    return _as_float(x)


def _axis(x: Any, dim: int) -> int:
    if not x.ndim:
        raise _lesson(RuntimeError, "fft transforms need at least one axis", instead="x.reshape(1).")
    return _axis_of(x, dim)


def _length(n: Any) -> Any:
    if n is not None and n < 1:
        raise _lesson(RuntimeError, f"Invalid number of data points ({n}) specified")
    return n


def _check_norm(norm: Any) -> Any:
    if norm not in _OTHER:
        raise _lesson(
            RuntimeError, f'Invalid normalization mode: "{norm}"', instead='"forward", "backward" or "ortho".'
        )
    return norm


# ------------------------------------------------------------------------------------------------- along one axis
@_enter
def fft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """``yₖ = Σⱼ xⱼ exp(-2πi jk / n)`` along `dim`, of `input` cut off or continued by zeros to the length `n`."""
    x = _ready("fft", input)
    return _fourier.fft(x, n=_length(n), axis=_axis(x, dim), norm=_check_norm(norm))


@_enter
def ifft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of `fft`."""
    x = _ready("ifft", input)
    return _fourier.ifft(x, n=_length(n), axis=_axis(x, dim), norm=_check_norm(norm))


@_enter
def rfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """`fft` of real numbers: its first half, which determines the other one."""
    x = _ready("rfft", input, real=True)
    return _fourier.rfft(x, n=_length(n), axis=_axis(x, dim), norm=_check_norm(norm))


@_enter
def irfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of `rfft`: `n` real numbers, an even number where it is not given."""
    x = _ready("irfft", input)
    axis = _axis(x, dim)
    return _fourier.irfft(x, n=_length(2 * (x.shape[axis] - 1) if n is None else n), axis=axis, norm=_check_norm(norm))


@_enter
def hfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The real transform of the first half of a Hermitian signal."""
    return irfft(_FUNCTIONS["conj"](input), n, dim, _OTHER[_check_norm(norm)])


@_enter
def ihfft(input: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
    """The inverse of `hfft`."""
    return _FUNCTIONS["conj"](rfft(input, n, dim, _OTHER[_check_norm(norm)]))


# ------------------------------------------------------------------------------------------------- along several axes
def _plan(x: Any, s: Any, dim: Any) -> list[tuple[Any, int]]:
    """Pairs of a length (``None``: as it is) and an axis."""
    if dim is not None:
        axes = [_axis_of(x, k) for k in ((dim,) if isinstance(dim, int) else dim)]
        if len(set(axes)) != len(axes):
            raise _lesson(RuntimeError, "FFT dims must be unique")
    elif s is not None:
        sizes = (s,) if isinstance(s, int) else tuple(s)
        if len(sizes) > x.ndim:
            raise _lesson(
                RuntimeError, f"Got shape with {len(sizes)} values but input tensor only has {x.ndim} dimensions."
            )
        axes = list(range(x.ndim - len(sizes), x.ndim))
    else:
        axes = list(range(x.ndim))
    lengths = (
        [None] * len(axes)
        if s is None
        else [None if n == -1 else _length(n) for n in ((s,) if isinstance(s, int) else s)]
    )
    if len(lengths) != len(axes):
        raise _lesson(RuntimeError, "When given, dim and shape arguments must have the same length")
    return list(zip(lengths, axes, strict=True))


@_enter
def fftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """`fft` along several axes, all unless `dim` or `s` says otherwise."""
    for n, axis in _plan(input, s, dim):
        input = fft(input, n, axis, norm)
    return input


@_enter
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of `fftn`."""
    for n, axis in _plan(input, s, dim):
        input = ifft(input, n, axis, norm)
    return input


@_enter
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """`fftn` of real numbers: the first half along the last of the axes."""
    *others, (n, axis) = _plan(input, s, dim)
    input = rfft(input, n, axis, norm)
    for length, k in others:
        input = fft(input, length, k, norm)
    return input


@_enter
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of `rfftn`."""
    *others, (n, axis) = _plan(input, s, dim)
    for length, k in others:
        input = ifft(input, length, k, norm)
    return irfft(input, n, axis, norm)


@_enter
def hfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """`hfft` along several axes."""
    *others, (n, axis) = _plan(input, s, dim)
    for length, k in others:
        input = fft(input, length, k, norm)
    return hfft(input, n, axis, norm)


@_enter
def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The inverse of `hfftn`."""
    *others, (n, axis) = _plan(input, s, dim)
    input = ihfft(input, n, axis, norm)
    for length, k in others:
        input = ifft(input, length, k, norm)
    return input


def _of_two_axes(name: str) -> Any:
    several = globals()[f"{name}n"]

    def call(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
        return several(input, s, dim, norm)

    call.__name__ = f"{name}2"
    call.__doc__ = f"`{name}n` along the last two axes."
    return _enter(call)


fft2, ifft2, rfft2 = _of_two_axes("fft"), _of_two_axes("ifft"), _of_two_axes("rfft")
irfft2, hfft2, ihfft2 = _of_two_axes("irfft"), _of_two_axes("hfft"), _of_two_axes("ihfft")


# ------------------------------------------------------------------------------------------------- frequencies
@_enter
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies that `fft` belongs to."""
    return _made(_np.fft.fftfreq(n, d).astype(_as_dtype(dtype) or _get_default_dtype()), requires_grad)


@_enter
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies that `rfft` belongs to."""
    return _made(_np.fft.rfftfreq(n, d).astype(_as_dtype(dtype) or _get_default_dtype()), requires_grad)


def _shifted(input: Any, dim: Any, steps: Any) -> Any:
    axes = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return _xp.roll(input, tuple([steps(input.shape[k]) for k in axes]), axis=tuple(axes)) if axes else input


@_enter
def fftshift(input: Any, dim: Any = None) -> Any:
    """The zero frequency moved to the middle."""
    return _shifted(input, dim, lambda n: n // 2)


@_enter
def ifftshift(input: Any, dim: Any = None) -> Any:
    """The inverse of `fftshift`."""
    return _shifted(input, dim, lambda n: -(n // 2))


def __getattr__(name: str) -> Any:
    _refuse("fft", name)
