"""Primitive: an operator whose rule is written against an array namespace.

``forward`` and ``backward`` receive bare arrays and the array library as ``ctx.xp``; when the backward pass is itself to be
differentiated, the same lines receive Tensors and a differentiable ``ctx.xp``.  So a rule is written once, costs one Python
call at first order, and is right to any order.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any, ClassVar

import numpy as np

from pullback.core import arrays, batches, dual, modes, views
from pullback.core.batches import LIVE, ReadOut
from pullback.core.cuts import note_cut
from pullback.core.dual import OPEN, dual_at
from pullback.core.graph import NOT_A_TENSOR, next_number
from pullback.core.guard import GUARDED_CALLS, call_forward
from pullback.core.mistakes import explain_call, not_a_result, parameters_of
from pullback.core.outside import (
    UNKNOWN,
    is_library,
    look,
    look_at_arguments,
    note_changed_arguments,
    note_changes,
)
from pullback.core.places import caller, familiar, note, outside
from pullback.core.primitive_keep import keep_values
from pullback.core.primitive_node import PrimitiveNode
from pullback.core.tensor import Tensor, wrap

ndarray = np.ndarray
_new = object.__new__
_current = modes.current
_ON, _OFF, _Special = modes.ON, modes.OFF, modes.Special


class Primitive:
    """Base class of operators written against an array namespace.

    Write two static methods; register nothing.  ``apply`` on bare arrays returns bare arrays, on Tensors a Tensor.

    Examples
    --------
    >>> import pullback as pb
    >>> class Square(pb.Primitive):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, ct):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * ct
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> (g,) = pb.autograd.grad(Square.apply(x), x, create_graph=True)
    >>> pb.autograd.grad(g, x)
    (tensor(2.),)
    """

    #: How the node is called in pictures and messages; the class's name with ``Backward`` when empty.
    node_name: ClassVar[str] = ""
    #: The result shares memory with the first argument, and writes through it must reach the argument.
    view: ClassVar[bool] = False
    #: ``mask_rule(ctx, grad, masked, position, xp)`` carries structural zeros through the rule; ``None`` drops them.
    mask_rule: ClassVar[Any] = None
    #: ``jvp(xp, args, tangents, y)``, where partial derivatives tell it; otherwise it is derived, see forward.py.
    jvp: ClassVar[Any] = None
    #: The only result is linear in all arrays together, and so the operator itself takes tangents to tangents.
    linear: ClassVar[bool] = False
    node_base: ClassVar[type] = PrimitiveNode
    #: The name of the public function, as errors say it; the class's name when empty.
    _called: ClassVar[str] = ""
    _node: ClassVar[type]
    #: How many more calls are watched for writes into arguments.
    _guarded: ClassVar[int]
    _outside: ClassVar[Any] = ()  # what forward and backward both name, see outside.py
    _left_outside: ClassVar[str] = ""  # where forward once left what it computed
    _watched: ClassVar[bool] = False  # whether forward is a user's

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__dict__.get("node_name") or f"{cls.__name__}Backward"
        cls._node = type(name, (cls.node_base,), {"_operator": cls, "__slots__": (), "__module__": cls.__module__})
        cls._watched = not is_library(cls.__module__)
        cls._outside = UNKNOWN if cls._watched else ()
        cls._guarded = GUARDED_CALLS if cls._watched and not cls.view else 0

    @staticmethod
    def forward(ctx: Any, *args: Any, **options: Any) -> Any:
        """Compute the result from bare arrays; keep what backward needs with ``ctx.save_for_backward``."""
        raise NotImplementedError("a Primitive needs a static method forward(ctx, *arrays, **options)")

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Cotangents of the arguments from those of the results, ``None`` for what has no gradient."""
        raise NotImplementedError("a Primitive needs a static method backward(ctx, *cotangents)")

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Any:
        """Run the operator; record it when an argument is a Tensor that requires gradients."""
        if len(args) == 1 and isinstance(args[0], Tensor):
            return _apply_to_one(cls, args[0], options)
        mode = _current()
        if mode.__class__ is _Special and mode._settings.operators is not None:
            return mode._settings.operators(cls, args, options)
        kind: Any = None
        first: Any = None
        bare_args = []
        edges = []
        needs = []
        differentiable = False
        for value in args:
            if isinstance(value, Tensor):
                if kind is None:
                    kind = value.__class__
                elif kind is not value.__class__:
                    kind = wider(kind, value.__class__)
                array = value._array
                bare_args.append(array)
                if first is None:
                    first = array
                edge = value._edge
                if edge is not None and edge.__class__ is not tuple:
                    if OPEN and dual_at(edge) is not None:
                        return dual.push(cls, args, options)
                    edge = edge.resolve(value)
                edges.append(edge)
                if edge is None:
                    needs.append(False)
                else:
                    needs.append(True)
                    differentiable = True
                    if mode is not _ON and not mode._recording and mode is not _OFF:
                        mode._reads(value)
            else:
                if first is None and hasattr(value, "dtype"):
                    first = value
                bare_args.append(value)
                edges.append(NOT_A_TENSOR)
                needs.append(False)

        if len(args) == 2:
            if bare_args[0] is bare_args[1] and args[0] is not args[1]:
                args = _tell_apart(args, bare_args, edges)
        elif len(set(map(id, bare_args))) < len(args):
            args = _tell_apart(args, bare_args, edges)
        ctx: Any = _new(cls._node)
        ctx.xp = np if first.__class__ is ndarray else namespace_of(first)
        if LIVE:
            args = [*args]  # type: ignore[assignment]
            ctx.xp = batches.share(args, bare_args, edges, options) or ctx.xp
        ctx._to_save = None
        ctx.needs_input_grad = tuple(needs)
        state = look(cls) if cls._outside else None
        objects = look_at_arguments([*args, *options.values()]) if differentiable and cls._watched else None
        try:
            if cls._guarded:
                result = call_forward(cls, ctx, bare_args, options)
            else:
                result = cls.forward(ctx, *bare_args, **options)
        except ReadOut as error:
            return batches.one_by_one(cls, args, options, error)
        except Exception as error:
            _explain(cls, error, bare_args, options)
            raise
        if state is not None:
            note_changes(cls, state, True, [value for value in args if not isinstance(value, Tensor)])
        if objects is not None:
            note_changed_arguments(cls, objects, ctx.__dict__, True, [*bare_args, *options.values()])
        if kind is None:
            return result
        if result.__class__ is not ndarray or cls.view or result.base is not None or result is first:
            return _finish(cls, ctx, kind, args, edges, result, options, differentiable and mode._recording)
        output = _new(kind)
        output._array = result
        output._edge = output._buffer = output._grad = None
        if differentiable and mode._recording:
            _record(ctx, kind, args, edges, (output,), options)
        return output


_NEEDED, _NOT_NEEDED = (True,), (False,)
_NUMBERS = (int, float, complex, np.generic)


def _apply_to_one(cls: Any, x: Tensor, options: Any) -> Any:
    """``apply`` for the most frequent call: one Tensor."""
    if LIVE and options:
        x = batches.share_one(x, options)
    mode = _current()
    if mode.__class__ is _Special and mode._settings.operators is not None:
        return mode._settings.operators(cls, (x,), options)
    array = x._array
    edge = x._edge
    if edge is not None:
        if edge.__class__ is not tuple:
            if OPEN and dual_at(edge) is not None:
                return dual.push(cls, (x,), options)
            edge = edge.resolve(x)
        if edge is not None and mode is not _ON and not mode._recording and mode is not _OFF:
            mode._reads(x)
    ctx = _new(cls._node)
    ctx.xp = np if array.__class__ is ndarray else arrays.namespace(array)
    ctx._to_save = None
    ctx.needs_input_grad = _NOT_NEEDED if edge is None else _NEEDED
    state = look(cls) if cls._outside else None
    objects = look_at_arguments(options.values()) if options and edge is not None and cls._watched else None
    try:
        if cls._guarded:
            result = call_forward(cls, ctx, (array,), options)
        else:
            result = cls.forward(ctx, array, **options) if options else cls.forward(ctx, array)
    except ReadOut as error:
        return batches.one_by_one(cls, (x,), options, error)
    except Exception as error:
        _explain(cls, error, (array,), options)
        raise
    if state is not None:
        note_changes(cls, state, True, ())
    if objects is not None:
        note_changed_arguments(cls, objects, ctx.__dict__, True, [array, *options.values()])
    kind = x.__class__
    recorded = edge is not None and mode._recording
    if result.__class__ is not ndarray or (not cls.view and (result.base is not None or result is array)):
        return _finish(cls, ctx, kind, (x,), (edge,), result, options, recorded)
    output = _new(kind)
    output._array = result
    output._buffer = output._grad = None
    dtype = result.dtype
    if not recorded or dtype.kind not in "fc":
        output._edge = None
        if recorded:
            note_cut(edge, f"{cls.__name__}, whose result is {dtype},", caller(2))
        if cls.view:
            _note_view(cls, x, (output,), options, True)
        return output
    output._edge = (ctx, 0)
    ctx._edges = (edge,)
    ctx._number = next_number()
    try:
        frame = _getframe(2)
    except ValueError:  # called by the interpreter itself, see `places.caller`
        frame = _getframe()
    code = frame.f_code
    if code is not familiar.code:
        frame = outside(frame)
        code = frame.f_code
    ctx._code = code
    ctx._instruction = frame.f_lasti
    ctx._hooks = None
    ctx._kind = kind
    ctx._specs = ((result.shape, dtype),)
    values = ctx._to_save
    if (
        values is not None
        and len(values) == 1
        and values[0] is array
        and x._buffer is None
        and mode is _ON
        and not ctx.__dict__
    ):
        ctx._saved = (x,)
    else:
        keep_values(ctx, (x,), ctx._edges, (output,), options)
    if cls.view and views.is_alias(result, array):
        views.make_view(output, x, cls, options)
    return output


def _explain(cls: Any, error: BaseException, args: Any, options: Any) -> None:
    """Add to an error of forward which call it was; a user's own forward is seen in the traceback."""
    if not cls._watched:
        explain_call(error, cls._called or cls.__name__, parameters_of(cls.forward), args, options)


def _tell_apart(args: Any, bare_args: list[Any], edges: list[Any]) -> Any:
    """One array given as several arguments (x and x.detach()): the later ones become objects of their own.

    A saved array is traced back to its argument by identity, and these arguments stand at different places in the graph.
    """
    args = list(args)
    for k, array in enumerate(bare_args):
        clash = any(array is bare_args[j] and args[k] is not args[j] for j in range(k))
        if clash and arrays.is_array(array):
            array = (
                array.view() if isinstance(array, (ndarray, np.generic)) else arrays.copy(array, namespace_of(array))
            )
            bare_args[k] = array
            x = args[k]
            args[k] = wrap(x.__class__, array, x._shared_buffer(), edges[k]) if isinstance(x, Tensor) else array
    return args


def namespace_of(first: Any) -> Any:
    """The namespace of the first array among the arguments; NumPy for plain numbers."""
    return np if first is None else arrays.namespace(first)


def _finish(cls: Any, ctx: Any, kind: Any, args: Any, edges: Any, result: Any, options: Any, recorded: bool) -> Any:
    """Results that are several, no NumPy array, or views."""
    single = result.__class__ is not tuple
    results = (result,) if single else result
    if recorded and results and not any(isinstance(r, _NUMBERS) or arrays.is_array(r) for r in results):
        raise not_a_result(cls, result, "array", "return an array, or a tuple of arrays.")
    if not cls.view:
        results = tuple([_own(np.asarray(r) if isinstance(r, np.generic) else r, args) for r in results])
        _replace_saved(ctx, (result,) if single else result, results)
    outputs = tuple([_wrap(kind, r, ctx.xp) for r in results])
    if recorded:
        _record(ctx, kind, args, edges, outputs, options)
    if cls.view:
        _note_view(cls, args[0], outputs, options, single)
    return outputs[0] if single else outputs


def _own(result: Any, args: Any) -> Any:
    """A result that does not share memory with an argument: only a declared view may."""
    if isinstance(result, ndarray):
        for value in args:
            array = value._array if isinstance(value, Tensor) else value
            if isinstance(array, ndarray) and arrays.shares_memory(result, array):
                return result.copy()
    return result


def _replace_saved(ctx: Any, before: Any, after: Any) -> None:
    """Where results were copied, or became arrays, saved results are the new ones."""
    for old, new in zip(before, after, strict=True):
        if old is not new:
            if ctx._to_save is not None:
                ctx._to_save = tuple([new if value is old else value for value in ctx._to_save])
            ctx.__dict__.update({name: new for name, value in ctx.__dict__.items() if value is old})


def wider(kind: Any, other: Any) -> Any:
    """The class of a result: its operands' class, and the subclass wins a mixture."""
    return other if kind is None or (other is not kind and issubclass(other, kind)) else kind


def _wrap(kind: Any, array: Any, xp: Any) -> Any:
    if array is None or not hasattr(array, "dtype"):
        return array if not isinstance(array, (int, float, complex)) else wrap(kind, arrays.asarray(array, xp))
    if isinstance(array, np.generic):
        array = np.asarray(array)
    return wrap(kind, array)


def _record(ctx: Any, kind: Any, args: Any, edges: Any, outputs: Any, options: Any) -> None:
    """Make ctx the node of its outputs."""
    ctx._edges = tuple(edges)
    ctx._number = next_number()
    note(ctx)
    ctx._hooks = None
    ctx._kind = kind
    specs: list[Any] = []
    for output in outputs:
        if isinstance(output, Tensor):
            array = output._array
            dtype = array.dtype
            if array.__class__ is not ndarray:
                dtype = arrays.dtype_of(array)
            if dtype.kind in "fc" or arrays.is_inexact(dtype):
                output._edge = (ctx, len(specs))
            elif len(outputs) == 1:
                for edge in filter(None, edges):
                    note_cut(edge, f"{ctx._operator.__name__}, whose result is {dtype},", (ctx._code, ctx._instruction))
            specs.append((array.shape, dtype))
        else:
            specs.append(None)
    ctx._specs = tuple(specs)
    if not all(edges):
        ctx._beside = beside = []  # shapes of constants, see `rules.may_sum`
        for value, edge in zip(args, edges, strict=True):
            if not edge:
                array = value._array if isinstance(value, Tensor) else value
                if hasattr(array, "shape"):
                    beside.append(array.shape)
    keep_values(ctx, args, edges, outputs, options)


def _note_view(cls: Any, source: Any, outputs: Any, options: Any, single: bool) -> None:
    forbidden = "" if modes.current()._recording or not source.requires_grad else "A view was created in no_grad mode"
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and views.is_alias(output._array, source._array):
            steps = options if single else {**options, "_output": position}
            views.make_view(output, source, cls, steps, forbidden)
