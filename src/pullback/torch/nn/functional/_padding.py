"""``pad`` in all its modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.ops.indexing import Key, read_at
from pullback.torch.nn.functional._axes import constant
from pullback.torch.nn.functional._common import xp

_NUMPYS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pairs(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """(before, after) for every axis, from numbers that begin at the last one."""
    pad = [int(n) for n in pad]
    if len(pad) % 2:
        raise lesson(RuntimeError, "Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise lesson(
            RuntimeError,
            f"Padding length should be less than or equal to two times the input dimension, but it is {len(pad)}",
        )
    pairs = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)][::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """What stands around the last axes: `pad` counts (before, after) pairs from the last axis on; negative ones cut.

    Parameters
    ----------
    mode
        ``"constant"`` (`value`, or 0), ``"reflect"``, ``"replicate"``, ``"circular"``.
    """
    pairs = _pairs(pad, input.ndim)
    if mode == "constant":
        return constant(input, pairs, 0 if value is None else value)
    if mode not in _NUMPYS:
        raise lesson(
            NotImplementedError, f"Unrecognised padding mode {mode}", instead=f"constant, {', '.join(_NUMPYS)}."
        )
    if value:
        raise lesson(ValueError, f'Padding mode "{mode}" doesn\'t take in value argument')
    return _moved(input, pairs, len(pad) // 2, mode)


def _moved(input: Any, pairs: list[tuple[int, int]], padded: int, mode: str) -> Any:
    """Entries of the Tensor itself around its axes."""
    if padded > 3 or input.ndim not in (padded + 1, padded + 2):
        raise lesson(
            NotImplementedError,
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, not {2 * padded} numbers for "
            f"{input.ndim} axes",
            instead="x.unsqueeze(0), or fewer numbers.",
        )
    for axis, ((a, b), n) in enumerate(zip(pairs, input.shape, strict=True)):
        limit = {"reflect": n - 1, "circular": n}.get(mode)
        if (limit is not None and max(a, b) > limit) or (n == 0 and axis >= input.ndim - padded) or n + a + b < 1:
            raise lesson(RuntimeError, f"padding ({a}, {b}) does not suit an axis of length {n} in mode {mode!r}")
    numbers: Any = np.arange(input.numel()).reshape(tuple(input.shape))
    if mode == "circular":  # what is cut off is not repeated
        numbers = np.pad(numbers, [(max(a, 0), max(b, 0)) for a, b in pairs], "wrap")
    else:
        numbers = np.pad(numbers, [(max(a, 0), max(b, 0)) for a, b in pairs], _NUMPYS[mode])  # type: ignore[call-overload]
    numbers = numbers[
        tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, numbers.shape, strict=True)])
    ]
    return read_at(xp.reshape(input, (-1,)), Key((numbers,), False, False))
