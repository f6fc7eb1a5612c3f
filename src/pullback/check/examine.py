"""A disagreement under the magnifying glass: is the rule wrong, or can the differences not be trusted at this point?

Only entries that failed come here.  One element of an input is moved by many steps on both sides (`numeric.Ladder`);
what the slopes do as the step shrinks tells a smooth point from a kink, a jump, the edge of a domain, and from
rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pullback.check.compare import allowed
from pullback.check.numeric import Ladder, Settled


class Finding(NamedTuple):
    """What the slopes say about one analytical value.

    Attributes
    ----------
    verdict
        ``"agrees"``, ``"mismatch"``, ``"kink"``, ``"jump"``, ``"edge"``, ``"not finite"`` or ``"inconclusive"``.
    accepted
        The analytical value may stand.
    slope
        The best numerical value; ``left`` and ``right`` those of the two sides.
    error
        How far `slope` may be off.
    steepens
        The slope grows without end as the step shrinks.
    """

    verdict: str
    accepted: bool
    slope: float
    left: float
    right: float
    error: float
    steepens: bool = False


def examine(ladder: Ladder, column: int, value: float, atol: float, rtol: float) -> Finding:
    """Judge the analytical `value` of one output (`column`) by the slopes of that output."""
    centre, left, right = (_pick(s, column) for s in (ladder.centre, ladder.left, ladder.right))

    def finding(verdict: str, accepted: bool, a: Settled = left, b: Settled = right) -> Finding:
        slope, low, high, error = map(float, (centre.value, a.value, b.value, centre.error))
        return Finding(verdict, accepted, slope, low, high, error, bool(ladder.steepens[column]))

    if not np.isfinite(ladder.here[column]) or (ladder.steepens[column] and not np.isfinite(value)):
        return finding("not finite", False)
    tolerance = allowed(centre.value, atol, rtol) if np.isfinite(centre.error) else atol
    if centre.error <= tolerance and abs(value - centre.value) <= tolerance + centre.error:
        return finding("agrees", True)
    if _settled(left, atol) and _settled(right, atol):
        gap = abs(right.value - left.value)
        if gap > 4 * (left.error + right.error) + max(tolerance, allowed(gap, atol, rtol)):
            return finding("kink", _between(value, left, right, atol, rtol))
    elif _jumps(ladder, column):
        far_left, far_right = _pick(ladder.beyond_left, column), _pick(ladder.beyond_right, column)
        if _settled(far_left, atol) and _settled(far_right, atol):
            return finding("jump", _between(value, far_left, far_right, atol, rtol), far_left, far_right)
    if not np.isfinite(centre.error):
        for side in (left, right):
            if np.isfinite(side.error):
                return finding("edge", _between(value, side, side, atol, rtol))
        return finding("not finite", False)
    if abs(value - centre.value) <= tolerance + 4 * centre.error and not ladder.steepens[column]:
        return finding("inconclusive", False)
    return finding("mismatch", False)


def _pick(settled: Settled, column: int) -> Settled:
    return Settled(settled.value[column], settled.error[column])


def _settled(slope: Settled, atol: float) -> bool:
    """The slope is known well enough to be told from another one."""
    return bool(slope.error <= 0.05 * abs(slope.value) + 10 * atol)


def _between(value: float, a: Settled, b: Settled, atol: float, rtol: float) -> bool:
    slack = allowed(max(abs(a.value), abs(b.value)), atol, rtol) + max(a.error, b.error)
    return bool(min(a.value, b.value) - slack <= value <= max(a.value, b.value) + slack)


def _jumps(ladder: Ladder, column: int) -> bool:
    """The values beside the point stay away from the value at it, however close they come."""
    size = max(
        1e-300, float(np.nanmax(np.abs(ladder.above[:, column])) if np.isfinite(ladder.above[:, column]).any() else 0)
    )
    return bool(ladder.jump[column] > 1e-5 * size)
