"""Whole numbers and truth values that a function of NumPy arrays finds: where something is, how often, which.

They have no derivative.  As an operator the function works wherever operators do: on every library's arrays, and inside `vmap`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive


class Computed(Primitive):
    """What ``find(*arrays)`` finds; no derivative."""

    @staticmethod
    def forward(ctx: Any, *values: Any, find: Callable[..., Any]) -> Any:
        found = find(*[np.asarray(value) for value in values])
        return found if all(isinstance(value, np.ndarray) for value in values) else _in_library_of(values[0], found)


def _in_library_of(value: Any, found: Any) -> Any:
    xp = arrays.namespace(value)
    return tuple([xp.asarray(part) for part in found]) if isinstance(found, tuple) else xp.asarray(found)


def computed(find: Callable[..., Any], *values: Any) -> Any:
    """``find(*arrays)`` of the bare arrays of some Tensors: integers or booleans, or a tuple of such arrays.

    >>> import numpy as np
    >>> import pullback as pb
    >>> from pullback.ops.computed import computed
    >>> computed(lambda x: np.asarray(np.rint(x), dtype=int), pb.tensor([1.4, 2.6]))
    tensor([1, 3])
    """
    return Computed.apply(*values, find=find)
