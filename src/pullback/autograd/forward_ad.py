"""Forward mode with dual numbers, by torch's names: a value and its tangent go through the operators together.

Inside a `dual_level`, `make_dual` gives a Tensor a tangent: a direction in which it moves.  Everything that is computed from it
moves too, and `unpack_dual` tells how fast.  One evaluation gives the derivative in one direction, and no graph is kept.

>>> import pullback as pb
>>> import pullback.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(pb.tensor(3.0), pb.tensor(1.0))
...     fwAD.unpack_dual(x * x).tangent
tensor(6.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.core import arrays, tangents
from pullback.core import forward as _forward  # noqa: F401 - operators find it once it is imported
from pullback.core.errors import lesson
from pullback.core.modes import _Switch
from pullback.core.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns."""

    primal: Any
    tangent: Any


class dual_level(_Switch):  # noqa: N801 - used like a statement
    """A context in which dual numbers exist; leaving it drops all tangents.  There is one level at a time.

    >>> import pullback as pb
    >>> with dual_level():
    ...     y = pb.exp(make_dual(pb.tensor(0.0), pb.tensor(2.0)))
    ...     inside = unpack_dual(y).tangent
    >>> inside, unpack_dual(y).tangent
    (tensor(2.), None)
    """

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Open a level.  Returns its number, which is always 0.

    Raises
    ------
    RuntimeError
        When a level is open already.
    """
    tangents.enter()
    return 0


def exit_dual_level(*, level: Any = None) -> None:
    """Close the level that is open."""
    _check_level(level, "Trying to exit a forward AD level that was not the last one that was created.")
    tangents.leave()


def _check_level(level: Any, what: str) -> None:
    if level not in (None, 0):
        raise lesson(RuntimeError, f"{what} This is not supported: level {level}", instead="level 0, or no level.")


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Any:
    """A Tensor with the value of `tensor` that moves in the direction `tangent`.

    Parameters
    ----------
    tensor
        A floating-point or complex Tensor without a tangent.
    tangent
        A Tensor of the same shape, complex only where `tensor` is.

    Returns
    -------
    A Tensor over the memory of `tensor`; over a copy where `tensor` requires gradients, to which it is connected.

    Raises
    ------
    RuntimeError
        Outside of a level; for a tangent of another shape; for a Tensor that has a tangent already.
    ValueError
        For integers.

    Examples
    --------
    >>> import pullback as pb
    >>> with dual_level():
    ...     unpack_dual(pb.sin(make_dual(pb.tensor(0.0), pb.tensor(1.0))))
    UnpackedDualTensor(primal=tensor(0.), tangent=tensor(1.))
    """
    current = tangents.current_level()
    if current is None:
        raise lesson(
            RuntimeError,
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
            why="a tangent lives as long as its level.",
            instead="with dual_level(): x = make_dual(x, tangent); ...",
        )
    _check_level(level, "Invalid level given to make_dual.")
    for what, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise lesson(
                TypeError,
                f"make_dual: the {what} has to be a Tensor, but it is {type(value).__name__}",
                instead="pullback.tensor(value).",
            )
        if not arrays.is_inexact(value.dtype):
            raise lesson(
                ValueError,
                f"Expected {what} to be floating point or complex, but got: {value.dtype}",
                why="a derivative needs values that can change by small amounts.",
                instead="a floating-point Tensor.",
            )
    if tangents.carries(tensor):
        raise lesson(
            RuntimeError,
            "Making a dual Tensor based on a Tensor that already has a forward gradient is not supported.",
            why="there is one level of dual numbers.",
            instead="make_dual(unpack_dual(x).primal, tangent), to give it another tangent.",
        )
    tangents.check_tangent(tangent, tensor, "make_dual was given")
    return tangents.make(tensor, tangent, current)


def unpack_dual(tensor: Any, *, level: Any = None) -> UnpackedDualTensor:
    """Value and tangent of a Tensor; the tangent is ``None`` where nothing that it was computed from moves.

    Returns
    -------
    A named tuple ``(primal, tangent)``; the primal shares memory and graph with `tensor`.
    """
    if not isinstance(tensor, Tensor):
        raise lesson(
            TypeError,
            f"unpack_dual takes a Tensor, but got {type(tensor).__name__}",
            instead="the result of a computation with dual numbers.",
        )
    if not tangents.carries(tensor):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(tangents.primal(tensor), tangents.tangent_of(tensor))
