"""The report of a whole check: what every probe found, in the order of causes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pullback.check.probing.faults import CATALOGUE, ORDER
from pullback.check.probing.outcome import Fault, Outcome

__all__ = ["CheckFailed", "Report"]


@dataclass
class Report:
    """What `check` found.

    Attributes
    ----------
    name, where
        The target, and the file and line of its class.
    outcomes
        One per probe, in the order in which they ran.
    findings
        What `pullback lint` says about the class.
    inputs, seed
        What the probes started from, so that a failure can be repeated.
    error
        Why nothing could be examined; empty otherwise.
    """

    name: str
    where: str = ""
    world: str = ""
    inputs: str = ""
    seed: int = 0
    order: int = 2
    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[Any] = field(default_factory=list)
    proposed: bool = False  # the inputs were guessed from the signature
    error: str = ""

    @property
    def faults(self) -> list[Fault]:
        """All faults, causes first; of each name one."""
        found: dict[str, Fault] = {}
        for outcome in self.outcomes:
            for fault in outcome.faults:
                found.setdefault(fault.name, fault)
        return sorted(found.values(), key=lambda fault: ORDER[fault.name])

    @property
    def ok(self) -> bool:
        """Whether no fault was found, by the probes or in the source."""
        return not self.error and not self.faults and not self.grave

    @property
    def grave(self) -> list[Any]:
        """What the source shows and no probe did: errors of `pullback lint` only."""
        shown = {code for fault in self.faults for code in CATALOGUE[fault.name].rules}
        return [finding for finding in self.findings if finding.severity == "error" and finding.code not in shown]

    def source_of(self, fault: Fault) -> Any:
        """The finding of `pullback lint` that shows a fault in the source; None without one."""
        codes = CATALOGUE[fault.name].rules
        return next((f for code in codes for f in self.findings if f.code == code), None)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON knows it."""
        return {
            "name": self.name,
            "where": self.where,
            "library": self.world,
            "inputs": self.inputs,
            "inputs_proposed": self.proposed,
            "seed": self.seed,
            "order": self.order,
            "ok": self.ok,
            "error": self.error,
            "faults": [fault.as_dict() for fault in self.faults],
            "probes": [outcome.as_dict() for outcome in self.outcomes],
            "source": [finding.as_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        from pullback.check.reports.text import as_text

        return as_text(self)


class CheckFailed(AssertionError):
    """`assert_ok` found faults; ``report`` has them."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
