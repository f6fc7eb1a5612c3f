"""The Array API standard's names: the namespace of Tensors, and of rules while they are recorded.

Built from the registry, so that adding an operator touches one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback.ops.all  # noqa: F401 - fills the registry
from pullback.namespaces import linalg  # noqa: F401 - an extension, as an attribute
from pullback.ops.registry import REGISTRY

__array_api_version__ = "2025.12"

_operators: dict[str, Any] = {name: record.call for name, record in REGISTRY.items() if record.public}
_dtypes: dict[str, Any] = {
    name: np.dtype(name)
    for name in (
        *("bool", "float16", "float32", "float64", "complex64", "complex128"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
_constants: dict[str, Any] = {"e": np.e, "pi": np.pi, "inf": np.inf, "nan": np.nan, "newaxis": None}
#: Everything that `pullback` shows under the same name.
_exports: dict[str, Any] = {**_operators, **_dtypes, **_constants}
globals().update(_exports)


def __getattr__(name: str) -> Any:
    """The extension ``special``, which is imported when it is first named."""
    if name != "special":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pullback.namespaces import special

    globals()[name] = special
    return special
