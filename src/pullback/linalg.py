"""The linear algebra extension of the standard; built from the registry."""

from typing import Any as _Any

from pullback.ops import all as _all  # noqa: F401 - fills the registry
from pullback.ops.registry import REGISTRY as _REGISTRY

_names = (
    *("cholesky", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power"),
    *("matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot"),
    *("trace", "vecdot", "vector_norm"),
)


def _public(name: str) -> _Any:
    """The function itself: those of Hermitian matrices are registered behind a projection onto these, for the tests."""
    call = _REGISTRY[name].call
    return getattr(call, "__wrapped__", call)


def diagonal(x: _Any, /, *, offset: int = 0) -> _Any:
    """A diagonal of the last two axes, as a view.

    >>> import pullback as pb
    >>> pb.linalg.diagonal(pb.tensor([[1.0, 2.0], [3.0, 4.0]]), offset=1)
    tensor([2.])
    """
    return _REGISTRY["diagonal"].call(x, offset, -2, -1)


globals().update({name: _public(name) for name in _names})
__all__ = ["diagonal", *_names]
