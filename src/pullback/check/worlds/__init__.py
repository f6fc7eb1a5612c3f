"""The libraries whose Functions can be examined, each behind the same few verbs: make, read, call, pull back.

Everything that a probe compares is a NumPy array; a world turns arrays into its own Tensors and back.
"""

from __future__ import annotations

from pullback.check.worlds.base import Call, World, as_tuple
from pullback.check.worlds.choose import world_of

__all__ = ["Call", "World", "as_tuple", "world_of"]
