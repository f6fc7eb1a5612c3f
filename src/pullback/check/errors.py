"""What a check can say besides True: one error, told apart by its verdict, and one warning."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np


class GradcheckError(RuntimeError):
    """A check that did not pass.  ``str(error)`` says what; the notes say where, how far, and what it looks like.

    Attributes
    ----------
    verdict
        ==================== ======================================================================================
        mismatch             the derivative is wrong
        kink, jump, edge     there is no derivative at this point, and the answer is not that of either side
        not finite           func, or the analytical derivative, is infinite or NaN
        inconclusive         there is too little precision to tell
        not deterministic    func gives different values when called again
        not reentrant        backward does
        not multiplied       backward gives something for zeros
        not linear           backward of a sum is not the sum of the backwards
        undefined            backward mishandles missing cotangents
        layout               backward depends on the memory order of its cotangent
        batched, dtype       gradients of a batch, or their dtype, are wrong
        not zero             outputs without gradients change with the inputs
        input changed        func writes into its input
        refused              a derivative that would be silently wrong, and so is not given
        ==================== ======================================================================================
    output, input
        Positions in what the function returned and in what it was given.
    part
        ``"real"`` or ``"imaginary"`` for a complex output, else empty.
    numerical, analytical
        The whole Jacobian matrices, NumPy arrays of shape (elements of the input, elements of the output).
    entry
        The worst entry: ``(index in the input, index in the output)``.
    ratio
        Analytical over numerical value at the worst entry.
    pattern
        What the mistake looks like: ``"factor"``, ``"sign"``, ``"transpose"``, ``"upstream"``, ``"zero"``, ``"term"``,
        ``"conjugate"``, ``"chain"``, ``"offset"``, ``"single"``, ``"step"``, ``"not finite"``; empty where nothing was
        recognised.
    factor
        For ``"factor"``: the constant that is too much.
    layout
        For the verdict of this name: ``"transposed"``, ``"strided"``, ``"reversed"`` or ``"expanded"``.
    """

    verdict: str = "mismatch"
    output: int | None = None
    input: int | None = None
    part: str = ""
    numerical: np.ndarray | None = None
    analytical: np.ndarray | None = None
    entry: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    ratio: complex | float | None = None
    pattern: str = ""
    factor: complex | float | None = None
    layout: str = ""


class CheckWarning(UserWarning):
    """A check passed, but says less than usual here: low precision, or a point without a derivative."""


def failure(verdict: str, what: str, *notes: str, **facts: Any) -> GradcheckError:
    """Build (not raise) a `GradcheckError`."""
    error = GradcheckError(what)
    error.verdict = verdict
    for note in notes:
        if note:
            error.add_note(note)
    for name, value in facts.items():
        setattr(error, name, value)
    return error


def warn(what: str) -> None:
    """Give a `CheckWarning` at the line that asked for the check."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pullback.check"):
        frame, level = frame.f_back, level + 1
    warnings.warn(what, CheckWarning, stacklevel=level)
