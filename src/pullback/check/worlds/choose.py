"""Which library a Function was written for: read off the class, its module, and what its arguments are."""

from __future__ import annotations

import sys
from typing import Any

from pullback.check.worlds.base import World
from pullback.check.worlds.jax import JaxWorld
from pullback.check.worlds.native import NativeWorld
from pullback.check.worlds.torchlike import TorchWorld
from pullback.core.function import Function
from pullback.core.primitive import Primitive


def world_of(target: Any, asked: str = "") -> World:
    """The world of a target.

    Parameters
    ----------
    target
        A Function class, a ``custom_vjp`` function, or any callable.
    asked
        ``"torch"``, ``"jax"``, ``"pullback"`` or ``"pullback.torch"``; found out where it is empty.
    """
    name = asked or _guess(target)
    if name == "torch":
        return TorchWorld(sys.modules.get("torch") or _loaded("torch"), "torch")
    if name == "jax":
        return JaxWorld(_loaded("jax"))
    if name == "pullback.torch":
        return TorchWorld(_loaded("pullback.torch"), "pullback.torch")
    return NativeWorld()


def _loaded(name: str) -> Any:
    import importlib

    return importlib.import_module(name)


def _guess(target: Any) -> str:
    if isinstance(target, type):
        for base in target.__mro__:
            if base.__module__.startswith("torch.autograd"):
                return "torch"
        if issubclass(target, (Function, Primitive)):
            return (
                "pullback.torch"
                if not issubclass(target, Primitive) and _names(target.forward, "pullback.torch")
                else "pullback"
            )
    if type(target).__module__.startswith("jax"):
        return "jax"
    for name in ("jax", "torch", "pullback.torch"):
        if _names(target, name):
            return name
    return "pullback"


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - raises where there is nothing yet
    except ValueError:
        return False
    return True


def _names(function: Any, library: str) -> bool:
    """Whether the module that a function stands in has something of a library."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
    for value in [*cells, *getattr(function, "__globals__", {}).values()]:
        module = (
            getattr(value, "__name__", "") if isinstance(value, type(sys)) else getattr(value, "__module__", "") or ""
        )
        if module == library or str(module).startswith(library + "."):
            return True
    return False
