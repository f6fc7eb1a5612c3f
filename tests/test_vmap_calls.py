"""The calls of NumPy's and torch's functions that other tests compare, under `vmap`: values and gradients are those of the loop.

Many of these functions are programs on top of the operators, and some look at numbers; such a one runs for each entry.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch
import test_torch_calls
import test_torch_namespace
from doors import numpy_cases
from torch_calls.operands import arrays as torch_arrays

SIZE = 2


def by_numpy(call: str, names: dict[str, Any]) -> Any:
    return eval(call, {"np": np, "pb": pb, **names})


def by_torch(call: str, names: dict[str, Any]) -> Any:
    return eval(call, {"torch": torch, **names})


def statement(call: str, names: dict[str, Any]) -> Any:
    scope = {"torch": torch, **names, "z": names["x"] * 1}
    exec(call, scope)
    return scope["z"]


def lines(call: str, names: dict[str, Any]) -> Any:
    scope = {"torch": torch, "F": torch.nn.functional, "np": np, "fixed": test_torch_calls.fixed(torch), **names}
    *statements, last = [part.strip() for part in call.split(";")]
    if re.match(r"[\w.]+ = ", last):
        statements, last = [*statements, last], "None"
    if "x" in names:
        scope["g"] = names["x"] * 1
    exec("\n".join(statements), scope)
    return eval(last, scope)


def of_the_namespace() -> dict[str, Any]:
    return {name: np.asarray(x._array) for name, x in test_torch_namespace.data(torch).items()}


#: name -> calls, their arrays, what evaluates one, and the names that it needs beside those it says.
TABLES: dict[str, tuple[list[str], Callable[[], Any], Any, str]] = {
    "numpy": (numpy_cases.CALLS, numpy_cases.values, by_numpy, ""),
    "torch": (test_torch_namespace.CALLS, of_the_namespace, by_torch, ""),
    "statements": (test_torch_namespace.STATEMENTS, of_the_namespace, statement, "x"),
    "torch_calls": (test_torch_calls.CALLS, torch_arrays, lines, "x"),
}
#: What may be refused, and why.
REFUSED = {
    r"out=np\.zeros_like\(.*shape": "what differs between entries is written into an array that they share",
    r"out=|where=": "what looks at numbers and writes into out= is not run for each entry",
    r"histogramdd|full=True|lstsq": "results that are no Tensors, or have different shapes",
    r"batch_norm|BatchNorm|instance_norm|InstanceNorm": "running statistics are written, where numbers are looked at",
    r"apply_|map_": "a Python function of numbers",
    r"dropout|gumbel|randperm|uniform_|random_|bernoulli_": "random",
    r"backward\(\)": "backward() inside a transformation",
    r"n\.contiguous\(\)\.view": "the batch axis is not the first one in memory",
}


def results(evaluate: Any, call: str, names: dict[str, Any]) -> list[Any]:
    """The Tensors that a call gives."""
    found: list[Any] = []
    pending = [evaluate(call, names)]
    while pending:
        value = pending.pop(0)
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, pb.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)) and type(value).__name__ != "Size":
            pending = [*value, *pending]
    return found


def gradients(outputs: Any, leaves: list[Any]) -> list[Any]:
    live = [y for y in outputs if y.requires_grad]
    if not live:
        return []
    seeds = [type(y)(np.ones(tuple(y.shape), y.dtype)) for y in live]
    return [np.asarray(g._array) for g in pb.autograd.grad(live, leaves, seeds, materialize_grads=True)]


def check(table: str, call: str) -> None:
    """One call, under vmap and in a loop; nothing where the loop itself fails."""
    _, make, evaluate, needed = TABLES[table]
    values = make()
    inexact = [name for name, array in values.items() if array.dtype.kind in "fc"]
    used = [n for n in inexact if re.search(rf"(?<![\w.]){n}\b", call) or n == needed]
    if not used:
        return
    kind = pb.tensor if table == "numpy" else torch.tensor
    others = {name: kind(array) for name, array in values.items() if name not in used}
    stacks = {n: np.stack([values[n] * (1 + 0.003 * k) for k in range(SIZE)]).astype(values[n].dtype) for n in used}
    rows, pulled = [], []
    for k in range(SIZE):
        leaves = {n: kind(s[k]).requires_grad_() for n, s in stacks.items()}
        try:
            outputs = results(evaluate, call, {**others, **leaves})
            pulled.append(gradients(outputs, list(leaves.values())))
        except Exception:  # writes into a leaf, has no derivative, ...
            return
        rows.append([np.asarray(y.detach()._array) for y in outputs])
    if not rows[0]:
        return
    leaves = {n: kind(s).requires_grad_() for n, s in stacks.items()}
    try:
        found = torch.vmap(lambda *xs: tuple(results(evaluate, call, {**others, **dict(zip(used, xs, strict=True))})))(
            *leaves.values()
        )
    except RuntimeError as error:
        if any(re.search(pattern, call) for pattern in REFUSED):
            return
        raise AssertionError(f"{call} is refused") from error
    assert len(found) == len(rows[0])
    grads = gradients(found, list(leaves.values()))
    assert bool(grads) == bool(pulled[0])
    for k in range(SIZE):
        for f, e in zip(found, rows[k], strict=True):
            np.testing.assert_allclose(np.asarray(f.detach()._array)[k], e, rtol=1e-6, atol=1e-8, strict=True)
        for f, e in zip(grads, pulled[k], strict=True):
            np.testing.assert_allclose(f[k], e, rtol=1e-5, atol=1e-7, strict=True)


def every(step: int) -> list[Any]:
    """Of each table every so manieth call, and the others among the slow tests."""
    return [
        pytest.param(table, call, marks=[] if k % step == 0 else pytest.mark.slow)
        for table, (calls, *_) in TABLES.items()
        for k, call in enumerate(calls)
    ]


@pytest.mark.parametrize(("table", "call"), every(12))
def test_vmap_agrees_with_the_loop(table: str, call: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check(table, call)
