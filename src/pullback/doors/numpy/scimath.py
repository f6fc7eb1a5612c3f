"""``numpy.lib.scimath``: functions of real numbers that turn complex where no real result is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.doors.numpy.tools import arr, bare, floating, offers, xp


def _scimath(name: str, operator: Any, outside: Any) -> None:
    def rule(*args: Any) -> Any:
        values = [floating(arr(x)) for x in args]
        if any(x.dtype.kind != "c" and np.any(outside(bare(x))) for x in values):
            values = [_complex(x) for x in values]
        return operator(*values)

    offers(f"lib.scimath.{name}")(rule)


def _complex(x: Any) -> Any:
    return xp.astype(x, np.result_type(x.dtype, np.complex64), copy=False)


def _negative(x: Any) -> Any:
    return x < 0


for _name in ("sqrt", "log", "log2", "log10"):
    _scimath(_name, getattr(xp, _name), _negative)
_scimath("logn", lambda n, x: xp.log(x) / xp.log(n), _negative)
_scimath("power", xp.pow, _negative)
_scimath("arctanh", xp.atanh, lambda x: np.abs(x) > 1)


# The derivative of a complex arcsin has two values on the cut; written in real parts it is that of NumPy's side.
@offers("lib.scimath.arcsin")
def arcsin(x: Any) -> Any:
    """``np.lib.scimath.arcsin``: of numbers beyond ±1, ``±π/2 + i arcosh |x|``."""
    x = floating(arr(x))
    if x.dtype.kind == "c" or not np.any(np.abs(bare(x)) > 1):
        return xp.asin(x)
    outside = np.abs(bare(x)) > 1
    angle = xp.where(outside, np.sign(bare(x)) * np.asarray(math.pi / 2, x.dtype), xp.asin(xp.where(outside, 0.0, x)))
    return angle + 1j * xp.where(outside, xp.acosh(xp.where(outside, xp.abs(x), 1.0)), 0.0)


@offers("lib.scimath.arccos")
def arccos(x: Any) -> Any:
    """``np.lib.scimath.arccos``."""
    x = floating(arr(x))
    return math.pi / 2 - arcsin(x) if np.any(np.abs(bare(x)) > 1) else xp.acos(x)
