"""Tensor: an array, and its place in the graph.

The place is ``_edge``: ``None`` without gradients, ``(node, output number)`` for the result of a recorded operation, or an object
with ``resolve(tensor)`` that finds it: `Leaf` for what the user made, `pullback.core.views.View` for a view, whose place changes
when its base is written.  Operators are not defined here; ``pullback/ops/bind.py`` attaches them.
"""

from __future__ import annotations

import operator
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Node, next_number
from pullback.core.hooks import Hooks, RemovableHandle, register
from pullback.core.masked import unmask
from pullback.core.recorded import Recorded
from pullback.core.versions import BORROWED, Buffer

_accumulating = threading.Lock()
_probe = [object()]
#: What `sys.getrefcount` says of an object that one list holds and nobody else.
IN_A_LIST = getrefcount(_probe[0])


def _in_a_variable() -> int:
    thing = object()
    return getrefcount(thing)


#: The same of an object that one variable of a function holds.
IN_A_VARIABLE = _in_a_variable()
_new = object.__new__


class Leaf:
    """The place of a Tensor that the user made and that requires gradients."""

    __slots__ = ("hooks", "node", "number")

    def __init__(self) -> None:
        self.node: Any = None
        self.hooks: Hooks | None = None
        self.number = next_number()  # tells a Tensor made inside a forward from one captured by it

    def resolve(self, tensor: Tensor) -> tuple[Node, int]:
        """The edge to the leaf's `AccumulateGrad`, which lives as long as a graph needs it."""
        node = self.node() if self.node is not None else None
        if node is None:
            with _accumulating:  # two threads that use a leaf for the first time must find one node
                node = self.node() if self.node is not None else None
                if node is None:
                    node = AccumulateGrad(tensor, self.hooks)
                    self.node = weakref.ref(node)
        return node, 0

    def hook_table(self, kind: Any) -> Hooks:
        with _accumulating:
            if self.hooks is None:
                node = self.node() if self.node is not None else None
                self.hooks = (node._hooks if node is not None else None) or Hooks(kind)
                if node is not None:
                    node._hooks = self.hooks
            return self.hooks


class AccumulateGrad(Node):
    """The end of a path: adds the cotangent to the ``.grad`` of its leaf."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor, hooks: Hooks | None) -> None:
        self._edges = ()
        self._number = LEAF_NUMBER
        self._saved = None
        self._hooks = hooks
        self._kind = type(variable)
        self._specs = ((variable._array.shape, arrays.dtype_of(variable._array)),)
        self.variable = variable

    def _pull(self, cotangents: list[Any], task: Any) -> None:
        if cotangents[0] is None or self.variable._edge is None:  # it stopped asking for gradients meanwhile
            return
        if task.record:
            self.variable._accumulate(task.connect(cotangents[0], ((self, 0),), True), True)
        elif getrefcount(cotangents[0]) == IN_A_LIST and not (
            self._hooks and self._hooks.post
        ):  # only this list holds it
            self.variable._accumulate(cotangents.pop(), False, fresh=True)
        else:
            self.variable._accumulate(cotangents[0], False)
        if self._hooks is not None:
            for hook in list(self._hooks.after_accumulate.values()):
                result = hook(self.variable)
                if result is not None and result is not self.variable:
                    raise lesson(
                        RuntimeError,
                        "Tensor post accumulate grad hooks should return None.",
                        instead="change tensor.grad in place inside the hook, and return nothing.",
                    )


class Tensor:
    """An array that can take part in differentiation.

    Make one with `pullback.tensor` (copies) or `pullback.asarray` (shares memory).

    Attributes
    ----------
    shape, dtype, ndim, size
        Those of the array; the dtype is always a NumPy dtype object.
    requires_grad
        True when operators on it are recorded.
    grad
        After ``backward()``: the derivative, a Tensor of the same shape and dtype, for leaves and after ``retain_grad()``.
    grad_fn
        The node that produced it; ``None`` for a leaf.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "_array", "_buffer", "_edge", "_grad")
    __array_priority__ = 1000
    _base_class: Any = None  # the class that every kind of Tensor is an instance of

    _array: Any
    _edge: Any
    _buffer: Buffer | None
    _grad: Tensor | None

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        """Wrap an array without copying it."""
        self._array = array
        self._edge = None
        self._buffer = None
        self._grad = None
        if requires_grad:
            self.requires_grad = True

    # ------------------------------------------------------------------------------------------------ what it is
    @property
    def shape(self) -> Any:
        return self._array.shape

    @property
    def dtype(self) -> Any:
        return arrays.dtype_of(self._array)

    @property
    def ndim(self) -> int:
        return len(self._array.shape)

    @property
    def size(self) -> int:
        return arrays.size(self._array)

    @property
    def device(self) -> Any:
        return getattr(self._array, "device", "cpu")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The Tensor itself; only its own device is accepted."""
        if device != self.device:
            raise ValueError(f"unsupported device {device!r}: this array lives on {self.device!r}")
        return self

    def __len__(self) -> int:
        if not self._array.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(Recorded.xp.unstack(self))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        body = np.array2string(
            np.asarray(self._array), separator=", ", prefix="tensor(", max_line_width=100, threshold=100
        )
        parts = [body]
        if self.dtype not in (np.float64, np.int64, np.bool_, np.complex128):
            parts.append(f"dtype={self.dtype}")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{self.grad_fn._name()}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"tensor({', '.join(parts)})"

    # --------------------------------------------------------------------------------------------- place in the graph
    @property
    def requires_grad(self) -> bool:
        edge = self._edge
        if edge is None:
            return False
        return edge.__class__ is tuple or edge.__class__ is Leaf or edge.resolve(self) is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients (or stop asking), in place; only for leaves."""
        if self.grad_fn is not None:
            if requires_grad:
                return self
            raise lesson(
                RuntimeError,
                "you can only change requires_grad flags of leaf variables.",
                why="this Tensor was computed from others, and its gradient flows on to them.",
                instead="to use a computed Tensor without differentiating it, take x.detach().",
            )
        if requires_grad and not arrays.is_inexact(self.dtype):
            raise lesson(
                RuntimeError,
                f"Only Tensors of floating point and complex dtype can require gradients, this one is {self.dtype}",
                why="a derivative needs values that can change by small amounts.",
                instead="make it floating point first, for example tensor(..., dtype=float).",
            )
        if requires_grad is not (self._edge.__class__ is Leaf):
            self._edge = Leaf() if requires_grad else None
        return self

    @property
    def grad_fn(self) -> Node | None:
        edge = self._edge
        if edge is None or edge.__class__ is Leaf:
            return None
        if edge.__class__ is not tuple:
            edge = edge.resolve(self)
            if edge is None or edge[0]._number == LEAF_NUMBER:
                return None
        return edge[0]

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        edge = self._resolved()
        return edge[1] if edge else 0

    def _resolved(self) -> Any:
        """The edge as a tuple, or ``None`` without gradients."""
        edge = self._edge
        return edge if edge is None or edge.__class__ is tuple else edge.resolve(self)

    def _born(self) -> int:
        """The creation number at which this Tensor came to require gradients."""
        edge = self._edge
        if edge.__class__ is Leaf:
            return edge.number
        edge = self._resolved()
        if edge is None:
            return 0
        return edge[0]._number if edge[0]._number >= 0 else edge[0].variable._edge.number

    @property
    def _view(self) -> Any:
        """The `View` of a view, ``None`` for anything else."""
        edge = self._edge
        return None if edge is None or edge.__class__ is tuple or edge.__class__ is Leaf else edge

    @property
    def _version(self) -> int:
        return 0 if self._buffer is None else self._buffer.version

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    def _shared_buffer(self) -> Buffer:
        """The write log, made on first use."""
        if self._buffer is BORROWED:
            self._buffer = Buffer(borrowed=True)
        if self._buffer is None:
            self._buffer = Buffer()
            if self._edge.__class__ is tuple:
                self._edge[0]._adopt_buffer(self._edge[1], self._buffer)
        return self._buffer

    def detach(self) -> Tensor:
        """The same memory without gradients; writes to it are noticed by whoever saved this Tensor."""
        modes.current()._leaves(self, "detach()")
        return self._logged_alias()

    def _logged_alias(self) -> Tensor:
        alias = self._alias()
        alias._buffer = buffer = self._shared_buffer()
        if buffer.borrowed:
            buffer.views += (weakref.ref(self), weakref.ref(alias))
        buffer.locked = buffer.locked or self._edge.__class__ is tuple
        return alias

    @property
    def data(self) -> Tensor:
        """The same memory, without gradients and without a shared write log (unless the memory is only lent)."""
        modes.current()._leaves(self, ".data")
        return self._alias() if self._buffer is None or not self._buffer.borrowed else self._logged_alias()

    @data.setter
    def data(self, value: Tensor) -> None:
        self._shared_buffer().touch()
        before = wrap(type(self), self._array)
        hold_another_array(self, value._array)
        if self._edge.__class__ is Leaf and (value.shape != before.shape or value.dtype != before.dtype):
            self._edge.node = None  # graphs built from now on see another shape or dtype

    def _alias(self) -> Tensor:
        """A bare Tensor over the same array."""
        return wrap(type(self), self._array)

    def detach_(self) -> Tensor:
        """Cut this very Tensor out of the graph."""
        if self._view is not None:
            raise lesson(
                RuntimeError,
                "Can't detach views in-place.",
                why="the view and its base share one history.",
                instead="use y = x.detach().",
            )
        modes.current()._leaves(self, "detach_()")
        if self._edge.__class__ is tuple:
            self._shared_buffer().detached = True  # whoever saved this Tensor relied on its place in the graph
        self._edge = None
        return self

    # ------------------------------------------------------------------------------------------------ leaving
    def numpy(self) -> Any:
        """The array as NumPy's.

        A Tensor that requires gradients refuses while recording.  What was recorded is handed out read-only, so that no write
        goes behind the graph's back.
        """
        if self._edge is not None and self.requires_grad:
            mode = modes.current()
            if mode._recording and mode._settings.watcher is None:
                raise lesson(
                    RuntimeError,
                    "Can't call numpy() on Tensor that requires grad.",
                    why="what NumPy computes from it would have no gradient.",
                    instead="x.detach().numpy() for the values; pullback's own functions to stay differentiable.",
                )
            mode._leaves(self, "numpy()")
        elif modes.current() is not modes.ON:
            modes.current()._leaves(self, "numpy()")
        array = self._array
        if not isinstance(array, np.ndarray):
            return np.asarray(array)
        return arrays.readonly(array) if self._is_locked() else array

    def _is_locked(self) -> bool:
        buffer = self._buffer
        return self._edge.__class__ is tuple or (buffer is not None and (buffer.locked or buffer.borrowed))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self._edge is not None and self.requires_grad:
            mode = modes.current()
            if mode._recording and mode._settings.watcher is None:
                raise lesson(
                    RuntimeError,
                    "Can't convert a Tensor that requires grad to a NumPy array (np.asarray, np.array, ...).",
                    why="what NumPy computes from it would have no gradient.",
                    instead="pullback.stack([...]) or pullback.as_tensor([...]) to build an array of Tensors; "
                    "x.detach().numpy() for the values.",
                )
            mode._leaves(self, "np.asarray")
        elif modes.current() is not modes.ON:
            modes.current()._leaves(self, "np.asarray")
        array = np.asarray(self._array)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        return arrays.readonly(array) if self._is_locked() else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self._edge is not None and self.requires_grad:
            mode = modes.current()
            if mode._recording and mode._settings.watcher is None:
                raise lesson(
                    BufferError,
                    "Can't export a Tensor that requires grad through DLPack.",
                    why="the other library would compute without gradients.",
                    instead="x.detach().",
                )
            mode._leaves(self, "DLPack")
        elif modes.current() is not modes.ON:
            modes.current()._leaves(self, "DLPack")
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """The one element as a Python number."""
        mode = modes.current()
        if mode is not modes.ON:
            mode._leaves(self, "item()")
        if arrays.size(self._array) != 1:
            raise lesson(
                RuntimeError,
                f"a Tensor with {arrays.size(self._array)} elements cannot be converted to Scalar",
                instead="x.tolist() for all of them, x[i].item() for one.",
            )
        return self._number()

    def _number(self) -> Any:
        return self._array.item() if hasattr(self._array, "item") else np.asarray(self._array).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        mode = modes.current()
        if mode is not modes.ON:
            mode._leaves(self, "tolist()")
        return np.asarray(self._array).tolist()

    def __bool__(self) -> bool:
        if arrays.size(self._array) != 1:
            raise lesson(
                RuntimeError,
                "Boolean value of Tensor with "
                f"{'more than one value' if arrays.size(self._array) else 'no values'} is ambiguous",
                instead="x.any() or x.all().",
            )
        return bool(self._array)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if arrays.dtype_of(self._array).kind not in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return operator.index(self._array.item())

    def __format__(self, spec: str) -> str:
        return format(self._number(), spec) if spec and arrays.size(self._array) == 1 else str(self).__format__(spec)

    # ------------------------------------------------------------------------------------------------ gradients
    @property
    def grad(self) -> Any:
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. It is only filled for leaves, "
                "the Tensors you made yourself; call .retain_grad() on this one before backward() to have it filled too.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            self._check_grad(value)
        self._grad = value

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise lesson(
                TypeError,
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__!r}",
                instead="pullback.tensor(...) of the same shape, or None.",
            )
        if value is self:
            raise lesson(RuntimeError, "can't assign Variable as its own grad", instead="assign a copy.")
        if value.shape != self.shape:
            raise lesson(
                RuntimeError,
                f"assigned grad has data of a different size: {tuple(value.shape)} for a Tensor of shape {tuple(self.shape)}",
                instead="a gradient of the Tensor's own shape.",
            )
        if value.dtype != self.dtype:
            raise lesson(
                RuntimeError,
                f"assigned grad has data of a different type: {value.dtype} for a Tensor of {self.dtype}",
                instead="cast the gradient to the Tensor's dtype first.",
            )

    def _accumulate(self, cotangent: Any, record: bool, fresh: bool = False) -> None:
        """Add to ``.grad``: in place, unless the sum is itself to be differentiated.

        A `fresh` cotangent belongs to nobody else; its memory is taken over where it is an array of its own.
        """
        fresh = fresh and isinstance(cotangent, np.ndarray) and cotangent.base is None
        fresh = fresh and cotangent.flags.c_contiguous and cotangent.flags.writeable
        cotangent = unmask(cotangent)
        if record:
            clone = cotangent.clone() if self._grad is None else self._grad + cotangent
            self._grad = clone
            return
        xp = arrays.namespace(self._array)
        with _accumulating:
            if self._grad is None:
                self._grad = wrap(type(self), cotangent if fresh else arrays.copy(cotangent, xp))
                return
            if self._grad._buffer is not None and self._grad._buffer.borrowed:
                self._grad = wrap(type(self), arrays.copy(self._grad._array, xp))
            total = self._grad._array
            if arrays.is_mutable(total):
                total += (
                    cotangent if cotangent.dtype == total.dtype else arrays.cast(cotangent, arrays.dtype_of(total), xp)
                )
                self._grad._shared_buffer().touch()
            else:
                self._grad._array = total + cotangent

    def retain_grad(self) -> None:
        """Fill ``.grad`` of this non-leaf Tensor too."""
        if not self.requires_grad:
            raise lesson(
                RuntimeError,
                "can't retain_grad on Tensor that has requires_grad=False",
                instead="ask for gradients where the Tensor is made: tensor(..., requires_grad=True).",
            )
        edge = self._resolved()
        if edge[0]._number != LEAF_NUMBER:
            self._node_hooks(edge[0]).retain[edge[1]] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """True after `retain_grad` on a non-leaf."""
        edge = self._resolved()
        if not edge or edge[0]._hooks is None or edge[0]._number == LEAF_NUMBER:
            return False
        reference = edge[0]._hooks.retain.get(edge[1])
        return reference is not None and reference() is self

    def _node_hooks(self, node: Node) -> Hooks:
        if node._hooks is None:
            node._hooks = Hooks(type(self))
        return node._hooks

    def _hook_table(self, purpose: str) -> tuple[Hooks, int]:
        if not self.requires_grad:
            raise lesson(
                RuntimeError,
                f"cannot register a {purpose} on a tensor that doesn't require gradient",
                instead="ask for gradients where the Tensor is made: tensor(..., requires_grad=True).",
            )
        if self._edge.__class__ is Leaf:
            return self._edge.hook_table(type(self)), 0
        edge = self._resolved()
        return self._node_hooks(edge[0]), edge[1]

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` with the summed gradient of this Tensor in every backward pass; it may return a replacement."""
        hooks, position = self._hook_table("hook")
        return register(hooks.tensor.setdefault(position, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after ``.grad`` of this leaf was updated."""
        if self.requires_grad and not self.is_leaf:
            raise lesson(
                RuntimeError,
                "post accumulate grad hooks cannot be registered on non-leaf tensors",
                instead="use register_hook, or register on the leaf.",
            )
        hooks, _ = self._hook_table("post accumulate grad hook")
        return register(hooks.after_accumulate, hook)

    @classmethod
    def _show(cls, cotangent: Any, record: bool) -> Any:
        """A cotangent of the walk as the Tensor that a user sees."""
        cotangent = unmask(cotangent)
        if cotangent is None:
            return None
        return lent(cotangent) if record else wrap(cls, cotangent, BORROWED)

    @classmethod
    def _hide(cls, value: Any, record: bool) -> Any:
        """A user's Tensor as the cotangent that the walk moves."""
        if value is None:
            return None
        return lent(value) if record else value._array

    # ------------------------------------------------------------------------------------------------ copies
    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.grad_fn is not None:
            raise lesson(
                RuntimeError,
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
                why="a copy of a computed Tensor would have no graph, or two.",
                instead="x.detach().clone() for the values.",
            )
        modes.current()._leaves(self, "deepcopy")
        result = _rebuild(type(self), arrays.copy(self._array, arrays.namespace(self._array)), self.requires_grad)
        memo[id(self)] = result
        if self._grad is not None:
            result._grad = self._grad.__deepcopy__(memo)
        return result

    def __copy__(self) -> Tensor:
        """Another Tensor over the same memory: at the same place in the graph, or a leaf of its own."""
        edge = Leaf() if self._edge.__class__ is Leaf else self._edge
        return wrap(type(self), self._array, self._shared_buffer(), edge)

    def __reduce__(self) -> Any:
        modes.current()._leaves(self, "pickle")
        return _rebuild, (type(self), np.asarray(self._array), self.requires_grad)


Tensor._base_class = Tensor


def _rebuild(kind: Any, array: Any, requires_grad: bool) -> Tensor:
    return wrap(kind, array).requires_grad_(requires_grad)


#: Called with a Tensor before it comes to hold another array than it was made with.
before_replacing: list[Callable[[Any], None]] = []


def hold_another_array(tensor: Any, array: Any) -> None:
    """Exchange the array of a Tensor."""
    for tell in before_replacing:
        tell(tensor)
    tensor._array = array


def wrap(kind: Any, array: Any, buffer: Buffer | None = None, edge: Any = None) -> Any:
    """A Tensor of class `kind` over `array`, without the checks of a public constructor."""
    tensor = _new(kind)
    tensor._array = array
    tensor._edge = edge
    tensor._buffer = buffer
    tensor._grad = None
    return tensor


def lent(tensor: Any, array: Any = None) -> Any:
    """A recorded cotangent as others see it: at the same place in the graph, and copied before it is written into."""
    return wrap(type(tensor), tensor._array if array is None else array, BORROWED, tensor._resolved())
