"""Convolutions of 1, 2 and 3 axes, and their transposes; ``unfold`` and ``fold``."""

from __future__ import annotations

import math
from typing import Any

from pullback.core.errors import lesson
from pullback.ops.correlation import correlate, correlate_transposed
from pullback.ops.windows import Grid, check_fit, overlap_add
from pullback.ops.windows import windows as windows_of
from pullback.torch._promotion import together
from pullback.torch.nn.functional._axes import constant
from pullback.torch.nn.functional._common import per_axis, xp


def _checked(name: str, input: Any, weight: Any, ndim: int, groups: int, channels: int) -> tuple[Any, Any, bool]:
    """Both in one dtype, and whether the input is a batch (else it has become one)."""
    if input.dtype != weight.dtype:
        raise lesson(
            RuntimeError, f"{name}: input and weight should have the same dtype, not {input.dtype} and {weight.dtype}"
        )
    if input.ndim not in (ndim + 1, ndim + 2) or weight.ndim != ndim + 2:
        raise lesson(
            RuntimeError,
            f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {name} and a weight of {ndim + 2} "
            f"axes, but got {list(input.shape)} and {list(weight.shape)}",
        )
    if groups < 1:
        raise lesson(RuntimeError, "non-positive groups is not supported")
    batched = input.ndim == ndim + 2
    x, w = together(input if batched else xp.expand_dims(input, axis=0), weight)
    if x.shape[1] != channels or w.shape[0] % groups:
        raise lesson(
            RuntimeError,
            f"{name}: groups={groups} and weight of size {list(weight.shape)} expect {channels} input channels, but "
            f"the input {list(input.shape)} has {x.shape[1]}",
        )
    return x, w, batched


def _finish(y: Any, bias: Any, batched: bool, channels: int, ndim: int) -> Any:
    """Groups and their channels made one axis, the bias added, the batch taken away where there was none."""
    y = xp.reshape(y, (y.shape[0], channels, *y.shape[3:]))
    if bias is not None:
        if tuple(bias.shape) != (channels,):
            raise lesson(RuntimeError, f"expected a bias of shape [{channels}], but got {list(bias.shape)}")
        y = y + xp.reshape(bias, (channels,) + (1,) * ndim)
    return y if batched else xp.squeeze(y, axis=0)


def _convolution(ndim: int) -> Any:
    name = f"conv{ndim}d"

    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        x, w, batched = _checked(name, input, weight, ndim, groups, weight.shape[1] * groups)
        steps, gaps = per_axis(stride, ndim, "stride"), per_axis(dilation, ndim, "dilation")
        pairs = _padding(padding, ndim, tuple(w.shape[2:]), steps, gaps)
        if min(steps) < 1 or min(gaps) < 1 or min(map(min, pairs)) < 0:
            raise lesson(RuntimeError, f"{name}: stride and dilation must be positive, and padding not negative")
        if any(a or b for a, b in pairs):
            x = constant(x, [(0, 0), (0, 0), *pairs], 0)
        x = xp.reshape(x, (x.shape[0], groups, w.shape[1], *x.shape[2:]))
        kernel = xp.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
        return _finish(correlate(x, kernel, steps=steps, gaps=gaps), bias, batched, w.shape[0], ndim)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"""Sums of products of kernels with the windows of a signal that has {ndim} axes besides (N, C) or (C).

    Parameters
    ----------
    weight
        (channels of the result, channels of the signal / groups, *kernel).
    padding
        Zeros at both ends of each axis; ``"valid"`` for none, ``"same"`` for as many as keep the length.
    """
    return call


def _padding(padding: Any, ndim: int, sizes: Any, steps: Any, gaps: Any) -> list[tuple[int, int]]:
    """Zeros before and after each axis."""
    if padding == "valid":
        return [(0, 0)] * ndim
    if padding == "same":
        if max(steps) > 1:
            raise lesson(RuntimeError, "padding='same' is not supported for strided convolutions")
        totals = [gap * (size - 1) for size, gap in zip(sizes, gaps, strict=True)]
        return [(n // 2, n - n // 2) for n in totals]
    if isinstance(padding, str):
        raise lesson(RuntimeError, f"Invalid padding string: {padding!r}", instead="'valid', 'same', or numbers.")
    return [(n, n) for n in per_axis(padding, ndim, "padding")]


def _transposed(ndim: int) -> Any:
    name = f"conv_transpose{ndim}d"

    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        y, w, batched = _checked(name, input, weight, ndim, groups, weight.shape[0])
        steps, gaps = per_axis(stride, ndim, "stride"), per_axis(dilation, ndim, "dilation")
        edges, more = per_axis(padding, ndim, "padding"), per_axis(output_padding, ndim, "output_padding")
        if any(extra >= max(step, gap) for extra, step, gap in zip(more, steps, gaps, strict=True)):
            raise lesson(RuntimeError, f"output padding must be smaller than either stride or dilation, but got {more}")
        y = xp.reshape(y, (y.shape[0], groups, w.shape[0] // groups, *y.shape[2:]))
        kernel = xp.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
        whole = [
            step * (n - 1) + gap * (size - 1) + 1 + extra
            for n, size, step, gap, extra in zip(y.shape[3:], w.shape[2:], steps, gaps, more, strict=True)
        ]
        if min(n - 2 * edge for n, edge in zip(whole, edges, strict=True)) < 1:
            raise lesson(RuntimeError, f"{name}: the padding {edges} leaves nothing of an output of shape {whole}")
        found = _stretched(kernel, y, steps, gaps, whole, more)
        if any(edges):
            found = found[(..., *[slice(edge, n - edge) for n, edge in zip(whole, edges, strict=True)])]
        return _finish(found, bias, batched, w.shape[1] * groups, ndim)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The adjoint of `conv{ndim}d`: every entry of the input times the kernel, added up `stride` apart."
    return call


def _stretched(kernel: Any, y: Any, steps: Any, gaps: Any, whole: list[int], more: Any) -> Any:
    """The transposed convolution in its whole length; where no window reaches (in `more`), zeros."""
    reached = [n - extra for n, extra in zip(whole, more, strict=True)]
    found = correlate_transposed(kernel, y, steps=steps, gaps=gaps, shape=reached)
    return constant(found, [(0, 0)] * 3 + [(0, extra) for extra in more], 0) if any(more) else found


conv1d, conv2d, conv3d = _convolution(1), _convolution(2), _convolution(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = _transposed(1), _transposed(2), _transposed(3)


# ----------------------------------------------------------------------------------------------------- columns
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The blocks of images as columns: (N, C · block, number of blocks)."""
    if input.ndim not in (3, 4):
        raise lesson(
            RuntimeError,
            f"Expected 3D or 4D (batch mode) tensor for input with possibly 0 batch size, got {list(input.shape)}",
        )
    x = input if input.ndim == 4 else xp.expand_dims(input, axis=0)
    sizes, edges = per_axis(kernel_size, 2, "kernel_size"), per_axis(padding, 2, "padding")
    x = constant(x, [(0, 0), (0, 0), *[(n, n) for n in edges]], 0) if any(edges) else x
    found = windows_of(x, sizes, per_axis(stride, 2, "stride"), per_axis(dilation, 2, "dilation"))
    found = xp.permute_dims(found, (0, 1, 4, 5, 2, 3))
    found = xp.reshape(found, (x.shape[0], x.shape[1] * math.prod(sizes), math.prod(found.shape[4:])))
    return found if input.ndim == 4 else xp.squeeze(found, axis=0)


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns put back as blocks of images, which are added up where they overlap: the adjoint of `unfold`."""
    if input.ndim not in (2, 3):
        raise lesson(RuntimeError, f"Expected 2D or 3D (batch mode) tensor for input, but got {list(input.shape)}")
    x = input if input.ndim == 3 else xp.expand_dims(input, axis=0)
    sizes, edges = per_axis(kernel_size, 2, "kernel_size"), per_axis(padding, 2, "padding")
    size = per_axis(output_size, 2, "output_size")
    grid = Grid(sizes, per_axis(stride, 2, "stride"), per_axis(dilation, 2, "dilation"))
    whole = tuple([n + 2 * edge for n, edge in zip(size, edges, strict=True)])
    check_fit(whole, grid)
    counts, block = grid.counts(whole), math.prod(sizes)
    if x.shape[1] % block or x.shape[2] != math.prod(counts):
        raise lesson(
            RuntimeError,
            f"fold() expected columns of a multiple of {block} entries, {math.prod(counts)} of them, not {list(input.shape)}",
        )
    columns = xp.reshape(x, (x.shape[0], x.shape[1] // block, *sizes, *counts))
    found = overlap_add(xp.permute_dims(columns, (0, 1, 4, 5, 2, 3)), whole, grid)
    if any(edges):
        found = found[(..., *[slice(edge, edge + n) for n, edge in zip(size, edges, strict=True)])]
    return found if input.ndim == 3 else xp.squeeze(found, axis=0)
