"""``pullback.torch`` against PyTorch, call by call: value, dtype, shape, gradient, gradient of the gradient.

With what PyTorch gave once (``torch_calls/recorded.json``), and, where it is installed (marker ``torch``), with itself, entry
by entry.

The calls stand in ``torch_calls/*.txt``, one per line; in a line of several statements the last one is what is compared, and
``g`` stands for ``x * 1``, which may be written into.  ``! IndexError:`` before a call: both raise this kind of error.  ``~``: it
runs, and is not compared, for the reason above it.
"""

import builtins
import json
import re
from pathlib import Path

import numpy as np
import pytest

import pullback.torch as torch
from torch_calls.operands import arrays, tensors

pytestmark = pytest.mark.filterwarnings("ignore")  # of old arguments, and means of nothing

TABLES = Path(__file__).parent / "torch_calls"
#: What torch gave, written by `torch_calls/record.py`.
RECORDED = TABLES / "recorded.json"


def _lines():
    for table in sorted(TABLES.glob("*.txt")):
        for line in table.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                yield table.stem, line.strip()


LINES = [line for _, line in _lines()]
CALLS = [line for line in LINES if not line.startswith(("!", "~"))]
UNCOMPARED = [line[1:].strip() for line in LINES if line.startswith("~")]
REFUSED = [line[1:].strip().split(": ", 1) for line in LINES if line.startswith("!")]
LEAVES = [name for name, array in arrays().items() if array.dtype.kind in "fc" and array.dtype.itemsize % 8 == 0]


def run(library, call):
    """What a line computes, and the leaves that it names."""
    names = tensors(library)
    leaves = {name: names[name] for name in LEAVES if re.search(rf"(?<![\w.]){name}\b", call)}
    scope = {"torch": library, "F": library.nn.functional, "np": np, "fixed": fixed(library), "train": train, **names}
    *statements, last = [part.strip() for part in call.split(";")]
    if "=" in last and re.match(r"[\w.]+ = ", last):
        statements, last = [*statements, last], "None"
    if statements or re.search(r"(?<![\w.])g\b", call):
        scope["g"] = names["x"] * 1
        leaves["x"] = names["x"]
    if statements:
        exec("\n".join(statements), scope)
    return eval(last, scope), leaves


def fixed(library):
    """What gives a module the same numbers in either library."""

    def numbered(module):
        module.double()
        for k, parameter in enumerate(module.parameters()):
            values = np.sin(np.arange(parameter.numel()) * 1.7 + k).reshape(tuple(parameter.shape))
            parameter.data = library.from_numpy(values)
        return module

    return numbered


def train(module, optimizer, x, steps=4):
    """The parameters after some steps towards a small result."""

    def closure():
        optimizer.zero_grad()
        loss = ((module(x.detach()) - 0.3) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return [parameter.detach() for parameter in module.parameters()]


def flat(value):
    """A result as a list of Tensors and plain values."""
    if isinstance(value, dict):
        return [part for item in value.values() for part in flat(item)]
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [part for item in value for part in flat(item)]
    return [value]


def array(tensor):
    """The values; a Tensor of torch may stand for something else: a conjugate, or zeros without memory."""
    return tensor.detach().numpy() if isinstance(tensor, torch.Tensor) else tensor.numpy(force=True)


def weighted(library, parts, offset):
    """One real number that every element of every part has a share in."""
    total = 0
    for k, part in enumerate(parts):
        if part is None or not part.requires_grad:
            continue
        pieces = (part.real, part.imag) if part.dtype in (library.complex64, library.complex128) else (part,)
        for m, piece in enumerate(pieces):
            weights = np.cos(np.arange(piece.numel()) * 1.3 + k + 2 * m + offset).reshape(tuple(piece.shape))
            total = total + (piece * library.from_numpy(np.asarray(weights))).sum()
    return total


def derivatives(library, value, leaves):
    """First and second: the gradient of a number made of the result, and that of a number made of this gradient."""
    parts = [part for part in flat(value) if hasattr(part, "requires_grad") and part.requires_grad]
    first, second = [None] * len(leaves), [None] * len(leaves)
    if not parts or not leaves:
        return first, second
    given = list(leaves.values())
    first = library.autograd.grad(weighted(library, parts, 0.5), given, create_graph=True, allow_unused=True)
    if any(part is not None and part.requires_grad for part in first):
        second = library.autograd.grad(weighted(library, first, 0.2), given, allow_unused=True)
    return first, second


def compare(ours, theirs, what, single=False):
    """The same to the precision of the dtype; no gradient and a zero gradient are the same."""
    if ours is None or theirs is None:
        assert what != "value"
        other = theirs if ours is None else ours
        assert other is None or not np.any(array(other)), what
        return
    mine, other = array(ours), array(theirs)
    assert mine.shape == other.shape, what
    assert mine.dtype == other.dtype, what
    single = single or other.dtype in (np.float32, np.complex64, np.float16)
    np.testing.assert_allclose(mine, other, rtol=2e-5 if single else 1e-8, atol=1e-6 if single else 1e-10, err_msg=what)


def same_values(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        if hasattr(other, "detach"):
            compare(mine, other, "value")
            assert mine.requires_grad == other.requires_grad
        elif isinstance(other, float):
            np.testing.assert_allclose(mine, other, rtol=1e-8)
        else:
            assert str(mine).removeprefix("torch.") == str(other).removeprefix("torch.")


def total(part):
    """A number that every entry has a share in, as text: to nine digits, and nothing at all where all are zero."""
    if part is None:
        return ""
    values = np.nan_to_num(array(part).astype(complex), nan=3.0, posinf=5.0, neginf=7.0).ravel()
    weights = np.cos(np.arange(values.size) * 0.7)
    return [round(float(x), 9) for x in ((values.real * weights).sum(), (values.imag * weights).sum())]


def totals(parts):
    """Those of several Tensors; ``None`` where torch has no such derivative."""
    return None if parts is None else [total(part) for part in parts]


def prints(value):
    """What tells one result from another."""
    found = []
    for part in flat(value):
        if hasattr(part, "detach"):
            found.append([str(part.dtype).removeprefix("torch."), list(part.shape), total(part), part.requires_grad])
        else:
            found.append(round(part, 9) if isinstance(part, float) else str(part).removeprefix("torch."))
    return found


def torchs_derivatives(library, value, leaves):
    """Those that torch has: it cannot differentiate everything, nor everything twice."""
    try:
        return derivatives(library, value, leaves)
    except (RuntimeError, NotImplementedError):
        return _first_only(library, value, leaves)


def same_totals(ours, theirs, tolerance):
    """The same numbers; no gradient and a zero gradient are the same."""
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine or [0.0, 0.0], other or [0.0, 0.0], rtol=tolerance, atol=10 * tolerance)


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_gives_what_torch_gave(call, recorded):
    """Value, dtype, shape; gradient, and gradient of the gradient."""
    with np.errstate(all="ignore"):
        value, leaves = run(torch, call)
        first, second = derivatives(torch, value, leaves)
    theirs, their_first, their_second = recorded[call]
    single = any(part[0] in ("float32", "complex64", "float16") for part in theirs if isinstance(part, list))
    tolerance = 3e-5 if single else 2e-7
    for mine, other in zip(prints(value), theirs, strict=True):
        if isinstance(other, list):
            assert (mine[0], mine[1], mine[3]) == (other[0], other[1], other[3])
            same_totals([mine[2]], [other[2]], tolerance)
        else:
            assert mine == pytest.approx(other, rel=1e-8) if isinstance(other, float) else mine == other
    if their_first is not None:
        same_totals(totals(first), their_first, tolerance)
    if their_second is not None:
        same_totals(totals(second), their_second, tolerance)


@pytest.mark.parametrize("call", UNCOMPARED)
def test_every_other_call_runs_to_second_order(call):
    with np.errstate(all="ignore"):
        value, leaves = run(torch, call)
        derivatives(torch, value, leaves)


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLS)
def test_every_call_is_torchs_to_second_order(call):
    import torch as original

    with np.errstate(all="ignore"):
        theirs, other_leaves = run(original, call)
        ours, leaves = run(torch, call)
        same_values(flat(ours), flat(theirs))
        single = any(getattr(part, "dtype", None) == torch.float32 for part in flat(ours))
        first, second = torchs_derivatives(original, theirs, other_leaves)
        mine = derivatives(torch, ours, leaves)
        for k, name in enumerate(leaves):
            if first is not None:
                compare(mine[0][k], first[k], f"gradient for {name}", single)
            if second is not None:
                compare(mine[1][k], second[k], f"second derivative for {name}", single)


def _first_only(library, value, leaves):
    parts = [part for part in flat(value) if hasattr(part, "requires_grad") and part.requires_grad]
    try:
        return library.autograd.grad(weighted(library, parts, 0.5), list(leaves.values()), allow_unused=True), None
    except (RuntimeError, NotImplementedError):
        return None, None


@pytest.mark.parametrize(("kind", "call"), REFUSED)
def test_every_refused_call_raises_torchs_kind_of_error(kind, call):
    with pytest.raises(getattr(builtins, kind)) as error:
        run(torch, call)
    assert str(error.value)


@pytest.mark.torch
@pytest.mark.parametrize(("kind", "call"), REFUSED)
def test_torch_itself_raises_this_kind_of_error(kind, call):
    import torch as original

    with pytest.raises(getattr(builtins, kind)):
        run(original, call)
