"""Structural zeros of operators that only move entries.

A mask says which entries of a cotangent may be different from zero.  Whatever moves the entries moves the mask the same
way, so the rule itself, applied to the boolean array, is the mask's rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.masked import Masked, unmask
from pullback.core.tensor import Tensor


def as_mask(found: Any) -> Any:
    """A boolean array from one that counts (a sum of booleans counts them)."""
    return found if arrays.dtype_of(found).kind == "b" else found != 0


def all_true(like: Any) -> Any:
    """A bare boolean array of ones with the shape, and of the library, of a cotangent."""
    bare = like._array if isinstance(like, Tensor) else like
    xp = arrays.namespace(bare)
    return xp.ones(bare.shape, dtype=arrays.from_numpy_dtype(np.dtype(bool), xp))


def countable(mask: Any) -> Any:
    """The mask as something that rules can sum: only NumPy sums booleans."""
    return mask if isinstance(mask, np.ndarray) else arrays.cast(mask, np.dtype(float), arrays.namespace(mask))


def moved(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Masked:
    """Mask rule: the mask goes the way of the cotangent, through the operator's own ``backward``."""

    def mask() -> Any:
        found = ctx._operator.backward(ctx, countable(masked.mask))
        return as_mask(unmask(found[position] if found.__class__ is tuple else found))

    return Masked(unmask(grad), mask)


def zero_elsewhere(rule: Callable[[Any], Any], cotangent: Any) -> Masked:
    """``rule(cotangent)``, knowing that wherever the rule puts nothing the zero is structural."""
    return Masked(rule(cotangent), lambda: as_mask(rule(countable(all_true(cotangent)))))
