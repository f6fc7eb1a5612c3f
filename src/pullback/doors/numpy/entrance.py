"""The way through the door that knows every option, and what happens to functions without a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import batches, modes
from pullback.core.batches import ReadOut
from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor
from pullback.doors import scipy
from pullback.doors.numpy import (  # noqa: F401 - importing them fills the tables
    FUNCTIONS,
    UFUNCS,
    creation,
    differences,
    fourier,
    indexing,
    joining,
    linear,
    methods,
    nans,
    padding,
    polynomials,
    products,
    reductions,
    scimath,
    selecting,
    sets,
    shapes,
    statistics,
    ufuncs,
    values,
    writing,
)
from pullback.doors.numpy.tools import bare, kind_of, wrapped
from pullback.doors.numpy.ufuncs import plain_call

_METHODS: dict[str, Any] = {
    "__call__": plain_call,
    "reduce": methods.reduce,
    "accumulate": methods.accumulate,
    "reduceat": methods.reduceat,
    "outer": methods.outer,
    "at": methods.at,
}


def call(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A call of a ufunc, or of a method of it, with any options."""
    if not all(_knows(value) for value in (*inputs, *_outs(options))):
        return NotImplemented
    if ufunc not in UFUNCS and (rule := scipy.rule_of(ufunc)) is not None:
        UFUNCS[ufunc] = rule
    if ufunc not in UFUNCS:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return _without_rule(name, getattr(ufunc, method), inputs, options, ufunc)
    try:
        return _METHODS[method](ufunc, *inputs, **options)
    except ReadOut as error:
        own = _METHODS[method]
        return batches.call_one_by_one(lambda *a, **o: own(ufunc, *a, **o), ufunc.__name__, inputs, options, error)


def dispatch(function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A call of a function that is no ufunc."""
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    rule = FUNCTIONS.get(function)
    if rule is not None:
        try:
            return rule(*args, **kwargs)
        except ReadOut as error:
            return batches.call_one_by_one(rule, function.__name__, args, kwargs, error)
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    return _without_rule(name, function._implementation, args, kwargs, function)


def _knows(value: Any) -> bool:
    """False for objects that want to answer NumPy themselves."""
    return (
        isinstance(value, (Tensor, np.ndarray)) or getattr(value, "__array_ufunc__", None) is None or _is_number(value)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, np.generic)


def _outs(options: dict[str, Any]) -> tuple[Any, ...]:
    out = options.get("out", ())
    return out if isinstance(out, tuple) else (out,)


def _connected(value: Any) -> bool:
    """Whether anything among nested arguments requires gradients."""
    if isinstance(value, (list, tuple)):
        return any(_connected(item) for item in value)
    return isinstance(value, Tensor) and value.requires_grad


def _moves(value: Any) -> bool:
    """Whether anything among nested arguments has a tangent."""
    if isinstance(value, (list, tuple)):
        return any(_moves(item) for item in value)
    return isinstance(value, Tensor) and dual_at(value._edge) is not None


def _without_rule(name: str, compute: Callable[..., Any], args: Any, kwargs: Any, key: Any) -> Any:
    """NumPy's values as Tensors where no gradient is asked for, and a lesson where one is."""
    arguments = [*args, *kwargs.values()]
    mode = modes.current()
    told = mode._settings.watcher is not None  # somebody decides what it means
    moves = bool(OPEN) and not mode._settings.inference and _moves(arguments)
    if not told and (moves or (mode._recording and _connected(arguments))):
        where = f"np.{name}" if isinstance(key, np.ufunc) or key.__module__.startswith("numpy") else name
        raise lesson(
            NotImplementedError,
            f"{where} has no derivative rule here, and was called with a Tensor that "
            f"{'has a tangent' if moves else 'requires grad'}",
            why=f"NumPy would compute the value alone, and the {'tangent' if moves else 'gradient'} would be lost.",
            instead="a rule, once, made of operators that have one (or of a pullback.Function):\n"
            f"    @pullback.doors.implements({where.split('.reduce')[0]})\n"
            f"    def {where.rpartition('.')[2]}(x, ...):\n"
            f"        ...\n"
            f"or {where}(x.detach(), ...), where the derivative is not wanted.",
            name=where,
        )
    bare_args, bare_kwargs = _told(tuple(args)), {k: _told(v) for k, v in kwargs.items()}
    found = compute(*bare_args, **bare_kwargs)
    return wrapped(kind_of([*arguments]) or Tensor, found)


def _told(value: Any) -> Any:
    """The values alone, and the mode hears that they leave the graph."""
    if value.__class__ in (list, tuple):
        return value.__class__([_told(item) for item in value])
    return np.asarray(value) if isinstance(value, Tensor) else bare(value)
