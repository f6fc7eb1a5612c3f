"""Write the list of torch's names: ``python docs/make_torch_names.py [FILE]`` (docs/torch_names.md when left out).

Which names torch has stands in ``tests/conformance/names.json``; whether this library has them is looked up.
"""

import json
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pullback.torch as torch
from pullback.torch._missing import OF_TENSORS, instead_of

NAMES = Path(__file__).parent.parent / "tests" / "conformance" / "names.json"
OPENING = """\
# Torch's names

`import pullback.torch as torch`: which names of torch are there, and what to use in the place of the others.
`docs/make_torch_names.py` writes this page. Left out are names of storages, kernels, quantisation, sparse layouts and
compilers, which have no meaning for arrays of NumPy.

A name that is not offered raises an AttributeError that says what to use. `tests/torch_calls/` compares about two thousand
calls with PyTorch: value, dtype, shape, gradient, gradient of the gradient, kinds of errors.
"""
#: What the AttributeError says where nothing better is known.
COMMON = "Tensor operators, or a Function."


def found(place: str) -> Any:
    """The module or class of this library for a place in torch; ``None`` where there is none."""
    return reduce(lambda space, name: getattr(space, name, None), place.split(".")[1:], torch)


def has(place: str, name: str) -> bool:
    """Whether the name is offered there."""
    if place == "torch.Tensor":
        return hasattr(torch.Tensor, name) and name not in OF_TENSORS
    return hasattr(found(place), name)


def page() -> Iterator[str]:
    """The lines of the page."""
    recorded = json.loads(NAMES.read_text(encoding="utf-8"))
    yield OPENING
    yield f"| torch {recorded['torch'].split('+')[0]} | offered | of |\n|---|---|---|"
    tables = {place: names.split() for place, names in recorded["names"].items()}
    for place, names in tables.items():
        yield f"| `{place}` | {sum(has(place, name) for name in names)} | {len(names)} |"
    yield ""
    for place, names in tables.items():
        there = [name for name in names if has(place, name)]
        absent = [name for name in names if name not in there]
        yield f"## {place}\n"
        yield " ".join(f"`{name}`" for name in there) + "\n"
        if absent:
            yield "Not offered:\n\n| name | instead |\n|---|---|"
            yield from rows(place, absent)
            yield ""


def rows(place: str, absent: list[str]) -> Iterator[str]:
    """One line for each thing that can be used instead."""
    by_answer: dict[str, list[str]] = {}
    for name in absent:
        by_answer.setdefault(instead_of(name), []).append(name)
    for answer, names in sorted(by_answer.items(), key=lambda pair: pair[0] == COMMON):
        yield f"| {' '.join(f'`{name}`' for name in names)} | {answer} |"


def main() -> None:
    """Write the page."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "torch_names.md"
    file.write_text("\n".join(page()).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
