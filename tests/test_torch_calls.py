"""``pullback.torch`` against PyTorch itself, call by call: value, dtype, shape, gradient, gradient of the gradient.

The calls stand in ``torch_calls/*.txt``, one per line; in a line of several statements the last one is what is compared, and
``g`` stands for ``x * 1``, which may be written into.  ``! IndexError:`` before a call: both raise this kind of error.  ``~``: it
runs, and is not compared, for the reason above it.
"""

import builtins
import re
from pathlib import Path

import numpy as np
import pytest

import pullback.torch as torch
from torch_calls.operands import arrays, tensors

pytestmark = pytest.mark.filterwarnings("ignore")  # of old arguments, and means of nothing

TABLES = Path(__file__).parent / "torch_calls"


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
    scope = {"torch": library, "F": library.nn.functional, "np": np, "fixed": fixed(library), **names}
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


@pytest.mark.parametrize("call", CALLS + UNCOMPARED)
def test_every_call_runs_to_second_order(call):
    """Without PyTorch: it runs, and so do the gradient and the gradient of the gradient."""
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
        try:
            first, second = derivatives(original, theirs, other_leaves)
        except (RuntimeError, NotImplementedError):  # torch has no derivative here, or none of its derivative
            first, second = _first_only(original, theirs, other_leaves)
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
