"""Function: an operator written on Tensors, with a fresh ctx for every call.

``apply`` makes the ctx, runs ``forward`` with recording off, and makes the ctx the node of the outputs: **the ctx is the node**.
``backward`` gets that same ctx when the graph is walked.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from sys import _getframe, getrefcount
from typing import Any, ClassVar

import numpy as np

from pullback.core import batches, dual, modes, rules
from pullback.core.batches import LIVE, ReadOut
from pullback.core.contents import CONTAINERS, HARMLESS, is_among, plain, tensors_in
from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import lesson
from pullback.core.graph import NOT_A_TENSOR, next_number
from pullback.core.keep import keep, wrote_into_arguments
from pullback.core.mistakes import explain_forward
from pullback.core.outputs import attach, plain_outputs
from pullback.core.outside import UNKNOWN, look, look_at_arguments, note_changed_arguments, note_changes
from pullback.core.places import familiar, outside
from pullback.core.pulling import ClearingNode, FunctionNode, no_backward, no_vjp, refuse_both
from pullback.core.references import IN_A_VARIABLE
from pullback.core.tensor import Tensor

ndarray = np.ndarray
_new = object.__new__
_current, _enter, _leave = modes.current, modes.enter, modes.leave
_ON, _OFF, _Special = modes.ON, modes.OFF, modes.Special


class Function:
    """Base class of operators written on Tensors, forward and backward.

    Write ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)`` as static methods and call ``F.apply(*args)``.  Or split
    forward into ``forward(*args)`` and ``setup_context(ctx, inputs, output)``.

    Every call has its own ``ctx``, which is also its node in the graph.  ``backward`` runs with recording on exactly when the
    pass was asked for ``create_graph=True``, and returns one gradient per argument of forward, ``None`` where there is none.

    Examples
    --------
    >>> import pullback as pb
    >>> class Square(pb.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 2 * x
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> (g,) = pb.autograd.grad(Square.apply(x), x, create_graph=True)
    >>> g.item(), pb.autograd.grad(g, x)[0].item()
    (6.0, 2.0)
    """

    generate_vmap_rule: ClassVar[bool] = False
    clear_saved_tensors_on_access: ClassVar[bool] = False
    boxed_grads_call: ClassVar[bool] = False
    #: backward accepts cotangents of any memory layout; otherwise they come C-contiguous.
    any_layout: ClassVar[bool] = False
    separate: ClassVar[bool] = False
    _node: ClassVar[type[FunctionNode]]
    _backward_cls: ClassVar[type[FunctionNode]]
    _signature: ClassVar[Any]
    _outside: ClassVar[Any] = ()  # what forward and backward both name, see outside.py
    _left_outside: ClassVar[str] = ""  # where forward once left what it computed

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if any(isinstance(value, Tensor) for value in args):
            raise lesson(
                TypeError,
                f"{name}(...) was called with a Tensor, as if it were a function",
                why="a Function is a class: calling it makes an object, which computes nothing.",
                instead=f"{name}.apply(...).",
            )
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static: call "
            f"{name}.apply(...) on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.separate = cls.setup_context is not Function.setup_context
        if cls.backward is not no_backward and cls.vjp is not no_vjp:
            cls.backward = refuse_both(cls)
        node = ClearingNode if cls.clear_saved_tensors_on_access else FunctionNode
        space = {"_operator": cls, "__module__": cls.__module__}
        if cls.boxed_grads_call:
            space["_pull"] = node._pull_watched
        cls._node = type(f"{cls.__name__}Backward", (node,), space)
        cls._backward_cls = cls._node
        cls._signature = None
        cls._outside = UNKNOWN

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise lesson(
            RuntimeError,
            f"Legacy autograd function with non-static forward method is deprecated: an instance of {name} was called",
            why="calling an instance records nothing, so nothing could be differentiated.",
            instead=f"{name}.apply(...), on the class; data for one call goes to ctx, data for all calls is an argument.",
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """``forward(ctx, *args)``, or ``forward(*args)`` beside ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, when ``forward`` does not take ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """``outputs, out_dims`` from whole batches: ``info.batch_size``, and the batch axis of each argument (or ``None``)."""
        raise NotImplementedError("To use autograd.Function with vmap, you may override the vmap staticmethod.")

    backward = staticmethod(no_backward)
    vjp = staticmethod(no_vjp)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Tangents of the outputs from tangents of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function; record it when an argument is a Tensor that requires gradients."""
        if kwargs or cls.separate:
            args = _bind(cls, args, kwargs)
        if OPEN and any(isinstance(x, Tensor) and dual_at(x._edge) is not None for x in args):
            return dual.push(cls, args, {})
        forward = cls.forward
        if LIVE:
            args, forward = batches.for_function(cls, args)
        mode = _current()
        if mode.__class__ is _Special and mode._settings.operators is not None:
            return mode._settings.operators(cls, args, {})
        recording = mode._recording
        ctx = _new(cls._node)
        ctx._inputs = args
        ctx._marks = ctx._kept = ctx._opaque = ctx._saved = ctx._hooks = None
        ctx._to_save = ctx._specs = ()
        ctx._outer = mode
        x = args[0] if len(args) == 1 else None
        if isinstance(x, Tensor):  # the most frequent call: one Tensor
            edge = x._edge
            if edge is not None:
                if edge.__class__ is not tuple:
                    edge = edge.resolve(x)
                if not recording and edge is not None and mode is not _OFF:
                    mode._reads(x)
            ctx._edges = (edge,)
            ctx._needs = _NOT_NEEDED if edge is None else _NEEDED
            ctx._kind = kind = x.__class__
            differentiable = edge is not None
            objects = None
        else:
            may_change = _look_at_arguments(cls, ctx, args, mode)
            kind = ctx._kind
            differentiable = True in ctx._needs
            objects = look_at_arguments(args) if may_change and recording and differentiable else None

        state = look(cls) if cls._outside and recording and differentiable else None
        ctx._number = next_number()  # after the arguments found their places: a view may just have made a node
        read_out = None
        token = _enter(ctx)
        try:
            if cls.separate:
                result = forward(*args)
                cls.setup_context(ctx, args, result)
            elif x is not None:
                result = forward(ctx, x)
            else:
                result = forward(ctx, *args)
        except ReadOut as error:
            read_out = error
        except Exception as error:
            explain_forward(cls, error)
            raise
        finally:
            _leave(token)
            ctx._outer = _ON
        if read_out is not None:
            if wrote_into_arguments(ctx):
                read_out.add_note(
                    f"{cls.__name__}.forward wrote into its arguments, so it cannot run again for each entry."
                )
                raise read_out
            return batches.one_by_one(cls, args, {}, read_out)
        if state is not None:
            note_changes(cls, state, ctx._opaque is not None, args)
        if objects is not None:
            note_changed_arguments(cls, objects, ctx.__dict__, ctx._opaque is not None, args)
        if not (recording and differentiable):
            ctx._to_save = ctx._inputs = ()
            return plain_outputs(ctx, args, result)
        array = result._array if result.__class__ is kind else None
        if (
            array.__class__ is ndarray
            and ctx._marks is None
            and result._edge is None
            and (array.dtype is _F8 or array.dtype.kind in "fc")
            and result is not x
            and (x is not None or not is_among(result, args))
        ):  # the most frequent result: one fresh Tensor
            if getrefcount(result) == IN_A_VARIABLE:  # nobody else can see it: not saved, not captured, not on ctx
                output = result
            else:
                output = _new(kind)
                output._array = array
                output._buffer = result._buffer
                output._grad = None
            output._edge = (ctx, 0)
            ctx._specs = ((array.shape, array.dtype),)
            returned, outputs = (result,), (output,)
            answer = output
        else:
            answer, returned, outputs = attach(ctx, args, result)
        attributes: Any = ctx.__dict__
        to_save = ctx._to_save
        if attributes and to_save == () and plain(attributes.values(), ctx._opaque is not None):
            attributes = None
        if attributes or len(to_save) != 1 or to_save[0] is not x or x is None or x._buffer is not None:
            if to_save or attributes:
                keep(ctx, args, returned, outputs)
        else:
            ctx._saved = to_save
            ctx._to_save = ()
        try:
            frame = _getframe(1)
        except ValueError:  # called by the interpreter itself, see `places.caller`
            frame = _getframe()
        code = frame.f_code
        if code is not familiar.code:
            frame = outside(frame)
            code = frame.f_code
        ctx._code = code
        ctx._instruction = frame.f_lasti
        if mode is not _ON:
            mode._created(ctx)
        if ctx._opaque.__class__ is list:
            ctx._opaque = None  # something left the graph, but nothing hangs on ctx that could have come of it
        if ctx._marks is not None:
            ctx._marks.forget_tensors()
        ctx._inputs = ()
        return answer


_NEEDED, _NOT_NEEDED = (True,), (False,)
_F8 = np.dtype(np.float64)
_STILL = HARMLESS | {float, complex, ndarray}


def _look_at_arguments(cls: Any, ctx: Any, args: tuple[Any, ...], mode: Any) -> bool:
    """Edges, flags and class of result for any number and kind of arguments; whether forward could leave something in one."""
    may_change = False
    kind: Any = None
    edges: list[Any] = []
    needs = []
    beside = []  # shapes of constants, see `rules.may_sum`
    for value in args:
        if isinstance(value, Tensor):
            if kind is None or issubclass(value.__class__, kind):
                kind = value.__class__
            edge = value._edge
            if edge is not None:
                if edge.__class__ is not tuple:
                    edge = edge.resolve(value)
                if edge is not None and not mode._recording and mode is not _OFF:
                    mode._reads(value)
            edges.append(edge)
            needs.append(edge is not None)
            if edge is None:
                beside.append(value._array.shape)
        else:
            if isinstance(value, CONTAINERS):
                _refuse_hidden_tensors(cls, value, len(edges), mode._recording)
            may_change = may_change or value.__class__ not in _STILL
            edges.append(NOT_A_TENSOR)
            needs.append(False)
            if hasattr(value, "shape"):
                beside.append(value.shape)
    ctx._edges = tuple(edges)
    ctx._needs = tuple(needs)
    ctx._kind = kind or Tensor
    if beside:
        ctx._beside = beside
    return may_change


def _refuse_hidden_tensors(cls: Any, value: Any, position: int, recording: bool) -> None:
    if recording and any(tensor.requires_grad for tensor in tensors_in(value)):
        node = _new(cls._node)
        raise lesson(
            RuntimeError,
            f"{cls.__name__}.apply got Tensors that require gradients inside a {type(value).__name__}, as "
            f"{rules.argument(node, position)}",
            why="gradients are returned one per argument, so those inside a container would be lost.",
            instead=f"pass them one by one, {cls.__name__}.apply(*tensors), and let forward take *tensors.",
        )


def _bind(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Put keyword arguments at their places; with setup_context, fill in the defaults as well."""
    if cls._signature is None:
        cls._signature = _signature_of(cls)
    positional, defaults = cls._signature
    values = list(args)
    if len(values) < len(positional):
        for name in positional[len(values) :]:
            if name in kwargs:
                values.append(kwargs.pop(name))
            elif name in defaults and (cls.separate or kwargs):
                values.append(defaults[name])
            else:
                break
    if kwargs:
        name = next(iter(kwargs))
        missing = next((n for n in positional[len(values) :] if n not in kwargs), None)
        if name in positional[len(values) :] and missing is not None:
            raise lesson(
                TypeError,
                f"{cls.__name__}.forward() is missing the argument {missing!r}",
                instead=f"one value for each of {', '.join(positional)}.",
            )
        again = "multiple values for" if name in positional else "an unexpected keyword"
        raise lesson(
            TypeError,
            f"{cls.__name__}.forward() got {again} argument {name!r}",
            instead=f"one value for each of {', '.join(positional)}; keyword-only parameters are not supported.",
        )
    return tuple(values)


def _signature_of(cls: Any) -> Any:
    parameters = list(inspect.signature(cls.forward).parameters.values())[0 if cls.separate else 1 :]
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty and p.name in positional}
    return positional, defaults


def once_differentiable(function: Any) -> Any:
    """Mark a backward that can only be run, not differentiated: asking for a second derivative is an error, on every route.

    Examples
    --------
    >>> import pullback as pb
    >>> class Twice(pb.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @pb.once_differentiable
    ...     def backward(ctx, g):
    ...         return g * 2
    """

    @functools.wraps(function)
    def backward(ctx: Any, *grads: Any) -> Any:
        watcher = modes.current()._settings.watcher
        if watcher is not None:
            watcher.once = True
        token = modes.enter(modes.OFF)
        try:
            return function(ctx, *grads)
        finally:
            modes.leave(token)

    return backward


def _useless(name: str) -> Any:
    @functools.wraps(getattr(FunctionNode, name))
    def on_class(*args: Any, **kwargs: Any) -> Any:
        raise lesson(
            RuntimeError,
            f"{name} was called on the Function class or an instance of it, not on the ctx",
            why="the class is shared by all calls; only the ctx of this call can keep what backward needs.",
            instead=f"ctx.{name}(...), where ctx is the first parameter of forward.",
        )

    return staticmethod(on_class)


for _name in (
    "save_for_backward",
    "save_for_forward",
    "mark_dirty",
    "mark_non_differentiable",
    "set_materialize_grads",
):
    setattr(Function, _name, _useless(_name))
Function._node = FunctionNode
