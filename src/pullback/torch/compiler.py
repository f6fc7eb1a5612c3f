"""``torch.compiler``: nothing is compiled here, so its decorators leave functions as they are."""

from __future__ import annotations

from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["allow_in_graph", "compile", "disable", "is_compiling"]


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """The function itself, also with options in brackets."""
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def is_compiling() -> bool:
    """``False``."""
    return False


globals()["compile"] = disable


def __getattr__(name: str) -> Any:
    _refuse("compiler", name)
