"""The two tables that the torch namespace is built from, and what their entries have in common.

``@function`` puts a callable into ``pullback.torch``, ``@method`` into ``pullback.torch.Tensor``, ``@both`` into both:
torch's functions and methods have the same signature, with ``input`` in the place of ``self``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.core import batches, views
from pullback.core.batches import ReadOut
from pullback.core.errors import lesson
from pullback.core.modes import is_grad_enabled
from pullback.core.tangents import carries
from pullback.core.tensor import Tensor as Base
from pullback.namespaces import array_api
from pullback.ops.inplace import write_result
from pullback.torch._errors import torchs, with_torchs_errors

#: The operators, by their names in the Array API standard or in NumPy.
xp: Any = array_api

FUNCTIONS: dict[str, Any] = {}
METHODS: dict[str, Any] = {}

#: NumPy's names of arguments, which torch accepts beside its own.
_NUMPY_NAMES = {
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "a": "input",
}


def function(*names: str, plain: bool = False) -> Callable[[Any], Any]:
    """Enter a function into ``pullback.torch`` under `names`; a `plain` one takes no NumPy names and no ``out=``."""
    return lambda call: _enter((FUNCTIONS,), names, call, plain)


def method(*names: str, plain: bool = False) -> Callable[[Any], Any]:
    """Enter a method of ``pullback.torch.Tensor`` under `names`."""
    return lambda call: _enter((METHODS,), names, call, plain)


def both(*names: str, plain: bool = False) -> Callable[[Any], Any]:
    """Enter a function and a method of the same name."""
    return lambda call: _enter((FUNCTIONS, METHODS), names, call, plain)


def _enter(tables: tuple[dict[str, Any], ...], names: tuple[str, ...], call: Any, plain: bool) -> Any:
    if plain:
        call.__name__ = call.__qualname__ = names[0]
        if not call.__module__.endswith("_kinds"):  # what a Tensor is: asked often, and no shape can be wrong
            call = with_torchs_errors(call, names[0])
    else:
        call = numpy_names(call, names[0])
    for table in tables:
        for name in names:
            table[name] = call
    return call


def numpy_names(call: Any, name: str) -> Any:
    """`call` under torch's name, also taking NumPy's names of arguments (``axis=``, ``keepdims=``) and ``out=``."""

    @functools.wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        out = None
        if kwargs:
            out = kwargs.pop("out", None)
            for numpys in _NUMPY_NAMES.keys() & kwargs.keys():
                if _NUMPY_NAMES[numpys] not in kwargs:
                    kwargs[_NUMPY_NAMES[numpys]] = kwargs.pop(numpys)
        try:
            result = call(*args, **kwargs)
        except ValueError as error:
            raise torchs(error, name) from None
        except ReadOut as error:
            result = batches.call_one_by_one(call, name, args, kwargs, error)
        return result if out is None else write_out(name, result, out)

    called.__name__ = called.__qualname__ = name
    return called


def write_out(name: str, result: Any, out: Any) -> Any:
    """Put a result into ``out=``, which has no place in the graph; several results into several."""
    if isinstance(result, tuple):
        written = [write_out(name, part, place) for part, place in zip(result, out, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    if any(map(carries, (result, out))) or (is_grad_enabled() and (result.requires_grad or out.requires_grad)):
        raise lesson(
            RuntimeError,
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments {'has a tangent' if any(map(carries, (result, out))) else 'requires grad'}.",
            why="the Tensor given as out= would silently get the history of a result.",
            instead=f"y = {name}(...), or out[...] = {name}(...) to write into a part of a Tensor.",
        )
    if tuple(out.shape) != tuple(result.shape):
        raise lesson(
            RuntimeError,
            f"{name}(): out= has shape {tuple(out.shape)}, the result {tuple(result.shape)}",
            instead="a Tensor of the result's shape.",
        )
    return write(out, result)


def write(target: Any, value: Any) -> Any:
    """Write a Tensor into another one in place, cast to its dtype.  Returns the target."""
    return views.write(target, cast_for_write(target, value))


def cast_for_write(target: Any, value: Any) -> Any:
    """`value` in the dtype of `target`; the same refusal as torch where that would lose more than precision."""
    if value.dtype == target.dtype:
        return value
    order = "biufcV"
    source, goal = value.dtype, target.dtype
    lossy = order.find(source.kind) > order.find(goal.kind) and not {source.kind, goal.kind} <= set("iu")
    return value if lossy else xp.astype(value, goal)


def in_place(call: Any, name: str) -> Any:
    """The method ``name_`` that writes what ``name`` computes into ``self``."""

    def fitting(self: Any, *args: Any, **kwargs: Any) -> Any:
        return cast_for_write(self, call(self, *args, **kwargs))

    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        return write_result(self, fitting, *args, **kwargs)

    written.__name__ = written.__qualname__ = f"{name}_"
    written.__doc__ = f"``self.{name}(...)`` written into ``self``."
    return written


def with_in_place(*names: str, plain: bool = False) -> Callable[[Any], Any]:
    """Like `both`, and the in-place method ``name_`` besides."""

    def enter(call: Any) -> Any:
        call = both(*names, plain=plain)(call)
        for name in names:
            METHODS[f"{name}_"] = in_place(call, name)
        return call

    return enter


def need_tensor(value: Any, name: str) -> Any:
    """`value`, which must be a Tensor."""
    if not isinstance(value, Base):
        raise lesson(
            TypeError,
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}",
            instead=f"torch.{name}(torch.tensor(...)); for Python numbers the math module.",
        )
    return value


def variadic(name: str) -> Callable[[Any], Any]:
    """A call that takes a shape or axes, made to take them also as separate arguments, or under a keyword."""

    def enter(call: Any) -> Any:
        @functools.wraps(call)
        def called(input: Any, *sizes: Any, **named: Any) -> Any:
            if name in named:
                sizes = (named.pop(name),)
            return call(input, sizes_of(sizes), **named)

        return called

    return enter


def sizes_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that was given as ``(2, 3)`` or as ``2, 3``."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return tuple([int(n) for n in size])
