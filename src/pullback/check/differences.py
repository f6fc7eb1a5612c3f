"""Numerical Jacobians of a `Subject`: which numbers to compute them in, and one column after the other.

Inputs of low precision are moved in float64 where the function follows (its outputs become double): the differences
are sharp then, whatever the precision of the rule that is compared with them.  Where it does not follow, steps and
tolerances suit its own precision.

Everything is real here: a complex input has two directions per element (real, then imaginary), a complex output two
parts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.check.moving import in_double, is_double
from pullback.check.numeric import DOUBLE, Ladder, Line, best_step, central, rungs
from pullback.check.subject import Subject
from pullback.core import arrays
from pullback.core.tensor import Tensor


def directions(x: Tensor) -> list[complex | float]:
    """One direction per real dimension of an element."""
    return [1.0, 1j] if arrays.is_complex(x.dtype) else [1.0]


def as_complex(x: Tensor, rows: np.ndarray) -> np.ndarray:
    """Rows of all directions of an input as one row per element: ``ds/dx + i ds/dy`` for a complex one."""
    if not arrays.is_complex(x.dtype):
        return rows
    half = len(rows) // 2
    return rows[:half] + 1j * rows[half:]


class Differences:
    """Difference quotients of a subject.

    Attributes
    ----------
    unit
        Spacing at 1 of the coarsest numbers that take part.
    in_double
        Whether inputs of low precision were moved as float64.
    """

    def __init__(self, subject: Subject, eps: float) -> None:
        self.subject = subject
        self.eps = eps
        self._low = [x for _, x in subject.wanted if not is_double(x.dtype)]
        self._own_kinds = self._wide_kinds = subject.kinds
        self.in_double = bool(self._low) and self._follows()
        self.unit = DOUBLE if self.in_double else subject.unit()

    def _follows(self) -> bool:
        """Whether the function computes in double precision when it is given double precision."""
        subject = self.subject
        try:
            with in_double(self._low):
                if not all(is_double(x.dtype) for x in self._low):
                    return False
                outputs = subject.run()
        except Exception:  # it may insist on its own dtype in any way it likes
            return False
        self._wide_kinds = [(tuple(outputs[k].shape), outputs[k].dtype) for k in subject.chosen if k < len(outputs)]
        shapes = [shape for shape, _ in self._wide_kinds] == [shape for shape, _ in self._own_kinds]
        return shapes and all(is_double(d) for _, d in self._wide_kinds if arrays.is_inexact(d))

    @contextlib.contextmanager
    def point(self) -> Iterator[None]:
        """The inputs as they are to be moved."""
        with contextlib.ExitStack() as stack:
            if self.in_double:
                stack.enter_context(in_double(self._low))
                self.subject.kinds = self._wide_kinds
            try:
                yield
            finally:
                self.subject.kinds = self._own_kinds

    def jacobians(self) -> list[np.ndarray]:
        """Per wanted input a real matrix of shape (directions, numbers of the outputs): 2 runs per direction."""
        with self.point():
            return [self._jacobian(x) for _, x in self.subject.wanted]

    def _jacobian(self, x: Tensor) -> np.ndarray:
        rows = [
            central(self._line(x, index, direction), self._step(x, index, direction))
            for direction in directions(x)
            for index in np.ndindex(tuple(x.shape))
        ]
        return np.stack(rows) if rows else np.zeros((0, self.subject.size))

    def along(self, x: Tensor, weights: np.ndarray, direction: complex | float) -> np.ndarray:
        """The derivative along all elements of an input at once, each moved by its weight."""
        with self.point():
            step = self.eps if self.unit <= DOUBLE else best_step(self.eps, self.unit, 1.0)
            return central(self._line(x, ..., weights * direction), step)

    def ladder(self, x: Tensor, index: tuple[int, ...], direction: complex | float) -> Ladder:
        """Slopes at many steps for one element of an input."""
        with self.point():
            position = _component(x, index, direction)
            return Ladder(self._line(x, index, direction), rungs(self.unit, position), self.unit)

    def _line(self, x: Tensor, where: Any, direction: Any) -> Line:
        return self.subject.movable(x).line(where, direction)

    def _step(self, x: Tensor, index: tuple[int, ...], direction: complex | float) -> float:
        return best_step(self.eps, self.unit, _component(x, index, direction))


def _component(x: Tensor, index: tuple[int, ...], direction: complex | float) -> float:
    value = complex(np.asarray(x._array)[index])
    return value.imag if direction == 1j else value.real
