"""The Array API standard's names: the namespace of Tensors, and of rules while they are recorded.

Built from the registry, so that adding an operator touches one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback.ops.all  # noqa: F401 - fills the registry
from pullback.ops.registry import REGISTRY

__array_api_version__ = "2025.12"

float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
float16 = np.dtype(np.float16)
globals()["bool"] = np.dtype(np.bool_)
e, pi, inf, nan, newaxis = np.e, np.pi, np.inf, np.nan, None

_operators: dict[str, Any] = {name: record.call for name, record in REGISTRY.items() if record.public}
globals().update(_operators)
