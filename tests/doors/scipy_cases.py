"""Calls of SciPy's functions that accept arrays of any namespace, written as a user writes them.

Each is run on arrays and on Tensors in a process of its own, where ``SCIPY_ARRAY_API=1`` is set before SciPy is
imported.  The names of the arrays are those below; every floating-point or complex one that a call names is
differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from doors.numpy_cases import values as numpys_values
from doors.numpy_cases import words
from pullback.ops.registry import Make


def values() -> dict[str, Any]:
    """The arrays by their names, the same each time."""
    make = Make(1)
    found = numpys_values()
    found |= {
        "e": np.asarray(0.7),  # a number between 0 and 1
        "l": make(8),  # a signal
        "L": make(2, 8),
        "S": make(8, low=0.5, high=3.0),  # a positive one
        "o": make(9, low=0.5, high=3.0),  # an odd number of samples
        "g": np.linspace(0.0, 2.0, 9) + make(9, low=0.01, high=0.05),  # places, increasing
        "P": make(12, low=0.05, high=0.95),  # probabilities
        "A": make(7),
        "B": make(7, low=-1.0, high=3.0),
        "C": make(6, low=0.2, high=1.0),
        "G": make(2, 7),
        "Q": make(3, 4),  # quaternions
        "q1": make(4),
        "T": make(3, low=0.2, high=0.5),  # small angles
        "V": make(3, 3),
        "D": make(5, 8),  # dual quaternions
        "E": make(3, 6),  # exponential coordinates
        "z3": np.asarray([0.3, -0.5 + 0.4j, -0.5 - 0.4j]),
        "p3": np.asarray([-0.2 + 0.5j, -0.2 - 0.5j, 0.6]),
        "sos": np.asarray([[1.0, 0.3, 0.2, 1.0, -0.4, 0.2], [0.7, 0.2, 0.1, 1.0, 0.3, 0.4]]),
        "num": np.asarray([0.6, 0.3, 0.1]),
        "den": np.asarray([1.0, -0.5, 0.3]),
    }
    return found


#: Functions of SciPy that never convert their arguments, found by running SciPy's own tests on arrays that log it.
PURE = {
    "fft": words("""fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn
        ihfftn fftshift ifftshift fht ifht"""),
}
