"""Elementwise, broadcasting operators of any number of arguments, some of which may have no derivative to offer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Tensor, wrap
from pullback.ops.families.elementwise import ZERO, Elementwise, times, without_graph


@dataclass(frozen=True)
class Refused:
    """Stands for a partial derivative that is not given: asking for it raises, and says why and what to do."""

    why: str
    instead: str

    def error(self, operator: str, argument: str) -> DerivativeRefused:
        """What is raised."""
        what = f"the derivative of {operator} with respect to {argument} is refused"
        return lesson(DerivativeRefused, what, why=self.why, instead=self.instead)


def nary(
    name: str,
    forward: Callable[..., Any],
    partials: dict[str, Any],
    doc: str = "",
    holomorphic: bool = True,
) -> type[Primitive]:
    """An elementwise, broadcasting operator, from its partial derivatives.

    Parameters
    ----------
    forward
        ``forward(xp, *arguments)``.
    partials
        The partial derivative for each argument, in their order: a function with parameters among the names of the
        arguments and ``f``, the result, which are all arrays then; or `ZERO`, or a `Refused`.
    holomorphic
        False where the partial derivatives hold for real arguments only.
    """
    arguments = tuple(partials)
    uses = {a: tuple(inspect.signature(p).parameters) if callable(p) else () for a, p in partials.items()}

    def op_forward(ctx: Any, *args: Any) -> Any:
        y = forward(ctx.xp, *args)
        if not any(ctx.needs_input_grad):
            return y
        y = arrays.asarray(y, ctx.xp)
        wanted = {n for need, a in zip(ctx.needs_input_grad, arguments, strict=True) if need for n in uses[a]}
        if wanted:
            pairs = zip((*arguments, "f"), (*args, y), strict=True)
            ctx.save_for_backward(*[value if n in wanted else None for n, value in pairs])
        return y

    def op_backward(ctx: Any, ct: Any) -> Any:
        values = dict(zip((*arguments, "f"), ctx.saved_tensors, strict=False))
        return tuple(
            [
                _pulled(ctx, ct, argument, values) if need else None
                for need, argument in zip(ctx.needs_input_grad, arguments, strict=True)
            ]
        )

    def refuse(argument: str, moving: Any) -> None:
        """Raise where the derivative in an argument is refused, or in complex numbers when `moving` is one."""
        if partials[argument].__class__ is Refused:
            raise partials[argument].error(name, argument)
        if not holomorphic and arrays.is_complex(moving.dtype):
            raise _REAL_ONLY.error(name, f"a complex {argument}")

    def _pulled(ctx: Any, ct: Any, argument: str, values: dict[str, Any]) -> Any:
        refuse(argument, ct)
        partial = partials[argument]
        if partial is ZERO:
            return ctx.xp.zeros_like(ct)
        return times(ct, partial(*[_like(ct, values[n]) for n in uses[argument]]), ctx.xp)

    def op_jvp(xp: Any, args: Any, tangents: Any, y: Any) -> Any:
        values = dict(zip((*arguments, "f"), (*args, y), strict=True))
        total = None
        for argument, tangent in zip(arguments, tangents, strict=True):
            if tangent is None:
                continue
            refuse(argument, tangent)
            if partials[argument] is ZERO:
                continue
            term = tangent * partials[argument](*[_like(tangent, values[n]) for n in uses[argument]])
            total = term if total is None else total + term
        return total

    title = name.title().replace("_", "")
    space = {
        "forward": staticmethod(op_forward),
        "backward": staticmethod(op_backward),
        "jvp": staticmethod(op_jvp),
        "node_name": f"{title}Backward0",
        "__doc__": doc or f"Elementwise ``{name}``.",
        "__module__": __name__,
    }
    return type(title, (Elementwise,), space)


def _like(ct: Any, value: Any) -> Any:
    """A number or an array of integers as floating-point array of the cotangent's kind: some libraries mix nothing."""
    kind = type(ct) if isinstance(ct, Tensor) else None
    fits = isinstance(value, Tensor) if kind else hasattr(value, "dtype")
    if value is None or (fits and arrays.is_inexact(value.dtype)):
        return value
    bare = without_graph(value)
    if not hasattr(bare, "dtype"):
        dtype = arrays.dtype_of(ct) if isinstance(bare, complex) else np.finfo(arrays.dtype_of(ct)).dtype
        bare = arrays.asarray(bare, arrays.namespace(without_graph(ct)), dtype)
    elif not arrays.is_inexact(bare.dtype):
        bare = arrays.cast(bare, np.finfo(arrays.dtype_of(ct)).dtype, arrays.namespace(bare))
    return bare if kind is None else wrap(kind, bare)


_REAL_ONLY = Refused(
    why="it is not holomorphic, or SciPy has no complex values of what its derivative is made of.",
    instead="x.real where the imaginary part is 0; or a Function with a backward of your own.",
)
