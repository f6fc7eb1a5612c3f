"""Functions that check their arguments themselves: what they raise says which call it was, as operators do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from pullback.core.mistakes import explain_call

F = TypeVar("F", bound=Callable[..., Any])


def named(function: F) -> F:
    """Decorate a public function: a note under its errors names it and shows its arguments."""
    signature = inspect.signature(function)
    names = tuple([f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in signature.parameters.values()])
    name = function.__name__.rstrip("_")

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Exception as error:
            explain_call(error, name, names, args, options)
            raise

    del call.__wrapped__  # what stands there is what a function was before a projection
    call.__signature__ = signature  # type: ignore[attr-defined]
    return cast("F", call)
