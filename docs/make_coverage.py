"""Write what is covered: ``python docs/make_coverage.py [FILE]`` (docs/coverage.md when left out).

Nothing in the table is declared: each operator is looked up in every namespace, and differentiated on its first sample, again
and again, over each array library.
"""

import sys
import warnings
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np

import pullback as pb
import pullback.torch
from pullback.core.tensor import Tensor
from pullback.doors import numpy as door
from pullback.ops.registry import REGISTRY, Record, Sample, samples_of

OPENING = """\
# What is covered

Operator, order, namespace, array library: `docs/make_coverage.py` finds this out and writes this page.

* **Namespaces**: where the operator is found; `np` means NumPy's own function of that value, called with a Tensor.
* **Forward**: where its tangents come from: its own partial derivatives (`own`), itself because it is linear (`linear`),
  from pulling back twice (`derived`), or from the operators that it is made of (`parts`).
* **NumPy, complex, strict**: how often the first sample was differentiated, over arrays of NumPy, of complex numbers, and of
  array_api_strict; 4 is as far as was tried.  The tests compare orders 1 to 3 with differences, and 4 with fifty digits.
"""
TRIED = 4
SPACES: dict[str, Any] = {"pb": pb, "pb.linalg": pb.linalg, "pb.fft": pb.fft, "pb.special": pb.special}
TORCH = ("", "linalg.", "special.", "nn.functional.", "fft.", "Tensor.")


def has(module: Any, name: str) -> bool:
    """Whether there is such a name, dots and all."""
    try:
        attrgetter(name)(module)
    except AttributeError:
        return False
    return True


def spaces(record: Record) -> Iterator[str]:
    """The namespaces that have it."""
    inner, _, name = record.name.rpartition(".")
    for space, module in SPACES.items():
        if hasattr(module, name) and (not inner or space == f"pb.{inner}"):
            yield space
    if any(has(pullback.torch, prefix + name) for prefix in TORCH if not inner or prefix == f"{inner}."):
        yield "torch"
    if record.reference in door.UFUNCS or record.reference in door.FUNCTIONS:
        yield "np"


def forward(record: Record) -> str:
    """Where its tangents come from."""
    operator = record.operator
    if operator is None:
        return "parts"
    return "linear" if operator.linear else "own" if operator.jvp is not None else "derived"


def orders(record: Record, dtype: Any, convert: Any) -> int:
    """How often the first sample with entries can be differentiated, at most `TRIED` times."""
    leaves: list[Any] = []

    def prepared(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([prepared(item) for item in value])
        if not isinstance(value, np.ndarray):
            return value
        leaf = Tensor(convert(value), value.dtype.kind in "fc")
        leaves.extend([leaf] if leaf.requires_grad else [])
        return leaf

    for sample in samples_of(record, dtype):
        leaves.clear()
        args, options = prepared(sample.args), {k: prepared(v) for k, v in sample.options.items()}
        if any(leaf.size for leaf in leaves):
            return count(record, Sample(args, options), leaves)
    return 0


def count(record: Record, sample: Sample, leaves: list[Any]) -> int:
    """The same for one call."""
    found = record.call(*sample.args, **sample.options)
    found = found if record.observe is None else record.observe(found)
    outputs = list(found) if isinstance(found, list | tuple) else [found]
    for order in range(TRIED):
        outputs = [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]
        if not outputs:
            return order
        total = sum([pb.sum(pb.real(y * weights(y))) for y in outputs])
        outputs = list(pb.autograd.grad(total, leaves, create_graph=True, materialize_grads=True))
    return TRIED


def weights(y: Any) -> Any:
    """Factors that let nothing cancel, in the kind of `y`."""
    numbers = np.cos(np.arange(y.size) + 0.5) * (1 - 0.5j if y.dtype.kind == "c" else 1)
    values = numbers.reshape(y.shape)
    return values if isinstance(y._array, np.ndarray) else array_api_strict.asarray(values)


def row(record: Record) -> str:
    """The line of one operator."""
    real = orders(record, np.float64, lambda x: x)
    complex_ = str(orders(record, np.complex128, lambda x: x)) if record.complex else ""
    strict = orders(record, np.float64, array_api_strict.asarray)
    where = ", ".join(f"`{space}`" for space in spaces(record))
    return f"| `{record.name}` | {where} | {forward(record)} | {real} | {complex_} | {strict} |"


def page() -> Iterator[str]:
    """The lines of the page."""
    door.fill()
    yield OPENING
    yield "| operator | namespaces | forward | NumPy | complex | strict |\n|---|---|---|---|---|---|"
    records = [record for record in REGISTRY.values() if record.differentiable]
    for record in sorted(records, key=lambda record: (("." in record.name), record.name)):
        yield row(record)
    plain = [r for r in REGISTRY.values() if not r.differentiable]
    yield f"\n{len(records)} operators with derivatives; {len(plain)} without, see [the list](operators.md), which says why."


def main() -> None:
    """Write the page."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "coverage.md"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        file.write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
