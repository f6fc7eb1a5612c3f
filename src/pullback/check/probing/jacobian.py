"""Two Jacobians of a specimen: one pulled back, one from values alone; and what their difference means.

Everything is real: a complex argument has two rows per element (real, imaginary), a complex output two columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pullback.check.compare import Case, Pattern, disagree, recognise
from pullback.check.examine import Finding, examine
from pullback.check.numeric import DOUBLE, Ladder, Line, central, rungs
from pullback.check.probing.sharp import sharp
from pullback.check.probing.specimen import Specimen, flat, real_parts

RTOL, ATOL = 2e-5, 1e-7


def pulled(specimen: Specimen, wanted: tuple[int, ...] | None = None) -> list[np.ndarray]:
    """A matrix of shape (numbers in the argument, numbers in the outputs) for each wanted argument, by pulling back.

    An argument without a gradient (None) has a matrix of zeros.
    """
    chosen = specimen.wanted if wanted is None else wanted
    call = specimen.run(wanted=chosen) if wanted is not None else specimen.first
    outputs = [call.outputs[k] for k in call.differentiable]
    sizes = [_size(specimen.arguments[k]) for k in chosen]
    columns: list[list[np.ndarray]] = [[] for _ in chosen]
    for k, output in enumerate(outputs):
        assert output is not None
        for unit in (1.0, 1j) if output.dtype.kind == "c" else (1.0,):
            for element in range(output.size):
                seed = np.zeros(output.shape, output.dtype)
                seed.reshape(-1)[element] = unit
                found = call.pull(*[seed if j == k else None for j in range(len(outputs))])
                for column, gradient, size in zip(columns, found, sizes, strict=True):
                    column.append(np.zeros(size) if gradient is None else _row(gradient, size))
    return [np.stack(c, axis=1) if c else np.zeros((size, 0)) for c, size in zip(columns, sizes, strict=True)]


def _row(gradient: np.ndarray, size: int) -> np.ndarray:
    found = flat([gradient])
    if found.size == size // 2:  # a real gradient for a complex argument
        found = np.concatenate([found, np.zeros(size // 2)])
    return found if found.size == size else np.full(size, np.nan)


def _size(argument: np.ndarray) -> int:
    return argument.size * (2 if argument.dtype.kind == "c" else 1)


def line(specimen: Specimen, position: int, direction: np.ndarray) -> Line:
    """The values of the outputs along a direction of one argument."""
    base = specimen.arguments[position]

    def at(t: float) -> np.ndarray:
        return specimen.values(specimen.moved(position, (base + t * direction).astype(base.dtype)))

    return at


def directions(specimen: Specimen, position: int) -> list[tuple[np.ndarray, float]]:
    """A unit direction for each number of an argument, and the value that stands there."""
    base = specimen.arguments[position]
    found = []
    for unit, values in zip((1.0, 1j), real_parts(base), strict=False):
        for element in range(base.size):
            direction = np.zeros(base.shape, base.dtype)
            direction.reshape(-1)[element] = unit
            found.append((direction, float(values[element])))
    return found


def unit_of(specimen: Specimen) -> float:
    """The spacing at 1 of the numbers that the function computes with."""
    kinds = [*specimen.outputs, *(specimen.arguments[k] for k in specimen.wanted)]
    return max((float(np.finfo(a.dtype).eps) for a in kinds if a.dtype.kind in "fc"), default=DOUBLE)


def differences(specimen: Specimen, position: int, ways: list[tuple[np.ndarray, float]]) -> np.ndarray:
    """The Jacobian for one argument from central differences along its `directions`, each step suited to its element."""
    unit = unit_of(specimen)
    rows = []
    with np.errstate(all="ignore"):
        for direction, value in ways:
            step = np.cbrt(unit) * max(1.0, abs(value) if np.isfinite(value) else 1.0)
            rows.append(_safe(line(specimen, position, direction), step))
    return np.stack(rows) if rows else np.zeros((0, specimen.values().size))


def _safe(along: Line, step: float) -> np.ndarray:
    """A central difference; NaN where the function has no value at one of the two points."""
    try:
        return central(along, step)
    except Exception:
        return np.full_like(along(0.0), np.nan)


@dataclass
class Comparison:
    """What the comparison of one argument's Jacobians says."""

    position: int
    analytical: np.ndarray
    numerical: np.ndarray
    wrong: np.ndarray
    findings: dict[tuple[int, int], Finding] = field(default_factory=dict)
    sure: np.ndarray = field(default_factory=lambda: np.zeros((), bool))  # wrong by less than differences can tell
    how: str = "differences"
    kinks: int = 0
    unsure: int = 0

    @property
    def worst(self) -> tuple[int, int]:
        """Row and column of the entry that is furthest off."""
        distance = np.where(self.wrong, np.abs(self.analytical - self.numerical), -1.0)
        distance = np.where(self.wrong & ~np.isfinite(distance), np.inf, distance)
        row, column = np.unravel_index(int(distance.argmax()), distance.shape)
        return int(row), int(column)


def compare(specimen: Specimen, position: int, analytical: np.ndarray) -> Comparison:
    """Compare for one argument; entries that disagree are looked at with many steps before they are called wrong."""
    ways = directions(specimen, position)
    numerical = differences(specimen, position, ways)
    unit = unit_of(specimen)
    scale = float(np.abs(numerical[np.isfinite(numerical)]).max(initial=0.0))
    size = float(np.abs(specimen.values()).max(initial=0.0))
    rtol = max(RTOL, 40 * unit ** (2 / 3))
    atol = max(ATOL * max(scale, 1e-3), 40 * unit ** (2 / 3) * max(size, scale))
    wrong = disagree(analytical, numerical, atol, rtol)
    found = Comparison(position, analytical, numerical, wrong)
    sharper = sharp(specimen, position, [direction for direction, _ in ways], numerical)
    if sharper is not None:
        slopes, found.how = sharper
        off = disagree(analytical, slopes, 1e-9 * max(scale, 1e-3), 1e-8)
        found.numerical, found.sure = np.where(off, slopes, numerical), off & ~wrong
    for row in np.flatnonzero(wrong.any(axis=1)):
        direction, value = ways[row]
        ladder = Ladder(line(specimen, position, direction), rungs(unit, value), unit)
        for column in np.flatnonzero(wrong[row]):
            finding = examine(ladder, int(column), float(analytical[row, column]), atol, rtol)
            found.findings[int(row), int(column)] = finding
            if finding.accepted:
                found.wrong[row, column] = False
                found.kinks += finding.verdict in {"kink", "jump", "edge"}
                found.numerical[row, column] = analytical[row, column]
            else:
                found.numerical[row, column] = finding.slope
                found.unsure += finding.verdict == "inconclusive"
    found.wrong |= found.sure
    return found


def pattern(specimen: Specimen, found: Comparison, deaf: bool) -> Pattern:
    """What the mistake looks like."""
    base = specimen.arguments[found.position]
    outputs = specimen.outputs
    analytical, numerical, wrong = found.analytical, found.numerical, found.wrong
    if base.dtype.kind == "c":
        half = base.size
        analytical, numerical = (m[:half] + 1j * m[half:] for m in (analytical, numerical))
        wrong = wrong[:half] | wrong[half:]
    if not np.isfinite(numerical).all():
        return Pattern("", "")
    case = Case(
        numerical,
        analytical,
        wrong,
        base.shape,
        outputs[0].shape if len(outputs) == 1 and outputs[0].dtype.kind == "f" else (numerical.shape[1],),
        1e-4 * max(float(np.abs(numerical).max(initial=0.0)), 1e-3),
        1e-3,
        _values(specimen),
        deaf,
    )
    return recognise(case)


def _values(specimen: Specimen) -> dict[str, np.ndarray]:
    """Arrays that the rule might have forgotten or used twice."""
    found = {specimen.argument_name(k): specimen.arguments[k] for k in specimen.wanted}
    found |= {"the output" if k == 0 else f"output {k}": y for k, y in enumerate(specimen.outputs)}
    return {name: value for name, value in found.items() if value.dtype.kind == "f" and value.size}
