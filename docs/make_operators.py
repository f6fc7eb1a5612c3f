"""Write the list of operators from the registry: ``python docs/make_operators.py [FILE]`` (docs/operators.md when left out)."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pullback as pb
import pullback.torch
from pullback.ops.registry import REGISTRY, Record

OPENING = """\
# Operators

Every function that users see, as the registry has it; `docs/make_operators.py` writes this page.

* **Where**: `pb` is `pullback`, `torch` is `pullback.torch` (there with torch's arguments); an operator or a method of
  Tensor is written out.
* **Node**: how a recorded call is called in graphs and errors. A differentiable function without one is composed of others.
* **Complex**: its tests run on complex arguments too.
* **Why none**: the reason why a function has no derivative; asking for a gradient is an error that says so.
* **Order**: `make test` compares the derivatives up to this order with finite differences. It is no limit: rules are
  recorded like everything else.
"""
# fmt: off
SIGNS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "truediv": "a / b", "floordiv": "a // b", "mod": "a % b",
    "pow": "a ** b", "matmul": "a @ b", "and": "a & b", "or": "a | b", "xor": "a ^ b", "lshift": "a << b",
    "rshift": "a >> b", "eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "neg": "-x", "pos": "+x", "invert": "~x", "abs": "abs(x)",
}
# fmt: on
SPACES: dict[str, Any] = {
    "pb": pb,
    "pb.linalg": pb.linalg,
    "pb.implicit": pb.implicit,
    "pb.fft": pb.fft,
    "torch": pullback.torch,
    "torch.linalg": pullback.torch.linalg,
    "torch.nn.functional": pullback.torch.nn.functional,
}


CHAPTERS = (
    *("Entry by entry", "Whole arrays", "Linear algebra", "Fourier transforms"),
    *("Without derivative", "Arrays and dtypes"),
)


def where(record: Record) -> list[str]:
    """How it can be reached."""
    inner, _, name = record.name.rpartition(".")
    spaces = [
        space for space, module in SPACES.items() if hasattr(module, name) and (not inner or space == f"pb.{inner}")
    ]
    return spaces + [SIGNS[name] for name in [record.dunder] if name] + [f"x.{name}()" for name in record.methods]


def chapter(record: Record) -> str:
    """The heading it stands under."""
    if record.call.__module__ in ("pullback.ops.creation", "pullback.ops.data_types"):
        return "Arrays and dtypes"
    if record.name.startswith("fft."):
        return "Fourier transforms"
    if not record.differentiable:
        return "Without derivative"
    if record.elementwise:
        return "Entry by entry"
    algebra = any(hasattr(space, record.name) for space in (pb.linalg, pb.implicit, pullback.torch.linalg))
    return "Linear algebra" if algebra else "Whole arrays"


def summary(record: Record) -> str:
    """What it computes: the first sentence of its docstring."""
    paragraph = " ".join(record.call.__doc__.split("\n\n")[0].split())
    sentence = paragraph.partition(" vjp: ")[0].partition(". ")[0].partition("; see ")[0].rstrip(".")
    return sentence.replace("``", "`").replace("|", "\\|")


def row(record: Record) -> list[str]:
    """The cells of one operator."""
    places = ", ".join(f"`{place}`" for place in where(record)).replace("|", "\\|")
    node = getattr(record.operator, "node_name", "")
    last = str(record.order) if record.differentiable else record.reason
    return [f"`{record.name}`", summary(record), places, node and f"`{node}`", "yes" if record.complex else "", last]


def page() -> Iterator[str]:
    """The lines of the page."""
    yield OPENING
    shown = sorted((record for record in REGISTRY.values() if where(record)), key=lambda record: record.name)
    for title in CHAPTERS:
        records = [record for record in shown if chapter(record) == title]
        kinds = {record.differentiable for record in records}
        last = "order" if kinds == {True} else "why none" if kinds == {False} else "order, or why none"
        yield f"## {title}\n"
        yield f"| name | what | where | node | complex | {last} |\n|---|---|---|---|---|---|"
        for record in records:
            yield "| " + " | ".join(row(record)) + " |"
        yield ""


def main() -> None:
    """Write the page."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "operators.md"
    file.write_text("\n".join(page()), encoding="utf-8")


if __name__ == "__main__":
    main()
