"""The one knot of the library: Tensor needs operators, operators need Tensor.

It is tied here, when the package is imported: every registered operator becomes an operator or method of Tensor, and the
differentiable namespace that rules see under ``create_graph`` is handed to the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor
from pullback.ops.families import is_operand
from pullback.ops.inplace import in_place_form
from pullback.ops.registry import ATTRIBUTES, REGISTRY, Record

_UNARY = {"neg", "pos", "abs", "invert"}
_COMMUTATIVE = {"add", "mul"}
_COMPARISON = {"lt", "le", "gt", "ge", "eq", "ne"}


def bind(namespace: Any) -> None:
    """Attach every registered operator to Tensor, and `namespace` to the rules."""
    for record in list(REGISTRY.values()):
        if record.dunder:
            _bind_operator(record)
        for name in record.methods:
            setattr(Tensor, name, _method(record.call, name))
    for name, attribute in ATTRIBUTES.items():
        setattr(Tensor, name, attribute)
    Recorded.xp = namespace
    Tensor.__array_namespace__ = _namespace_method(namespace)  # type: ignore[attr-defined]


def _namespace_method(namespace: Any) -> Callable[..., Any]:
    def __array_namespace__(  # noqa: N807  (the standard's name)
        self: Tensor, /, *, api_version: str | None = None
    ) -> Any:
        """The Array API namespace of Tensors."""
        known = getattr(namespace, "__array_api_version__", None)
        if api_version is not None and known is not None and api_version > known:
            raise ValueError(f"Array API version {api_version!r} is not supported; the newest is {known!r}")
        return namespace

    return __array_namespace__


def _method(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return call(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = call.__doc__
    return method


def _bind_operator(record: Record) -> None:
    apply, name = record.call, record.dunder
    if name in _UNARY:
        setattr(Tensor, f"__{name}__", lambda self: apply(self))
        return
    forward = getattr(record.operator, "operator_form", None) or _checked(apply)

    def reflected(self: Tensor, other: Any) -> Any:
        return forward(other, self)

    form = in_place_form(forward, record.reference if isinstance(record.reference, np.ufunc) else None)

    def in_place(self: Tensor, other: Any) -> Any:
        return form(self, other) if is_operand(other) else NotImplemented

    setattr(Tensor, f"__{name}__", forward)
    if name not in _COMPARISON:
        setattr(Tensor, f"__r{name}__", forward if name in _COMMUTATIVE else reflected)
        setattr(Tensor, f"__i{name}__", in_place)


def _checked(apply: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The operator form of a function: ``NotImplemented`` for what is no operand, so that Python asks the other side."""

    def forward(a: Any, b: Any) -> Any:
        return apply(a, b) if is_operand(a) and is_operand(b) else NotImplemented

    return forward
