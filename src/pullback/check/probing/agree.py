"""Two gradients side by side: whether they are the same, and where they are furthest apart."""

from __future__ import annotations

import numpy as np

from pullback.check.probing.outcome import Fault, raises
from pullback.check.probing.raising import line_in
from pullback.check.probing.specimen import Specimen

Gradient = np.ndarray | None


def agree(a: Gradient, b: Gradient, rtol: float, atol: float) -> bool:
    """Whether two gradients are the same to within tolerances; None is like None only."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-6) -> bool:
    """The same, relative to the largest number of `b` and to the precision of both."""
    unit = max(float(np.finfo(x.dtype).eps) if x.dtype.kind in "fc" else 0.0 for x in (a, b))
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    slack = max(tolerance, 100 * unit)
    return agree(a, b, slack, slack * max(scale, 1e-12))


def show_furthest(fault: Fault, found: np.ndarray, expected: np.ndarray) -> Fault:
    """Write the numbers into a fault that are furthest apart."""
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(np.abs(found - expected), nan=np.inf)
    worst = np.unravel_index(int(apart.argmax()), found.shape)
    fault.found, fault.expected = f"{found[worst]:.8g}", f"{expected[worst]:.8g}"
    return fault


def repeatable(specimen: Specimen) -> Fault | None:
    """Pull one node back twice: the fault if the second pass raises or gives something else."""
    call, cotangents = specimen.run(), specimen.cotangents(specimen.rng)
    first = call.pull(*cotangents)
    try:
        second = call.pull(*cotangents)
    except Exception as error:
        return Fault("not-repeatable", f"the second pass {raises(error)}", where=line_in(error, specimen))
    for position, a, b in zip(specimen.wanted, first, second, strict=True):
        if a is not None and b is not None and not close(b, a, 1e-12):
            message = f"the second backward pass gives {specimen.argument_name(position)} another gradient"
            where = specimen.line_of("backward")
            return show_furthest(Fault("not-repeatable", message, inputs=specimen.shown(), where=where), b, a)
    return None
