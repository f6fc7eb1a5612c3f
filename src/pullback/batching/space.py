"""The namespace of a batch: what rules compute with when their arrays are batched.

Every function is a batching rule, which works on the values and leaves what is not batched to its own library; what has no rule
raises `ReadOut`, and the operator is run for each entry.
"""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from pullback.batching import batched, elementwise, indexing, linear, products, reductions, shapes
from pullback.batching.batched import Batch, Batched, batch_of, namespace_for
from pullback.batching.elementwise import apply_elementwise
from pullback.core import arrays
from pullback.core.batches import ReadOut

RULES = {**elementwise.RULES, **reductions.RULES, **shapes.RULES, **products.RULES, **indexing.RULES}
#: Functions that make arrays from numbers: one array for all entries.
CREATION = ("arange", "empty", "eye", "full", "linspace", "ones", "tri", "zeros", "identity", "from_dlpack")


class Space:
    """The namespace of one batch."""

    __array_api_version__ = "2024.12"
    linalg: ClassVar[Any] = SimpleNamespace(**{name: staticmethod(rule).__func__ for name, rule in linear.LINALG.items()})
    fft: ClassVar[Any] = SimpleNamespace(**linear.FFT)
    pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None

    __slots__ = ("batch",)

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def asarray(self, value: Any, dtype: Any = None, copy: bool | None = None, **options: Any) -> Any:
        """The array itself, a copy, or an array of a number or list; no array that is not batched becomes so."""
        if value.__class__ is not Batched:
            return np.asarray(value, dtype=dtype, copy=copy) if not hasattr(value, "shape") else _bare(value, dtype, copy)
        inner = value.value
        given = {k: v for k, v in (("dtype", dtype), ("copy", copy)) if v is not None}
        return Batched(namespace_for((inner,)).asarray(inner, **given), value.batch) if given else value

    array = asarray

    def elementwise(self, function: Any, values: Any) -> Any:
        """An elementwise function of bare arrays, of batched ones."""
        return apply_elementwise(function, values, {})

    def read_at(self, array: Any, index: Any) -> Any:
        """``array[index]`` where the index is batched."""
        return indexing.read(array, index)

    def written_at(self, array: Any, index: Any, values: Any, add: bool) -> Any:
        """`array` with values written (or added) at an index; `array` itself where it is batched."""
        if array.__class__ is not Batched or array.batch is not batch_of((array, values, *index)):
            raise indexing.refuse_write()
        (indexing.add_at if add else indexing.write)(array, index, values)
        return array

    def room(self, array: Any, values: Any) -> Any:
        """A copy of `array` into which `values` can be written, and something else for every entry of the batch."""
        for batch in {self.batch, *batched.batches(values)}:
            array = batched.spread(array, batch)
        return arrays.copy(array, self)

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name, None)
        if found is None:
            raise AttributeError(f"the namespace of a batch has no {name!r}")
        if not callable(found) or isinstance(found, type):
            return found

        def unknown(*args: Any, **options: Any) -> Any:
            if batch_of((*args, *options.values())) is None:
                return found(*args, **options)
            raise ReadOut(f"{name} has no batching rule")

        return unknown


def _bare(value: Any, dtype: Any, copy: bool | None) -> Any:
    given = {k: v for k, v in (("dtype", dtype), ("copy", copy)) if v is not None}
    return namespace_for((value,)).asarray(value, **given)


def _creation(name: str) -> Any:
    def make(self: Space, *args: Any, **options: Any) -> Any:
        options.pop("device", None)
        return batched.spread(getattr(np, name)(*args, **options), self.batch)

    return make


for _name, _rule in RULES.items():
    setattr(Space, _name, staticmethod(_rule))
for _name in CREATION:
    setattr(Space, _name, _creation(_name))

_spaces: WeakKeyDictionary[Batch, Space] = WeakKeyDictionary()


def space_of(batch: Batch) -> Space:
    """The namespace of a batch."""
    return Space(batch)


batched.namespace_of_batch = space_of


# ------------------------------------------------------------------------------------------------------ what Python asks
def _binary(name: str, function: Any) -> None:
    def forward(self: Batched, other: Any) -> Any:
        return apply_elementwise(function, (self, other), {}) if _fits(other) else NotImplemented

    def reflected(self: Batched, other: Any) -> Any:
        return apply_elementwise(function, (other, self), {}) if _fits(other) else NotImplemented

    setattr(Batched, f"__{name}__", forward)
    setattr(Batched, f"__r{name}__", reflected)


def _fits(other: Any) -> bool:
    return isinstance(other, (int, float, complex)) or hasattr(other, "dtype")


def _in_place(name: str, function: Any) -> None:
    def change(self: Batched, other: Any) -> Any:
        result = apply_elementwise(function, (self, other), {})
        if result.batch is not self.batch or result.shape != self.shape or result.dtype != self.dtype:
            return result  # as for NumPy's numbers: another array
        self.make_writable()
        if arrays.is_mutable(self.value):
            self.value[...] = result.value
            return self
        return result

    setattr(Batched, f"__i{name}__", change)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _function = getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    _binary(_name, _function)
    _in_place(_name, _function)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _binary(_name, getattr(operator, _name))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Batched, f"__{_name}__", lambda self, _f=getattr(operator, _name): elementwise.again(_f(self.value), self.batch))
setattr(Batched, "__matmul__", lambda self, other: products.matmul(self, other))  # noqa: B010
setattr(Batched, "__rmatmul__", lambda self, other: products.matmul(other, self))  # noqa: B010
setattr(Batched, "__getitem__", indexing.read)  # noqa: B010
setattr(Batched, "__setitem__", indexing.write)  # noqa: B010
setattr(Batched, "add_at", indexing.add_at)  # noqa: B010
setattr(Batched, "T", property(lambda self: shapes.transpose(self)))  # noqa: B010
setattr(Batched, "mT", property(lambda self: shapes.matrix_transpose(self)))  # noqa: B010
setattr(Batched, "real", property(lambda self: RULES["real"](self)))  # noqa: B010
setattr(Batched, "imag", property(lambda self: RULES["imag"](self)))  # noqa: B010
for _name in ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "astype", "std", "var", "squeeze", "ravel", "repeat", "round", "conj", "take", "swapaxes", "clip", "trace", "cumsum"):
    setattr(Batched, _name, lambda self, *args, _rule=RULES[_name], **options: _rule(self, *args, **options))
setattr(Batched, "reshape", lambda self, *shape, **o: shapes.reshape(self, shape[0] if len(shape) == 1 else shape, **o))  # noqa: B010
setattr(Batched, "transpose", lambda self, *axes: shapes.transpose(self, (axes[0] if len(axes) == 1 else axes) or None))  # noqa: B010
setattr(Batched, "copy", lambda self: Batched(arrays.copy(self.value, namespace_for((self.value,))), self.batch))  # noqa: B010


def _array_ufunc(self: Batched, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    if method != "__call__" or ufunc.signature is not None:
        rule = RULES.get(ufunc.__name__)
        if method != "__call__" or rule is None:
            raise ReadOut(f"{ufunc.__name__}.{method} has no batching rule")
        return rule(*inputs, **options)
    result = apply_elementwise(ufunc, inputs, options)
    if out is None or out[0] is inputs[0]:  # array += batched: the name is bound to another array
        if out is not None and out[0].__class__ is Batched:
            out[0][...] = result
            return out[0]
        return result
    if out[0].__class__ is not Batched:
        raise indexing.refuse_write()
    out[0][...] = result
    return out[0]


def _array_function(self: Batched, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    name = function.__name__
    home = (getattr(function, "__module__", "") or "").rpartition(".")[2]
    table = {"linalg": linear.LINALG, "_linalg": linear.LINALG, "fft": linear.FFT, "_pocketfft": linear.FFT}.get(home, RULES)
    rule = table.get(name)
    if rule is None:
        raise ReadOut(f"{name} has no batching rule")
    return rule(*args, **kwargs)


setattr(Batched, "__array_ufunc__", _array_ufunc)  # noqa: B010
setattr(Batched, "__array_function__", _array_function)  # noqa: B010
