"""What all commands say and read in the same way."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def complain(command: str, message: str) -> int:
    """One clear sentence where nothing could be done; returns the exit status for that."""
    sys.stderr.write(f"pullback {command}: {message}\n")
    return 2


def separated(given: Sequence[str]) -> list[str]:
    """The words of an option that may be repeated, and take several with commas."""
    return [word.strip() for part in given for word in part.split(",") if word.strip()]
