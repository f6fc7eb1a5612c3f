"""Elementwise operators without derivative: comparisons, and all that is made of integers and booleans."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.mistakes import explain_call
from pullback.core.primitive import Primitive, wider
from pullback.core.tensor import Tensor, wrap
from pullback.ops.families.functions import introduce, is_operand, not_implemented, refuse_operand

ndarray = np.ndarray


def constant(
    name: str, forward: Callable[..., Any] | None = None, doc: str = "", arguments: tuple[str, ...] = ("a", "b")
) -> type[Primitive]:
    """An elementwise operator without derivative: its result never belongs to a graph, whatever it is applied to.

    Parameters
    ----------
    name
        Name of the operator, and of the function of the array namespace that computes it when `forward` is ``None``.
    forward
        ``forward(xp, *arrays)``, where the namespace has no such function.
    arguments
        The names of the arguments, where there is no `forward` to tell them.
    """
    run = forward if forward is not None else (lambda xp, *args: getattr(xp, name)(*args))
    ufunc = getattr(np, name) if forward is None else functools.partial(forward, np)
    if forward is not None:
        arguments = tuple(inspect.signature(forward).parameters)[1:]
    count = len(arguments)

    def op_forward(ctx: Any, *args: Any) -> Any:
        return run(ctx.xp, *args)

    def build(unsupported: Any) -> Any:
        def apply(*args: Any) -> Any:
            if len(args) != count:
                raise TypeError(f"{name}() takes {count} arguments, but {len(args)} were given")
            kind: Any = None
            first: Any = None
            bare_args = []
            for value in args:
                if isinstance(value, Tensor):
                    kind = value.__class__ if kind is None else wider(kind, value.__class__)
                    value = first = value._array
                elif not is_operand(value):
                    return unsupported(name, value)
                elif first is None and hasattr(value, "dtype"):
                    first = value
                bare_args.append(value)
            try:
                if first is None or first.__class__ is ndarray:
                    y = ufunc(*bare_args)
                else:
                    y = run(arrays.namespace(first), *bare_args)
            except Exception as error:
                explain_call(error, name, arguments, bare_args, {})
                raise
            return y if kind is None else wrap(kind, np.asarray(y) if isinstance(y, np.generic) else y)

        return apply

    space = {"forward": staticmethod(op_forward), "__doc__": doc or f"Elementwise ``{name}``.", "__module__": __name__}
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    apply = build(refuse_operand)
    introduce(apply, name, operator, *arguments)
    operator.apply = staticmethod(apply)
    operator.operator_form = staticmethod(build(not_implemented))
    return operator
