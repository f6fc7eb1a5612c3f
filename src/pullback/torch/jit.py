"""``torch.jit``: nothing is compiled here, so its decorators leave functions as they are."""

from __future__ import annotations

from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["annotate", "export", "ignore", "is_scripting", "is_tracing", "script", "script_method", "unused"]


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """The function itself.

    >>> import pullback.torch as torch
    >>> @torch.jit.script
    ... def twice(x):
    ...     return 2 * x
    >>> twice(torch.ones(1))
    tensor([2.])
    """
    return obj


def ignore(drop: Any = False, **options: Any) -> Any:
    """The function itself, also with options in brackets."""
    return drop if callable(drop) else lambda function: function


script_method = export = unused = script


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def is_scripting() -> bool:
    """``False``."""
    return False


def is_tracing() -> bool:
    """``False``."""
    return False


def __getattr__(name: str) -> Any:
    _refuse("jit", name)
