"""Between what users write (nested arrays, real or complex) and what SciPy takes (one real vector)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.primitive import wider
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of, refilled

__all__ = ["Packing", "Parameters", "as_arrays", "as_tensor", "lent", "number"]


class Packing:
    """Lists of arrays as real vectors, and back.  A complex entry is two real ones: its real and its imaginary part.

    With these coordinates the vjp of a function of complex numbers is the product with the transposed real Jacobian,
    whether the function is holomorphic or not.
    """

    def __init__(self, examples: Sequence[Any]) -> None:
        self.spaces = [(tuple(x.shape), arrays.dtype_of(x), arrays.namespace(x)) for x in examples]
        sizes = [math.prod(shape) * (2 if dtype.kind == "c" else 1) for shape, dtype, _ in self.spaces]
        self.bounds = np.cumsum([0, *sizes]).tolist()
        self.size: int = self.bounds[-1]

    def pack(self, values: Sequence[Any]) -> Any:
        """One vector of float64."""
        return self.pack_rows([np.asarray(value)[None] for value in values], 1)[0]

    def unpack(self, vector: Any) -> list[Any]:
        """Arrays of the shapes, dtypes and libraries of the examples."""
        return [part[0, ...] for part in self.unpack_rows(np.asarray(vector, dtype=np.float64)[None])]

    def pack_rows(self, values: Sequence[Any], count: int) -> Any:
        """A matrix, from arrays with one more axis in front, of that length."""
        parts = [np.zeros((count, 0))]
        for value, (_, dtype, _) in zip(values, self.spaces, strict=True):
            wide = np.asarray(value).astype(np.complex128 if dtype.kind == "c" else np.float64, copy=False)
            flat = np.ascontiguousarray(wide).reshape(count, math.prod(wide.shape[1:]))
            parts.append(flat.view(np.float64))
        return np.concatenate(parts, axis=1)

    def unpack_rows(self, matrix: Any) -> list[Any]:
        """The arrays for each row of a matrix, stacked along a first axis."""
        found = []
        for (shape, dtype, xp), low, high in zip(self.spaces, self.bounds, self.bounds[1:], strict=False):
            part = np.array(matrix[:, low:high], order="C")
            wide = part.view(np.complex128) if dtype.kind == "c" else part
            wide = wide.reshape(len(matrix), *shape).astype(dtype, copy=False)
            found.append(wide if xp is np else xp.asarray(wide))
        return found

    @property
    def eps(self) -> float:
        """The precision of the coarsest of the arrays."""
        return max([float(np.finfo(dtype).eps) for _, dtype, _ in self.spaces], default=2.0**-52)


def as_arrays(tree: Any, what: str) -> list[Any]:
    """The leaves of `tree` as bare arrays of floating-point or complex dtype."""
    found = []
    for leaf in leaves_of(tree):
        array = leaf._array if isinstance(leaf, Tensor) else leaf
        if not arrays.is_array(array):
            try:
                array = np.asarray(array)
            except ValueError:
                array = np.asarray(None)
        if isinstance(array, np.generic):
            array = np.asarray(array)
        dtype = arrays.dtype_of(array)
        if dtype.kind in "iub":
            array = arrays.cast(array, np.dtype(float), arrays.namespace(array))
        elif not arrays.is_inexact(dtype):
            raise lesson(
                TypeError,
                f"{what} holds {type(leaf).__name__}, which is no number and no array of numbers",
                instead="arrays, Tensors or numbers, or tuples, lists and dicts of them.",
            )
        found.append(array)
    return found


def as_tensor(x: Any, kind: Any, what: str) -> Any:
    """Numbers of any kind as a Tensor of floating-point or complex dtype; the very Tensor where it is one."""
    (array,) = as_arrays(x if isinstance(x, Tensor) else np.asarray(x), what)
    return x if isinstance(x, Tensor) and x._array is array else wrap(kind, array)


class Lent:
    """A function lent to a solver of SciPy: they hold on to it in cycles, and with it to all that it knows."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


@contextmanager
def lent(*functions: Any) -> Iterator[list[Any]]:
    """The functions, to be taken back at the end; ``None`` stays what it is."""
    out = [None if f is None else Lent(f) for f in functions]
    try:
        yield out
    finally:
        for f in out:
            if f is not None:
                f.function = None


def number(x: float, like: Any, kind: Any) -> Any:
    """A number as a Tensor in the library of the array `like`."""
    xp = arrays.namespace(like)
    return wrap(kind, np.asarray(x) if xp is np else xp.asarray(float(x)))


class Parameters:
    """Positional parameters, of which the Tensors of floating-point or complex dtype are differentiated.

    Attributes
    ----------
    inputs
        Those Tensors.
    kind
        The class of Tensor that the results have; ``None`` where no argument is a Tensor.
    """

    def __init__(self, *trees: Any) -> None:
        self.trees = trees
        self.flat = leaves_of(trees)
        self.places = [k for k, x in enumerate(self.flat) if isinstance(x, Tensor) and arrays.is_inexact(x.dtype)]
        self.inputs = [self.flat[k] for k in self.places]
        self.kind: Any = None
        for x in self.flat:
            if isinstance(x, Tensor):
                self.kind = wider(self.kind, type(x))

    def filled(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The parameters with other Tensors in the places of `inputs`."""
        flat = list(self.flat)
        for k, tensor in zip(self.places, tensors, strict=True):
            flat[k] = tensor
        return refilled(self.trees, flat)

    def bare(self) -> list[Any]:
        """`inputs` without their places in the graph."""
        return [wrap(type(x), x._array) for x in self.inputs]
