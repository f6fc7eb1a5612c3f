"""What a probe is: a function that looks at a specimen and fills in an outcome; its docstring is its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pullback.check.probing.outcome import Outcome
from pullback.check.probing.specimen import Specimen


@dataclass(frozen=True)
class Probe:
    """A probe: its name, which is also its switch, and what it does."""

    name: str
    look: Callable[[Specimen, Outcome], None]

    @property
    def page(self) -> str:
        """What it does, in full."""
        return self.look.__doc__ or ""

    @property
    def summary(self) -> str:
        return self.page.strip().partition("\n")[0]


PROBES: dict[str, Probe] = {}


def probe(name: str) -> Callable[[Callable[[Specimen, Outcome], None]], Callable[[Specimen, Outcome], None]]:
    """Register a function as a probe."""

    def register(look: Callable[[Specimen, Outcome], None]) -> Callable[[Specimen, Outcome], None]:
        PROBES[name] = Probe(name, look)
        return look

    return register
