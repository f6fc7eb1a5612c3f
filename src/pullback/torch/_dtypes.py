"""dtypes under torch's names: they are NumPy's objects, so ``x.dtype == torch.float32`` holds over any library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.arrays import is_complex, is_inexact, to_numpy_dtype
from pullback.core.errors import lesson

DTYPES: dict[str, Any] = {
    "float16": np.dtype(np.float16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "complex64": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}
ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
DTYPES.update({alias: DTYPES[name] for alias, name in ALIASES.items()})

#: The old names of Tensor types, as in ``x.type()`` and ``x.type("torch.DoubleTensor")``.
TYPE_NAMES = {
    "float16": "HalfTensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
    "uint8": "ByteTensor",
    "int8": "CharTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "bool": "BoolTensor",
}

_default = [DTYPES["float32"]]


def get_default_dtype() -> Any:
    """The dtype of Tensors made from Python floats: float32 unless `set_default_dtype` changed it."""
    return _default[0]


def set_default_dtype(dtype: Any) -> None:
    """Change the dtype of Tensors made from Python floats."""
    dtype = as_dtype(dtype)
    if not is_inexact(dtype) or is_complex(dtype):
        raise lesson(TypeError, f"only floating-point types are supported as the default type, not {dtype}")
    _default[0] = dtype


def default_complex() -> Any:
    """The complex dtype of the default precision."""
    return np.result_type(get_default_dtype(), np.complex64)


def as_dtype(dtype: Any) -> Any:
    """A dtype object from whatever stands for one: a NumPy dtype or type, a Python type, or an old name of torch's."""
    if dtype is None or isinstance(dtype, np.dtype):
        return dtype
    if dtype is float:
        return get_default_dtype()
    if isinstance(dtype, type) and isinstance(vars(dtype).get("dtype"), np.dtype):  # torch.FloatTensor
        return vars(dtype)["dtype"]
    if isinstance(dtype, str):
        name = dtype.removeprefix("torch.").removeprefix("cuda.")
        for modern, old in TYPE_NAMES.items():
            if name in (modern, old):
                return DTYPES[modern]
        if name in DTYPES:
            return DTYPES[name]
        raise lesson(ValueError, f"invalid type: {dtype!r}", instead='"torch.FloatTensor", torch.float32.')
    if isinstance(dtype, type) and issubclass(dtype, (np.generic, bool, int, complex)):
        return np.dtype(dtype)
    return to_numpy_dtype(dtype)


class finfo:  # noqa: N801 - torch's name
    """Limits of a floating-point dtype.

    >>> import pullback.torch as torch
    >>> torch.finfo(torch.float64).eps
    2.220446049250313e-16
    """

    def __init__(self, dtype: Any = None) -> None:
        found = as_dtype(dtype) or get_default_dtype()
        if not is_inexact(found):
            raise lesson(
                TypeError, f"torch.finfo() requires a floating point input type, not {found}", instead="torch.iinfo."
            )
        self._of = np.finfo(found)
        self.dtype = str(self._of.dtype)
        self.bits = int(self._of.bits)
        self.eps, self.max, self.min = float(self._of.eps), float(self._of.max), float(self._of.min)
        self.tiny = self.smallest_normal = float(self._of.tiny)
        self.resolution = float(self._of.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution}, min={self.min}, max={self.max}, eps={self.eps}, dtype={self.dtype})"
        )


class iinfo:  # noqa: N801 - torch's name
    """Limits of an integer dtype."""

    def __init__(self, dtype: Any) -> None:
        if as_dtype(dtype).kind not in "iu":
            raise lesson(
                TypeError, f"torch.iinfo() requires an integer input type, not {dtype}", instead="torch.finfo."
            )
        of = np.iinfo(as_dtype(dtype))
        self.dtype, self.bits, self.max, self.min = str(of.dtype), int(of.bits), int(of.max), int(of.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def of_number(value: Any) -> Any:
    """The dtype that torch gives a number of Python or NumPy."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return DTYPES["bool"]
    if isinstance(value, int):
        return DTYPES["int64"]
    return default_complex() if isinstance(value, complex) else get_default_dtype()


CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
