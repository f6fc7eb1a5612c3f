"""Writing: ``x[index] = value``, and methods such as ``x.add_(y)``.

Three ways lead into memory, and each keeps the write log and the history right:

* ``views.write(view, value)``  a basic index: the value goes through a view of the base;
* `IndexPut`                    an index with arrays: a node that keeps the entries it did not write;
* `write_result`                an in-place method: its operator's result is written back.

Where nothing is recorded, NumPy writes directly.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays, batches, dual, modes, views
from pullback.core.batches import LIVE
from pullback.core.dual import OPEN, dual_at, without
from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.core.tensor import Leaf, Tensor, wrap
from pullback.core.wrapping import hold_another_array
from pullback.ops.creation import asarray
from pullback.ops.indexing import Key, Slice, clear, embed, key_of, line_key, read
from pullback.ops.registry import ATTRIBUTES, REGISTRY, Make, Sample, register
from pullback.ops.shapes import astype, broadcast_to, expand_dims, reshape, shape_of, squeeze
from pullback.ops.structure import moved, zero_elsewhere


# ------------------------------------------------------------------------------------------------------------ the value
def is_recorded(value: Any) -> bool:
    """True when a value brings a history with it: a Tensor that requires gradients, while recording; or a tangent."""
    if not isinstance(value, Tensor) or value._edge is None:
        return False
    if OPEN and dual_at(value._edge) is not None:
        return True
    mode = modes.current()
    if mode._recording:
        return value.requires_grad
    if mode is not modes.OFF:
        mode._reads(value)
    return False


def fitted(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """`value` with the shape and dtype of the place it is written to: broadcast, and cast as assignment casts."""
    have = shape_of(value)
    if len(have) > len(shape) and all(n == 1 for n in have[: len(have) - len(shape)]):
        value = reshape(
            value, have[len(have) - len(shape) :]
        )  # NumPy allows x[...] = value with extra axes of length 1
    value = astype(value, dtype, copy=False)
    return value if shape_of(value) == shape else broadcast_to(value, shape)


def _as_value(value: Any, target: Any) -> Any:
    """What is written, as a Tensor, array or number; complex ones do not fit into memory of real dtype."""
    if not isinstance(value, (Tensor, int, float, complex, np.ndarray, np.generic)):
        value = asarray(value)
    dtype = np.result_type(value) if not hasattr(value, "dtype") else arrays.dtype_of(value)
    if arrays.is_complex(dtype) and not arrays.is_complex(target):
        raise lesson(
            RuntimeError,
            f"result type {dtype} can't be cast to the desired output type {target}",
            why="the imaginary part would be lost.",
            instead="real(value), or a target with a complex dtype.",
        )
    return value


def _bare_value(value: Any, array: Any) -> Any:
    """The bare array, or number, of an unrecorded value, for the library of `array`."""
    bare = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        return bare
    xp = arrays.namespace(array)
    return xp.astype(xp.asarray(bare), array.dtype)


# ----------------------------------------------------------------------------------------------------- x[index] = value
class IndexPut(Primitive):
    """The argument with values at an index.  vjp: x̄ = ȳ with zeros there; v̄ = ȳ[index]

    Where an entry is met twice, the last value stays, and only it has a gradient.
    """

    node_name = "IndexPutBackward0"
    mask_rule = staticmethod(moved)

    @staticmethod
    def forward(ctx: Any, x: Any, value: Any, *, key: Key, in_place: bool = False) -> Any:
        ctx.key = key.frozen() if any(ctx.needs_input_grad) else key
        ctx.lost = None
        if ctx.needs_input_grad[1] and not key.unique:
            lost = ~key.last_writes(x.shape)
            ctx.lost = Key((lost,), False, True) if arrays.anywhere(lost) else None
        if not in_place:
            return key.put_fresh(x, value, ctx.xp)
        key.put(x, value)
        return ctx.xp.broadcast_to(ctx.xp.zeros((), dtype=x.dtype), x.shape)  # only its place in the graph is used

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        of_x = of_value = None
        if ctx.needs_input_grad[0]:
            of_x = zero_elsewhere(lambda c: clear(c, ctx.key), ct)
        if ctx.needs_input_grad[1]:
            of_value = read(ct, ctx.key)
            if ctx.lost is not None:
                of_value = zero_elsewhere(lambda c: clear(c, ctx.lost), of_value)
        return of_x, of_value


def index_put(x: Any, index: Any, value: Any, /) -> Any:
    """`x` with `value` at `index`, out of place: what ``x[index] = value`` makes of `x`.

    >>> import pullback as pb
    >>> from pullback.ops.inplace import index_put
    >>> index_put(pb.tensor([1.0, 2.0]), [0], 5.0)
    tensor([5., 2.])
    """
    return _put(x, key_of(index), value)


def index_add(x: Any, index: Any, value: Any, /) -> Any:
    """`x` with `value` added at `index`, out of place; what is met twice is added twice."""
    return _add(x, key_of(index), value)


def _put(x: Any, key: Key, value: Any) -> Any:
    return IndexPut.apply(x, _value_for(x, key, value), key=key)


def _add(x: Any, key: Key, value: Any) -> Any:
    return x + embed(_value_for(x, key, value, broadcast=True), shape_of(x), key)


def _value_for(x: Any, key: Key, value: Any, broadcast: bool = False) -> Any:
    """`value` for the place `key` of `x`: a number as it is, unless it has to be broadcast, anything else fitted."""
    bare = x._array if isinstance(x, Tensor) else x
    dtype = arrays.dtype_of(bare)
    value = _as_value(value, dtype)
    if isinstance(value, (int, float, complex)):
        if not broadcast:
            return value
        value = arrays.asarray(value, arrays.namespace(bare), dtype)
    return fitted(value, tuple(key.read(bare).shape), dtype)


def setitem(target: Tensor, index: Any, value: Any, /) -> None:
    """``target[index] = value`` in every form that NumPy knows, recorded.

    Parameters
    ----------
    value
        A number, array or Tensor that can be broadcast to ``target[index]``; it is cast to the dtype of `target`.
        Where an index names an entry twice, the last value stays.

    Raises
    ------
    RuntimeError
        For a leaf that requires gradients, a view of one, read-only memory, or complex values in real memory.

    Examples
    --------
    >>> import pullback as pb
    >>> a = pb.tensor(2.0, requires_grad=True)
    >>> x = pb.zeros(3)
    >>> x[1] = a * a
    >>> pb.autograd.grad(x.sum(), a)
    (tensor(4.),)
    """
    write_at(target, key_of(index), value)


def write_at(target: Tensor, key: Key, value: Any) -> None:
    """``target[key] = value``."""
    value = _as_value(value, target.dtype)
    if LIVE:
        batches.check_room(target, value, key)
    recorded = is_recorded(value)
    if not arrays.is_mutable(target._array):
        given = fitted(value, tuple(key.read(target._array).shape), target.dtype) if recorded else value
        result = IndexPut.apply(target, given if recorded else _bare_value(value, target._array), key=key)
        views.become(target, result)
    elif key.basic and key.understood_by(target._array):
        _write_basic(target, key, value, recorded)
    else:
        _write_advanced(target, key, value, recorded)


def _write_basic(target: Tensor, key: Key, value: Any, recorded: bool) -> None:
    """Through a view of the written region, which need not be recorded itself."""
    region = wrap(type(target), target._array[key.entries])
    views.make_view(region, target, Slice, {"key": key})
    if recorded:
        views.write(region, fitted(value, region._array.shape, target.dtype))
        return
    views.check_writable(region)
    views.own(region)
    region._array[...] = _bare_value(value, region._array)
    views.wrote(region, None, 5)


def _write_advanced(target: Tensor, key: Key, value: Any, recorded: bool) -> None:
    """In place, by a node that stands between the old history and the new one."""
    views.check_writable(target, is_recorded(value))
    if recorded:
        value = fitted(value, key.read(target._array).shape, target.dtype)
    else:
        value = _bare_value(value, target._array)
    views.own(target)
    result = IndexPut.apply(target, value, key=key, in_place=True)
    views.wrote(target, result._resolved(), tangent=dual.tangent_of(result) if OPEN else None)


# ------------------------------------------------------------------------------------------------- results written back
def write_result(target: Tensor, call: Callable[..., Any], *args: Any, **options: Any) -> Tensor:
    """``target`` becomes ``call(target, *args)`` in place: ``x *= y`` and ``x.mul_(y)``.

    The operator may have saved the old value of `target`, which the write destroys.  So it gets a Tensor of its own
    over the same memory, and that one's values are copied before the write exactly when somebody still holds it.
    """
    views.check_writable(target)
    if not modes.current()._recording:
        return views.become(target, call(target, *args, **options))
    if OPEN and dual_at(target._edge) is not None:  # what is saved then is not the stand-in
        xp = arrays.namespace(target._array)
        result, _ = _compute(target, arrays.copy(target._array, xp), call, args, options)
        return views.become(target, result)
    result, holder = _compute(target, target._array, call, args, options)
    held = holder()
    if held is not None:
        xp = arrays.namespace(target._array)
        if held._buffer is None:
            hold_another_array(held, arrays.copy(target._array, xp))
        else:  # it was viewed on the way, and what is saved may be a view
            result, _ = _compute(target, arrays.copy(target._array, xp), call, args, options)
    return views.become(target, result)


def _compute(target: Tensor, array: Any, call: Any, args: Any, options: Any) -> tuple[Any, Any]:
    """The result of `call` on a stand-in for `target`, and a weak reference to the stand-in."""
    private = wrap(type(target), array, None, dual.at(target._resolved(), target))
    result = call(private, *[private if value is target else value for value in args], **options)
    return result, weakref.ref(private)


def in_place_form(call: Callable[..., Any], ufunc: Any = None) -> Callable[..., Any]:
    """The in-place form of an operator; `ufunc` is NumPy's function for the same value, where there is one."""

    def in_place(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if not options and ufunc is not None and _directly(self, ufunc, args):
            return self
        return write_result(self, call, *args, **options)

    return in_place


def _in_place_method(method: str, name: str) -> Callable[..., Any]:
    """The in-place form of the registered operator `name`, looked up when it is first called."""
    form: list[Any] = []

    def in_place(self: Tensor, *args: Any, **options: Any) -> Tensor:
        if not form:
            record = REGISTRY[name]
            ufunc = record.reference if isinstance(record.reference, np.ufunc) else None
            form.append(in_place_form(record.call, ufunc))
        return form[0](self, *args, **options)

    in_place.__name__ = in_place.__qualname__ = method
    in_place.__doc__ = f"`{name}` of this Tensor, written into its own memory.  Returns the Tensor."
    return in_place


def _is_plain(x: Tensor, mode: Any) -> bool:
    """True when nothing about `x` is to be recorded, nor told to whoever watches."""
    if OPEN and dual_at(x._edge) is not None:
        return False
    return x._edge is None or mode is modes.OFF or (mode is modes.ON and not x.requires_grad)


def _directly(target: Tensor, ufunc: np.ufunc, args: tuple[Any, ...]) -> bool:
    """Let NumPy write its result straight into `target`, where nothing is recorded; False where that does not fit."""
    mode = modes.current()
    array = target._array
    if array.__class__ is not np.ndarray or ufunc.nin != len(args) + 1 or not _is_plain(target, mode):
        return False
    bare: list[Any] = []
    for value in args:
        if isinstance(value, Tensor):
            if not _is_plain(value, mode):
                return False
            value = value._array
        if value.__class__ is not float and value.__class__ is not int and not _suits(value, array):
            return False
        bare.append(value)
    if array.dtype.kind != "f" and _result_dtype(ufunc, array, bare) != array.dtype:
        return False
    views.check_writable(target)
    views.own(target)
    ufunc(target._array, *bare, out=target._array)
    views.wrote(target, None, 5)
    return True


def _suits(value: Any, array: Any) -> bool:
    """True for an array that changes neither the shape nor the dtype of an operation in place."""
    if value.__class__ is not np.ndarray or value.dtype != array.dtype:
        return False
    return value.shape == array.shape or np.broadcast_shapes(value.shape, array.shape) == array.shape


def _result_dtype(ufunc: np.ufunc, array: Any, values: list[Any]) -> Any:
    kinds = [value.dtype if value.__class__ is np.ndarray else value.__class__ for value in values]
    return ufunc.resolve_dtypes((array.dtype, *kinds, None))[-1]


# ---------------------------------------------------------------------------------------------------------- overwriting
def copy_(self: Tensor, other: Any) -> Tensor:
    """Overwrite every element with those of `other`, broadcast and cast.  Returns the Tensor."""
    value = _as_value(other, self.dtype)
    if LIVE:
        batches.check_room(self, value)
    if is_recorded(value) or not arrays.is_mutable(self._array):
        return views.write(self, fitted(asarray(value), shape_of(self), self.dtype))
    views.check_writable(self)
    views.own(self)
    self._array[...] = _bare_value(value, self._array)
    views.wrote(self, None)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with one value: a number, or a Tensor of no dimensions.  Returns the Tensor."""
    if shape_of(value):
        raise ValueError(f"fill_ takes a number or a Tensor of no dimensions, but the shape is {shape_of(value)}")
    return copy_(self, value)


def zero_(self: Tensor) -> Tensor:
    """Overwrite every element with 0.  Returns the Tensor."""
    return copy_(self, 0)


def masked_fill_(self: Tensor, mask: Any, value: Any) -> Tensor:
    """Overwrite the elements where `mask` (boolean, broadcast to the Tensor) is true.  Returns the Tensor."""
    write_at(self, mask_key(mask, shape_of(self)), value)
    return self


def mask_key(mask: Any, shape: tuple[int, ...]) -> Key:
    """The index of the true entries of a mask that is broadcast to a shape."""
    bare = mask._array if isinstance(mask, Tensor) else np.asarray(mask)
    if arrays.dtype_of(bare).kind != "b":
        raise TypeError(f"a mask must be boolean, but it is {arrays.dtype_of(bare)}")
    if bare.shape != shape:
        bare = arrays.namespace(bare).broadcast_to(bare, shape)
    return Key((bare,), False, True)


# ------------------------------------------------------------------------------------------------------- along one axis
def _axis_key(x: Tensor, axis: int, index: Any) -> Key:
    axis = range(len(shape_of(x)))[axis]
    return key_of((slice(None),) * axis + (index if shape_of(index) else [index],))


def _corner_key(x: Tensor, axis: int, index: Any) -> tuple[Key, Any]:
    """The places that ``scatter_`` writes: those of a leading corner of the array, as large as `index`."""
    bare = np.asarray(index._array if isinstance(index, Tensor) else index)
    shape = shape_of(x)
    axis = range(len(shape))[axis]
    corner = tuple([n if k == axis else m for k, (n, m) in enumerate(zip(shape, bare.shape, strict=True))])
    return line_key(corner, bare, axis), tuple([slice(0, n) for n in bare.shape])


def index_copy_(self: Tensor, axis: int, index: Any, source: Any) -> Tensor:
    """Overwrite the positions `index` along `axis` with the parts of `source`.  Returns the Tensor."""
    write_at(self, _axis_key(self, axis, index), source)
    return self


def index_add_(self: Tensor, axis: int, index: Any, source: Any) -> Tensor:
    """Add the parts of `source` at the positions `index` along `axis`.  Returns the Tensor."""
    return write_result(self, _add, _axis_key(self, axis, index), source)


def index_fill_(self: Tensor, axis: int, index: Any, value: Any) -> Tensor:
    """Overwrite the positions `index` along `axis` with one value.  Returns the Tensor."""
    write_at(self, _axis_key(self, axis, index), value)
    return self


def index_put_(self: Tensor, index: Any, values: Any, accumulate: bool = False) -> Tensor:
    """``self[index] = values``, or with `accumulate` ``self[index] += values`` where repeated entries add up."""
    key = key_of(tuple(index) if isinstance(index, (tuple, list)) else index)
    if accumulate:
        return write_result(self, _add, key, values)
    write_at(self, key, values)
    return self


def scatter_(self: Tensor, axis: int, index: Any, source: Any) -> Tensor:
    """In every line along `axis`, overwrite the positions in `index` with `source` (an array or number)."""
    key, corner = _corner_key(self, axis, index)
    write_at(self, key, source[corner] if shape_of(source) else source)
    return self


def scatter_add_(self: Tensor, axis: int, index: Any, source: Any) -> Tensor:
    """In every line along `axis`, add `source` at the positions in `index`; what is met twice is added twice."""
    key, corner = _corner_key(self, axis, index)
    return write_result(self, _add, key, source[corner] if shape_of(source) else source)


# ------------------------------------------------------------------------------------------------------ the shape alone
def reshape_in_place(target: Tensor, call: Callable[..., Any], *args: Any, **options: Any) -> Tensor:
    """``target`` becomes the view ``call(target, *args)`` of itself; what was saved of it before is stale."""
    old = target._view
    if modes.current()._recording and target._edge.__class__ is Leaf:
        views.check_writable(target)
    if old is None and target._buffer is not None and target._buffer.viewed:
        raise lesson(
            RuntimeError,
            "the shape of a Tensor that has views cannot be changed in place",
            why="its views find their place by the old shape.",
            instead="the out-of-place form, for example x = x.unsqueeze(axis), which shares memory too.",
        )
    view = call(wrap(type(target), target._array, None, dual.at(target._resolved(), target)), *args, **options)
    edge = dual.at(view._resolved(), view)
    target._shared_buffer().touch()
    hold_another_array(target, view._array)
    if old is None:
        target._edge = edge
    else:
        steps = old.steps + (view._view.steps if view._view is not None else ())
        target._edge = views.View(old.base, steps, without(edge), old.forbidden)
    return target


def squeeze_(self: Tensor, axis: Any = None) -> Tensor:
    """Drop axes of length 1 from this very Tensor."""
    return reshape_in_place(self, squeeze, axis)


def unsqueeze_(self: Tensor, axis: int) -> Tensor:
    """Give this very Tensor a new axis of length 1."""
    return reshape_in_place(self, expand_dims, axis)


# ---------------------------------------------------------------------------------------------------------- the methods
#: In-place method -> the registered operator whose result it writes back.
WRITTEN_BACK = {
    "add_": "add",
    "sub_": "subtract",
    "mul_": "multiply",
    "div_": "divide",
    "pow_": "pow",
    "remainder_": "remainder",
    "floor_divide_": "floor_divide",
    "neg_": "negative",
    "abs_": "abs",
    "sign_": "sign",
    "square_": "square",
    "sqrt_": "sqrt",
    "reciprocal_": "reciprocal",
    "exp_": "exp",
    "expm1_": "expm1",
    "log_": "log",
    "log1p_": "log1p",
    "log2_": "log2",
    "log10_": "log10",
    "sin_": "sin",
    "cos_": "cos",
    "tan_": "tan",
    "asin_": "asin",
    "acos_": "acos",
    "atan_": "atan",
    "sinh_": "sinh",
    "cosh_": "cosh",
    "tanh_": "tanh",
    "asinh_": "asinh",
    "acosh_": "acosh",
    "atanh_": "atanh",
    "floor_": "floor",
    "ceil_": "ceil",
    "round_": "round",
    "trunc_": "trunc",
    "clamp_": "clip",
    "clip_": "clip",
    "tril_": "tril",
    "triu_": "triu",
}


def clamp_min_(self: Tensor, min: Any) -> Tensor:
    """Replace what is smaller than `min` by `min`.  Returns the Tensor."""
    return write_result(self, REGISTRY["clip"].call, min, None)


def clamp_max_(self: Tensor, max: Any) -> Tensor:
    """Replace what is larger than `max` by `max`.  Returns the Tensor."""
    return write_result(self, REGISTRY["clip"].call, None, max)


for _method, _name in WRITTEN_BACK.items():
    ATTRIBUTES[_method] = _in_place_method(_method, _name)
for _function in (
    copy_,
    fill_,
    zero_,
    masked_fill_,
    index_copy_,
    index_add_,
    index_fill_,
    index_put_,
    scatter_,
    scatter_add_,
    squeeze_,
    unsqueeze_,
    clamp_min_,
    clamp_max_,
):
    ATTRIBUTES[_function.__name__] = _function
ATTRIBUTES["__setitem__"] = setitem


# --------------------------------------------------------------------------------------------------------- registration
def _puts(make: Make):
    yield Sample((make(2, 3), 1, make(3)))
    yield Sample((make(2, 3), (slice(None), [0, 2]), make(2)))
    yield Sample((make(3), [0, 0, 2], make(3)))
    yield Sample((make(3), np.array([True, False, True]), make()))
    yield Sample((make(3), slice(None, None, 2), 1.5))


def _sums(make: Make):
    yield Sample((make(2, 3), 1, make(3)))
    yield Sample((make(3), [0, 0, 2], make(3)))


def _put_reference(x: Any, index: Any, value: Any) -> Any:
    y = x.copy()
    y[index] = value
    return y


def _add_reference(x: Any, index: Any, value: Any) -> Any:
    y = x.copy()
    np.add.at(y, index, value)
    return y


register("index_put", IndexPut, _puts, call=index_put, reference=_put_reference, public=False)
register("index_add", None, _sums, call=index_add, reference=_add_reference, public=False)
