"""Function: an operator written on Tensors, with a fresh ctx for every call.

``apply`` makes the ctx, runs ``forward`` with recording off, and makes the ctx the node of the outputs: **the ctx is the node**.
``backward`` gets that same ctx when the graph is walked.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np

from pullback.core import arrays, modes, rules
from pullback.core.errors import RuleError, lesson
from pullback.core.graph import FREED, NOT_A_TENSOR, Node, next_number
from pullback.core.masked import unmask
from pullback.core.outputs import attach, plain_outputs
from pullback.core.primitive import Recorded
from pullback.core.recompute import Recomputed, Rerun, Watcher, rebuild, tensors_in
from pullback.core.refusal import refused
from pullback.core.saved import Saved, SavedOutput, freed, is_intermediate, pack, unpack
from pullback.core.tensor import Tensor, wrap
from pullback.core.versions import BORROWED

ndarray = np.ndarray
_new = object.__new__
_current, _enter, _leave = modes.current, modes.enter, modes.leave
_ON, _OFF = modes.ON, modes.OFF
_pulling: ContextVar[Pull | None] = ContextVar("pullback running backward", default=None)


class Marks:
    """What ``forward`` declared about its results with ``ctx.mark_…`` and ``ctx.set_…``."""

    __slots__ = ("dirty", "materialize", "non_differentiable", "save_for_forward", "written")

    def __init__(self) -> None:
        self.dirty: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.materialize = True
        self.written: list[Tensor] = []
        self.save_for_forward: tuple[Any, ...] = ()


class Pull:
    """What one call of ``backward`` sees in place of what the node holds: narrowed flags, recomputed values."""

    __slots__ = ("attributes", "entries", "needs", "node", "outer")

    def __init__(self, node: FunctionNode, needs: tuple[bool, ...]) -> None:
        self.node = node
        self.needs = needs
        self.entries: tuple[Any, ...] | None = None
        self.attributes: dict[str, Any] = {}
        self.outer = _pulling.get()


def _pull_of(node: Any) -> Pull | None:
    pull = _pulling.get()
    while pull is not None and pull.node is not node:
        pull = pull.outer
    return pull


class FunctionNode(Node):
    """The ctx of one call of a `Function`, and its node in the graph.

    Besides the members below, any attribute may be set in forward and read in backward.  Tensors set this way are looked after
    like saved ones: their versions are checked, outputs are held weakly, intermediates are recomputed when needed.
    """

    __slots__ = ("__dict__", "_inputs", "_kept", "_marks", "_needs", "_opaque", "outer", "to_save")

    operator: ClassVar[type[Function]]
    recording: ClassVar[bool] = False  # a running forward is a mode, see modes.py
    rule_of_user: ClassVar[Any] = None  # ``backward`` or ``vjp``, found at the first pull
    _materialize_non_diff_grads = True

    # ------------------------------------------------------------------------------------------ what forward may call
    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Tensors (or ``None``) for backward; the last call counts."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep Tensors for ``jvp``."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise lesson(
                    AssertionError,
                    f"save_for_forward expects all arguments to be tensors, got {type(tensor).__name__}",
                    instead="set other values as attributes: ctx.name = value.",
                )
        self._marked().save_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that forward writes in place; each must be returned.  The last call counts."""
        self._marked().dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs that carry no gradient.  Integer and boolean outputs never do."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise lesson(
                    RuleError,
                    f"mark_non_differentiable only accepts variable arguments, but got {type(tensor).__name__}",
                    instead="pass the output Tensors that carry no gradient; other outputs need no mark.",
                )
        self._marked().non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """``True`` (default): a missing incoming gradient becomes zeros; ``False``: it stays ``None``."""
        self._marked().materialize = bool(value)

    @property
    def materialize_grads(self) -> bool:
        return self._marks is None or self._marks.materialize

    def _marked(self) -> Marks:
        if self._marks is None:
            self._marks = Marks()
        return self._marks

    # ------------------------------------------------------------------------------------------ what backward may read
    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` was given: the same object for an input, a fresh Tensor for an output."""
        if _pulling.get() is not None:
            pull = _pull_of(self)
            if pull is not None and pull.entries is not None:
                return pull.entries
        saved = self.saved
        if saved.__class__ is not tuple:
            saved = self._entries()
        values = []
        for entry in saved:
            if entry is not None and entry._buffer is None and isinstance(entry, Tensor):
                values.append(entry)
            else:
                values.append(unpack(entry, self, "a value"))
        if self.operator.clear_saved_tensors_on_access:
            self.saved = _CLEARED
        return tuple(values)

    def _entries(self) -> tuple[Any, ...]:
        saved = self.saved
        if saved is FREED:
            raise freed(self)
        return () if saved is None else saved.entries

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The name of `saved_tensors` long ago."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return self.saved if isinstance(self.saved, tuple) else self._entries()

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Per argument, whether a gradient is wanted: in backward, only what the running pass asks for."""
        pull = _pulling.get()
        if pull is not None:
            pull = _pull_of(self)
            if pull is not None:
                return pull.needs
        return self._needs

    @needs_input_grad.setter
    def needs_input_grad(self, value: Any) -> None:
        self._needs = tuple(value)

    def __getattr__(self, name: str) -> Any:
        """Tensors that were set as attributes in forward (only those come here)."""
        kept = None if name.startswith("__") else _slot(self, "_kept")
        if kept is None or name not in kept:
            raise AttributeError(f"{type(self).__name__!r} object (the ctx) has no attribute {name!r}")
        pull = _pull_of(self)
        if pull is not None and name in pull.attributes:
            return pull.attributes[name]
        structure, entries = kept[name]
        return rebuild(structure, iter([_unpack_attribute(entry, self, f"ctx.{name}") for entry in entries]))

    # ------------------------------------------------------------------------------------------ as a mode, in forward
    @property
    def settings(self) -> Any:
        return self.outer.settings

    def leaves(self, tensor: Tensor, how: str) -> None:
        """A value left the graph inside forward: allowed, and noted."""
        if tensor.requires_grad:
            self._opaque = self._opaque or []
            if how not in self._opaque:
                self._opaque.append(how)
        self.outer.leaves(tensor, how)

    def wrote(self, tensor: Tensor) -> None:
        """A Tensor was written in place inside forward."""
        self._marked().written.append(tensor)

    def reads(self, tensor: Tensor) -> None:
        """An operator inside forward read a Tensor that requires gradients: is it an argument?"""
        for value in self._inputs:
            if value is tensor:
                return
        if not any(tensor is inner for value in self._inputs for inner in tensors_in(value)):
            _warn_captured(self, tensor)

    # ------------------------------------------------------------------------------------------ as a node
    def pull(self, cotangents: list[Any], task: Any) -> Any:
        if task.record or task.running is not None:
            return self._pull_watched(cotangents, task)
        cotangent = cotangents[0]
        edges = self.edges
        if cotangent.__class__ is not ndarray or len(cotangents) != 1 or self.operator.boxed_grads_call:
            return self._fit(self._call_rule(self._incoming(cotangents, False)), False, task)
        incoming = _new(self.kind)
        incoming._array = (
            cotangent if cotangent.flags.c_contiguous or self.operator.any_layout else arrays.contiguous(cotangent)
        )
        incoming._buffer = BORROWED
        incoming._edge = incoming._view = incoming._grad = None
        rule = type(self).rule_of_user
        grads = (rule or _find_rule(type(self)))(self, incoming)
        if len(edges) == 1 and edges[0] and isinstance(grads, Tensor):
            producer, number = edges[0]
            shape, dtype = producer.specs[number]
            array = grads._array
            if array.__class__ is ndarray and array.dtype is dtype and array.shape == shape:
                return (array,)
        return self._fit(rules.as_sequence(self, grads), False, task)

    def _incoming(self, cotangents: list[Any], record: bool) -> list[Any]:
        """The cotangents as backward gets them: Tensors, contiguous, zeros where nothing came (if wanted)."""
        incoming = []
        kind = self.kind
        for position, cotangent in enumerate(cotangents):
            if cotangent is None:
                incoming.append(self._missing(position))
                continue
            cotangent = unmask(cotangent)
            if record:
                incoming.append(cotangent if self.operator.any_layout else _contiguous_tensor(cotangent))
            else:
                if not self.operator.any_layout:
                    cotangent = arrays.contiguous(cotangent)
                incoming.append(wrap(kind, cotangent, BORROWED))
        return incoming

    def _missing(self, position: int) -> Any:
        spec = self.specs[position]
        marks = self._marks
        if spec is None or (marks is not None and not marks.materialize):
            return None
        if not self._materialize_non_diff_grads and position in self._non_differentiable():
            return None
        xp = arrays.namespace(self._example())
        return wrap(self.kind, arrays.zeros(spec[0], spec[1], xp))

    def _example(self) -> Any:
        for edge in self.edges:
            if edge and edge[0].number < 0:
                return edge[0].variable._array
        return np.empty(0)

    def _non_differentiable(self) -> Any:
        return self._marks.non_differentiable if self._marks is not None else ()

    def _call_rule(self, incoming: list[Any]) -> Any:
        rule = type(self).rule_of_user or _find_rule(type(self))
        grads = rule(self, incoming) if self.operator.boxed_grads_call else rule(self, *incoming)
        return rules.as_sequence(self, grads)

    def _fit(self, grads: list[Any], record: bool, task: Any) -> list[Any]:
        """Check what backward returned, and project it into the spaces of the arguments."""
        for position, (edge, grad) in enumerate(zip(self.edges, grads, strict=True)):
            if grad is None:
                continue
            if not isinstance(grad, Tensor):
                raise rules.not_a_gradient(self, position, grad)
            if not edge:
                if edge is NOT_A_TENSOR:
                    raise rules.not_an_input(self, position)
                grads[position] = None
                continue
            if not task.wants(edge):
                grads[position] = None
                continue
            producer, number = edge
            shape, dtype = producer.specs[number]
            if not record:
                array = grad._array
                if array.shape != shape or array.dtype != dtype:
                    array = rules.fit(self, position, array, arrays.namespace(array))
                grads[position] = array
            elif grad.shape != shape or grad.dtype != dtype:
                grads[position] = rules.fit(self, position, grad, Recorded.xp)
        return grads

    def _pull_watched(self, cotangents: list[Any], task: Any) -> Any:
        """The same step when the pass asks for some gradients only, or is itself recorded."""
        pull = Pull(self, tuple([task.wants(edge) and need for edge, need in zip(self.edges, self._needs, strict=True)]))
        outer = _pulling.set(pull)
        try:
            if not task.record:
                return self._fit(self._call_rule(self._incoming(cotangents, False)), False, task)
            return self._pull_recorded(cotangents, pull, task)
        finally:
            _pulling.reset(outer)

    def _pull_recorded(self, cotangents: list[Any], pull: Pull, task: Any) -> Any:
        self._recompute(pull)
        watcher = Watcher()
        settings = modes.current().settings.replace(watcher=watcher)
        incoming = self._incoming(cotangents, True)
        token = modes.enter(modes.plain(True, settings))
        try:
            grads = self._fit(self._call_rule(incoming), True, task)
        finally:
            modes.leave(token)
        reason = self._reason_to_refuse(watcher)
        if reason:
            edges = [*self.edges, *[c._resolved() for c in incoming if isinstance(c, Tensor)]]
            grads = [g if g is None else refused(g, edges, *reason) for g in grads]
        return grads

    def _reason_to_refuse(self, watcher: Watcher) -> Any:
        """Why the gradients just computed must not be differentiated again, if they must not."""
        name = self.operator.__name__
        if getattr(self.operator.backward, "once_differentiable", False):
            return (
                f"trying to differentiate twice a function that was marked with @once_differentiable: {name}",
                "its backward is not recorded, so the second derivative would be a wrong number.",
                "remove the decorator if backward uses Tensor operators only; otherwise write the backward as a Function of "
                "its own, with its own backward.",
            )
        if watcher.cuts:
            return (
                f"the second derivative of {name} is refused: its backward took a value out of the graph by "
                f"{', '.join(watcher.cuts)}",
                "what was computed from that value counts as constant, and the derivative would be silently wrong.",
                "use Tensor operators in backward; or write the backward as a Function of its own, with its own backward.",
            )
        if self._opaque:
            return (
                f"the second derivative of {name} is refused: ctx.{self._opaque[0]} is a bare array, and forward took an input "
                f"out of the graph by {self._opaque[1]}",
                "whether the array depends on the inputs is unknown; as a constant it could make the derivative silently wrong.",
                "save inputs or outputs as Tensors with ctx.save_for_backward, and compute the array from them in backward; or "
                "pass a constant array to apply as an argument.",
            )
        return None

    def _recompute(self, pull: Pull) -> None:
        """Where forward saved intermediates: their versions from a second, recorded run of forward."""
        saved = self.saved
        if saved.__class__ is not Saved:
            return
        second = Recomputed(self, saved.rerun)
        fresh = getattr(second.ctx, "to_save", None) or ()
        pull.entries = tuple(
            [
                second.vouch(entry.tensor, fresh[k] if k < len(fresh) else None, f"value {k} for backward")
                if is_intermediate(entry)
                else unpack(entry, self, "a value")
                for k, entry in enumerate(saved.entries)
            ]
        )
        for name, (structure, entries) in (self._kept or {}).items():
            if any(is_intermediate(entry) for entry in entries):
                new = tensors_in(getattr(second.ctx, name, None))
                values = [
                    second.vouch(entry.tensor, new[k] if k < len(new) else None, f"the Tensor ctx.{name}")
                    if is_intermediate(entry)
                    else _unpack_attribute(entry, self, f"ctx.{name}")
                    for k, entry in enumerate(entries)
                ]
                pull.attributes[name] = rebuild(structure, iter(values))

    def _argument_names(self) -> list[str]:
        return rules.parameter_names(self.operator.forward, 0 if self.operator.separate else 1)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple(edge or (None, 0) for edge in self.edges if edge is not NOT_A_TENSOR)

    @property
    def _forward_cls(self) -> type[Function]:
        return self.operator

    def apply(self, *cotangents: Any) -> Any:
        """Call the rule of this node on cotangents."""
        return self._call_rule(list(cotangents))


class _Cleared:
    """Stands in ``saved`` after the one reading that ``clear_saved_tensors_on_access`` allows."""

    rerun = None

    @property
    def entries(self) -> Any:
        raise lesson(
            RuleError,
            "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function.",
            instead="read ctx.saved_tensors once, or set clear_saved_tensors_on_access=False.",
        )


_CLEARED: Any = _Cleared()


def _slot(node: Any, name: str) -> Any:
    try:
        return object.__getattribute__(node, name)
    except AttributeError:
        return None


def _unpack_attribute(entry: Any, node: Node, what: str) -> Any:
    return entry.same_or_again(node, what) if isinstance(entry, SavedOutput) else unpack(entry, node, what)


def _contiguous_tensor(tensor: Tensor) -> Tensor:
    array = arrays.contiguous(tensor._array)
    return tensor if array is tensor._array else wrap(type(tensor), array, None, tensor._resolved())


def _bare_float_array(value: Any, inputs: Any) -> bool:
    return (
        not isinstance(value, Tensor)
        and arrays.is_array(value)
        and arrays.is_inexact(value.dtype)
        and not any(value is argument for argument in inputs or ())
    )


def _find_rule(node_type: Any) -> Any:
    """``backward``, or its other name ``vjp``; looked up once per class."""
    operator = node_type.operator
    has_backward = operator.backward is not Function.backward
    has_vjp = operator.vjp is not Function.vjp
    if has_backward and has_vjp:
        raise lesson(
            RuleError,
            f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {operator.__name__}",
            instead="one of them; they are two names of the same rule.",
        )
    rule = operator.vjp if has_vjp else operator.backward
    node_type.rule_of_user = staticmethod(rule)
    return rule


def _warn_captured(node: Any, tensor: Tensor) -> None:
    name = _captured_name(node.operator.forward, tensor)
    warnings.warn(
        f"{node.operator.__name__}.forward uses the Tensor {name}, which requires gradients but is not an argument of "
        f"apply(): it gets no gradient through this Function. Pass it as an argument; or use {name}.detach() if it is meant as "
        "a constant.",
        UserWarning,
        stacklevel=5,
    )


def _captured_name(forward: Any, tensor: Tensor) -> str:
    function = inspect.unwrap(getattr(forward, "__func__", forward))
    try:
        scope = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return "from outside"
    for names in (scope.nonlocals, scope.globals):
        for name, value in names.items():
            if value is tensor:
                return name
            for attribute, inner in getattr(value, "__dict__", {}).items():
                if inner is tensor:
                    return f"{name}.{attribute}"
    return "from outside"


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static: call "
            f"{type(self).__name__}.apply(...) on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.separate = cls.setup_context is not Function.setup_context
        cls._node = type(f"{cls.__name__}Backward", (FunctionNode,), {"operator": cls, "rule_of_user": None, "__module__": cls.__module__})
        cls._backward_cls = cls._node
        cls._signature = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise lesson(
            RuleError,
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
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient per argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for ``backward``."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Tangents of the outputs from tangents of the inputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward AD.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function; record it when an argument is a Tensor that requires gradients."""
        if kwargs or cls.separate:
            args = _bind(cls, args, kwargs)
        mode = _current()
        recording = mode.recording
        ctx = _new(cls._node)
        ctx.number = next_number()
        ctx._inputs = args
        ctx._marks = ctx._kept = ctx._opaque = ctx.saved = ctx.hooks = None
        ctx.to_save = ctx.specs = ()
        ctx.outer = mode
        x = args[0] if len(args) == 1 else None
        if isinstance(x, Tensor):  # the most frequent call: one Tensor
            edge = x._edge
            if edge is not None:
                if edge.__class__ is not tuple:
                    edge = edge.resolve(x)
                if not recording and edge is not None and mode is not _OFF:
                    mode.reads(x)
            ctx.edges = (edge,)
            ctx._needs = _NOT_NEEDED if edge is None else _NEEDED
            ctx.kind = kind = x.__class__
        else:
            _look_at_arguments(cls, ctx, args, mode)
            kind = ctx.kind

        token = _enter(ctx)
        try:
            if cls.separate:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
            elif x is not None:
                result = cls.forward(ctx, x)
            else:
                result = cls.forward(ctx, *args)
        finally:
            _leave(token)
            ctx.outer = _ON
        if not (recording and True in ctx._needs):
            ctx.to_save = ctx._inputs = ()
            return plain_outputs(ctx, args, result)
        array = result._array if result.__class__ is kind else None
        if (
            array.__class__ is ndarray
            and ctx._marks is None
            and result._edge is None
            and result._view is None
            and (array.dtype.kind in "fc")
            and not _is_among(result, args)
        ):
            ctx.specs = ((array.shape, array.dtype),)
            result._edge = (ctx, 0)
            outputs: tuple[Any, ...] = (result,)
        else:
            result, outputs = attach(ctx, args, result)
        attributes = ctx.__dict__
        if attributes or len(ctx.to_save) != 1 or ctx.to_save[0] is not x or x._buffer is not None:
            if ctx.to_save or attributes:
                _keep(ctx, args, outputs)
        else:
            ctx.saved, ctx.to_save = ctx.to_save, ()
        ctx._inputs = ()
        return result


_NEEDED, _NOT_NEEDED = (True,), (False,)


def _look_at_arguments(cls: Any, ctx: Any, args: tuple[Any, ...], mode: Any) -> None:
    """Edges, flags and class of result for any number and kind of arguments."""
    kind: Any = None
    edges: list[Any] = []
    needs = []
    for value in args:
        if isinstance(value, Tensor):
            if kind is None or issubclass(value.__class__, kind):
                kind = value.__class__
            edge = value._edge
            if edge is not None:
                if edge.__class__ is not tuple:
                    edge = edge.resolve(value)
                if edge is not None and not mode.recording and mode is not _OFF:
                    mode.reads(value)
            edges.append(edge)
            needs.append(edge is not None)
        else:
            if value.__class__ in _CONTAINERS:
                _refuse_hidden_tensors(cls, value, len(edges), mode.recording)
            edges.append(NOT_A_TENSOR)
            needs.append(False)
    ctx.edges = tuple(edges)
    ctx._needs = tuple(needs)
    ctx.kind = kind or Tensor


_CONTAINERS = frozenset({list, tuple, dict, set})


def _refuse_hidden_tensors(cls: Any, value: Any, position: int, recording: bool) -> None:
    if recording and any(tensor.requires_grad for tensor in tensors_in(value)):
        node = _new(cls._node)
        raise lesson(
            RuleError,
            f"{cls.__name__}.apply got Tensors that require gradients inside a {type(value).__name__}, as "
            f"{rules.argument(node, position)}",
            why="gradients are returned one per argument, so those inside a container would be lost.",
            instead=f"pass them one by one, {cls.__name__}.apply(*tensors), and let forward take *tensors.",
        )


def _bind(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Put keyword arguments at their places; with setup_context, fill in the defaults as well."""
    if cls._signature is None:
        cls._signature = _signature_of(cls)
    positional, defaults, variadic = cls._signature
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
    return positional, defaults, any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _keep(ctx: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """After forward: find the origin of everything that was saved or set on ctx."""
    edges = ctx.edges
    found: list[Any] = []
    intermediate = False
    for value in ctx.to_save:
        if isinstance(value, Tensor) and value._buffer is None and _is_among(value, args):
            found.append(value)
        else:
            entry = _pack_saved(value, len(found), args, edges, outputs)
            intermediate = intermediate or (entry is not None and is_intermediate(entry))
            found.append(entry)
    entries = tuple(found)
    if ctx.__dict__:
        intermediate = _keep_attributes(ctx, args, outputs) or intermediate
        if ctx._opaque:
            bare = [name for name, value in ctx.__dict__.items() if _bare_float_array(value, args)]
            ctx._opaque = (bare[0], ", ".join(ctx._opaque)) if bare else None
    if intermediate:
        ctx.saved = Saved(entries, Rerun(args, edges, functools.partial(_run_again, ctx), _why_no_rerun(ctx)))
    elif entries:
        ctx.saved = entries
    ctx.to_save = ()


def _is_among(value: Any, args: Any) -> bool:
    for argument in args:  # noqa: SIM110 - a loop is one call less than any()
        if argument is value:
            return True
    return False


def _pack_saved(value: Any, position: int, args: Any, edges: Any, outputs: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise lesson(
            TypeError,
            f"save_for_backward can only save variables, but argument {position} is of type {type(value).__name__}",
            instead="set other values as attributes: ctx.name = value. Several Tensors are separate arguments, not a list.",
        )
    return pack(value, args, edges, outputs)


def _keep_attributes(ctx: Any, args: Any, outputs: Any) -> bool:
    """Take Tensors out of ctx's attributes and keep them like saved ones.  True when one is an intermediate."""
    intermediate = False
    kept = {}
    for name, value in ctx.__dict__.items():
        tensors = [value] if isinstance(value, Tensor) else tensors_in(value) if value.__class__ in _CONTAINERS else ()
        if tensors:
            entries = [pack(tensor, args, ctx.edges, outputs) for tensor in tensors]
            kept[name] = (value if not isinstance(value, Tensor) else _SINGLE, entries)
            intermediate = intermediate or any(not isinstance(e, Tensor) and is_intermediate(e) for e in entries)
    for name, (structure, entries) in kept.items():
        del ctx.__dict__[name]
        if structure is not _SINGLE:
            kept[name] = (rebuild(structure, iter([_SINGLE] * len(entries))), entries)
    if kept:
        ctx._kept = kept
    return intermediate


_SINGLE = Tensor(np.empty(0))


def _why_no_rerun(ctx: Any) -> str:
    return "forward wrote into its arguments, so it cannot be run again." if ctx._marks and ctx._marks.written else ""


def _run_again(ctx: Any, args: list[Any]) -> Any:
    """Forward with recording on, on a ctx of its own."""
    again = _new(type(ctx))
    again.number = ctx.number
    again._needs, again.edges, again._inputs, again.specs = ctx._needs, ctx.edges, tuple(args), ()
    again._marks = again._kept = again._opaque = again.saved = again.hooks = None
    again.to_save = ()
    again.outer, again.kind = modes.ON, ctx.kind
    if ctx.operator.separate:
        output = ctx.operator.forward(*args)
        ctx.operator.setup_context(again, tuple(args), output)
    else:
        ctx.operator.forward(again, *args)
    return again


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
        token = modes.enter(modes.OFF)
        try:
            return function(ctx, *grads)
        finally:
            modes.leave(token)

    backward.once_differentiable = True  # type: ignore[attr-defined]
    return backward


def _useless(name: str) -> Any:
    def on_class(*args: Any, **kwargs: Any) -> Any:
        raise lesson(
            RuleError,
            f"{name} was called on the Function class or an instance of it, not on the ctx",
            why="the class is shared by all calls; only the ctx of this call can keep what backward needs.",
            instead=f"ctx.{name}(...), where ctx is the first parameter of forward.",
        )

    on_class.__name__ = name
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
