"""``torch.Tensor``: the Tensor of this library with torch's methods, promotion and printing.

Node, engine and operators are the same as everywhere; only the conventions differ, and they live here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.doors.numpy import array_ufunc
from pullback.doors.numpy.frames import writes_in_place
from pullback.ops.families import is_operand
from pullback.ops.inplace import write_result
from pullback.ops.registry import REGISTRY
from pullback.torch import _indexing, _methods_kinds
from pullback.torch._dtypes import get_default_dtype
from pullback.torch._errors import torchs
from pullback.torch._export import METHODS, cast_for_write
from pullback.torch._missing import OF_TENSORS, Missing
from pullback.torch._printing import tensor_text
from pullback.torch._promotion import for_division, is_plain, together
from pullback.torch._size import Size


class Tensor(Base):
    """An array that can take part in differentiation, with torch's methods.

    Make one with `torch.tensor` (copies) or `torch.as_tensor` (shares memory).

    Examples
    --------
    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad, x.size()
    (tensor([2., 4.]), torch.Size([2]))
    """

    _numbers_may_be_stored = True  # as in torch: programs keep their losses in this way

    __slots__ = ()

    def __init__(self, *args: Any, requires_grad: bool = False) -> None:
        super().__init__(_from_legacy(args), requires_grad)

    @property
    def shape(self) -> Any:
        return Size(self._array.shape)

    @property
    def device(self) -> Any:
        return _methods_kinds.device("cpu")

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False

    @property
    def is_sparse(self) -> bool:
        """False."""
        return False

    @property
    def layout(self) -> str:
        """``"torch.strided"``."""
        return "torch.strided"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.dtype.itemsize) * int(self._array.size)

    @property
    def H(self) -> Any:
        """The conjugate transpose of a matrix."""
        return METHODS["adjoint"](self)

    @property
    def mH(self) -> Any:
        """The conjugate transpose of the last two axes."""
        return METHODS["adjoint"](self)

    @property
    def real(self) -> Any:
        return METHODS["real"](self)

    @property
    def imag(self) -> Any:
        return METHODS["imag"](self)

    def __pos__(self) -> Any:
        return self

    def __int__(self) -> int:
        self._one_element()
        return Base.__int__(self)

    def __float__(self) -> float:
        self._one_element()
        return Base.__float__(self)

    def __complex__(self) -> complex:
        self._one_element()
        return Base.__complex__(self)

    def _one_element(self) -> None:
        if math.prod(self._array.shape) != 1:
            raise lesson(
                ValueError,
                "only one element tensors can be converted to Python scalars",
                instead="x.tolist() for all of them, x[i].item() for one.",
            )

    def __repr__(self) -> str:
        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        return format(self._number(), spec) if spec and not self._array.shape else format(str(self), spec)

    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
        own = _OPERATORS.get(ufunc)
        if own is None or method != "__call__":
            return array_ufunc(self, ufunc, method, *inputs, **options)
        if "out" in options and writes_in_place(sys._getframe(1), options["out"], inputs):
            del options["out"]
        if options or not all(map(is_operand, inputs)):
            return array_ufunc(self, ufunc, method, *inputs, **options)
        return own(*inputs)  # NumPy shows ``array * x`` as np.multiply(array, x)

    __getitem__, __setitem__ = _indexing.getitem, _indexing.setitem
    __hash__ = object.__hash__


def _from_legacy(args: tuple[Any, ...]) -> Any:
    """What the old constructor makes: ``Tensor([1, 2])`` of data, ``Tensor(2, 3)`` of a shape; in the default dtype."""
    dtype = get_default_dtype()
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        data = args[0]
        return np.asarray(data._array if isinstance(data, Base) else data, dtype=dtype)
    return np.empty(tuple(args[0]) if args and isinstance(args[0], Size) else args or (0,), dtype=dtype)


# ------------------------------------------------------------------------------------------------- operators
#: NumPy's ufunc -> the operator of the same meaning, with torch's promotion.
_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {}


def _bind_binary(name: str, apply: Any, align: Any) -> None:
    def forward(self: Any, other: Any) -> Any:
        try:
            if is_plain(self._array.dtype, other):
                return apply(self, other)
            return apply(*align(self, other)) if is_operand(other) else NotImplemented
        except ValueError as error:
            raise torchs(error, name) from None

    def reflected(self: Any, other: Any) -> Any:
        try:
            if is_plain(self._array.dtype, other):
                return apply(other, self)
            return apply(*align(other, self)) if is_operand(other) else NotImplemented
        except ValueError as error:
            raise torchs(error, name) from None

    def fitting(self: Any, other: Any) -> Any:
        return cast_for_write(self, forward(self, other))

    def in_place(self: Any, other: Any) -> Any:
        return write_result(self, fitting, other) if is_operand(other) else NotImplemented

    setattr(Tensor, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Tensor, f"__r{name}__", reflected)
        setattr(Tensor, f"__i{name}__", in_place)


def _aligned(apply: Any, align: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: apply(*align(a, b))


def bind() -> None:
    """Attach operators and methods to `Tensor`, once every module has entered its own."""
    for record in REGISTRY.values():
        if record.dunder and record.dunder not in ("neg", "pos", "abs", "invert"):
            align = for_division if record.dunder == "truediv" else together
            _bind_binary(record.dunder, record.call, align)
            _OPERATORS[record.reference] = _aligned(record.call, align)
    for name, call in METHODS.items():
        if name not in ("real", "imag"):
            setattr(Tensor, name, call)
    for name in OF_TENSORS - METHODS.keys():
        setattr(Tensor, name, Missing(name))
