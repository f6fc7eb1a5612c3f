"""The only module that knows array libraries.

It answers: which namespace does an array belong to, what is its dtype in NumPy's words, how is a cotangent brought back to
the space of its primal (`project`).  Whatever needs arithmetic gets ``xp``, the namespace to do it in, handed in, so that the
same lines run on bare arrays and, recorded, on Tensors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any
Namespace = Any

ndarray = np.ndarray
_namespaces: dict[type, Any] = {np.ndarray: np, np.generic: np}
_dtypes: dict[Any, Any] = {}
_mutable: dict[type, bool] = {np.ndarray: True}


def namespace(array: Array) -> Namespace:
    """The Array API namespace of one array, cached by its type.

    >>> namespace(np.zeros(2)) is np
    True
    """
    found = _namespaces.get(type(array))
    return found if found is not None else _find_namespace(array)


def _find_namespace(array: Array) -> Namespace:
    if isinstance(array, (np.ndarray, np.generic)):
        found = np
    elif hasattr(array, "batch"):  # a batched array: each batch has a namespace of its own
        return array.__array_namespace__()
    else:
        import array_api_compat  # only for arrays that are not NumPy's

        found = array_api_compat.array_namespace(array)
    _namespaces[type(array)] = found
    return found


def is_array(value: Any) -> bool:
    """True for arrays of any library, and for NumPy's scalars."""
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    if isinstance(value, type):
        return False
    if type(value) in _namespaces:
        return True
    return hasattr(value, "__array_namespace__") or _is_foreign(value)


def _is_foreign(value: Any) -> bool:
    """Arrays whose library has no ``__array_namespace__`` (torch, Dask), asked without importing any library."""
    if type(value).__module__.partition(".")[0] not in {"torch", "dask", "cupy"}:
        return False
    import array_api_compat

    return array_api_compat.is_array_api_obj(value)


def dtype_of(array: Array) -> Any:
    """The dtype of an array as a NumPy dtype object, whatever its library."""
    dtype = array.dtype
    return dtype if isinstance(dtype, np.dtype) else to_numpy_dtype(dtype)


def to_numpy_dtype(dtype: Any) -> Any:
    """Another library's dtype object as NumPy's: ``torch.float32`` -> ``dtype('float32')``."""
    try:
        return _dtypes[dtype]
    except (KeyError, TypeError):
        pass
    name = str(dtype).rpartition(".")[2].strip("'>")
    if name == "bfloat16":
        import ml_dtypes

        found = np.dtype(ml_dtypes.bfloat16)
    else:
        found = np.dtype(name)
    _dtypes[dtype] = found
    return found


def from_numpy_dtype(dtype: Any, xp: Namespace) -> Any:
    """A NumPy dtype in the words of another namespace."""
    if xp is np or dtype is None:
        return dtype
    return getattr(xp, np.dtype(dtype).name if np.dtype(dtype) != np.bool_ else "bool", dtype)


def is_inexact(dtype: Any) -> bool:
    """True for floating-point and complex dtypes: those that carry derivatives."""
    kind = getattr(dtype, "kind", None)
    if kind is None:
        return is_inexact(to_numpy_dtype(dtype))
    return kind in "fc" or (kind == "V" and "float" in dtype.name)


def is_complex(dtype: Any) -> bool:
    """True for complex dtypes."""
    return dtype.kind == "c" if hasattr(dtype, "kind") else to_numpy_dtype(dtype).kind == "c"


def size(array: Array) -> int:
    """Number of elements."""
    return math.prod(array.shape)


def nbytes(array: Array) -> int:
    """Bytes of the elements of an array."""
    return math.prod(array.shape) * dtype_of(array).itemsize


def cast(array: Array, dtype: Any, xp: Namespace) -> Array:
    """`array` with another NumPy dtype; complex to real keeps the real part."""
    if is_complex(dtype_of(array)) and not is_complex(dtype):
        array = xp.real(array)
        if dtype_of(array) == dtype:
            return array
    return xp.astype(array, from_numpy_dtype(dtype, xp))


def zeros(shape: Any, dtype: Any, xp: Namespace) -> Array:
    """Zeros of a NumPy dtype in the namespace `xp`."""
    return xp.zeros(shape, dtype=from_numpy_dtype(dtype, xp))


def zeros_beside(array: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of another shape, in the kind and dtype of an array, into which its numbers can be written."""
    if hasattr(array, "batch"):
        return array.zeros_beside(shape)
    return namespace(array).zeros(shape, dtype=array.dtype)


def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True when an array of `shape` can be broadcast to `target`."""
    if len(shape) > len(target):
        return False
    return all(a in (1, b) for a, b in zip(reversed(shape), reversed(target), strict=False))


def sum_to(array: Array, shape: tuple[int, ...], xp: Namespace) -> Array:
    """The adjoint of broadcasting: sum over the axes along which `shape` was spread.

    >>> sum_to(np.ones((4, 3)), (3,), np).tolist()
    [4.0, 4.0, 4.0]
    """
    extra = array.ndim - len(shape)
    if extra > 0:
        array = xp.sum(array, axis=tuple(range(extra)))
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and array.shape[k] != 1)
    return xp.sum(array, axis=axes, keepdims=True) if axes else array


def any_to(mask: Array, shape: tuple[int, ...]) -> Array:
    """Like `sum_to` for a boolean mask: True where any entry that was spread from one place is."""
    xp = namespace(mask)
    extra = mask.ndim - len(shape)
    if extra > 0:
        mask = xp.any(mask, axis=tuple(range(extra)))
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and mask.shape[k] != 1)
    return xp.any(mask, axis=axes, keepdims=True) if axes else mask


def project(cotangent: Array, shape: tuple[int, ...], dtype: Any, xp: Namespace) -> Array:
    """Bring a cotangent back into the space of its primal: shape (by `sum_to`), real or complex, precision.

    The shapes must already be known to fit; see ``function.py`` for the rule that decides it.
    """
    if cotangent.shape != shape:
        cotangent = sum_to(cotangent, shape, xp)
    if dtype_of(cotangent) != dtype:
        cotangent = cast(cotangent, dtype, xp)
    return cotangent


def asarray(value: Any, like: Namespace = np, dtype: Any = None) -> Array:
    """`value` as an array, without a copy where it is one."""
    if isinstance(value, ndarray) and dtype is None:
        return value
    return like.asarray(value, dtype=from_numpy_dtype(dtype, like)) if dtype is not None else like.asarray(value)


def copy(array: Array, xp: Namespace) -> Array:
    """A fresh, C-contiguous copy."""
    return np.array(array, order="C") if xp is np else xp.asarray(array, copy=True)


def contiguous(array: Array) -> Array:
    """The array itself where it is C-contiguous, or not NumPy's; a contiguous copy otherwise."""
    if isinstance(array, ndarray) and not array.flags.c_contiguous:
        return np.ascontiguousarray(array).reshape(array.shape)
    return array


def readonly(array: Array) -> Array:
    """A view of a NumPy array that cannot be written through."""
    if not isinstance(array, ndarray):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def behind(array: Array) -> Array:
    """The array of numbers behind a batched one, with the batches along its first axes; others are themselves."""
    while hasattr(array, "batch"):
        array = array.value
    return array


def behaves_like_numpy(array: Array) -> bool:
    """True for NumPy's arrays, and for batched ones of them, whose namespace has NumPy's functions with its options."""
    return isinstance(behind(array), (ndarray, np.generic))


def has_nan(array: Array) -> bool:
    """False where no number of an array of NumPy's, or of a batch of them, is NaN; from one sum."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(np.sum(behind(array))))


def everything(array: Array) -> Any:
    """All numbers of an array, as NumPy's; those of a batch along the first axis.  For messages, and for questions of all."""
    return np.asarray(behind(array))


def anywhere(condition: Any) -> bool:
    """True where a boolean array, or a Tensor, is True anywhere: in any entry of a batch."""
    array = behind(getattr(condition, "_array", condition))
    return bool(namespace(array).any(array))


def is_mutable(array: Array) -> bool:
    """True when the memory of an array can be written, also through a part of it (NumPy, torch); False for JAX, Dask."""
    found = _mutable.get(type(array))
    if found is None:
        if hasattr(array, "batch"):
            return is_mutable(array.value)
        found = _mutable[type(array)] = not isinstance(array, np.generic) and _writes_through(namespace(array))
    return found


def _writes_through(xp: Namespace) -> bool:
    try:
        whole = xp.zeros(2)
        whole[:1][...] = 1
        return bool(whole[0])
    except Exception:  # each library says no in its own way
        return False


def _one_storage(a: Array, b: Array) -> bool:
    """Whether two arrays of torch, on any device, are parts of one block of memory."""
    return bool(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())


def reads_backwards(array: Array) -> bool:
    """True when the library of an array knows slices with negative steps."""
    return type(array).__module__ != "torch"


def in_numpy(array: Array) -> Any:
    """The same memory as a NumPy array; ``None`` where NumPy cannot see it."""
    if isinstance(array, ndarray):
        return array
    if hasattr(array, "batch"):
        return in_numpy(array.value)
    try:
        return np.asarray(array) if is_mutable(array) else None
    except (TypeError, RuntimeError):  # on another device
        return None


def shares_memory(a: Array, b: Array) -> bool:
    """True when two arrays overlap in memory; True when their library cannot tell."""
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)):
        first, second = in_numpy(a), in_numpy(b)
        if first is None or second is None:
            a, b = behind(a), behind(b)
            return not hasattr(a, "untyped_storage") or _one_storage(a, b)
        a, b = first, second
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
