"""The Array API standard's names: the namespace of Tensors, and of rules while they are recorded.

Built from the registry, so that adding an operator touches one place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback.ops.all  # noqa: F401 - fills the registry
from pullback import linalg  # noqa: F401 - an extension, as an attribute
from pullback.namespaces.info import namespace_info
from pullback.ops.registry import REGISTRY

__array_api_version__ = "2025.12"
__array_namespace_info__ = namespace_info

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
_exports: dict[str, Any] = {
    **_operators,
    **_dtypes,
    **_constants,
    "__array_api_version__": __array_api_version__,
    "__array_namespace_info__": namespace_info,
}
globals().update(_exports)


def __getattr__(name: str) -> Any:
    """The extensions ``fft`` and ``special``, which are imported when they are first named."""
    module: Any
    if name == "fft":
        from pullback import fft as module
    elif name == "special":
        from pullback.namespaces import special as module
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = module
    return module
