"""What is asked of a call of SciPy on Tensors; ``python scipy_checks.py GROUP`` asks it of a group, and prints JSON.

Run as a program it sets ``SCIPY_ARRAY_API=1`` before SciPy is imported, as a user has to.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import sys
import warnings
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import pullback as pb
from doors import scipy_cases
from doors.numpy_cases import words
from numeric import Call, along, check_order, directions_like, slope
from pullback.core.tensor import Tensor
from pullback.ops.registry import Sample

PARTS = words("""cluster.vq cluster.hierarchy constants differentiate fft integrate interpolate linalg ndimage
    optimize.elementwise signal spatial.distance spatial.transform special stats""")


def scope() -> dict[str, Any]:
    """The names that calls use."""
    for part in PARTS:
        importlib.import_module(f"scipy.{part}")
    scipy = sys.modules["scipy"]
    names = {part.partition(".")[0]: getattr(scipy, part.partition(".")[0]) for part in PARTS}
    rotations = {name: getattr(scipy.spatial.transform, name) for name in ("RigidTransform", "Rotation", "Slerp")}
    return {**names, **rotations, "elementwise": scipy.optimize.elementwise, "np": np, "pb": pb}


def sklearns_scope() -> dict[str, Any]:
    """The same for scikit-learn, which is told to compute with arrays of any namespace."""
    import sklearn

    sklearn.set_config(array_api_dispatch=True)
    parts = words("""decomposition gaussian_process kernel_approximation linear_model metrics mixture model_selection
        naive_bayes preprocessing""")
    return {"np": np, "pb": pb, **{part: importlib.import_module(f"sklearn.{part}") for part in parts}}


def flat(result: Any) -> list[Any]:
    """All parts of nested results."""
    if isinstance(result, list | tuple) and not hasattr(result, "dtype"):
        return [item for part in result for item in flat(part)]
    return [result]


class Case:
    """A call as a function of the arrays that it names; ``of(a, b)`` in it is the constant a of arrays, b of Tensors."""

    def __init__(self, call: str, names: dict[str, Any]) -> None:
        tree = ast.parse(call, mode="eval")
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used -= {arg.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for arg in node.args.args}
        arrays = {name: array for name, array in scipy_cases.values().items() if name in used}
        self._code, self._names, self._keys = compile(call, call, "eval"), names, list(arrays)
        self.arrays = list(arrays.values())
        self.call = Call(SimpleNamespace(call=self, observe=None), Sample(tuple(self.arrays)))

    def __call__(self, *arrays: Any) -> list[Any]:
        tensors = any(isinstance(array, Tensor) for array in arrays)
        constant = {"const": pb.asarray if tensors else np.asarray, "xp": pb if tensors else np}
        return flat(eval(self._code, {**self._names, **constant, **dict(zip(self._keys, arrays, strict=True))}))

    def of_tensors(self) -> list[Any]:
        """The results for Tensors that require gradients."""
        return self(*[Tensor(a, a.dtype.kind in "fc") for a in self.arrays])


def problems(call: str, names: dict[str, Any], constant: bool = False) -> list[str]:
    """What is wrong with a call: values, types, lost gradients, derivatives of first and second order."""
    case = Case(call, names)
    expected, found = case(*case.arrays), case.of_tensors()
    wrong = [] if len(expected) == len(found) else [f"{len(found)} results in the place of {len(expected)}"]
    for k, (e, f) in enumerate(zip(expected, found, strict=False)):
        if isinstance(e, np.ndarray | np.generic) and e.dtype.kind in "biufc":
            wrong += [f"result {k}: {text}" for text in compared(case, k, e, f, constant)]
    connected = [f for f in found if isinstance(f, Tensor) and f.requires_grad]
    if constant:
        return wrong + ["has a gradient" for _ in connected]
    if not connected:
        return [*wrong, "no result has a gradient"]
    for order in (1, 2):
        try:
            check_order(case.call, order, np.random.default_rng(0))
        except AssertionError as error:
            wrong.append(str(error).partition("\n")[0])
    return wrong


def compared(case: Case, k: int, e: Any, f: Any, constant: bool) -> list[str]:
    """One result against that of NumPy; without a gradient it must not depend on the arguments."""
    if not isinstance(f, Tensor):
        return [f"a bare {type(f).__name__}"]
    values = np.asarray(f._array)
    if (values.shape, values.dtype) != (np.shape(e), e.dtype):
        return [f"{values.dtype}{values.shape} in the place of {e.dtype}{np.shape(e)}"]
    if not np.allclose(values, e, rtol=1e-9, atol=1e-9, equal_nan=True):
        return [f"{values} in the place of {e}"]
    if f.requires_grad or constant or e.dtype.kind not in "fc":
        return []
    direction = directions_like(case.call.arrays, np.random.default_rng(1))
    change = slope(lambda t: np.asarray(case(*along(case.call.arrays, direction, t))[k], dtype=complex))
    return ["lost its graph"] if np.max(np.abs(change), initial=0.0) > 1e-7 else []


#: Compiled code has no frame that could be named.
COMPILED = re.compile(r"spatial\.ConvexHull|optimize\.linear_sum_assignment")


def refusal(call: str, names: dict[str, Any]) -> list[str]:
    """A function that converts its arguments says so, and names itself; silence is a fault."""
    try:
        Case(call, names).of_tensors()
    except (RuntimeError, BufferError) as error:
        told = "() does so" in str(error) or "takes a number out of" in str(error) or COMPILED.match(call)
        return [] if told and error.__notes__[-1].startswith("Write instead") else [f"says only {error}"]
    return ["is not refused"]


def _is_1_18() -> bool:
    version = sys.modules["scipy"].__version__.split(".")
    return (int(version[0]), int(version[1])) >= (1, 18)


def report(group: str) -> dict[str, list[str]]:
    """The problems of all calls of a group; calls without any are left out."""
    names = sklearns_scope() if group.startswith("SKLEARN") else scope()
    checks = {
        "CONSTANT": lambda call: problems(call, names, constant=True),
        "REFUSED": lambda call: refusal(call, names),
        "SKLEARN_REFUSED": lambda call: refusal(call, names),
    }
    if group in ("SINCE_1_18", "UNTIL_1_18") and (group == "UNTIL_1_18") == _is_1_18():
        checks[group] = checks["REFUSED"]
    check = checks.get(group, lambda call: problems(call, names))
    found = {}
    for call in (scipy_cases.GROUPS | scipy_cases.CONSUMERS)[group]:
        try:
            wrong = check(call)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found[call] = wrong
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of SciPy: small samples, poor conditions
    json.dump(report(sys.argv[1]), sys.stdout)
