"""The one place that calls SciPy: values of `scipy.special` on arrays of any library, in their own precision."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson


@functools.cache
def scipys(name: str) -> Any:
    """The function of `scipy.special` with this name."""
    try:
        from scipy import __version__, special
    except ImportError as error:
        raise lesson(
            ImportError,
            f"pullback.special.{name} needs SciPy, which is not installed",
            why="SciPy computes the values of special functions; pullback adds their derivatives.",
            instead='pip install "pullback[scipy]"',
        ) from error
    found = getattr(special, name, None)
    if found is None:
        raise lesson(
            ImportError,
            f"SciPy {__version__} has no special.{name}",
            instead="pip install --upgrade scipy, or a function that it has (dir(scipy.special)).",
        )
    return found


def _evaluate_with(name: str, function: Any, *args: Any) -> Any:
    first = next(value for value in args if hasattr(value, "dtype"))
    return evaluate(name, function, arrays.namespace(first), args)


def evaluate(name: str, function: Any, xp: Any, args: tuple[Any, ...]) -> Any:
    """A function of NumPy arrays on arrays of the namespace `xp`; on numbers alone it gives a number.

    Single precision stays single, also where SciPy has only a version for doubles.
    """
    if any(hasattr(value, "batch") for value in args):
        own = next(value for value in args if hasattr(value, "batch")).__array_namespace__()
        return own.elementwise(functools.partial(_evaluate_with, name, function), args)
    bare = [np.asarray(value) if hasattr(value, "dtype") else value for value in args]
    try:
        y = function(*bare)
    except TypeError as error:
        if not any(np.iscomplexobj(value) for value in bare):
            raise
        raise lesson(
            TypeError,
            f"{name}() takes real numbers only: SciPy has no complex values of it",
            instead="x.real, where the imaginary part is 0.",
        ) from error
    given = [value.dtype for value in bare if hasattr(value, "dtype")]
    if not given:
        return y.item() if hasattr(y, "item") else y
    floating = [dtype for dtype in given if dtype.kind in "fc"]
    if floating:
        own = np.result_type(*floating)
        if y.dtype.kind == "c" and own.kind == "f":
            own = np.result_type(own, np.complex64)
        y = np.asarray(y, dtype=own)
    return y if xp is np else xp.asarray(y)
