"""A hunt for lost graphs: every function of a module is called with arrays, and with Tensors that require gradients.

Where both calls give results, a floating-point result without a gradient must not depend on the arguments.  Run as a
program it prints what it found in SciPy, with ``SCIPY_ARRAY_API=1``, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

from doors.numpy_cases import words
from pullback.core.tensor import Tensor

MATRIX = np.array([[2.3, 0.7, 1.1], [0.4, 3.1, 0.2], [0.9, 0.3, 2.7]])
LINE, NUMBER = np.array([0.3, 1.2, 2.6]), np.array(1.3)
ARGUMENTS: list[tuple[Any, ...]] = [
    *((MATRIX,), (LINE,), (NUMBER,), (MATRIX, MATRIX + 0.1), (LINE, LINE + 0.1), (LINE, LINE, LINE)),
    *((MATRIX, LINE), (LINE, MATRIX), (LINE, NUMBER), (NUMBER, LINE), (LINE, 2), (2, LINE), (LINE, LINE, 2)),
    *(([LINE, LINE],), ((MATRIX, MATRIX),), (LINE, [0.0, 1.0]), ([0.0, 1.0], LINE), ([1.0, 2.0, 3.0], LINE)),
    *((LINE, 0, 1.0), (MATRIX, 1)),
]
NUMPY = words("""numpy numpy.linalg numpy.fft numpy.ma numpy.lib.scimath numpy.lib.stride_tricks numpy.random
    numpy.polynomial.polynomial numpy.polynomial.chebyshev numpy.polynomial.legendre numpy.polynomial.hermite
    numpy.polynomial.hermite_e numpy.polynomial.laguerre""")
SCIPY = words("""scipy.fft scipy.special scipy.stats scipy.signal scipy.signal.windows scipy.linalg scipy.ndimage
    scipy.interpolate scipy.integrate scipy.optimize scipy.spatial.distance scipy.cluster.vq scipy.cluster.hierarchy
    scipy.constants scipy.stats.mstats scipy.stats.contingency""")
#: Files, settings of the process, memory that is not initialised; bmat gives None for what it does not know.
LEFT_OUT = frozenset(
    words("""save savez savetxt savez_compressed load loadtxt genfromtxt fromfile memmap seterr seterrcall errstate
    setbufsize set_printoptions printoptions test info source seed set_state show_config show_runtime empty_like bmat
    minimize basinhopping set_bit_generator""")
)
#: End the process when they are called with arguments like these, Tensors or not.
FATAL = frozenset(words("distance_transform_cdt watershed_ift find_objects value_indices label"))
#: Of ranks: the differences step over a tie.
TIED = frozenset(["scipy.stats.fligner"])


def changed(value: Any) -> Any:
    """The arguments, moved a little."""
    if isinstance(value, np.ndarray):
        return value * 1.003 + 0.001
    return type(value)(changed(v) for v in value) if isinstance(value, list | tuple) else value


def recorded(value: Any) -> Any:
    """The arguments as Tensors that were computed."""
    if isinstance(value, np.ndarray):
        return Tensor(value.copy(), True) * 1.0
    return type(value)(recorded(v) for v in value) if isinstance(value, list | tuple) else value


def copied(value: Any) -> Any:
    """Arrays of their own, since some functions write into them."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return type(value)(copied(v) for v in value) if isinstance(value, list | tuple) else value


def flat(result: Any) -> list[Any]:
    """All parts of nested results."""
    if isinstance(result, list | tuple) and not hasattr(result, "dtype"):
        return [item for part in result for item in flat(part)]
    return [result]


def attempt(function: Any, args: Any) -> list[Any] | None:
    """The results, with the same random numbers each time; ``None`` for an error."""
    np.random.seed(0)  # noqa: NPY002 - it is that generator which functions use
    try:
        return flat(function(*args))
    except Exception:
        return None


def is_number(value: Any) -> bool:
    """Whether a result has floating-point entries."""
    return isinstance(value, np.ndarray | np.floating | float | complex) and np.asarray(value).dtype.kind in "fc"


def lost(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether a result depends on the arguments, and has no gradient."""
    expected = attempt(function, copied(args))
    found = expected and attempt(function, recorded(args))
    if not expected or not found or len(found) != len(expected):
        return False
    doubtful = [
        k
        for k, (e, f) in enumerate(zip(expected, found, strict=True))
        if is_number(e) and not (isinstance(f, Tensor) and f.requires_grad)
    ]
    moved = doubtful and attempt(function, changed(args))
    return bool(moved) and any(
        k < len(moved)
        and np.shape(moved[k]) == np.shape(expected[k])
        and not np.allclose(moved[k], expected[k], rtol=1e-9, equal_nan=True)
        for k in doubtful
    )


def functions(module: str) -> Iterator[tuple[str, Any]]:
    """What can be called in a module, except classes."""
    space = importlib.import_module(module)
    for name in dir(space):
        function, full = getattr(space, name), f"{module}.{name}"
        chosen = not name.startswith("_") and name not in LEFT_OUT | FATAL and full not in TIED
        if chosen and callable(function) and not isinstance(function, type):
            yield full, function


def hunt(modules: list[str]) -> tuple[list[str], int]:
    """The functions that lost a graph, and how many calls gave a result for Tensors at all."""
    found, calls = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in modules:
            for name, function in functions(module):
                for args in ARGUMENTS:
                    calls += attempt(function, recorded(args)) is not None
                    if lost(function, args):
                        found.append(f"{name}{tuple(np.shape(a) for a in args)}")
    return found, calls


if __name__ == "__main__":
    json.dump(hunt(SCIPY), sys.stdout)
