"""Curves through points, of class C¹ or C²: cubic splines, PCHIP, Akima's.

All are cubic polynomials between the points, given by the values and slopes there (Hermite's form).  What differs is how the
slopes come from the points.  Everything is written with recorded operators, so derivatives with respect to the place, the
points and the values come to any order, as far as the curve has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.implicit.packing import Parameters, as_tensor
from pullback.implicit.sparse import Pattern, solve_sparse
from pullback.implicit.theorem import leave

xp = Recorded.xp


class Hermite:
    """Cubic polynomials between points, by values and slopes at the points.

    Calling it gives the curve at places; beyond the first and the last point their polynomials go on, as in SciPy.
    """

    def __init__(self, x: Any, y: Any) -> None:
        name = type(self).__name__
        given = Parameters(x, y)
        self._kind, kind = given.kind, given.kind or Tensor
        self.x, self.y = as_tensor(x, kind, name), as_tensor(y, kind, name)
        self._knots = np.asarray(self.x._array)
        if self._knots.ndim != 1 or self._knots.size < 2 or arrays.is_complex(self.x.dtype):
            raise lesson(
                ValueError, f"{name} needs at least two real places on a line, but x has shape {self._knots.shape}"
            )
        if tuple(self.y.shape)[:1] != self._knots.shape:
            raise lesson(
                ValueError,
                f"{name} got {self._knots.size} places and values of shape {tuple(self.y.shape)}",
                instead="values of shape (len(x), ...).",
            )
        if not np.all(np.diff(self._knots) > 0):
            raise lesson(
                ValueError,
                f"the places of {name} do not increase",
                why="two values at one place are no function of it.",
                instead="order = argsort(x); x[order], y[order], without repetitions.",
            )
        self._flat = xp.reshape(self.y, (self._knots.size, -1)) if self.y._array.size else self.y
        self._steps = self.x[1:] - self.x[:-1]
        self._chords = (self._flat[1:] - self._flat[:-1]) / self._column(self._steps)
        self.slopes = self._slopes(self._steps, self._chords)

    @staticmethod
    def _column(numbers: Any) -> Any:
        return xp.expand_dims(numbers, axis=-1)

    def _slopes(self, h: Any, chords: Any) -> Any:
        """The slopes at the points, from the steps (n-1,) and the slopes of the chords (n-1, k)."""
        raise NotImplementedError

    def __call__(self, x: Any, nu: int = 0) -> Any:
        """The curve, or its derivative of order `nu`, at places of any shape; the result has ``x.shape + y.shape[1:]``.

        At a point, derivatives that jump there have their value on the right.
        """
        given = Parameters(x)
        place = as_tensor(x, self._kind or Tensor, "x")
        flat = xp.reshape(place, (-1,))
        found = xp.searchsorted(self.x.detach(), flat.detach(), side="right")
        at = xp.clip(found - 1, 0, self._knots.size - 2)
        after = at + 1
        u = self._column(flat - xp.take(self.x, at, axis=0))
        h, chord = self._column(xp.take(self._steps, at, axis=0)), xp.take(self._chords, at, axis=0)
        first, last = xp.take(self.slopes, at, axis=0), xp.take(self.slopes, after, axis=0)
        square, cube = (3 * chord - 2 * first - last) / h, (first + last - 2 * chord) / (h * h)
        if nu == 0:
            found = xp.take(self._flat, at, axis=0) + u * (first + u * (square + u * cube))
        elif nu == 1:
            found = first + u * (2 * square + 3 * u * cube)
        elif nu == 2:
            found = 2 * square + 6 * u * cube
        else:
            found = 6 * cube if nu == 3 else 0 * cube
        found = xp.reshape(found, (*place.shape, *self.y.shape[1:]))
        return leave([found], self._kind or given.kind)[0]


class CubicSpline(Hermite):
    """The curve through points with a continuous second derivative.

    Parameters
    ----------
    x
        The places, increasing: an array or Tensor of shape (n,).
    y
        The values there, (n, ...), real or complex.
    bc_type
        What holds at the ends, for both or as a pair: ``"not-a-knot"`` (the first two polynomials are one), ``"natural"``
        (no curvature), ``"clamped"`` (no slope), ``(1, slope)``, ``(2, second derivative)``, whose values may be Tensors, or
        ``"periodic"``.

    Notes
    -----
    The slopes solve a tridiagonal system (C. de Boor: A Practical Guide to Splines, 1978), by `solve_sparse`: differentiable
    in the places too.  As in ``scipy.interpolate.CubicSpline``.

    Examples
    --------
    >>> import pullback as pb
    >>> y = pb.tensor([0.0, 1.0, 4.0, 9.0], requires_grad=True)
    >>> curve = pb.implicit.CubicSpline([0.0, 1.0, 2.0, 3.0], y)
    >>> round(curve(1.5).item(), 12)
    2.25
    >>> [round(g, 12) for g in pb.autograd.grad(curve(1.5), y)[0].tolist()]
    [-0.0625, 0.5625, 0.5625, -0.0625]
    """

    def __init__(self, x: Any, y: Any, bc_type: Any = "not-a-knot") -> None:
        names = isinstance(bc_type, str)
        self._ends = (bc_type, bc_type) if names or not isinstance(bc_type[0], (str, tuple)) else tuple(bc_type)
        super().__init__(x, y)

    def _slopes(self, h: Any, chords: Any) -> Any:
        n = h.shape[0] + 1
        if self._ends[0] == "periodic":
            self._check_periodic()
            if n == 2:
                return 0 * xp.concat([chords, chords], axis=0)
        if n == 2 and self._ends[0] == self._ends[1] == "not-a-knot":
            return xp.concat([chords, chords], axis=0)
        a, b = h[:-1], h[1:]
        middle = np.arange(1, n - 1)
        places = [(middle, middle - 1), (middle, middle), (middle, middle + 1)]
        entries = [b, 2 * (a + b), a]
        right = [3 * (self._column(b) * chords[:-1] + self._column(a) * chords[1:])]
        for end in (0, 1):
            columns, values, number = self._end(end, h, chords, n)
            row = 0 if end == 0 else n - 1
            places.append((np.full(len(columns), row), np.asarray(columns)))
            entries.append(xp.stack(values))
            right.insert(0 if end == 0 else 2, xp.expand_dims(number, axis=0))
        pattern = Pattern(np.concatenate([r for r, _ in places]), np.concatenate([c for _, c in places]), (n, n))
        return solve_sparse(xp.concat(entries), pattern, xp.concat(right, axis=0))

    def _check_periodic(self) -> None:
        first, last = self._flat._array[0], self._flat._array[-1]
        if self._ends[1] != "periodic" or not np.allclose(first, last, rtol=1e-15, atol=1e-15):
            raise lesson(
                ValueError, "a periodic CubicSpline needs equal first and last values, and periodic ends at both"
            )

    def _end(self, end: int, h: Any, chords: Any, n: int) -> tuple[list[int], list[Any], Any]:
        """The columns, entries and right-hand side of the first (0) or last (1) equation."""
        condition = self._ends[end]
        one = 0 * h[0] + 1
        near, far = (h[0], h[min(1, n - 2)]) if end == 0 else (h[-1], h[max(-2, 1 - n)])
        here, there = (0, 1) if end == 0 else (n - 1, n - 2)
        chord = chords[0] if end == 0 else chords[-1]
        if condition == "periodic":
            if end == 1:
                return [n - 1, 0], [one, -one], 0 * chord
            a, b = h[-1], h[0]
            return [n - 2, 0, 1], [b, 2 * (a + b), a], 3 * (b * chords[-1] + a * chords[0])
        if condition == "not-a-knot":
            if n == 2:
                return [here], [one], chord
            if n == 3 and self._ends[1 - end] == "not-a-knot":
                return [here, there], [one, one], 2 * chord
            both, other = near + far, chords[1] if end == 0 else chords[-2]
            return [here, there], [far, both], ((near + 2 * both) * far * chord + near * near * other) / both
        named: dict[Any, Any] = {"natural": (2, 0.0), "clamped": (1, 0.0)}
        order, value = named.get(condition, (0, 0.0)) if isinstance(condition, str) else condition
        if order not in (1, 2):
            raise lesson(
                ValueError,
                f"CubicSpline knows no condition {condition!r}",
                instead='"not-a-knot", "natural", "clamped", "periodic", (1, slope) or (2, second derivative).',
            )
        value = value if isinstance(value, Tensor) else wrap(Tensor, np.asarray(value, dtype=float))
        value = xp.reshape(value, (-1,)) + 0 * chord
        if order == 1:
            return [here], [one], value
        return [here, there], [2 * one, one], 3 * chord + (1 if end else -1) * value * near / 2


class PchipInterpolator(Hermite):
    """The curve through points that is monotone wherever they are (F. Fritsch, R. Carlson 1980; slopes of Fritsch, Butland 1984).

    Parameters
    ----------
    x
        The places, increasing: an array or Tensor of shape (n,).
    y
        The values there, (n, ...), real.

    Notes
    -----
    The slope at a point is a weighted harmonic mean of those of the two chords, and 0 where these have different signs.
    There, and where a chord is level, the curve as a function of the values has a kink; the derivative is that of the slope 0.

    Examples
    --------
    >>> import pullback as pb
    >>> y = pb.tensor([0.0, 1.0, 1.0], requires_grad=True)
    >>> curve = pb.implicit.PchipInterpolator([0.0, 1.0, 2.0], y)
    >>> curve(1.5).item(), pb.autograd.grad(curve(1.5), y)[0].tolist()
    (1.0, [0.0, 0.5, 0.5])
    """

    def _slopes(self, h: Any, chords: Any) -> Any:
        if arrays.is_complex(chords.dtype):
            raise lesson(ValueError, "PCHIP needs real values: complex numbers do not rise or fall")
        if h.shape[0] == 1:
            return xp.concat([chords, chords], axis=0)
        left, right = chords[:-1], chords[1:]
        a, b = self._column(h[:-1]), self._column(h[1:])
        level = (xp.sign(left) != xp.sign(right)) | (left == 0) | (right == 0)
        first, second = 2 * b + a, b + 2 * a
        mean = (first / xp.where(level, 1.0, left) + second / xp.where(level, 1.0, right)) / (first + second)
        inner = xp.where(level, 0.0, 1 / xp.where(level, 1.0, mean))
        ends = [self._at_end(h[0], h[1], chords[0], chords[1]), self._at_end(h[-1], h[-2], chords[-1], chords[-2])]
        return xp.concat([xp.expand_dims(ends[0], axis=0), inner, xp.expand_dims(ends[1], axis=0)], axis=0)

    @staticmethod
    def _at_end(near: Any, far: Any, chord: Any, other: Any) -> Any:
        """Of a parabola through three points, limited to what stays monotone."""
        slope = ((2 * near + far) * chord - near * other) / (near + far)
        wrong = xp.sign(slope) != xp.sign(chord)
        steep = (xp.sign(chord) != xp.sign(other)) & (xp.abs(slope) > 3 * xp.abs(chord))
        return xp.where(wrong, 0.0, xp.where(steep, 3 * chord, slope))


class Akima1DInterpolator(Hermite):
    """The curve through points that swings little beside outliers (H. Akima 1970).

    Parameters
    ----------
    x
        The places, increasing: an array or Tensor of shape (n,).
    y
        The values there, (n, ...), real.

    Notes
    -----
    The slope at a point is a mean of those of its chords, weighted by how much the chords beyond them turn.  Where neither
    turns, it is the mean of the two, and the curve as a function of the points has a kink.

    Examples
    --------
    >>> import pullback as pb
    >>> y = pb.tensor([0.0, 1.0, 4.0, 9.0, 16.0], requires_grad=True)
    >>> curve = pb.implicit.Akima1DInterpolator([0.0, 1.0, 2.0, 3.0, 4.0], y)
    >>> curve(2.5).item()
    6.25
    """

    def _slopes(self, h: Any, chords: Any) -> Any:
        if arrays.is_complex(chords.dtype):
            raise lesson(
                ValueError,
                "Akima's curve needs real values",
                instead="one for the real part, one for the imaginary part.",
            )
        if h.shape[0] == 1:
            return xp.concat([chords, chords], axis=0)
        first, second = 2 * chords[0] - chords[1], 2 * chords[-1] - chords[-2]
        ends = [2 * first - chords[0], first], [second, 2 * second - chords[-1]]
        m = xp.concat([xp.stack(ends[0]), chords, xp.stack(ends[1])], axis=0)
        turns = xp.abs(m[1:] - m[:-1])
        after, before = turns[2:], turns[:-2]
        both = after + before
        straight = both <= 1e-9 * np.max(np.asarray(both._array), initial=-np.inf)
        weighted = (after * m[1:-2] + before * m[2:-1]) / xp.where(straight, 1.0, both)
        return xp.where(straight, (m[3:] + m[:-3]) / 2, weighted)
