"""Making Tensors: ``tensor``, ``zeros``, ``arange`` ... with torch's default dtype, float32."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.batches import to_fill
from pullback.core.errors import lesson
from pullback.core.tensor import Tensor as Base
from pullback.core.tensor import wrap
from pullback.torch._dtypes import DTYPES, as_dtype, default_complex, get_default_dtype
from pullback.torch._export import FUNCTIONS, function, sizes_of, xp
from pullback.torch._methods_kinds import convert
from pullback.torch._promotion import category, result_type
from pullback.torch._size import Size
from pullback.torch._tensor import Tensor


def made(array: Any, requires_grad: bool = False) -> Any:
    """A fresh Tensor over `array`."""
    result = wrap(Tensor, array)
    return result.requires_grad_() if requires_grad else result


def _tensors_in(data: Any) -> list[Any]:
    if isinstance(data, Base):
        return [data]
    if isinstance(data, (list, tuple)):
        return [t for item in data for t in _tensors_in(item)]
    return []


def _bare(data: Any) -> Any:
    """Nested lists with Tensors replaced by their arrays."""
    if isinstance(data, Base):
        return data._array
    return [_bare(item) for item in data] if isinstance(data, (list, tuple)) else data


def _array(data: Any, dtype: Any, copy: bool) -> Any:
    """An array of `data`; Python numbers get torch's default dtypes."""
    if isinstance(data, Base):
        data = data._array
    if not arrays.is_array(data):
        found = np.array(_bare(data))
        if found.dtype.kind not in "biufc":
            raise lesson(
                TypeError, f"data must be numbers, not {found.dtype}", instead="numbers, or nested lists of them."
            )
        if dtype is None and not _has_own_dtype(data):
            dtype = {2: get_default_dtype(), 3: default_complex(), 1: DTYPES["int64"]}.get(category(found.dtype))
        return found if dtype is None else found.astype(dtype, copy=False)
    if not isinstance(data, (np.ndarray, np.generic)):
        namespace = arrays.namespace(data)
        if dtype is not None and arrays.dtype_of(data) != dtype:
            return arrays.cast(data, dtype, namespace)
        return arrays.copy(data, namespace) if copy else data
    return np.array(data, dtype=dtype) if copy else np.asarray(data, dtype=dtype)


def _has_own_dtype(data: Any) -> bool:
    """True for nested lists that hold arrays or Tensors, whose dtype counts."""
    if isinstance(data, (list, tuple)):
        return any(_has_own_dtype(item) for item in data)
    return hasattr(data, "dtype")


@function("tensor")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A new Tensor with a copy of `data` (numbers, nested lists, arrays, Tensors).

    Parameters
    ----------
    data
        What to copy.  A differentiable Tensor is copied without its graph.
    dtype
        A dtype; that of the data when left out, and float32 for Python floats.
    requires_grad
        Ask for gradients; needs a floating-point or complex dtype.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    """
    if any(t.requires_grad for t in _tensors_in(data)):
        warnings.warn(
            "torch.tensor(...) copies values only: the result has no connection to the differentiable Tensors in it. "
            "Use torch.stack or torch.as_tensor to stay in the graph, x.detach().clone() to leave it on purpose.",
            UserWarning,
            stacklevel=3,
        )
    return made(_array(data, as_dtype(dtype), copy=True), requires_grad)


@function("as_tensor")
def as_tensor(data: Any, dtype: Any = None, device: Any = None, copy: bool = False, requires_grad: bool = False) -> Any:
    """A Tensor of `data` that shares its memory where it can; nested lists of Tensors are stacked, in the graph."""
    dtype = as_dtype(dtype)
    if isinstance(data, Base):
        found = wrap(Tensor, data._array, data._buffer, data._edge) if not isinstance(data, Tensor) else data
        found = convert(found, dtype or found.dtype, copy)
    elif _tensors_in(data):
        found = _stacked(data)
        found = convert(found, dtype or found.dtype)
    else:
        found = made(_array(data, dtype, copy))
    return found.requires_grad_() if requires_grad else found


@function("asarray")
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: Any = None, requires_grad: bool = False) -> Any:
    """A Tensor of `obj` that shares its memory where it can, and unless `copy`."""
    return as_tensor(obj, dtype, device, bool(copy), requires_grad)


def _stacked(data: Any) -> Any:
    if isinstance(data, Base):
        return as_tensor(data)
    if not isinstance(data, (list, tuple)):
        return made(_array(data, None, copy=True))
    parts = [_stacked(item) for item in data]
    dtype = result_type(*parts)
    return xp.stack([convert(part, dtype) for part in parts])


@function("from_numpy")
def from_numpy(ndarray: Any) -> Any:
    """A Tensor over the memory of a NumPy array.

    NumPy's operators return scalars for 0-d arrays, so these are taken too.
    """
    if not isinstance(ndarray, (np.ndarray, np.generic)):
        raise lesson(TypeError, f"expected np.ndarray (got {type(ndarray).__name__})", instead="torch.as_tensor(data).")
    return made(np.asarray(ndarray))


# ------------------------------------------------------------------------------------------------- filled
def _shape(size: tuple[Any, ...], options: dict[str, Any]) -> tuple[int, ...]:
    sizes = sizes_of((options["size"],) if options.get("size") is not None else size)
    if min(sizes, default=0) < 0:
        raise lesson(RuntimeError, f"Trying to create tensor with negative dimension: {list(sizes)}")
    return sizes


def _filled(name: str, fill: Any) -> None:
    def call(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Any:
        return made(to_fill(fill(_shape(size, options), dtype=as_dtype(dtype) or get_default_dtype())), requires_grad)

    def like(
        input: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Any:
        array = to_fill(fill(tuple(input.shape), dtype=as_dtype(dtype) or input.dtype))
        result = wrap(type(input), array)
        return result.requires_grad_() if requires_grad else result

    call.__doc__ = f"A Tensor of the given shape, ``{name}``; float32 unless `dtype` says otherwise."
    like.__doc__ = f"``{name}`` in the shape and dtype of another Tensor."
    function(name)(call)
    function(f"{name}_like")(like)


_filled("zeros", np.zeros)
_filled("ones", np.ones)
_filled("empty", np.empty)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (Base, np.generic)) else value


@function("full")
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A Tensor of one number."""
    value = _number(fill_value)
    array = _array(value, as_dtype(dtype), copy=True)
    return made(to_fill(np.full(sizes_of((size,)), array, dtype=array.dtype)), requires_grad)


@function("full_like")
def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """One number in the shape and dtype of another Tensor."""
    array = to_fill(np.full(tuple(input.shape), _number(fill_value), dtype=as_dtype(dtype) or input.dtype))
    result = wrap(type(input), array)
    return result.requires_grad_() if requires_grad else result


@function("scalar_tensor")
def scalar_tensor(s: Any, *, dtype: Any = None) -> Any:
    """A 0-d Tensor of one number, float32 unless `dtype` says otherwise."""
    return made(np.asarray(s, dtype=as_dtype(dtype) or get_default_dtype()))


# ------------------------------------------------------------------------------------------------- sequences
@function("arange")
def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Numbers from `start` (0) to before `end`; integers from integers, float32 otherwise."""
    start, end, step = (_number(v) for v in ((0, start, step) if end is None else (start, end, step)))
    if step == 0 or (end - start) * step < 0:
        raise lesson(
            RuntimeError, f"arange: the step {step} does not lead from {start} to {end}", instead="another sign."
        )
    floating = any(isinstance(v, float) for v in (start, end, step))
    dtype = as_dtype(dtype) or (get_default_dtype() if floating else DTYPES["int64"])
    return made(np.arange(start, end, step).astype(dtype), requires_grad)


@function("linspace")
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`steps` numbers from `start` to `end`, both included."""
    values = np.linspace(_number(start), _number(end), steps, dtype=as_dtype(dtype) or get_default_dtype())
    return made(values, requires_grad)


@function("logspace")
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Powers of `base` from ``base**start`` to ``base**end``."""
    dtype = as_dtype(dtype) or get_default_dtype()
    return made(np.logspace(_number(start), _number(end), steps, base=base, dtype=dtype), requires_grad)


@function("eye")
def eye(n: int, m: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    return made(np.eye(n, m, dtype=as_dtype(dtype) or get_default_dtype()), requires_grad)


@function("tril_indices")
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """The indices of a lower triangle, as two rows."""
    return made(np.stack(np.tril_indices(row, offset, col)))


@function("triu_indices")
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """The indices of an upper triangle, as two rows."""
    return made(np.stack(np.triu_indices(row, offset, col)))


# ------------------------------------------------------------------------------------------------- old names
class _OldType(type):
    """The class of ``torch.FloatTensor`` and its like, which ``isinstance`` asks for the dtype."""

    dtype: Any

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Base) and value.dtype == cls.dtype


def _old_type(name: str, dtype: str) -> Any:
    def new(cls: Any, *args: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            return tensor(args[0], dtype=dtype)
        shape = tuple(args[0]) if args and isinstance(args[0], Size) else args or (0,)
        return made(np.empty(shape, dtype=DTYPES[dtype]))

    doc = f"Old name: a {dtype} Tensor of data, or uninitialised of a shape."
    return _OldType(name, (), {"__new__": new, "__doc__": doc, "__module__": "pullback.torch", "dtype": DTYPES[dtype]})


for _name, _dtype in (
    ("FloatTensor", "float32"),
    ("DoubleTensor", "float64"),
    ("LongTensor", "int64"),
    ("IntTensor", "int32"),
    ("ShortTensor", "int16"),
    ("CharTensor", "int8"),
    ("ByteTensor", "uint8"),
    ("HalfTensor", "float16"),
    ("BoolTensor", "bool"),
):
    FUNCTIONS[_name] = _old_type(_name, _dtype)
