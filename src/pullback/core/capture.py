"""Tensors that a forward reads although they are no arguments: found, named, warned about."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from pullback.core.tensor import Tensor


def warn_captured(node: Any, tensor: Tensor) -> None:
    name = _captured_name(node._operator.forward, tensor)
    warnings.warn(
        f"{node._operator.__name__}.forward uses the Tensor {name}, which requires gradients but is not an argument of "
        f"apply(): it gets no gradient through this Function. Pass it as an argument; or use {name}.detach() if it is meant as "
        "a constant.",
        UserWarning,
        stacklevel=5,
    )


def _captured_name(forward: Any, tensor: Tensor) -> str:
    function = inspect.unwrap(getattr(forward, "__func__", forward))
    try:
        scope = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return "from outside"
    for names in (scope.nonlocals, scope.globals):
        for name, value in names.items():
            if value is tensor:
                return name
            for attribute, inner in getattr(value, "__dict__", {}).items():
                if inner is tensor:
                    return f"{name}.{attribute}"
    return "from outside"
