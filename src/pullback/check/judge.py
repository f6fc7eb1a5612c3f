"""From two Jacobians to a verdict.

A check that passes costs no run of the function beyond the differences.  One that does not is looked into, in this
order: is the function deterministic, is its backward, is this a smooth point, is there enough precision to tell.  Only
what is left is a wrong derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pullback.check.compare import Case, allowed, disagree, worst
from pullback.check.differences import Differences, as_complex, directions
from pullback.check.errors import GradcheckError, warn
from pullback.check.examine import Finding, examine
from pullback.check.moving import host
from pullback.check.numeric import Ladder
from pullback.check.probes import is_deaf
from pullback.check.pulling import jacobians as pulled
from pullback.check.repeat import check_deterministic, check_noise, check_reentrant
from pullback.check.report import mismatch, place
from pullback.check.subject import Part, Subject
from pullback.check.tolerance import Tolerance
from pullback.core.tensor import Tensor

#: With more rows than this a message shows the Jacobian of the first, fixed step.
SHARPENED = 32
#: What computes the analytical Jacobians: by pulling cotangents back, or by pushing tangents forward.
Jacobians = Callable[[Subject], list[np.ndarray]]
_GRAVITY = ("mismatch", "not finite", "kink", "jump", "edge", "inconclusive", "agrees")


@dataclass
class Block:
    """The Jacobian of one part of one output with respect to one input."""

    number: int
    position: int
    x: Tensor
    part: Part
    numerical: np.ndarray
    analytical: np.ndarray
    accepted: np.ndarray


class Judge:
    """Compares the Jacobians of a subject and says what is the matter where they differ."""

    def __init__(
        self, subject: Subject, differences: Differences, tolerance: Tolerance, jacobians: Jacobians = pulled
    ) -> None:
        self.subject = subject
        self.jacobians = jacobians
        self.forward = jacobians is not pulled
        self.differences = differences
        self.tolerance = tolerance
        self._ladders: dict[Any, Ladder] = {}
        self._accepted: list[str] = []
        self._inconclusive: GradcheckError | None = None

    def compare(self, numerical: list[np.ndarray], analytical: list[np.ndarray], again: list[np.ndarray]) -> None:
        """Raise a `GradcheckError` unless the Jacobians agree.

        Parameters
        ----------
        numerical, analytical, again
            Per wanted input a real matrix; `again` is `analytical` from a second round of backward passes.
        """
        largest = max((float(np.abs(m[np.isfinite(m)]).max(initial=0.0)) for m in numerical), default=0.0)
        size = float(np.abs(self.subject.read(self.subject.outputs)).max(initial=0.0))
        self.tolerance = self.tolerance.for_precision(self.differences, largest, size)
        for block in self._blocks(numerical, analytical):
            wrong = disagree(block.analytical, block.numerical, self.tolerance.atol, self.tolerance.rtol)
            if wrong.any():
                self._look_into(block, wrong, again)
        if self._inconclusive is not None:
            raise self._inconclusive
        if not self.forward:
            check_reentrant(self.subject, analytical, again, self.tolerance.nondet)
        if self._accepted:
            count = f" ({len(self._accepted)} entries in all)" if len(self._accepted) > 1 else ""
            warn(f"{self._accepted[0]}{count}. Accepted; move the inputs to a smooth point for a sharp check.")

    def _blocks(self, numerical: list[np.ndarray], analytical: list[np.ndarray]) -> Any:
        parts = self.subject.parts
        for part in [p for p in parts if p.name == "imaginary"] + [p for p in parts if p.name != "imaginary"]:
            for number, (position, x) in enumerate(self.subject.wanted):
                n, a = (as_complex(x, m[number][:, part.columns]) for m in (numerical, analytical))
                yield Block(number, position, x, part, n, a, np.zeros(n.shape, bool))

    # --------------------------------------------------------------------------------------- what can be the matter
    def _look_into(self, block: Block, wrong: np.ndarray, again: list[np.ndarray]) -> None:
        check_deterministic(self.subject, self.tolerance.nondet)
        other = as_complex(block.x, again[block.number][:, block.part.columns])
        if not self.forward:
            check_noise(
                block.position, block.part.output, block.analytical[wrong], other[wrong], block.numerical[wrong]
            )
        left = wrong.copy()
        while left.any():
            entry = worst(block.analytical, block.numerical, left)
            for column in np.flatnonzero(left[entry[0]]):
                place_of = (entry[0], int(column))
                finding = self._examine(block, place_of)
                left[place_of] = False
                if finding.accepted:
                    wrong[place_of], block.accepted[place_of] = False, True
                    self._note_accepted(finding, block, place_of)
                    continue
                error = self._error(block, wrong, place_of, finding)
                if error.verdict != "inconclusive":
                    raise error
                self._inconclusive = self._inconclusive or error

    # ------------------------------------------------------------------------------------------------------- one entry
    def _examine(self, block: Block, entry: tuple[int, int]) -> Finding:
        value = complex(block.analytical[entry])
        findings = []
        for direction in directions(block.x):
            ladder = self._ladder(block, entry[0], direction)
            component = value.imag if direction == 1j else value.real
            column = block.part.columns.start + entry[1]
            findings.append(examine(ladder, column, component, self.tolerance.atol, self.tolerance.rtol))
        return min(findings, key=lambda f: (f.accepted, _GRAVITY.index(f.verdict)))

    def _ladder(self, block: Block, row: int, direction: complex | float) -> Ladder:
        key = block.number, row, direction
        if key not in self._ladders:
            index = tuple(map(int, np.unravel_index(row, tuple(block.x.shape))))
            self._ladders[key] = self.differences.ladder(block.x, index, direction)
        return self._ladders[key]

    def _note_accepted(self, finding: Finding, block: Block, entry: tuple[int, int]) -> None:
        if finding.verdict == "agrees":
            return
        index = tuple(map(int, np.unravel_index(entry[0], tuple(block.x.shape))))
        kind = {"kink": "a kink", "jump": "a jump", "edge": "the edge of its domain"}[finding.verdict]
        self._accepted.append(
            f"func has {kind} at input {block.position}{place(index)}: slope {finding.left:.6g} from the left, "
            f"{finding.right:.6g} to the right; the analytical {block.analytical[entry]:.6g} fits"
        )

    def _error(self, block: Block, wrong: np.ndarray, entry: tuple[int, int], finding: Finding) -> GradcheckError:
        if finding.verdict == "mismatch" and self.differences.in_double and self._right_in_double(block):
            finding = finding._replace(
                verdict="inconclusive", error=float(np.abs(block.analytical - block.numerical)[entry])
            )
        numerical = self._sharpened(block, wrong, entry, finding)
        case = Case(
            np.where(block.accepted, block.analytical, numerical),
            block.analytical,
            wrong,
            tuple(block.x.shape),
            block.part.shape,
            self.tolerance.atol,
            self.tolerance.rtol,
            values=self._values(),
            deaf=finding.verdict == "mismatch" and not self.forward and is_deaf(self.subject) is not None,
        )
        where = block.part.output, block.position, block.part.name
        return mismatch(case, numerical, entry, finding, self.subject.func, *where, forward=self.forward)

    def _sharpened(self, block: Block, wrong: np.ndarray, entry: tuple[int, int], finding: Finding) -> np.ndarray:
        """The numerical matrix; where its step turned out to be a bad one, that with the best step for every entry."""
        numerical = block.numerical
        sharp = np.isfinite(finding.error) and abs(numerical[entry] - finding.slope) > 0.5 * allowed(
            finding.slope, self.tolerance.atol, self.tolerance.rtol
        )
        if finding.verdict != "mismatch" or not sharp or len(numerical) > SHARPENED or len(directions(block.x)) > 1:
            return numerical
        numerical = np.stack(
            [self._ladder(block, row, 1.0).centre.value[block.part.columns] for row in range(len(numerical))]
        )
        wrong[:] = disagree(block.analytical, numerical, self.tolerance.atol, self.tolerance.rtol) & ~block.accepted
        wrong[entry] = True
        return numerical

    def _right_in_double(self, block: Block) -> bool:
        """Whether the same rule, run in double precision, matches."""
        analytical = self._in_double
        if analytical is None:
            return False
        rows = as_complex(block.x, analytical[block.number][:, block.part.columns])
        return not disagree(rows, block.numerical, self.tolerance.atol, self.tolerance.rtol).any()

    @cached_property
    def _in_double(self) -> list[np.ndarray] | None:
        try:
            with self.differences.point():
                return pulled(self.subject, self.subject.run()) if not self.forward else self.jacobians(self.subject)
        except Exception:  # the forward follows into double precision, the backward does not
            return None

    def _values(self) -> dict[str, np.ndarray]:
        """Values that a rule may have forgotten to multiply by."""
        values = {}
        for k, x in enumerate(self.subject.inputs):
            if isinstance(x, Tensor) and x.dtype.kind in "fc":
                values[f"input {k}"] = host(x._array)
        for k in self.subject.chosen:
            values[f"output {k}"] = host(self.subject.outputs[k]._array)
        return values
