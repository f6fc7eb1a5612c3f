"""Windows of signals, and the short-time Fourier transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import wrap
from pullback.ops.windows import Grid, overlap_add
from pullback.ops.windows import windows as windows_of
from pullback.torch import fft
from pullback.torch._dtypes import as_dtype, get_default_dtype
from pullback.torch._export import FUNCTIONS, both, function, xp
from pullback.torch._functions_creation import made
from pullback.torch._promotion import category
from pullback.torch.nn.functional import _padding as padding


def _window(name: str, values: Any) -> None:
    def call(
        window_length: int,
        periodic: bool = True,
        *options: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **named: Any,
    ) -> Any:
        n = window_length + 1 if periodic and window_length > 1 else window_length
        found = values(n, *options, **{key: value for key, value in named.items() if key in ("alpha", "beta")})
        return made(found[:window_length].astype(as_dtype(dtype) or get_default_dtype()), requires_grad)

    call.__doc__ = f"The {name} window; a periodic one is the first part of one that is longer by one."
    function(f"{name}_window")(call)


def _hamming(n: int, alpha: float = 0.54, beta: float = 0.46) -> Any:
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / max(n - 1, 1)) if n > 1 else np.ones(n)


_window("hann", np.hanning)
_window("hamming", _hamming)
_window("blackman", np.blackman)
_window("bartlett", np.bartlett)
_window("kaiser", lambda n, beta=12.0: np.kaiser(n, beta))


def _frame_window(x: Any, window: Any, win_length: Any, n_fft: int) -> Any:
    """The window, in the middle of a frame."""
    length = n_fft if win_length is None else win_length
    window = wrap(type(x), np.ones(length, dtype=x.real.dtype)) if window is None else window
    left = (n_fft - length) // 2
    return FUNCTIONS["constant_pad_nd"](window, (left, n_fft - length - left))


@both("stft")
def _stft(
    input: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: Any = None,
    return_complex: Any = None,
    align_to_window: Any = None,
) -> Any:
    """The Fourier transforms of frames of a signal (or of each row): (frequency, frame)."""
    if return_complex is None and category(input.dtype) != 3:
        raise lesson(
            RuntimeError,
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release.",
            instead="return_complex=True.",
        )
    x = xp.expand_dims(input, axis=0) if input.ndim == 1 else input
    hop = n_fft // 4 if hop_length is None else hop_length
    if center:
        x = padding.pad(x, (n_fft // 2, n_fft // 2), mode=pad_mode)
    frames = windows_of(x, (n_fft,), (hop,)) * _frame_window(x, window, win_length, n_fft)
    real = category(frames.dtype) == 2 and onesided is not False
    norm = "ortho" if normalized else None
    found = fft.rfft(frames, norm=norm) if real else fft.fft(frames, norm=norm)
    found = xp.matrix_transpose(found)
    found = xp.squeeze(found, axis=0) if input.ndim == 1 else found
    return found if return_complex is not False else FUNCTIONS["view_as_real"](found)


@both("istft")
def _istft(
    input: Any,
    n_fft: int,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: Any = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    """The signal whose `stft` this is (nearly)."""
    x = xp.expand_dims(input, axis=0) if input.ndim == 2 else input
    hop = n_fft // 4 if hop_length is None else hop_length
    one = (x.shape[1] != n_fft) if onesided is None else onesided
    spectra = xp.matrix_transpose(x)
    norm = "ortho" if normalized else None
    frames = fft.irfft(spectra, n_fft, norm=norm) if one else fft.ifft(spectra, norm=norm)
    if not return_complex and category(frames.dtype) == 3:
        frames = xp.real(frames)
    shape = _frame_window(frames, window, win_length, n_fft)
    count = frames.shape[1]
    total, grid = n_fft + hop * (count - 1), Grid((n_fft,), (hop,), (1,))
    signal = overlap_add(frames * shape, (total,), grid)
    weight = overlap_add(xp.broadcast_to(shape * shape, (1, count, n_fft)), (total,), grid)
    start = n_fft // 2 if center else 0
    end = (start + length) if length is not None else (total - n_fft // 2 if center else total)
    inside = slice(start, min(end, total))
    if float(np.abs(weight._array[:, inside]).min(initial=1.0)) < 1e-11:
        raise lesson(
            RuntimeError,
            "istft: window overlap add min: 1",
            why="some samples are in no window.",
            instead="center=True.",
        )
    found = signal[:, inside] / weight[:, inside]
    if end > total:
        found = FUNCTIONS["constant_pad_nd"](found, (0, end - total))
    return xp.squeeze(found, axis=0) if input.ndim == 2 else found
