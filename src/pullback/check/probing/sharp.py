"""Slopes that are sharper than differences of doubles: at fifty digits, or with an imaginary step.

Fifty digits need a function that is written in pullback's own operators (its Tensors then hold mparray's arrays, which are
mpmath's numbers); an imaginary step needs one that takes complex numbers and is analytic.  Both are tried, and believed only
where they agree with ordinary differences as far as those go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.check.probing.specimen import Specimen, flat
from pullback.check.worlds.native import NativeWorld
from pullback.core.tensor import Tensor

DIGITS = 50
#: More numbers than this are not computed with fifty digits.
MANY = 60
_TINY = 1e-30


def sharp(
    specimen: Specimen, position: int, directions: list[np.ndarray], rough: np.ndarray
) -> tuple[np.ndarray, str] | None:
    """The Jacobian for one argument, and by which means; None where neither can be had."""
    if (
        specimen.level > 1
        or specimen.arguments[position].dtype != np.float64
        or any(y.dtype != np.float64 for y in specimen.outputs)
    ):
        return None
    for how, slope in (("fifty digits", _at_fifty_digits), ("an imaginary step", _with_imaginary_step)):
        try:
            with np.errstate(all="ignore"):
                found = np.stack([slope(specimen, position, direction) for direction in directions])
        except Exception:
            continue  # the function does not take such numbers
        if found.shape == rough.shape and np.allclose(
            found, rough, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(rough).max(initial=0.0)))
        ):
            return found, how
    return None


def _with_imaginary_step(specimen: Specimen, position: int, direction: np.ndarray) -> np.ndarray:
    """``Im f(x + ih) / h`` (W. Squire and G. Trapp, SIAM Review 40, 1998)."""
    moved = specimen.arguments[position] + 1j * _TINY * direction
    specimen.world.seed(specimen.seed)
    outputs = specimen.world.call(specimen.function, specimen.make(specimen.moved(position, moved), ())).outputs
    taken = [outputs[k] for k in specimen.first.differentiable]
    if not all(y is not None and y.dtype.kind == "c" for y in taken):
        raise TypeError("the imaginary part was dropped")
    return np.concatenate([np.imag(y).reshape(-1) / _TINY for y in taken if y is not None])


def _at_fifty_digits(specimen: Specimen, position: int, direction: np.ndarray) -> np.ndarray:
    """A central difference whose step is so short, and whose numbers are so long, that neither matters."""
    if not isinstance(specimen.world, NativeWorld) or direction.size > MANY:
        raise TypeError("only pullback's own operators compute with fifty digits")
    import mparray
    import mpmath

    def at(step: float) -> list[Any]:
        arguments = [
            mparray.asarray(a) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in specimen.arguments
        ]
        arguments[position] = arguments[position] + mparray.asarray(step * direction)
        made = [a if not hasattr(a, "shape") else Tensor(a) for a in arguments]
        outputs = specimen.function(*made)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [outputs[k]._array for k in specimen.first.differentiable]

    with mpmath.workdps(DIGITS):
        above, below = at(_TINY), at(-_TINY)
        slopes = [(a - b) / mparray.asarray(2 * _TINY) for a, b in zip(above, below, strict=True)]
        lines = [mparray.reshape(slope, (-1,)) for slope in slopes]
        return flat([np.array([float(line[k]) for k in range(line.shape[0])]) for line in lines])
