"""Making Tensors without the checks of a public constructor, and exchanging the arrays that they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import dual
from pullback.core.versions import BORROWED, Buffer

_new = object.__new__


def wrap(kind: Any, array: Any, buffer: Buffer | None = None, edge: Any = None) -> Any:
    """A Tensor of class `kind` over `array`, without the checks of a public constructor."""
    tensor = _new(kind)
    tensor._array = array
    tensor._edge = edge
    tensor._buffer = buffer
    tensor._grad = None
    return tensor


def lent(tensor: Any, array: Any = None) -> Any:
    """A recorded cotangent as others see it: same place in the graph, same tangent, and copied before it is written into."""
    place = dual.at(tensor._resolved(), tensor)
    return wrap(type(tensor), tensor._array if array is None else array, BORROWED, place)


#: Called with a Tensor before it comes to hold another array than it was made with.
before_replacing: list[Callable[[Any], None]] = []


def hold_another_array(tensor: Any, array: Any) -> None:
    """Exchange the array of a Tensor."""
    for tell in before_replacing:
        tell(tensor)
    tensor._array = array
