"""Images of another size, or seen through a grid: ``interpolate``, ``grid_sample``; pixels moved between channels and space.

Interpolation is linear in the image, and separable: one matrix per axis, which only depends on the lengths.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.ops.indexing import Key, read_at
from pullback.torch.nn.functional._axes import along_axes, means
from pullback.torch.nn.functional._common import xp

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
_KEYS = -0.75  # the slope of torch's cubic kernel (Keys 1981, "Cubic convolution interpolation")


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Any:
    """The last axes of `input` (N, C, ...) in another size.

    Parameters
    ----------
    size, scale_factor
        One of them: lengths, or what the old ones are multiplied with; one number for all axes, or one for each.
    mode
        ``"nearest"``, ``"nearest-exact"``, ``"linear"``, ``"bilinear"``, ``"trilinear"``, ``"bicubic"``, ``"area"``.
    align_corners
        Whether the centres of the corner pixels stay in place, or else the borders of the image.
    """
    if input.ndim < 3:
        raise lesson(NotImplementedError, f"interpolate takes (N, C, ...) of 3 to 5 axes, got {input.ndim}")
    shape = tuple(input.shape[2:])
    if antialias:
        raise lesson(NotImplementedError, "interpolate(antialias=True) is not offered", instead="avg_pool2d first.")
    if align_corners is not None and mode not in _LINEAR:
        raise lesson(
            ValueError,
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear",
        )
    if _LINEAR.get(mode, len(shape)) != len(shape):
        raise lesson(NotImplementedError, f"mode {mode!r} is for {_LINEAR[mode]} axes, the input has {len(shape)}")
    sizes, scales = _sizes(shape, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return along_axes(input, [means(n, wanted) for n, wanted in zip(shape, sizes, strict=True)])
    if mode in ("nearest", "nearest-exact"):
        for axis, (n, wanted, scale) in enumerate(zip(shape, sizes, scales, strict=True)):
            input = xp.take(input, _nearest(n, wanted, scale, mode == "nearest-exact"), axis=axis + 2)
        return input
    if mode not in _LINEAR:
        raise lesson(NotImplementedError, f"interpolate has no mode {mode!r}")
    weights = _cubic if mode == "bicubic" else _linear
    matrices = [
        weights(_sources(n, wanted, scale, bool(align_corners), mode != "bicubic"), n)
        for n, wanted, scale in zip(shape, sizes, scales, strict=True)
    ]
    return along_axes(input, matrices)


def _sizes(shape: tuple[int, ...], size: Any, factor: Any, recompute: Any) -> tuple[list[int], list[float]]:
    """The new lengths, and what one step in the new image is in the old one."""
    if (size is None) == (factor is None):
        raise lesson(ValueError, "only one of size or scale_factor should be defined, and one of them must be")
    given = size if factor is None else factor
    values = list(given) if isinstance(given, (tuple, list)) else [given] * len(shape)
    if len(values) != len(shape):
        raise lesson(ValueError, f"Input and output must have the same number of spatial dimensions, got {values}")
    if size is not None or recompute:
        sizes = (
            [int(v) for v in values]
            if size is not None
            else [math.floor(n * v) for n, v in zip(shape, values, strict=True)]
        )
        scales = [n / wanted for n, wanted in zip(shape, sizes, strict=True)]
    else:
        sizes = [math.floor(n * v) for n, v in zip(shape, values, strict=True)]
        scales = [1 / v for v in values]
    if min(sizes) < 1:
        raise lesson(RuntimeError, f"Input and output sizes should be greater than 0, but got output {sizes}")
    return sizes, scales


def _nearest(n: int, wanted: int, scale: float, exact: bool) -> Any:
    places = np.float32(np.arange(wanted) + (0.5 if exact else 0.0)) * np.float32(
        scale
    )  # torch counts in single precision
    return np.minimum(np.floor(places).astype(np.intp), n - 1)


def _sources(n: int, wanted: int, scale: float, align: bool, clamped: bool) -> Any:
    """Where the new pixels stand in the old image."""
    if align:
        return np.arange(wanted) * ((n - 1) / (wanted - 1) if wanted > 1 else 0.0)
    places = (np.arange(wanted) + 0.5) * scale - 0.5
    return np.maximum(places, 0.0) if clamped else places


def _linear(places: Any, n: int) -> Any:
    """The matrix of linear interpolation at these places."""
    low = np.minimum(np.floor(places).astype(int), n - 1)
    high, part = np.minimum(low + 1, n - 1), places - low
    matrix, rows = np.zeros((len(places), n)), np.arange(len(places))
    np.add.at(matrix, (rows, low), 1 - part)
    np.add.at(matrix, (rows, high), part)
    return matrix


def _cubic_weights(part: Any) -> list[Any]:
    """The weights of the four neighbours at -1, 0, 1, 2, for a place between 0 and 1."""

    def near(t: Any) -> Any:
        return ((_KEYS + 2) * t - (_KEYS + 3)) * t * t + 1

    def far(t: Any) -> Any:
        return ((_KEYS * t - 5 * _KEYS) * t + 8 * _KEYS) * t - 4 * _KEYS

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _cubic(places: Any, n: int) -> Any:
    """The matrix of cubic interpolation; beyond the border, the pixel at the border."""
    low = np.floor(places).astype(int)
    matrix, rows = np.zeros((len(places), n)), np.arange(len(places))
    for k, weight in enumerate(_cubic_weights(places - low)):
        np.add.at(matrix, (rows, np.clip(low + k - 1, 0, n - 1)), weight)
    return matrix


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """Old name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Old name: `interpolate` by the nearest pixel."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Old name: `interpolate` with ``"bilinear"`` and the corners aligned."""
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


# ----------------------------------------------------------------------------------------------------- grids
def affine_grid(theta: Any, size: Any, align_corners: Any = None) -> Any:
    """The grid that takes an image of this size through affine maps `theta` (N, 2, 3) or (N, 3, 4), for `grid_sample`."""
    shape = tuple(size)[2:]
    lines = []
    for n in shape:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * ((n - 1) / n))
    mesh = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*mesh[::-1], np.ones(shape)], axis=-1).astype(theta.dtype)
    found = xp.matmul(points.reshape(-1, len(shape) + 1), xp.matrix_transpose(theta))
    return xp.reshape(found, (theta.shape[0], *shape, len(shape)))


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Any:
    """`input` (N, C, H, W) or (N, C, D, H, W) at the places of `grid` (N, ..., 2 or 3), from -1 to 1 along each axis.

    Differentiable in the image and, but for ``mode="nearest"``, in the grid.
    """
    if input.ndim not in (4, 5) or grid.ndim != input.ndim or grid.shape[-1] != input.ndim - 2:
        raise lesson(
            RuntimeError,
            f"grid_sample(): expected (N, C, H, W) with a grid (N, H, W, 2), or one axis more, but got {list(input.shape)} "
            f"and {list(grid.shape)}",
        )
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise lesson(
            ValueError,
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', got {mode!r}",
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise lesson(
            ValueError,
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', got {padding_mode!r}",
        )
    shape = tuple(input.shape[2:])
    align = bool(align_corners)
    places = []
    for k, n in enumerate(shape):  # the grid counts axes from the last one
        line = grid[..., len(shape) - 1 - k]
        place = (line + 1) * ((n - 1) / 2) if align else ((line + 1) * n - 1) / 2
        places.append(place if mode == "bicubic" else _inside(place, n, padding_mode, align))
    if mode == "nearest":
        near = [np.rint(place._array).astype(int) for place in places]
        return _pixels(input, near, shape)
    neighbours = [_two(place) if mode == "bilinear" else _four(place) for place in places]
    total: Any = 0
    for corner in np.ndindex(*[len(found) for found in neighbours]):
        chosen = [neighbours[k][c] for k, c in enumerate(corner)]
        index = [place for place, _ in chosen]
        if mode == "bicubic":
            index = [_whole(place, n, padding_mode, align) for place, n in zip(index, shape, strict=True)]
        weight = chosen[0][1]
        for _, factor in chosen[1:]:
            weight = weight * factor
        total = total + _pixels(input, index, shape) * xp.expand_dims(weight, axis=1)
    return total


def _two(place: Any) -> list[tuple[Any, Any]]:
    low = np.floor(place._array)
    part = place - low
    return [(low.astype(int), 1 - part), (low.astype(int) + 1, part)]


def _four(place: Any) -> list[tuple[Any, Any]]:
    low = np.floor(place._array)
    weights = _cubic_weights(place - low)
    return [(low.astype(int) + k - 1, weight) for k, weight in enumerate(weights)]


def _inside(place: Any, n: int, padding_mode: str, align: bool) -> Any:
    """A place moved into the image, unless what lies outside counts as zero."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align else (-0.5, float(n))
        place = _reflected(place, low, span)
    return xp.where((place > 0) & (place < n - 1), place, np.clip(place._array, 0.0, n - 1.0))  # no slope at the border


def _reflected(place: Any, low: float, span: float) -> Any:
    if span == 0:
        return place * 0.0
    away = xp.abs(place - low)
    turns = np.floor(away._array / span)
    rest = away - turns * span
    return xp.where(turns % 2 == 0, rest + low, span - rest + low)


def _whole(index: Any, n: int, padding_mode: str, align: bool) -> Any:
    """The same for whole numbers."""
    if padding_mode == "zeros":
        return index
    if padding_mode == "reflection":
        twice_low, twice_span = (0, 2 * (n - 1)) if align else (-1, 2 * n)
        if twice_span == 0:
            return np.zeros_like(index)
        away = np.abs(2 * index - twice_low)
        turns, rest = np.divmod(away, twice_span)
        index = (np.where(turns % 2 == 0, rest, twice_span - rest) + twice_low) / 2
        index = np.floor(index).astype(int)
    return np.clip(index, 0, n - 1)


def _pixels(input: Any, index: list[Any], shape: tuple[int, ...]) -> Any:
    """The pixels at places (N, ...), for every channel: (N, C, ...); zero outside."""
    inside = np.ones(index[0].shape, dtype=bool)
    flat = np.zeros(index[0].shape, dtype=int)
    for place, n in zip(index, shape, strict=True):
        inside &= (place >= 0) & (place < n)
        flat = flat * n + np.clip(place, 0, n - 1)
    batch, channels = input.shape[:2]
    rows = xp.reshape(input, (batch * channels, math.prod(shape)))
    owner = np.arange(batch * channels).reshape(batch, channels, *[1] * (flat.ndim - 1))
    found = read_at(rows, Key((owner, flat[:, None]), False, False))
    return xp.where(inside[:, None], found, 0.0)


# ----------------------------------------------------------------------------------------------------- channels and space
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """(..., C r², H, W) to (..., C, H r, W r)."""
    *lead, channels, h, w = input.shape
    r = upscale_factor
    if r < 1 or channels % (r * r):
        raise lesson(
            RuntimeError,
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by {r * r}, but it is {channels}",
        )
    n = len(lead)
    x = xp.reshape(input, (*lead, channels // (r * r), r, r, h, w))
    x = xp.permute_dims(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return xp.reshape(x, (*lead, channels // (r * r), h * r, w * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """(..., C, H r, W r) to (..., C r², H, W): the inverse of `pixel_shuffle`."""
    *lead, channels, h, w = input.shape
    r = downscale_factor
    if r < 1 or h % r or w % r:
        raise lesson(
            RuntimeError, f"pixel_unshuffle expects height and width to be divisible by {r}, but they are {h} and {w}"
        )
    n = len(lead)
    x = xp.reshape(input, (*lead, channels, h // r, r, w // r, r))
    x = xp.permute_dims(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return xp.reshape(x, (*lead, channels * r * r, h // r, w // r))


def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels (axis 1) of all groups in turn."""
    batch, channels, *rest = input.shape
    if groups < 1 or channels % groups:
        raise lesson(
            RuntimeError,
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.",
        )
    x = xp.reshape(input, (batch, groups, channels // groups, *rest))
    return xp.reshape(xp.moveaxis(x, 1, 2), (batch, channels, *rest))
