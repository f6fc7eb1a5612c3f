"""Primitive: an operator whose rule is written against an array namespace.

``forward`` and ``backward`` receive bare arrays and the array library as ``ctx.xp``; when the backward pass is itself to be
differentiated, the same lines receive Tensors and a differentiable ``ctx.xp``.  So a rule is written once, costs one Python
call at first order, and is right to any order.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from pullback.core import arrays, modes, rules, views
from pullback.core.graph import FREED, NOT_A_TENSOR, Node, next_number
from pullback.core.masked import Masked, unmask
from pullback.core.recompute import Recomputed, Rerun
from pullback.core.saved import Saved, SavedOutput, SavedPlain, freed, pack, unpack
from pullback.core.tensor import Tensor, wrap
from pullback.core.versions import Buffer

_new = object.__new__


class Recorded:
    """Holds the differentiable namespace that rules get when they are recorded; ``ops/bind.py`` sets it."""

    xp: ClassVar[Any] = None


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

    __slots__ = ("__dict__", "kind", "needs_input_grad", "to_save", "xp")

    operator: ClassVar[type[Primitive]]
    kind: Any
    needs_input_grad: tuple[bool, ...]
    to_save: tuple[Any, ...] | None
    xp: Any

    def save_for_backward(self, *values: Any) -> None:
        """Keep arrays for backward."""
        self.to_save = values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved: bare arrays, or Tensors while backward is recorded."""
        if self.xp is Recorded.xp:
            return self.saved or ()
        return tuple([bare(entry, self) for entry in self._entries()])

    def pull(self, cotangents: list[Any], task: Any) -> Any:
        if all(cotangent is None for cotangent in cotangents):
            return [None] * len(self.edges)
        masks = self.operator.mask_rule and self._masks(cotangents)
        xp = self._library(task)
        plain = [
            unmask(c) if c is not None else self._zero(position, xp) for position, c in enumerate(cotangents)
        ]
        ctx = self._recorded(task) if task.record else self
        if len(self.edges) > 1 and task.targets is not None:
            ctx = ctx if ctx is not self else self._shadow()
            ctx.needs_input_grad = tuple([task.wants(edge) for edge in self.edges])
        grads = rules.as_sequence(self, self.operator.backward(ctx, *plain))
        for position, (edge, grad) in enumerate(zip(self.edges, grads, strict=True)):
            if not edge or grad is None:
                grads[position] = None
                continue
            if masks:
                grad = self.operator.mask_rule(ctx, grad, masks[0], position, xp)
            producer, number = edge
            shape, dtype = producer.specs[number]
            if grad.__class__ is Masked or grad.shape != shape or grad.dtype != dtype:
                grad = rules.fit(self, position, grad, xp)
            grads[position] = grad
        return grads

    def _masks(self, cotangents: list[Any]) -> list[Masked]:
        return [c for c in cotangents if c.__class__ is Masked]

    def _library(self, task: Any) -> Any:
        return Recorded.xp if task.record else self.xp

    def _zero(self, position: int, xp: Any) -> Any:
        spec = self.specs[position]
        return None if spec is None else arrays.zeros(spec[0], spec[1], xp)

    def _shadow(self) -> Any:
        """A private copy of this ctx, for one call of the rule with other flags or values."""
        shadow = _new(type(self))
        for name in ("edges", "hooks", "kind", "needs_input_grad", "number", "saved", "specs", "to_save", "xp"):
            setattr(shadow, name, getattr(self, name, None))
        if self.__dict__:
            shadow.__dict__.update(self.__dict__)
        return shadow

    def _recorded(self, task: Any) -> Any:
        """This ctx with its saved values as Tensors in the graph and the differentiable namespace."""
        shadow = self._shadow()
        shadow.xp = Recorded.xp
        entries = self._entries()
        shadow.saved = tuple([_connected(entry, self) for entry in entries])
        if self.saved.__class__ is Saved:
            self._recompute(shadow, entries)
        return shadow

    def _entries(self) -> tuple[Any, ...]:
        saved = self.saved
        if saved is FREED:
            raise freed(self)
        return saved.entries if saved.__class__ is Saved else saved or ()

    def _recompute(self, shadow: Any, entries: tuple[Any, ...]) -> None:
        """Put recorded intermediates in the place of bare ones."""
        second = Recomputed(self, self.saved.rerun)
        values = list(shadow.saved)
        for k, entry in enumerate(entries):
            if entry.__class__ is _Intermediate:
                new = second.ctx.to_save[k] if second.ctx is not None and k < len(second.ctx.to_save) else None
                values[k] = second.vouch(wrap(self.kind, entry.array), new, f"value {k} for backward")
        shadow.saved = tuple(values)
        for name, value in self.__dict__.items():
            if _could_vary(value) and not any(value is entry for entry in entries):
                new = getattr(second.ctx, name, None)
                shadow.__dict__[name] = second.vouch(wrap(self.kind, value), new, f"the array ctx.{name}")

    def name(self) -> str:
        return type(self).__name__

    def _argument_names(self) -> list[str]:
        return rules.parameter_names(self.operator.forward, 1)


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
    node_base: ClassVar[type] = PrimitiveNode
    _node: ClassVar[type]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__dict__.get("node_name") or f"{cls.__name__}Backward"
        cls._node = type(name, (cls.node_base,), {"operator": cls, "__slots__": (), "__module__": cls.__module__})

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
        mode = modes.current()
        kind: Any = None
        first: Any = None
        bare = []
        edges = []
        differentiable = False
        for value in args:
            if isinstance(value, Tensor):
                kind = _wider(kind, type(value))
                array = value._array
                bare.append(array)
                if first is None:
                    first = array
                edge = value._edge
                if edge is not None and edge.__class__ is not tuple:
                    edge = edge.resolve(value)
                if edge is not None:
                    differentiable = True
                    if not mode.recording and mode is not modes.OFF:
                        mode.reads(value)
                edges.append(edge)
            else:
                if first is None and kind is None and hasattr(value, "dtype"):
                    first = value
                bare.append(value)
                edges.append(NOT_A_TENSOR)

        ctx = _new(cls._node)
        ctx.xp = xp = arrays.namespace(first) if first is not None else arrays.np
        ctx.to_save = None
        ctx.needs_input_grad = tuple([edge is not None and edge is not NOT_A_TENSOR for edge in edges])
        result = cls.forward(ctx, *bare, **options)
        if kind is None:
            return result
        single = result.__class__ is not tuple
        outputs = tuple([_wrap(kind, r, xp) for r in ((result,) if single else result)])
        if differentiable and mode.recording:
            _record(ctx, kind, args, edges, outputs, options)
        if cls.view:
            _note_view(cls, args[0], outputs, options, mode)
        return outputs[0] if single else outputs


def _wider(kind: Any, other: Any) -> Any:
    """The class of a result: its operands' class, and the subclass wins a mixture."""
    return other if kind is None or (other is not kind and issubclass(other, kind)) else kind


def _wrap(kind: Any, array: Any, xp: Any) -> Any:
    if array is None or not hasattr(array, "dtype"):
        return array if not isinstance(array, (int, float, complex)) else wrap(kind, arrays.asarray(array, xp))
    if isinstance(array, arrays.np.generic):
        array = arrays.np.asarray(array)
    return wrap(kind, array)


def _record(ctx: Any, kind: Any, args: Any, edges: Any, outputs: Any, options: Any) -> None:
    """Make ctx the node of its outputs."""
    ctx.edges = tuple(edges)
    ctx.number = next_number()
    ctx.hooks = None
    ctx.kind = kind
    specs = []
    for position, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            specs.append(None)
            continue
        dtype = output.dtype
        specs.append((output._array.shape, dtype))
        if arrays.is_inexact(dtype):
            output._edge = (ctx, position)
    ctx.specs = tuple(specs)
    if ctx.to_save is None:
        ctx.saved = None
    else:
        ctx.saved = tuple([_entry(value, args, edges, outputs) for value in ctx.to_save])
        ctx.to_save = None
    if (ctx.saved is not None and any(entry.__class__ is _Intermediate for entry in ctx.saved)) or (
        ctx.__dict__ and _loose_arrays(ctx, args)
    ):
        ctx.saved = Saved(ctx.saved or (), Rerun(args, edges, partial(_run_again, ctx, options)))


def _run_again(ctx: Any, options: Any, args: list[Any]) -> Any:
    """Forward on Tensors, with the differentiable namespace; its ctx has the saved values in the graph."""
    again = _new(type(ctx))
    again.xp = Recorded.xp
    again.to_save = ()
    again.needs_input_grad = ctx.needs_input_grad
    ctx.operator.forward(again, *args, **options)
    return again


def _entry(value: Any, args: Any, edges: Any, outputs: Any) -> Any:
    """Find the origin of a saved array: an input, an output, a constant, or none of these."""
    for argument, edge in zip(args, edges, strict=True):
        if argument is value:
            return SavedConstant(value)
        if isinstance(argument, Tensor) and argument._array is value:
            return pack(argument, (argument,), (edge,), ())
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and output._array is value:
            return SavedOutput(output, position) if output._edge is not None else SavedPlain(output)
    return _Intermediate(value) if _could_vary(value) else SavedConstant(value)


def _could_vary(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and arrays.is_inexact(value.dtype)


def _loose_arrays(ctx: Any, args: Any) -> list[str]:
    """Attributes of ctx that hold arrays which are no arguments."""
    known = {id(a._array) if isinstance(a, Tensor) else id(a) for a in args}
    return [name for name, value in ctx.__dict__.items() if id(value) not in known and _could_vary(value)]


def _note_view(cls: Any, source: Any, outputs: Any, options: Any, mode: Any) -> None:
    forbidden = "" if mode.recording or not source.requires_grad else "A view was created in no_grad mode"
    for position, output in enumerate(outputs):
        if isinstance(output, Tensor) and views.is_alias(output._array, source._array):
            steps = options if len(outputs) == 1 else {**options, "_output": position}
            views.make_view(output, source, cls, steps, forbidden)


