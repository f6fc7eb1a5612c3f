"""What a rule says about one place in a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SEVERITIES = ("error", "warning", "style")


@dataclass(frozen=True, order=True)
class Finding:
    """One fault at one place.

    ``line`` and ``column`` count from 1, as editors do.  ``function`` names the class and method, ``message`` says what
    happens in this very code, and ``instead`` what to write.
    """

    path: str
    line: int
    column: int
    code: str
    name: str
    severity: str
    function: str
    message: str
    instead: str

    def as_dict(self) -> dict[str, Any]:
        """The finding as JSON knows it."""
        return asdict(self)

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}:{self.column}"
        return (
            f"{where}: {self.code} {self.function}: {self.message}"
            if self.function
            else f"{where}: {self.code} {self.message}"
        )
