"""Forward mode with dual numbers, by torch's names.  Not offered yet: every name says what to use."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import lesson

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def _refuse(name: str) -> Any:
    raise lesson(
        NotImplementedError,
        f"{name}: forward mode with dual numbers is not offered yet",
        why="a dual number that carries no tangent would give wrong derivatives silently.",
        instead="autograd.functional.jvp(f, x, v), which pulls back twice and gives the same product.",
    )


def dual_level() -> Any:
    """A context in which dual numbers exist."""
    return _refuse("dual_level")


def enter_dual_level() -> Any:
    """Begin a level of dual numbers."""
    return _refuse("enter_dual_level")


def exit_dual_level(*, level: Any = None) -> Any:
    """End a level of dual numbers."""
    return _refuse("exit_dual_level")


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Any:
    """A Tensor that carries a tangent."""
    return _refuse("make_dual")


def unpack_dual(tensor: Any, *, level: Any = None) -> Any:
    """Primal and tangent of a dual number."""
    return _refuse("unpack_dual")
