"""The namespace of a batch: what rules compute with when their arrays are batched.

Every function is a batching rule, which works on the values and leaves what is not batched to its own library; what has no rule
raises `ReadOut`, and the operator is run for each entry.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from pullback.batching import batched, elementwise, indexing, linear, products, reductions, shapes
from pullback.batching.batched import Batch, Batched, batch_of, namespace_for, within
from pullback.batching.elementwise import apply_elementwise
from pullback.core import arrays
from pullback.core.batches import ReadOut

RULES: dict[str, Any] = {**elementwise.RULES, **reductions.RULES, **shapes.RULES, **products.RULES, **indexing.RULES}
#: Functions that make arrays from numbers: one array for all entries.
CREATION = ("arange", "empty", "eye", "full", "linspace", "ones", "tri", "zeros", "identity", "from_dlpack")


class Space:
    """The namespace of one batch."""

    __array_api_version__ = "2024.12"
    linalg: ClassVar[Any] = SimpleNamespace(**linear.LINALG)
    fft: ClassVar[Any] = SimpleNamespace(**linear.FFT)
    pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None

    __slots__ = ("batch", "example")

    def __init__(self, batch: Batch, example: Any = None) -> None:
        self.batch = batch
        self.example = example

    @property
    def library(self) -> Any:
        """The namespace of the numbers."""
        return np if self.example is None else arrays.namespace(arrays.behind(self.example))

    def asarray(self, value: Any, dtype: Any = None, copy: bool | None = None, **options: Any) -> Any:
        """The array itself, a copy, or an array of a number or list; no array that is not batched becomes so."""
        if value.__class__ is not Batched:
            return _bare(self.library if not hasattr(value, "shape") else namespace_for((value,)), value, dtype, copy)
        if dtype is not None:
            value = RULES["astype"](value, dtype, copy=bool(copy))
        return value.copy() if copy else value

    array = asarray

    def elementwise(self, function: Any, values: Any) -> Any:
        """An elementwise function of bare arrays, of batched ones."""
        return apply_elementwise(function, values, {})

    def along_axis(self, function: Any, values: Any, axis: int) -> Any:
        """``function(*arrays, axis)`` of bare arrays of one shape, which works along an axis, of batched ones."""
        batch = batch_of(values)
        if batch is None:
            return function(*values, axis)
        inner = [within(value, batch) for value in values]
        length = max([value.shape[0] for value in inner])
        inner = [batched.spread_out(value, length) for value in inner]
        return elementwise.again(function(*inner, axis % (len(inner[0].shape) - 1) + 1), batch)

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
        found = getattr(self.library, name, None)
        if found is None:
            raise AttributeError(f"the namespace of a batch has no {name!r}")
        if not callable(found) or isinstance(found, type):
            return found

        def unknown(*args: Any, **options: Any) -> Any:
            if batch_of((*args, *options.values())) is None:
                return found(*args, **options)
            raise ReadOut(f"{name} has no batching rule")

        return unknown


def _bare(xp: Any, value: Any, dtype: Any, copy: bool | None) -> Any:
    given = {k: v for k, v in (("dtype", dtype), ("copy", copy)) if v is not None}
    return xp.asarray(value, **given)


def _creation(name: str) -> Any:
    def make(self: Space, *args: Any, **options: Any) -> Any:
        options.pop("device", None)
        return batched.spread(getattr(self.library, name)(*args, **options), self.batch)

    return make


for _name, _rule in RULES.items():
    setattr(Space, _name, staticmethod(_rule))
for _name in CREATION:
    setattr(Space, _name, _creation(_name))

batched.namespace_of_batch = Space
