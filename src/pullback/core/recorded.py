"""The differentiable namespace: what rules compute with while a backward pass is itself recorded."""

from __future__ import annotations

from typing import Any, ClassVar


class Recorded:
    """Holds the namespace; ``ops/bind.py`` sets it when the package is imported."""

    xp: ClassVar[Any] = None
