"""All operators: those that `import pullback` brings, and those that register when they are first named.

Tests over the registry import this module first, so that what they go through does not depend on which ran before.
"""

import pullback as pb
import pullback.torch.nn.functional
from pullback.doors import numpy as numpy_door
from pullback.ops import all as _usual  # noqa: F401
from pullback.ops import scans, windows  # noqa: F401 - those that only torch names
from pullback.ops.registry import REGISTRY

numpy_door.fill()  # those that only NumPy's door needs
assert pb.fft
assert pb.special
assert pb.implicit

__all__ = ["REGISTRY"]
