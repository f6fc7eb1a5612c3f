"""What a probe says: passed or not, which faults, and what it tried."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pullback.check.probing.faults import CATALOGUE

Verdict = Literal["pass", "fault", "inconclusive", "not applicable"]


def first_line(error: BaseException, most: int = 160) -> str:
    """What an error says, on one line."""
    return (str(error).splitlines() or [""])[0][:most]


def raises(error: BaseException) -> str:
    """How a report says that something raised."""
    return f"raises {type(error).__name__}: {first_line(error)}"


@dataclass
class Fault:
    """One fault, with the numbers that show it.

    ``name`` is an entry of the catalogue (`faults.CATALOGUE`), which says why it matters and what to write instead.
    """

    name: str
    message: str
    found: str = ""
    expected: str = ""
    pattern: str = ""
    inputs: str = ""  # the smallest that show it
    where: str = ""  # file:line of the user's code
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The fault as JSON knows it, with the catalogue's words."""
        entry = CATALOGUE[self.name]
        return {**asdict(self), "why": entry.why, "instead": entry.instead}


@dataclass
class Outcome:
    """What one probe found."""

    probe: str
    verdict: Verdict = "pass"
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    seconds: float = 0.0
    curves: dict[str, Any] = field(default_factory=dict)  # what the page draws

    @property
    def ends_it(self) -> bool:
        """Whether nothing more can be examined after this."""
        return any(fault.name in {"random-forward", "backward-raises", "gradient-count"} for fault in self.faults)

    def add(self, fault: Fault) -> None:
        """Note a fault; of each name the first counts."""
        self.verdict = "fault"
        if all(known.name != fault.name for known in self.faults):
            self.faults.append(fault)

    def note(self, text: str) -> None:
        """Something to say beside the verdict, once."""
        if text not in self.notes:
            self.notes.append(text)

    def unsure(self, text: str) -> None:
        """It could not be told, for a reason."""
        if self.verdict == "pass":
            self.verdict = "inconclusive"
        self.note(text)

    def as_dict(self) -> dict[str, Any]:
        """The outcome as JSON knows it."""
        found = {**self.__dict__, "faults": [fault.as_dict() for fault in self.faults]}
        return {key: value for key, value in found.items() if value or key in {"faults", "verdict"}}
