"""What Python's operators and NumPy's functions do with a batched array: the batching rules, under other names."""

from __future__ import annotations

import operator
from typing import Any

from pullback.batching import indexing, linear, products, shapes
from pullback.batching.batched import Batched, namespace_for
from pullback.batching.elementwise import again, apply_elementwise
from pullback.batching.memory import compute
from pullback.batching.space import RULES
from pullback.core import arrays
from pullback.core.batches import ReadOut

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = ("neg", "pos", "abs", "invert")
METHODS: tuple[str, ...] = (
    "all",
    "any",
    "argmax",
    "argmin",
    "astype",
    "clip",
    "conj",
    "cumsum",
    "max",
    "mean",
    "min",
    "prod",
    "ravel",
)
METHODS += ("repeat", "round", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var")


def _fits(other: Any) -> bool:
    return isinstance(other, (int, float, complex)) or hasattr(other, "dtype")


def _forward(function: Any) -> Any:
    def forward(self: Batched, other: Any) -> Any:
        return apply_elementwise(function, (self, other), {}) if _fits(other) else NotImplemented

    return forward


def _reflected(function: Any) -> Any:
    def reflected(self: Batched, other: Any) -> Any:
        return apply_elementwise(function, (other, self), {}) if _fits(other) else NotImplemented

    return reflected


def _in_place(function: Any) -> Any:
    def change(self: Any, other: Any) -> Any:
        result = apply_elementwise(function, (self, other), {})
        same = result.batch is self.batch and result.shape == self.shape and result.dtype == self.dtype
        if not same or not arrays.is_mutable(self.value):
            return result  # as for NumPy's numbers: the name is bound to another array
        self.make_writable()
        self.value[...] = result.value
        return self

    return change


def _unary(function: Any) -> Any:
    return lambda self: again(compute(function, (self.value,)), self.batch)


def _method(rule: Any) -> Any:
    return lambda self, *args, **options: rule(self, *args, **options)


def _reshape(self: Batched, *shape: Any, **options: Any) -> Any:
    return shapes.reshape(self, shape[0] if len(shape) == 1 else shape, **options)


def _transpose(self: Batched, *axes: Any) -> Any:
    return shapes.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)


def _copy(self: Batched) -> Any:
    """A copy in which every entry has memory of its own."""
    inner = self.full()
    return Batched(arrays.copy(inner, namespace_for((inner,))), self.batch)


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    if method != "__call__" or ufunc.signature is not None:
        rule = RULES.get(ufunc.__name__)
        if method != "__call__" or rule is None:
            raise ReadOut(f"{ufunc.__name__}.{method} has no batching rule")
        return rule(*inputs, **options)
    result = apply_elementwise(ufunc, inputs, options)
    if out is None:
        return result
    if out[0].__class__ is Batched:
        indexing.write(out[0], ..., result)
        return out[0]
    if out[0] is inputs[0]:  # array += batched: the name is bound to another array
        return result
    raise indexing.refuse_write()


def _array_function(self: Batched, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    home = (getattr(function, "__module__", "") or "").rpartition(".")[2].strip("_")
    table = {"linalg": linear.LINALG, "fft": linear.FFT, "pocketfft": linear.FFT}.get(home, RULES)
    rule = table.get(function.__name__)
    if rule is None:
        raise ReadOut(f"{function.__name__} has no batching rule")
    return rule(*args, **kwargs)


def install() -> None:
    """Give the class its operators and methods."""
    members: dict[str, Any] = {
        "T": property(shapes.transpose),
        "__array_function__": _array_function,
        "__array_ufunc__": _array_ufunc,
        "__getitem__": indexing.read,
        "__matmul__": products.matmul,
        "__rmatmul__": lambda self, other: products.matmul(other, self),
        "__setitem__": indexing.write,
        "add_at": indexing.add_at,
        "copy": _copy,
        "imag": property(RULES["imag"]),
        "mT": property(shapes.matrix_transpose),
        "real": property(RULES["real"]),
        "reshape": _reshape,
        "transpose": _transpose,
    }
    for name in (*BINARY, *COMPARISONS):
        function, plain = getattr(operator, name), name.strip("_")
        members[f"__{plain}__"] = _forward(function)
        if name in BINARY:
            members[f"__r{plain}__"] = _reflected(function)
            members[f"__i{plain}__"] = _in_place(function)
    members.update({f"__{name}__": _unary(getattr(operator, name)) for name in UNARY})
    members.update({name: _method(RULES[name]) for name in METHODS})
    for name, member in members.items():
        setattr(Batched, name, member)


install()
