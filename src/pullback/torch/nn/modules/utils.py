"""``torch.nn.modules.utils``: one number for every axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pullback.torch._missing import refuse as _refuse


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Any]:
    """What makes `n` equal values of one, and a tuple of several."""

    def parse(x: Any) -> Any:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Any, n: int) -> Any:
    """Each value `n` times, from the last to the first."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def __getattr__(name: str) -> Any:
    _refuse("nn.modules.utils", name)
