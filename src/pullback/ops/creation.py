"""Making Tensors: from data, filled, counted."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor, wrap
from pullback.ops.joining import stack
from pullback.ops.named import named
from pullback.ops.registry import MADE, Make, Sample, register
from pullback.ops.shapes import as_shape, astype, broadcast_to, clone


# ------------------------------------------------------------------------------------------------------------ from data
@named
def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A new Tensor with a copy of `data` (numbers, nested lists, arrays of any library).

    Parameters
    ----------
    data
        What to copy.
    dtype
        A NumPy dtype; that of the data when left out.
    requires_grad
        Ask for gradients; needs a floating-point or complex dtype.

    Raises
    ------
    RuntimeError
        For a list of Tensors that require gradients: a copy would lose them (`asarray` and `stack` keep them).

    Examples
    --------
    >>> import pullback as pb
    >>> pb.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    check_device(device)
    if isinstance(data, Tensor):
        data._leave_as_value("tensor()")
        data = data._array
    if _is_foreign(data):
        xp = arrays.namespace(data)
        array = xp.asarray(data, copy=True) if dtype is None else xp.astype(data, arrays.from_numpy_dtype(dtype, xp))
    else:
        array = _numeric(np.array(_without_tensors(data), dtype=dtype))
    return Tensor(array, requires_grad)


@named
def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """`obj` as a Tensor that shares memory where it can.

    Parameters
    ----------
    obj
        A Tensor (returned as it is), an array of any library (its memory is shared), a number or nested lists.  Lists
        may hold Tensors: they are stacked, and keep their gradients.
    dtype
        A NumPy dtype; that of the data when left out.
    copy
        ``True``: never share memory.  ``False``: always, or raise ValueError.
    requires_grad
        Make the result a leaf that asks for gradients; only for data without Tensors.

    Examples
    --------
    >>> import pullback as pb
    >>> a, b = pb.tensor(1.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    >>> pb.autograd.grad(pb.asarray([a * b, b]).sum(), (a, b))
    (tensor(2.), tensor(2.))
    """
    check_device(device)
    if not isinstance(obj, Tensor) and _holds_tensors(obj):
        if copy is False:
            raise ValueError("a list of Tensors cannot become one Tensor without a copy")
        obj, copy = _stacked(obj), None
    if isinstance(obj, Tensor):
        found = _converted(obj, dtype, copy)
    elif _is_foreign(obj):
        found = _converted(Tensor(obj), dtype, copy)
    else:
        found = Tensor(_numeric(np.asarray(obj, dtype=dtype, copy=copy)))
    return found.requires_grad_() if requires_grad else found


def _converted(x: Tensor, dtype: Any, copy: bool | None) -> Tensor:
    """`x` with another dtype, or copied, or as it is."""
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError(f"{x.dtype} cannot become {np.dtype(dtype)} without a copy")
        return astype(x, dtype)
    return clone(x) if copy else x


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`asarray` under its other name: shares memory where it can, and stacks lists of Tensors."""
    return asarray(data, dtype=dtype, device=device)


def from_numpy(array: Any) -> Tensor:
    """A Tensor over the memory of a NumPy array; writes to either are seen in both."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected a NumPy array, but got {type(array).__name__}")
    return Tensor(_numeric(np.asarray(array)))


@named
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor over the memory of another library's array (read-only, where that library says so).

    Of a Tensor it is a view, or with `copy` a copy, that keeps the gradient.
    """
    check_device(device)
    if isinstance(x, Tensor):
        return clone(x) if copy else x[...]  # type: ignore[index]
    array = np.from_dlpack(x)
    return Tensor(array.copy() if copy else array)


def _is_foreign(data: Any) -> bool:
    """True for an array of another library than NumPy."""
    return not isinstance(data, (np.ndarray, np.generic, list, tuple, int, float, complex)) and arrays.is_array(data)


def _numeric(array: Any) -> Any:
    """An array whose entries are numbers; anything else is refused."""
    if array.dtype.kind in "OUSMm":
        raise lesson(
            TypeError,
            f"a Tensor holds numbers, but this data has dtype {array.dtype}",
            instead="numbers, nested lists of numbers with equal lengths, or arrays of them.",
        )
    return array


def _holds_tensors(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(isinstance(item, Tensor) or _holds_tensors(item) for item in data)


def _stacked(data: Any) -> Any:
    """Nested lists with Tensors among their items, as one recorded stack."""
    return stack([_stacked(item) if _holds_tensors(item) else asarray(item) for item in data])


def _without_tensors(data: Any) -> Any:
    """Nested lists with NumPy arrays in the place of Tensors."""
    if isinstance(data, (list, tuple)):
        return [_without_tensors(item) for item in data] if _holds_tensors(data) else data
    return np.asarray(data) if isinstance(data, Tensor) else data


def check_device(device: Any) -> None:
    """Refuse a device where no Tensor can be made."""
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise ValueError(f"unsupported device {device!r}: Tensors made here live on 'cpu'")


# --------------------------------------------------------------------------------------------------------------- filled
def _fillable(array: Any, requires_grad: bool) -> Tensor:
    """A Tensor over a fresh array; inside `vmap` each entry may write something else into it."""
    return Tensor(to_fill(array), requires_grad)


@named
def zeros(shape: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of a shape (an integer or a tuple); float64 unless a dtype is given."""
    check_device(device)
    return _fillable(np.zeros(as_shape(shape), dtype=dtype), requires_grad)


@named
def ones(shape: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of a shape (an integer or a tuple); float64 unless a dtype is given."""
    check_device(device)
    return _fillable(np.ones(as_shape(shape), dtype=dtype), requires_grad)


@named
def empty(shape: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A Tensor of a shape whose entries are whatever the memory holds; float64 unless a dtype is given."""
    check_device(device)
    return _fillable(np.empty(as_shape(shape), dtype=dtype), requires_grad)


@named
def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One value everywhere: a number, or a Tensor of no dimensions, which keeps its gradient."""
    check_device(device)
    if isinstance(fill_value, Tensor):
        value = fill_value if dtype is None else astype(fill_value, dtype, copy=False)
        return clone(broadcast_to(value, as_shape(shape)))
    return _fillable(_numeric(np.full(as_shape(shape), fill_value, dtype=dtype)), requires_grad)


@named
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on diagonal number `k` and zeros elsewhere, of shape ``(n_rows, n_cols)``."""
    check_device(device)
    return Tensor(np.eye(n_rows, n_cols, k, dtype=np.float64 if dtype is None else dtype), requires_grad)


def _like(name: str, x: Any, dtype: Any, device: Any, requires_grad: bool, *value: Any) -> Any:
    """The library's own function on the array of a Tensor, in a Tensor of its class; a bare array for a bare array."""
    bare = x._array if isinstance(x, Tensor) else x
    bare = bare if arrays.is_array(bare) else np.asarray(bare)
    xp = arrays.namespace(bare)
    make = getattr(xp, name)
    dtype = None if dtype is None else arrays.from_numpy_dtype(np.dtype(dtype), xp)
    if xp is np:  # without the memory order or the class of the example
        found = make(bare, *value, dtype=dtype, order="C", subok=False)
    else:
        found = make(bare, *value, dtype=dtype, device=device)
    return wrap(type(x), found).requires_grad_(requires_grad) if isinstance(x, Tensor) else found


@named
def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros with the shape and (unless given) the dtype of `x`."""
    return _like("zeros_like", x, dtype, device, requires_grad)


@named
def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones with the shape and (unless given) the dtype of `x`."""
    return _like("ones_like", x, dtype, device, requires_grad)


@named
def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Whatever the memory holds, with the shape and (unless given) the dtype of `x`."""
    return _like("empty_like", x, dtype, device, requires_grad)


@named
def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """One value everywhere, with the shape and (unless given) the dtype of `x`; a Tensor keeps its gradient."""
    if isinstance(fill_value, Tensor):
        wanted = arrays.dtype_of(x) if dtype is None else dtype
        return clone(broadcast_to(astype(fill_value, wanted, copy=False), x.shape))
    return _like("full_like", x, dtype, device, requires_grad, fill_value)


# -------------------------------------------------------------------------------------------------------------- counted
def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


@named
def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, …`` up to but without `stop`; from 0 when only one number is given.

    `start` and `step` may be Tensors of no dimensions, which keep their gradients.

    >>> import pullback as pb
    >>> pb.arange(3)
    tensor([0, 1, 2])
    """
    check_device(device)
    if stop is None:
        start, stop = 0, start
    found = Tensor(np.arange(_number(start), _number(stop), _number(step), dtype=dtype), requires_grad)
    if any(isinstance(value, Tensor) and value.requires_grad for value in (start, step)):
        steps = np.arange(found.shape[0], dtype=found.dtype)
        return astype(start + step * steps, found.dtype, copy=False)
    return found


@named
def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop` (without it when `endpoint` is false).

    The ends may be Tensors of no dimensions, which keep their gradients.

    >>> import pullback as pb
    >>> pb.linspace(0, 1, 3)
    tensor([0. , 0.5, 1. ])
    """
    check_device(device)
    num = operator.index(num)
    if any(isinstance(end, Tensor) and end.requires_grad for end in (start, stop)):
        share = np.linspace(0.0, 1.0, num, endpoint=endpoint)
        found = start * (1 - share) + stop * share
        return found if dtype is None else astype(found, dtype, copy=False)
    return Tensor(np.linspace(_number(start), _number(stop), num, endpoint=endpoint, dtype=dtype), requires_grad)


# --------------------------------------------------------------------------------------------------------- registration
def no_samples(make: Make) -> Iterable[Sample]:
    """Nothing to differentiate."""
    return ()


for _make in (
    asarray,
    as_tensor,
    from_numpy,
    from_dlpack,
    zeros,
    ones,
    empty,
    full,
    eye,
    zeros_like,
    ones_like,
    empty_like,
    full_like,
    arange,
    linspace,
):
    register(
        _make.__name__,
        None,
        no_samples,
        call=_make,
        differentiable=False,
        reason=MADE,
    )
