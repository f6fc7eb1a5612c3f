"""How far an analytical value may be from a numerical one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pullback.check.differences import Differences
from pullback.check.numeric import DOUBLE


@dataclass(frozen=True)
class Tolerance:
    """``|analytical - numerical| <= atol + rtol * |numerical|``; two backward passes may differ by `nondet`."""

    atol: float
    rtol: float
    nondet: float

    def for_precision(self, differences: Differences, largest: float, size: float) -> Tolerance:
        """Widened for rules in low precision.

        Parameters
        ----------
        largest, size
            Largest absolute value among the numerical derivatives, and among the function's values.
        """
        unit = differences.subject.unit()
        if unit <= DOUBLE:
            return self
        if differences.in_double:  # sharp differences: only the rule itself rounds
            return Tolerance(self.atol + 32 * unit * largest, max(self.rtol, 8 * unit), self.nondet)
        return Tolerance(
            max(self.atol, 4 * unit ** (2 / 3) * size), max(self.rtol, 4 * float(np.sqrt(unit))), self.nondet
        )
