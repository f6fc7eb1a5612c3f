"""Slopes of a function along a line, from its values alone.  Knows no Tensors, no graph, no rules.

A *line* is a function of one number: ``line(t)`` are the values, as a flat real NumPy array, at distance ``t`` from
the point of interest along some direction.  Whatever can be moved and evaluated can be made a line.

A difference quotient errs in two ways: the step is too long (curvature), or too short (rounding: about ``unit * |f| /
step``). `central` takes the step it is given; `Ladder` tries many and can tell how far each result is to be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

Line = Callable[[Any], np.ndarray]

#: Spacing of the double-precision numbers at 1: the precision that everything here is measured by.
DOUBLE = float(np.finfo(np.float64).eps)
#: Every rung of a ladder is this much shorter than the one above.
RATIO = 4.0


def central(line: Line, step: float) -> np.ndarray:
    """``(f(h) - f(-h)) / 2h``: exact for parabolas, error of order h².

    >>> float(central(lambda t: np.array([t**2 + 3 * t]), 0.5)[0])
    3.0
    """
    below = line(-step)
    above = line(step)
    return np.asarray((above - below) / (2 * step))


def one_sided(line: Line, step: float, here: np.ndarray | None = None) -> np.ndarray:
    """``(f(h) - f(0)) / h``: the slope to the right, or with a negative step to the left; error of order h."""
    here = line(0.0) if here is None else here
    return np.asarray((line(step) - here) / step)


def complex_step(line: Line, step: float = 1e-30) -> np.ndarray:
    """``Im f(ih) / h``: no difference, hence no rounding error, however short the step.

    Needs a line that accepts an imaginary distance and is analytic there (W. Squire and G. Trapp, SIAM Review 40,
    1998).

    >>> float(complex_step(lambda t: np.sin(np.array([1.0]) + t))[0]) == math.cos(1.0)
    True
    """
    return np.asarray(line(1j * step).imag / step)


def extrapolate(coarse: Any, fine: Any, ratio: float, order: int) -> Any:
    """The limit of two results whose errors go with ``step**order``, the second at a step `ratio` times shorter."""
    weight = ratio**order
    return (weight * fine - coarse) / (weight - 1)


def richardson(line: Line, step: float, levels: int = 4, ratio: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """The central difference extrapolated to step zero, and an estimate of its error.

    Evaluates ``2 * levels`` points; the error is of order ``step**(2 * levels)`` until rounding takes over
    (L. F. Richardson, 1911; the stopping rule is that of C. Ridders, 1982: keep what changed least).

    >>> slope, error = richardson(lambda t: np.exp(np.array([t])), 0.1)
    >>> bool(abs(slope[0] - 1) < 1e-11)
    True
    """
    best = central(line, step)
    error = np.full_like(best, np.inf)
    row = [best]
    for _ in range(1, levels):
        step /= ratio
        fresh = [central(line, step)]
        for k, coarse in enumerate(row):
            fresh.append(extrapolate(coarse, fresh[k], ratio, 2 * (k + 1)))
            change = np.maximum(np.abs(fresh[k + 1] - fresh[k]), np.abs(fresh[k + 1] - coarse))
            better = change < error
            best, error = np.where(better, fresh[k + 1], best), np.where(better, change, error)
        row = fresh
    return best, error


def best_step(eps: float, unit: float, position: float) -> float:
    """A step for `central`: `eps`, lengthened where the numbers are too coarse for it.

    Parameters
    ----------
    unit
        Spacing at 1 of the numbers that the function computes with.
    position
        The value that is to be moved.
    """
    size = abs(position) if math.isfinite(position) else 0.0
    if unit <= DOUBLE:
        return max(eps, math.sqrt(unit) * size)
    return max(eps, math.cbrt(unit) * max(1.0, size))


def rungs(unit: float, position: float) -> list[float]:
    """Steps from a quarter of the number's size down to where rounding takes over, each `RATIO` times shorter."""
    size = abs(position) if math.isfinite(position) else 0.0
    longest = max(1.0, size) / RATIO
    shortest = longest * max(unit, 1e-300) ** 0.58
    if 0 < size < 1e-6:
        shortest = min(shortest, size / 100)
    count = max(6, math.ceil(math.log(longest / shortest, RATIO)) + 1)
    return [longest / RATIO**k for k in range(count)]


class Settled(NamedTuple):
    """Per value: the most trustworthy of a series of results, and how far it may be off (inf: nothing is finite)."""

    value: np.ndarray
    error: np.ndarray


class Ladder:
    """The same function at many distances on both sides of one point, and what that says about its slope there.

    Parameters
    ----------
    line
        See the module; it is evaluated at ``0`` and at ``±h`` for every step h.  Where it raises, the values count as
        NaN.
    steps
        Falling, each `RATIO` times shorter than the one before.
    unit
        Spacing at 1 of the numbers that the function computes with.
    """

    def __init__(self, line: Line, steps: Iterable[float], unit: float = DOUBLE) -> None:
        self.steps = np.array(list(steps))
        self.here = line(0.0)
        self.above = np.stack([_or_nan(line, h, self.here) for h in self.steps])
        self.below = np.stack([_or_nan(line, -h, self.here) for h in self.steps])
        self._h = self.steps[:, None]
        with np.errstate(all="ignore"):
            size = np.fmax(np.fmax(np.abs(self.above), np.abs(self.below)), np.abs(self.here))
            self._noise = 4 * unit * size / self._h
            self._resolved = self._where_resolved()

    def _where_resolved(self) -> np.ndarray:
        """False where the step is so short that no value moves any more, though it does at a slightly longer one."""
        moves = (self.above != self.here) | (self.below != self.here)
        longest = self.steps[0] / 64
        counted = moves & (self._h <= longest)
        shortest = np.where(counted, self._h, np.inf).min(axis=0)
        return np.asarray((self._h >= shortest) | ~np.isfinite(shortest))

    def _settle(self, rise: np.ndarray, run: np.ndarray, order: int) -> Settled:
        """The best of the slopes ``rise / run``, whose errors go with ``step**order`` until rounding takes over.

        The error of one is what the longer step says by extrapolation, or how much it changes at the shorter step,
        whichever is more: an accidental agreement with one neighbour does not count.
        """
        with np.errstate(all="ignore"):
            slopes = rise / run
            change = np.abs(slopes[:-1] - slopes[1:])
            error = np.fmax(change[:-1] / (RATIO**order - 1), change[1:]) + self._noise[1 : len(change)]
            usable = np.isfinite(error) & self._resolved[2 : len(change) + 1]
        error = np.where(usable, error, np.inf)
        best = error.argmin(axis=0)[None]
        return Settled(np.take_along_axis(slopes[1:], best, 0)[0], np.take_along_axis(error, best, 0)[0])

    @property
    def centre(self) -> Settled:
        """The slope across the point."""
        return self._settle(self.above - self.below, 2 * self._h, 2)

    @property
    def right(self) -> Settled:
        """The slope from the point to the right."""
        return self._settle(self.above - self.here, self._h, 1)

    @property
    def left(self) -> Settled:
        """The slope from the left to the point."""
        return self._settle(self.here - self.below, self._h, 1)

    @property
    def beyond_right(self) -> Settled:
        """The slope close to the point on its right, the point itself left out."""
        return self._settle(self.above[:-1] - self.above[1:], self._h[:-1] - self._h[1:], 1)

    @property
    def beyond_left(self) -> Settled:
        """The slope close to the point on its left, the point itself left out."""
        return self._settle(self.below[1:] - self.below[:-1], self._h[:-1] - self._h[1:], 1)

    @property
    def jump(self) -> np.ndarray:
        """How far the values right beside the point lie from the value at it, or from each other."""
        with np.errstate(all="ignore"):
            near = np.where(self._resolved, self._h, np.inf).argmin(axis=0)[None]
            above = np.take_along_axis(self.above, near, 0)[0]
            below = np.take_along_axis(self.below, near, 0)[0]
            gaps = [np.abs(above - self.here), np.abs(below - self.here), np.abs(above - below)]
            return np.asarray(np.fmax(np.fmax(gaps[0], gaps[1]), gaps[2]))

    @property
    def steepens(self) -> np.ndarray:
        """True where the slope grows without end as the step shrinks: it is infinite at the point."""
        with np.errstate(all="ignore"):
            right, left = np.abs(self.above - self.here) / self._h, np.abs(self.here - self.below) / self._h
            slopes = np.fmax(right, left)
            return np.asarray(np.all(slopes[1:] > 1.2 * slopes[:-1], axis=0))


def _or_nan(line: Line, t: float, like: np.ndarray) -> np.ndarray:
    try:
        with np.errstate(all="ignore"):
            return line(t)
    except Exception:  # outside the function's domain: there is no value
        return np.full_like(like, np.nan)
