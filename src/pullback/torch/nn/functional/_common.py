"""What the functions of ``torch.nn.functional`` have in common: in-place forms, reductions of losses, numbers per axis."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from pullback.core.errors import lesson
from pullback.torch._export import FUNCTIONS, in_place, xp

__all__ = ["FUNCTIONS", "in_place_too", "per_axis", "reduced", "reduction_of", "xp"]


def in_place_too(call: Any) -> Any:
    """An activation that also takes ``inplace=``: whether its result is written into `input`."""
    written = in_place(call, call.__name__)
    written.__module__ = call.__module__
    own = call.__code__.co_argcount - 1

    @functools.wraps(call)
    def called(input: Any, *args: Any, inplace: bool = False, **options: Any) -> Any:
        if len(args) == own + 1:  # torch gives `inplace` a place, the last one
            *args, inplace = args  # type: ignore[assignment]
        return (written if inplace else call)(input, *args, **options)

    called.written = written  # type: ignore[attr-defined]
    return called


def reduction_of(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """How a loss is reduced, also in the words of long ago."""
    if size_average is not None or reduce is not None:
        averages = size_average is None or size_average
        reduction = "none" if reduce is not None and not reduce else "mean" if averages else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            UserWarning,
            stacklevel=4,
        )
    if reduction not in ("mean", "sum", "none"):
        raise lesson(ValueError, f"{reduction} is not a valid value for reduction", instead="'mean', 'sum' or 'none'.")
    return reduction


def reduced(values: Any, reduction: str, size_average: Any = None, reduce: Any = None) -> Any:
    """The losses of all elements: their mean, their sum, or as they are."""
    reduction = reduction_of(reduction, size_average, reduce)
    return values if reduction == "none" else xp.mean(values) if reduction == "mean" else xp.sum(values)


def per_axis(value: Any, ndim: int, name: str) -> tuple[int, ...]:
    """One number for each of `ndim` axes, given as one for all or as a sequence."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * ndim
    if len(values) == 1:
        values *= ndim
    if len(values) != ndim:
        raise lesson(
            RuntimeError, f"expected {name} to be a single integer value or a list of {ndim} values, got {value}"
        )
    return tuple([int(n) for n in values])
