"""Primitive: an operator whose rule is written against an array namespace.

``forward`` and ``backward`` receive bare arrays and the array library as ``ctx.xp``; when the backward pass is itself to be
differentiated, the same lines receive Tensors and a differentiable ``ctx.xp``.  So a rule is written once, costs one Python
call at first order, and is right to any order.
"""

from __future__ import annotations

from sys import _getframe, getrefcount
from typing import Any, ClassVar

import numpy as np

from pullback.core import arrays, dual, modes, rules, views
from pullback.core.aliased import watch_memory
from pullback.core.attributes import hand_out
from pullback.core.contents import changes, may_carry, plain, snapshot
from pullback.core.cuts import note_cut
from pullback.core.dual import OPEN, dual_at
from pullback.core.graph import NOT_A_TENSOR, Freed, Node, next_number
from pullback.core.guard import GUARDED_CALLS, call_forward
from pullback.core.lost import freed
from pullback.core.masked import Masked, unmask
from pullback.core.mistakes import not_a_result
from pullback.core.outside import (
    LIMIT,
    UNKNOWN,
    is_library,
    look,
    look_at_arguments,
    note_changed_arguments,
    note_changes,
    why_refuse,
)
from pullback.core.packing import Packed
from pullback.core.places import caller, familiar, note, outside
from pullback.core.recompute import Recomputed, Rerun, Unvouched, Watcher
from pullback.core.recorded import Recorded
from pullback.core.references import IN_A_LIST
from pullback.core.refusal import THREE_REMEDIES, TO_LOOK, refused
from pullback.core.saved import Saved, SavedOutput, SavedPlain, pack, unpack
from pullback.core.tensor import Tensor, lent, wrap
from pullback.core.versions import BORROWED

ndarray = np.ndarray
_new = object.__new__
_current = modes.current
_ON, _OFF = modes.ON, modes.OFF


class PrimitiveNode(Node):
    """The ctx of a `Primitive`, and its node in the graph.

    Attributes
    ----------
    xp
        The namespace of the arrays at hand: NumPy, or the differentiable one while a backward pass is recorded.
    needs_input_grad
        Per argument, whether a gradient is wanted.
    saved_tensors
        In backward: what ``save_for_backward`` was given.
    """

    __slots__ = ("__dict__", "_beside", "_to_save", "needs_input_grad", "xp")

    _operator: ClassVar[type[Primitive]]
    needs_input_grad: tuple[bool, ...]
    _to_save: tuple[Any, ...] | None
    xp: Any

    def save_for_backward(self, *values: Any) -> None:
        """Keep arrays for backward."""
        self._to_save = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved: bare arrays, or Tensors while backward is recorded."""
        saved = self._saved
        if self.xp is Recorded.xp:
            return saved or ()
        if saved.__class__ is not tuple:
            saved = self._entries()
        elif len(saved) == 1:  # the most frequent case: one argument
            entry = saved[0]
            if isinstance(entry, Tensor) and entry._buffer is None:
                return (entry._array,)
        values = []
        for entry in saved:
            if entry.__class__ is SavedConstant:
                values.append(entry.array)
            elif entry is not None and entry.__class__ is not _Intermediate and entry._buffer is None:
                values.append(entry._array)
            else:
                values.append(bare(entry, self))
        return tuple(values)

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        edges = self._edges
        if task.record or cotangents[0].__class__ is not ndarray or len(cotangents) != 1 or len(edges) != 1:
            return self._pull_generally(cotangents, task)
        alone = getrefcount(cotangents[0]) == IN_A_LIST  # before there is a name for it
        cotangent = cotangents[0]
        if not alone or cotangent.base is not None:
            cotangent = cotangent.view()  # a rule that wrote into its cotangent would change those of others
            cotangent.setflags(write=False)
        grad = self._operator.backward(self, cotangent)
        if grad.__class__ is ndarray and edges[0]:
            producer, number = edges[0]
            shape, dtype = producer._specs[number]
            if grad.dtype is dtype and grad.shape == shape:
                return (grad,)
        return self._project(self, rules.as_sequence(self, grad), None, self.xp)

    def _pull_generally(self, cotangents: list[Any], task: Any) -> Any:
        """Any number of arguments and results, structural zeros, recording."""
        masked = None
        missing = True
        for cotangent in cotangents:
            if cotangent is not None:
                missing = False
                if cotangent.__class__ is Masked:
                    masked = cotangent
        if missing:
            return [None] * len(self._edges)
        xp = Recorded.xp if task.record else self.xp
        plain = [
            _lent(unmask(c)) if c is not None else self._zero(position, xp) for position, c in enumerate(cotangents)
        ]
        if task.record:
            return self._pull_recorded(plain, masked, task)
        ctx = self
        if len(self._edges) > 1 and task.running is not None:
            ctx = self._shadow()
            ctx.needs_input_grad = tuple([task.wants(edge) for edge in self._edges])
        return self._project(ctx, rules.as_sequence(self, self._operator.backward(ctx, *plain)), masked, xp)

    def _pull_recorded(self, cotangents: list[Any], masked: Masked | None, task: Any) -> Any:
        """The same rule on Tensors; a delayed error where a value left the graph on the way."""
        ctx, reason = self._recorded(task)
        ctx.needs_input_grad = tuple([task.wants(edge) for edge in self._edges])
        watcher = Watcher([*self._edges, *[c._resolved() for c in cotangents if isinstance(c, Tensor)]])
        token = modes.enter(modes.plain(True, _current()._settings.replace(watcher=watcher)))
        try:
            grads = rules.as_sequence(self, self._operator.backward(ctx, *cotangents))
            grads = self._project(ctx, grads, masked, Recorded.xp)
        finally:
            modes.leave(token)
        outside = "" if task.linear else why_refuse(self._operator)
        reason = reason or (outside and f"{outside}.")
        if watcher.cuts or reason:
            edges = [*self._edges, *[c._resolved() for c in cotangents if isinstance(c, Tensor)]]
            why = reason or f"its backward took a value out of the graph by {', '.join(watcher.cuts)}."
            what = f"the second derivative of {self._operator.__name__} is refused"
            if OPEN and dual.moves(self, cotangents):
                raise rules.no_tangent(self, what, why)
            why += " It would be silently wrong."
            instead = THREE_REMEDIES if reason else f"{THREE_REMEDIES} {TO_LOOK}"
            grads = [g if g is None else refused(unmask(g), edges, self, what, why, instead) for g in grads]
        return grads

    def _project(self, ctx: Any, grads: list[Any], masked: Masked | None, xp: Any) -> list[Any]:
        """Every cotangent into the space of its argument."""
        mask_rule = self._operator.mask_rule if masked is not None else None
        for position, edge in enumerate(self._edges):
            grad = grads[position]
            if not edge or grad is None:
                grads[position] = None
                continue
            if not (grad.__class__ is ndarray or isinstance(grad, (Tensor, Masked)) or arrays.is_array(grad)):
                raise rules.not_a_gradient(self, position, grad)
            if xp is Recorded.xp or grad.__class__ is not ndarray:
                grad = _for_the_walk(grad, self._kind if xp is Recorded.xp else None)
            if mask_rule is not None:
                grad = mask_rule(ctx, grad, masked, position, xp)
            producer, number = edge
            shape, dtype = producer._specs[number]
            plain = grad.value if grad.__class__ is Masked else grad
            if plain.shape != shape or (plain.dtype if plain.__class__ is ndarray else arrays.dtype_of(plain)) != dtype:
                grad = rules.fit(self, position, grad, xp)
            grads[position] = grad
        return grads

    def _zero(self, position: int, xp: Any) -> Any:
        spec = self._specs[position]
        if spec is None:
            return None
        zeros = arrays.zeros(spec[0], spec[1], self.xp)
        return wrap(self._kind, zeros) if xp is Recorded.xp else zeros

    def _shadow(self) -> Any:
        """A private copy of this ctx, for one call of the rule with other flags or values."""
        if self._saved.__class__ is Freed:
            raise freed(self)
        shadow: Any = _new(self._operator._node)
        for name in ("_edges", "_hooks", "_kind", "_number", "_saved", "_specs", "needs_input_grad", "_to_save", "xp"):
            setattr(shadow, name, getattr(self, name, None))
        if self.__dict__:
            shadow.__dict__.update(self.__dict__)
            if "_kept" in self.__dict__:
                hand_out(shadow)
        return shadow

    def _recorded(self, task: Any) -> tuple[Any, str]:
        """A ctx with the saved values as Tensors in the graph and the differentiable namespace; and why not, if not."""
        shadow = self._shadow()
        shadow.xp = Recorded.xp
        entries = self._entries()
        found = [_connected(entry, self) for entry in entries]
        kept = {name: _connected(entry, self) for name, (_, (entry,)) in self.__dict__.get("_kept", {}).items()}
        if OPEN:
            found = [dual.reopened(self, value, task) for value in found]
            kept = {name: dual.reopened(self, value, task) for name, value in kept.items()}
        shadow._saved = tuple(found)
        shadow.__dict__.update(kept)
        if self._saved.__class__ is Saved:
            reason = self._recompute(shadow, entries)
        else:
            reason = self._left_behind() if self.__dict__ else ""
        return shadow, "" if task.linear else reason

    def _left_behind(self) -> str:
        """Where forward itself left nothing that could depend on the inputs: why something there may do so now."""
        known = self.__dict__.get("_constants", ())
        for name, value in self.__dict__.items():
            if name not in _OWN and not plain((value,), True) and may_carry(value, known, True):
                return (
                    f"ctx.{name} was set after forward, by a pass that was not recorded, and may depend on the inputs."
                )
        return ""

    def _entries(self) -> tuple[Any, ...]:
        saved = self._saved
        if saved.__class__ is Freed:
            raise freed(self)
        return saved.entries if saved.__class__ is Saved else saved or ()

    def _saved_entries(self) -> Any:
        kept = [entry for _, (entry,) in self.__dict__.get("_kept", {}).values()]
        return kept if self._saved.__class__ is Freed else (*self._entries(), *kept)

    def _recompute(self, shadow: Any, entries: tuple[Any, ...]) -> str:
        """Put recorded intermediates in the place of bare ones.  The reason where that is not possible."""
        rerun = self._saved.rerun
        before = snapshot(self.__dict__, LIMIT)
        second = Recomputed(self, rerun)
        if before is not None and changes(self.__dict__, before, LIMIT):
            return "forward changes what an earlier call left on ctx."
        known = [*rerun.options.values(), *[getattr(entry, "array", None) for entry in entries]]
        values = list(shadow._saved)
        try:
            for k, entry in enumerate(entries):
                if entry.__class__ is _Intermediate:
                    again = second.ctx._to_save if second.ctx is not None else ()
                    new = again[k] if k < len(again) else None
                    values[k] = second.vouch_for(self._kind, entry.array, new, f"value {k} for backward")
            shadow._saved = tuple(values)
            for name, value in self.__dict__.items():
                if name not in _OWN and may_carry(value, known, True):
                    if second.watcher.cuts and second.is_constant(name, value):
                        continue
                    new = getattr(second.ctx, name, None)
                    shadow.__dict__[name] = second.vouch_for(self._kind, value, new, f"ctx.{name}")
        except Unvouched as doubt:
            return str(doubt)
        except RecursionError:
            return "what it keeps is nested too deeply to be looked into."
        return ""

    def _kept_attribute(self, name: str) -> Any:
        """Arguments and results that were set as attributes in forward, see attributes.py."""
        kept = self.__dict__.get("_kept", {})
        if name not in kept:
            raise AttributeError(f"{type(self).__name__!r} object (the ctx) has no attribute {name!r}")
        return bare(kept[name][1][0], self)

    @property
    def _saved_self(self) -> Any:
        """The saved argument, as torch shows it; the left one of a binary operator."""
        return self._saved_at(0, False)

    @property
    def _saved_other(self) -> Any:
        """The saved right argument of a binary operator."""
        return self._saved_at(1, False)

    @property
    def _saved_result(self) -> Any:
        """The saved result."""
        return self._saved_at(2, True)

    def _saved_at(self, position: int, result: bool) -> Any:
        entries = self._entries()
        if len(entries) == 3:  # a binary operator: both arguments, and the result
            return _connected(entries[position], self)
        for entry in entries:
            if (getattr(entry, "origin", "input") == "output") is result:
                return _connected(entry, self)
        return None

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """One entry per argument; numbers count as Tensors without gradients."""
        return tuple(edge or (None, 0) for edge in self._edges)

    def _argument_names(self) -> list[str]:
        return rules.parameter_names(self._operator.forward, 1)


#: Attributes of ctx in which this module itself keeps things.
_OWN = frozenset({"_aliased", "_constants", "_kept"})


class SavedConstant:
    """A saved array that is no Tensor: a mask, an index, a bare argument."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


class _Intermediate(SavedConstant):
    """A saved array that is neither an input nor an output, and could carry a derivative."""

    __slots__ = ()


def bare(entry: Any, node: PrimitiveNode) -> Any:
    """The bare array behind a saved entry, checked."""
    if entry is None:
        return None
    if isinstance(entry, SavedConstant):
        return entry.array
    if isinstance(entry, Tensor):
        return entry._array if entry._buffer is None else unpack(entry, node, "an input")._array
    if entry.__class__ is Packed:
        return entry.unpack(node, "a value")._array
    entry._check(node, f"an {entry.origin}")
    return entry._array


def _connected(entry: Any, node: PrimitiveNode) -> Any:
    """The Tensor behind a saved entry, at the place in the graph where it was saved."""
    return entry.array if isinstance(entry, SavedConstant) else unpack(entry, node, "a value")


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
                    kind = _wider(kind, value.__class__)
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
        ctx._to_save = None
        ctx.needs_input_grad = tuple(needs)
        state = look(cls) if cls._outside else None
        objects = look_at_arguments([*args, *options.values()]) if differentiable and cls._watched else None
        if cls._guarded:
            result = call_forward(cls, ctx, bare_args, options)
        else:
            result = cls.forward(ctx, *bare_args, **options)
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
    mode = _current()
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
    if cls._guarded:
        result = call_forward(cls, ctx, (array,), options)
    else:
        result = cls.forward(ctx, array, **options) if options else cls.forward(ctx, array)
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
        _keep(ctx, (x,), ctx._edges, (output,), options)
    if cls.view and views.is_alias(result, array):
        views.make_view(output, x, cls, options)
    return output


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


def _wider(kind: Any, other: Any) -> Any:
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
    _keep(ctx, args, edges, outputs, options)


def _keep(ctx: Any, args: Any, edges: Any, outputs: Any, options: Any) -> None:
    """Find the origin of every saved array, and keep the arguments where one has none."""
    values = ctx._to_save
    entries: tuple[Any, ...] | None = None
    intermediate = False
    if values is not None:
        ctx._to_save = None
        found = []
        for value in values:
            for argument in args:
                if isinstance(argument, Tensor) and argument._array is value and argument._buffer is None:
                    found.append(argument)
                    break
            else:
                entry = _entry(value, args, edges, outputs, options)
                intermediate = intermediate or entry.__class__ is _Intermediate
                found.append(entry)
        entries = tuple(found)
    ctx._saved = entries
    if ctx.__dict__:
        intermediate = _keep_attributes(ctx, args, edges, outputs, options) or intermediate
    kept = [entry.array for entry in entries or () if entry.__class__ is _Intermediate]
    kept += [value for name, value in ctx.__dict__.items() if name not in _OWN and not plain((value,), True)]
    if kept:
        watch_memory(ctx, kept, args, edges, outputs)
    if intermediate:
        ctx._saved = Saved(entries or (), Rerun(args, edges, _run_again, options))
    if _current() is not _ON:
        _current()._created(ctx)


def _run_again(ctx: Any, args: list[Any], options: Any) -> Any:
    """Forward on Tensors, with the differentiable namespace; its ctx has the saved values in the graph."""
    again = _new(ctx._operator._node)
    again.xp = Recorded.xp
    again._to_save = ()
    again.needs_input_grad = ctx.needs_input_grad
    ctx._operator.forward(again, *args, **options)
    return again


def _entry(value: Any, args: Any, edges: Any, outputs: Any, options: Any) -> Any:
    """Find the origin of a saved array: an input, an output, a constant, or none of these."""
    for argument, edge in zip(args, edges, strict=True):
        if argument is value:
            return SavedConstant(value)
        if isinstance(argument, Tensor) and argument._array is value:
            return pack(argument, (argument,), (edge,))
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and output._array is value:
            return SavedOutput(output, position) if output._edge is not None else SavedPlain(output)
    return _Intermediate(value) if may_carry(value, options.values(), True) else SavedConstant(value)


def _lent(cotangent: Any) -> Any:
    """A cotangent as a rule gets it: a rule that wrote into its cotangent would change those of others."""
    if cotangent.__class__ is ndarray:
        cotangent = cotangent.view()
        cotangent.setflags(write=False)
    elif isinstance(cotangent, Tensor):
        cotangent = lent(cotangent)
    return cotangent


def _for_the_walk(grad: Any, kind: Any) -> Any:
    """What a rule returned, in the form that the walk moves: a Tensor where a `kind` is given, otherwise a bare array.

    A rule may return a bare array also while it is recorded: a constant.
    """
    if grad.__class__ is Masked:
        value = _for_the_walk(grad.value, kind)
        return grad if value is grad.value else Masked(value, lambda: grad.mask)
    if isinstance(grad, Tensor):
        return grad if kind is not None else grad._array
    return grad if kind is None else wrap(kind, arrays.asarray(grad, arrays.namespace(grad)), BORROWED)


def _keep_attributes(ctx: Any, args: Any, edges: Any, outputs: Any, options: Any) -> bool:
    """Keep arguments and results that are attributes of ctx like saved ones.

    True when another attribute holds numbers: forward may have computed them from the inputs.
    """
    constants: Any = None
    kept = {}
    intermediate = False
    for name, value in ctx.__dict__.items():
        if plain((value,), True):
            continue
        if arrays.is_array(value):
            entry = _entry(value, args, edges, outputs, options)
            if not isinstance(entry, SavedConstant):
                kept[name] = None, (entry,)
                continue
        if constants is None:
            constants = [
                a._array if isinstance(a, Tensor) else a for a, edge in zip(args, edges, strict=True) if not edge
            ]
            constants.extend(options.values())
        intermediate = intermediate or may_carry(value, constants, True)
    if constants:
        ctx.__dict__["_constants"] = constants
    if kept:
        for name in kept:
            del ctx.__dict__[name]
        ctx.__dict__["_kept"] = kept
        hand_out(ctx)
    return intermediate


def _note_view(cls: Any, source: Any, outputs: Any, options: Any, single: bool) -> None:
    forbidden = "" if modes.current()._recording or not source.requires_grad else "A view was created in no_grad mode"
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and views.is_alias(output._array, source._array):
            steps = options if single else {**options, "_output": position}
            views.make_view(output, source, cls, steps, forbidden)
