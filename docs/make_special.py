"""Write the list of special functions: ``python docs/make_special.py [FILE]`` (docs/special.md when left out)."""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

from pullback.namespaces import special
from pullback.ops.registry import REGISTRY
from pullback.ops.special import differential
from pullback.ops.special import refused as refused_ones

OPENING = """\
# Special functions

Every ufunc of `scipy.special`, as `pullback.special` has it: values are SciPy's, derivatives are exact to any order in the
arguments that are named. `scipy.special.f(x)` of a Tensor is the same function. `docs/make_special.py` writes this page.

Values differ from SciPy's where those are not exact: `itairy` (there to five digits), `modfresnelp` and `modfresnelm` of negative
numbers (a wrong imaginary part), `ncfdtrinc` and `nctdtrinc` (to four digits and more), parabolic cylinder functions in single
precision (NaN).

A derivative that is refused raises `DerivativeRefused` when it is asked for, never before, and says what to do. The reasons:

* **no closed form**: in orders, degrees of freedom and shapes, the derivative is no function that SciPy computes;
* **whole numbers**: the argument counts, and the function jumps between whole numbers;
* what else stands in the table.
"""
#: How results of several are called in the registry: ``airy_ai`` is one of `airy`.
REASONS = {"it has no closed form in functions": "no closed form", "it takes whole numbers only": "whole numbers"}


def parts(name: str) -> list[str]:
    """The operators that a function of SciPy is made of."""
    if f"special.{name}" in REGISTRY:
        return [name]
    if name in special._ALIASES or name in special._ELSEWHERE:
        return [(special._ALIASES | special._ELSEWHERE)[name].removeprefix("special.")]
    if name in differential.PAIRS | refused_ones.PAIRS:
        return [f"{name}_f", f"{name}_df"]
    pairs = {"sici": ["sinint", "cosint"], "shichi": ["sinhint", "coshint"], "kelvin": ["ber", "bei", "ker", "kei"]}
    return pairs.get(name) or sorted(k.removeprefix("special.") for k in REGISTRY if k.startswith(f"special.{name}_"))


def record_of(part: str) -> Any:
    """The entry of the registry."""
    return REGISTRY.get(f"special.{part}") or REGISTRY[part]


def refused(record: Any) -> dict[str, str]:
    """Arguments whose derivative is refused, and why."""
    found = re.findall(r"The derivative in (\w+) is refused:\s+(.*?)(?=\n\n|\Z)", record.call.__doc__ or "", re.DOTALL)
    reasons = {}
    for argument, why in found:
        why = " ".join(why.split()).rstrip(".")
        reasons[argument] = next((short for start, short in REASONS.items() if why.startswith(start)), why)
    return reasons


def row(name: str) -> list[str]:
    """The cells of one function."""
    records = [record_of(part) for part in parts(name)]
    whole = " ".join(records[0].call.__doc__.split("\n\n")[0].split()).partition("  df")[0].replace("|", "\\|")
    what = whole.partition(" df/d")[0].partition(" vjp:")[0].rstrip(". ").replace("``", "`")
    why = {argument: reason for record in records for argument, reason in refused(record).items()}
    arguments = [a for a in inspect.signature(records[0].call).parameters if a not in why]
    reasons = [
        f"{', '.join(f'`{a}`' for a in why if why[a] == reason)}: {reason}" for reason in dict.fromkeys(why.values())
    ]
    if len(records) > 1:
        what = f"{what} …"
    return [f"`{name}`", what, ", ".join(f"`{a}`" for a in arguments), "; ".join(reasons)]


def page() -> Iterator[str]:
    """The lines of the page."""
    yield OPENING
    ufuncs = sorted(name for name in dir(scipy.special) if isinstance(getattr(scipy.special, name), np.ufunc))
    for title, chosen in (("With derivatives", True), ("Without", False)):
        yield f"## {title}\n\n| function | what | differentiable in | refused in |\n|---|---|---|---|"
        for name in ufuncs:
            cells = row(name)
            if bool(cells[2]) is chosen:
                yield "| " + " | ".join(cells) + " |"
        yield ""
    others = sorted(name for name in set(special.__all__) - set(ufuncs) if hasattr(scipy.special, name))
    yield "## Functions that are no ufuncs\n"
    yield f"Also here: {', '.join(f'`{name}`' for name in others)}."
    yield "`jvp`, `yvp`, `ivp`, `kvp`, `h1vp` and `h2vp` of SciPy take Tensors as they are, because they add up ufuncs."
    yield "All others of SciPy convert their arguments, so they refuse Tensors that require gradients: zeros of functions,"
    yield "`comb`, `perm` and `factorial` (`binom`, `poch` and `gamma` are the same functions of real numbers), spherical"
    yield "harmonics and associated Legendre functions (`lpmv` is there), ellipsoidal harmonics, `diric` and `lmbda`."
    yield ""


def main() -> None:
    """Write the page."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "special.md"
    file.write_text("\n".join(page()), encoding="utf-8")


if __name__ == "__main__":
    main()
