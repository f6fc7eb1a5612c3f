"""NumPy's door: ``np.f(tensor)`` gives a Tensor, differentiable to any order.

NumPy asks two methods of its arguments, ``__array_ufunc__`` and ``__array_function__``, what its functions mean for them.
The answers stand in two tables, which are filled when somebody first goes through the door.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pullback.core import batches, leaving
from pullback.core.batches import ReadOut
from pullback.core.tensor import Tensor
from pullback.doors.numpy.frames import writes_in_place

F = TypeVar("F", bound=Callable[..., Any])

#: NumPy's ufunc -> the operator, for calls without options.
UFUNCS: dict[Any, Callable[..., Any]] = {}
#: NumPy's function -> ours, with the same signature.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: What operators take as it is.
_PLAIN = frozenset({Tensor, np.ndarray, float, int, complex})


def array_ufunc(self: Any, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
    """What ``np.sin(x)``, ``np.add.reduce(x)`` and ``array * x`` do with a Tensor."""
    if not options and method == "__call__" and _PLAIN.issuperset(map(type, inputs)):
        call = UFUNCS.get(ufunc)
        if call is not None:
            try:
                return call(*inputs)
            except ReadOut as error:
                return batches.call_one_by_one(call, ufunc.__name__, inputs, {}, error)
    if "out" in options and writes_in_place(sys._getframe(1), options["out"], inputs):
        del options["out"]  # ``array += tensor`` is ``array = array + tensor``: an array has no place in the graph
    return fill().call(ufunc, method, inputs, options)


def array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What ``np.concatenate([x, y])`` and NumPy's other functions do with a Tensor."""
    rule = FUNCTIONS.get(function)
    if rule is not None and all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        try:
            return rule(*args, **kwargs)
        except ReadOut as error:
            return batches.call_one_by_one(rule, function.__name__, args, kwargs, error)
    return fill().dispatch(function, types, args, kwargs)


def fill() -> Any:
    """Import what fills the tables, and return the way through them that knows every option."""
    from pullback.doors.numpy import entrance

    return entrance


def implements(*functions: Any) -> Callable[[F], F]:
    """Decorate a function: ``np.f(tensor)`` calls it from now on.

    Parameters
    ----------
    functions
        Functions or ufuncs of NumPy (or of another library with ufuncs, as ``scipy.special``).  The decorated function
        is called with the same arguments as they are.  It is written with operators on Tensors, or is the ``apply`` of
        a `pullback.Primitive` or `pullback.Function`.

    Raises
    ------
    TypeError
        For what NumPy does not ask Tensors about, so that the rule would never be used.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> @pb.doors.implements(np.i0)
    ... def i0(x):
    ...     return 1 + x * x / 4 + x**4 / 64  # near 0
    >>> x = pb.tensor(0.5, requires_grad=True)
    >>> pb.autograd.grad(np.i0(x), x)
    (tensor(0.2578125),)
    """
    for function in functions:
        if not isinstance(function, np.ufunc) and not hasattr(function, "_implementation"):
            raise TypeError(f"{function!r} does not ask its arguments what to do, so no rule can be given for it")

    def enter(rule: F) -> F:
        fill()  # so that this rule replaces the one that may be there
        for function in functions:
            (UFUNCS if isinstance(function, np.ufunc) else FUNCTIONS)[function] = rule
        return rule

    return enter


def open_door(kind: Any) -> None:
    """Let NumPy in: a class of Tensors answers its protocols."""
    kind.__array_ufunc__ = array_ufunc
    kind.__array_function__ = array_function
    kind.__array_namespace__ = _first_call(kind, kind.__array_namespace__)
    leaving.way_out = _way_out


def _way_out(library: str, name: str) -> str:
    from pullback.doors import libraries

    return libraries.way_out(library, name)


def _first_call(kind: Any, namespace: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which at its first call prepares for libraries that ask for the namespace."""

    @functools.wraps(namespace)
    def ask(self: Any, /, **options: Any) -> Any:
        from pullback.doors import libraries

        libraries.expect_them()
        kind.__array_namespace__ = namespace
        return namespace(self, **options)

    return ask
