"""The linear algebra extension of the standard, as far as its operators exist; built from the registry."""

from __future__ import annotations

from typing import Any

import pullback.ops.all  # noqa: F401 - fills the registry
from pullback.ops.registry import REGISTRY

_names = (
    *("cross", "diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot", "vector_norm"),
    *("det", "slogdet", "inv", "solve", "cholesky", "eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv", "matrix_norm"),
    *("matrix_power", "matrix_rank"),
)
#: Functions of Hermitian matrices are registered with a projection onto these before them, for the tests.
_operators: dict[str, Any] = {
    name: getattr(REGISTRY[name].call, "__wrapped__", REGISTRY[name].call) for name in _names if name in REGISTRY
}
globals().update(_operators)
__all__ = list(_operators)
