"""``torch.profiler``: names for blocks, which nobody measures here; ``cProfile`` does."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["record_function"]


class record_function(ContextDecorator):  # noqa: N801 - torch's name
    """A block with a name, or a decorated function."""

    def __init__(self, name: str, args: Any = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def __getattr__(name: str) -> Any:
    _refuse("profiler", name)
