"""``torch.Size``: the shape of a Tensor."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple):
    """A shape: a tuple of ints that also counts the elements.

    >>> import pullback.torch as torch
    >>> torch.zeros(2, 3).shape
    torch.Size([2, 3])
    >>> torch.zeros(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """How many elements a Tensor of this shape has."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Any:
        return Size((*other, *self))
