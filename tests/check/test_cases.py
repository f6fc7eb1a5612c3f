"""Programs that were reported as traps, examined by `pullback check` as they are: each under its own name."""

import ast
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from pullback.check import check

CASES = Path(__file__).resolve().parents[1] / "conformance" / "cases"
LIBRARIES = ["pullback.torch", pytest.param("torch", marks=pytest.mark.torch)]


def classes(number, library):
    """The definitions of a case, without the program around them."""
    file = CASES / f"case{number}.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    keep = [
        node
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "w")
    ]
    text = ast.unparse(ast.Module(keep, [])).replace("import torch", f"import {library} as torch")
    module = types.ModuleType(f"case{number}")
    exec(compile(text, f"<case{number}>", "exec"), module.__dict__)
    return module


def names(target, inputs, library, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [fault.name for fault in check(target, inputs, library=library, **options).faults]


X = np.array([1.0, 2.0, 3.0])
M = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("number", "name", "inputs", "fault"),
    [
        ("10", "DoubleKernel", [M], "layout-dependent"),
        ("12", "Bad", [X], "gradient-shape"),
        ("14", "Cube", [X], "once-differentiable-leaks"),
        ("17", "Scale", [X[:1]], "captured-tensor"),
        ("19", "Triple", [X], "cotangent-written"),
        ("01", "", [X], "intermediate-on-ctx"),
        ("02", "", [X], "intermediate-saved"),
        ("07", "", [X], "input-written"),
    ],
)
def test_the_trap_has_its_name_on_torch(number, name, inputs, fault):
    module = classes(number, "torch")
    found = (
        [getattr(module, name)]
        if name
        else [v for v in vars(module).values() if isinstance(v, type) and hasattr(v, "apply")]
    )
    assert fault in names(found[0], inputs, "torch")


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_is_no_fault_of_a_right_function(library):
    import importlib

    torch = importlib.import_module(library)
    single = np.array([1.5, 20.0, -3.0], np.float32)
    assert names(lambda t: t * t * torch.sin(t), [single], library, only=["values", "orders", "contract"]) == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_kink_is_no_fault(library):
    import importlib

    torch = importlib.import_module(library)
    at_the_kink = np.array([0.0, 1.0, -1.0])
    assert names(lambda t: torch.relu(t), [at_the_kink], library, only=["values"]) == []
    assert names(lambda t: torch.abs(t), [at_the_kink], library, only=["values"]) == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_random_function_is_called_random(library):
    rng = np.random.default_rng(0)
    assert names(lambda t: t * float(rng.random()), [X], library) == ["random-forward"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_seeded_randomness_passes(library):
    """The library's own random numbers are seeded before each call."""
    import importlib

    torch = importlib.import_module(library)
    assert names(lambda t: t * torch.rand(3, dtype=torch.float64), [X], library, only=["values"]) == []
