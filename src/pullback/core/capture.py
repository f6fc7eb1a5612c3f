"""Tensors that a forward reads although they are no arguments: found, named, warned about."""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from pullback.core.rules import parameter_names
from pullback.core.tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_captured(node: Any, tensor: Tensor) -> None:
    """Warn that `tensor` gets no gradient through the Function whose forward runs, at the line that reads it."""
    name = _name_of(node, tensor)
    warnings.warn(
        f"{node._operator.__name__}.forward uses the Tensor {name}, which requires gradients but is not an argument of "
        f"apply(): it gets no gradient through this Function. Pass it as an argument; or use {name}.detach() if it is meant "
        "as a constant.",
        UserWarning,
        stacklevel=_level_of_user(),
    )


def _level_of_user() -> int:
    """The ``stacklevel``, counted from the caller, of the innermost frame outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def _name_of(node: Any, tensor: Tensor) -> str:
    """What the user calls the Tensor: a variable, ``module.weight``, ``weights[0]``."""
    for scope in _scopes(node):
        for name, value in scope.items():
            found = _path(name, value, tensor)
            if found:
                return found
    return "from outside"


def _scopes(node: Any) -> Iterator[Mapping[str, Any]]:
    """Where the Tensor can have come from, nearest first: arguments, the closure of forward, frames of helpers, globals."""
    forward = node._operator.forward
    names = parameter_names(forward, 0 if node._operator.separate else 1)
    yield dict(zip(names, node._inputs, strict=False))
    function = inspect.unwrap(getattr(forward, "__func__", forward))
    try:
        scope = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return
    yield scope.nonlocals
    yield scope.globals
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not getattr(function, "__code__", None):
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            yield frame.f_locals
            yield {name: frame.f_globals[name] for name in frame.f_code.co_names if name in frame.f_globals}
        frame = frame.f_back


def _path(name: str, value: Any, tensor: Tensor) -> str:
    """`name`, or how the Tensor is reached from it in one step; empty when it is not."""
    if value is tensor:
        return name
    if isinstance(value, (list, tuple)):
        inside: Any = ((f"{name}[{k}]", item) for k, item in enumerate(value))
    elif isinstance(value, dict):
        inside = ((f"{name}[{key!r}]", item) for key, item in value.items())
    else:
        inside = ((f"{name}.{key}", item) for key, item in getattr(value, "__dict__", {}).items())
    return next((path for path, item in inside if item is tensor), "")
