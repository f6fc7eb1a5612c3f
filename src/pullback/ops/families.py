"""Families of operators: say less than the rule, and get the rule, its forward mode and its speed.

`unary` and `binary` take the partial derivatives of an elementwise operator.  The parameter names of a partial say
what it needs, and so what is saved: ``x`` (or ``a``, ``b``) inputs, ``y`` the result, ``xp`` the namespace.  What comes
out is a `Primitive` like any other, with a shorter path through ``apply`` and ``pull`` for the usual case: real NumPy
arrays.  `constant` makes operators without derivative.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.dual import OPEN, dual_at
from pullback.core.elision import made, temporary
from pullback.core.errors import lesson
from pullback.core.graph import FREED, NOT_A_TENSOR, next_number
from pullback.core.masked import Masked
from pullback.core.places import familiar, outside
from pullback.core.primitive import Primitive, PrimitiveNode, SavedConstant, _wider, bare
from pullback.core.recycling import LARGE, compute, watch
from pullback.core.rules import fit
from pullback.core.saved import pack, saved_result
from pullback.core.tensor import Tensor, wrap
from pullback.ops.examples import EXAMPLES

ndarray = np.ndarray
_new = object.__new__
_current = modes.current
_ON, _OFF = modes.ON, modes.OFF
_F8, _F4 = np.dtype(np.float64), np.dtype(np.float32)

#: A partial derivative of 1, -1 or 0 everywhere: the cotangent itself, its negative, zeros.
ONE: Any = "one"
MINUS_ONE: Any = "minus one"
ZERO: Any = "zero"


def select(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
    """The mask rule of elementwise operators: a structural zero stays zero whatever the partial derivative is."""
    if grad.__class__ is Masked:  # from a rule that selects: it multiplied by nothing
        return Masked(grad.value, lambda: grad.mask & masked.mask)
    if grad.shape != masked.shape:
        return grad
    if xp is np and not np.isnan(grad).any():  # zero times a finite partial derivative is zero already
        return Masked(grad, lambda: masked.mask)
    return Masked(xp.where(masked.mask, grad, 0.0), lambda: masked.mask)


def carry(ctx: Any, grad: Any, masked: Masked, position: int, xp: Any) -> Any:
    """The mask rule of elementwise operators that multiply by nothing: zeros are still zeros."""
    return Masked(grad, lambda: masked.mask) if grad.shape == masked.shape else grad


def chosen(mask: Any, ct: Any, xp: Any) -> Masked:
    """What a selecting operator sends back: the cotangent where `mask` holds, a structural zero elsewhere."""

    def full_mask() -> Any:
        bare_mask = without_graph(mask)
        if bare_mask.shape == ct.shape:
            return bare_mask
        return arrays.namespace(bare_mask).broadcast_to(bare_mask, ct.shape)

    return Masked(xp.where(mask, ct, 0.0), full_mask)


def without_graph(value: Any) -> Any:
    """The bare array, whether a rule runs on arrays or on Tensors."""
    return value._array if isinstance(value, Tensor) else value


def _times(ct: Any, partial: Any, xp: Any) -> Any:
    """``ct * conj(partial)``, the vjp of an elementwise operator."""
    if partial.__class__ is complex:
        partial = partial.conjugate()
    elif hasattr(partial, "dtype") and arrays.is_complex(partial.dtype):
        partial = xp.conj(partial)
    return ct * partial


def _directional(names: tuple[str, ...], partials: Any, uses: Any) -> Any:
    """The jvp of an elementwise operator: the tangents times the partial derivatives."""

    def jvp(xp: Any, args: Any, tangents: Any, y: Any) -> Any:
        values = {"xp": xp, "y": y, **dict(zip(names, args, strict=True))}
        total = None
        for partial, used, tangent in zip(partials, uses, tangents, strict=True):
            if tangent is None or partial is None or partial is ZERO:
                continue
            if isinstance(partial, str):
                term = tangent if partial is ONE else -tangent
            else:
                term = tangent * partial(*[values[name] for name in used])
            total = term if total is None else total + term
        return total

    return jvp


def introduce(function: Any, name: str, operator: Any, *arguments: str) -> Any:
    """Give a generated function the name, the signature and the docstring that its users see; returns it."""
    function.__name__ = function.__qualname__ = name
    kind = inspect.Parameter.POSITIONAL_ONLY
    function.__signature__ = inspect.Signature([inspect.Parameter(argument, kind) for argument in arguments])
    shape = "the shape of the argument" if len(arguments) == 1 else "the shape of the arguments broadcast together"
    lines = [
        operator.__doc__,
        "\nParameters\n----------",
        ", ".join(arguments),
        "    Tensors, arrays or Python numbers.",
        f"\nReturns\n-------\nA Tensor of {shape}; a bare array where no argument is a Tensor.",
    ]
    if name in EXAMPLES:
        lines.append("\nExamples\n--------\n>>> import pullback as pb\n>>> pb.{}\n{}".format(*EXAMPLES[name]))
    function.__doc__ = "\n".join(lines) + "\n"
    return function


def function_of(operator: Any, name: str, *arguments: str) -> Any:
    """The public function of an operator that has no short path."""
    apply = operator.apply

    def function(*values: Any) -> Any:
        if len(values) != len(arguments):
            raise TypeError(f"{name}() takes {len(arguments)} arguments, but {len(values)} were given")
        return apply(*values)

    return introduce(function, name, operator, *arguments)


# --------------------------------------------------------------------------------------------------------------- unary
class ElementwiseNode(PrimitiveNode):
    """The node of an elementwise operator: silent about what happens where the cotangent is structurally zero."""

    __slots__ = ()

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        if ct.__class__ is not Masked:
            return PrimitiveNode._pull(self, cotangents, task)
        with np.errstate(all="ignore"):
            if task.record or ct.value.__class__ is not ndarray or self._broadcasts(ct.shape):
                return PrimitiveNode._pull(self, cotangents, task)
            grads = self._pull([ct.value], task)  # the short path, where there is one
            rule = self._operator.mask_rule
            return [grad if grad is None else rule(self, grad, ct, k, np) for k, grad in enumerate(grads)]

    def _broadcasts(self, shape: Any) -> bool:
        """True when an argument has another shape than the result: masks must come before sums then."""
        return any(edge and edge[0]._specs[edge[1]][0] != shape for edge in self._edges)


class Elementwise(Primitive):
    """Base of elementwise operators that write their own rule."""

    mask_rule = staticmethod(select)
    node_base = ElementwiseNode


def unary(
    name: str,
    forward: Callable[[Any, Any], Any] | None,
    partial: Any,
    node_name: str = "",
    doc: str = "",
    backward: Callable[[Any, Any], Any] | None = None,
) -> type[Primitive]:
    """An elementwise operator of one argument, from its partial derivative.

    Parameters
    ----------
    name
        Name of the operator, and of the function of the array namespace that computes it when `forward` is ``None``.
    forward
        ``forward(xp, x)``, where the namespace has no such function.
    partial
        ``partial(...) -> dy/dx`` with parameters among ``xp``, ``x``, ``y``; or `ONE`, `MINUS_ONE`, `ZERO`.
    backward
        ``backward(ctx, ct)``, where ``ct * conj(partial)`` is not all there is to say: of complex numbers, or when recorded.
    """
    uses = () if isinstance(partial, str) else tuple(inspect.signature(partial).parameters)
    run = forward if forward is not None else (lambda xp, x: getattr(xp, name)(x))
    saves_input, saves_output = "x" in uses, "y" in uses

    def op_forward(ctx: Any, x: Any) -> Any:
        y = run(ctx.xp, x)
        if saves_input and saves_output:
            ctx.save_for_backward(x, y)
        elif saves_input:
            ctx.save_for_backward(x)
        elif saves_output:
            y = arrays.asarray(y, ctx.xp)
            ctx.save_for_backward(y)
        return y

    def op_backward(ctx: Any, ct: Any) -> Any:
        if partial is ONE:
            return ct
        if partial is MINUS_ONE:
            return -ct
        if partial is ZERO:
            return ctx.xp.zeros_like(ct)
        values = dict(zip([n for n in ("x", "y") if n in uses], ctx.saved_tensors, strict=True))
        slope = partial(*[ctx.xp if n == "xp" else values[n] for n in uses])
        return _times(ct, slope, ctx.xp)

    ufunc = getattr(np, name, None) if forward is None else None
    space = {
        "forward": staticmethod(op_forward),
        "backward": staticmethod(backward or op_backward),
        "mask_rule": staticmethod(carry if isinstance(partial, str) else select),
        "node_name": node_name or f"{name.title().replace('_', '')}Backward0",
        "node_base": ElementwiseNode,
        "jvp": None if backward else staticmethod(_directional(("x",), (partial,), (uses,))),
        "__doc__": doc or f"Elementwise ``{name}``.",
        "__module__": __name__,
    }
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    if ufunc is not None or forward is not None:
        _quicken_unary(name, operator, ufunc if ufunc is not None else (lambda x: run(np, x)), partial, uses)
    return operator


def _quicken_unary(name: str, operator: Any, ufunc: Any, partial: Any, uses: tuple[str, ...]) -> None:
    """The short path of `apply` and `pull`: one Python call each, besides the partial derivative."""
    node_type: Any = type(operator._node.__name__, (operator._node,), {"__slots__": (), "__module__": __name__})
    node_type.xp, node_type.needs_input_grad = np, (True,)  # the same for every node made here
    general = operator.apply
    saves_input, saves_output = "x" in uses, "y" in uses
    if saves_input and saves_output:
        return

    def apply(x: Any, /) -> Any:
        if not isinstance(x, Tensor):
            return general(x)
        array = x._array
        if array.__class__ is not ndarray:
            return general(x)
        dtype = array.dtype
        if dtype is not _F8 and dtype is not _F4:
            return general(x)
        edge = x._edge
        if edge is not None:
            mode = _current()
            if mode is not _ON and not mode._recording:
                if OPEN and dual_at(edge) is not None:
                    return dual.push(operator, (x,), {})
                if mode is not _OFF:
                    _note_reads(mode, x, edge, x, edge)
                edge = None
        y = ufunc(array)
        if y.__class__ is not ndarray:
            y = np.asarray(y)
        kind = x.__class__
        out = _new(kind)
        out._array = y
        out._edge = out._buffer = out._grad = None
        if edge is None:
            return out
        if edge.__class__ is not tuple:
            if OPEN and dual_at(edge) is not None:
                return dual.push(operator, (x,), {})
            edge = edge.resolve(x)
            if edge is None:
                return out
        node = _new(node_type)
        node._edges = (edge,)
        node._number = next_number()
        frame = _getframe(1)
        code = frame.f_code
        if code is not familiar.code:
            frame = outside(frame)
            code = frame.f_code
        node._code = code
        node._instruction = frame.f_lasti
        node._specs = ((y.shape, dtype),)
        node._hooks = None
        node._kind = kind
        if saves_input:
            node._saved = (x,) if x._buffer is None else (pack(x, (x,), (edge,)),)
        else:
            node._saved = (saved_result(kind, y),) if saves_output else None
        if mode is not _ON:
            mode._created(node)
        out._edge = (node, 0)
        return out

    introduce(apply, name, operator, "x")
    operator.apply = staticmethod(apply)
    slow = ElementwiseNode._pull
    takes_xp = uses[:1] == ("xp",)

    def _pull(self: Any, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        saved = self._saved
        if task.record or ct.__class__ is not ndarray or saved is FREED:
            return slow(self, cotangents, task)
        entry = saved[0]
        if entry._buffer is not None:
            return slow(self, cotangents, task)
        return (ct * (partial(np, entry._array) if takes_xp else partial(entry._array)),)

    def pull_one(self: Any, cotangents: list[Any], task: Any) -> Any:
        return cotangents

    def pull_minus_one(self: Any, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        return (-ct,) if ct is not None and ct.__class__ is not Masked else slow(self, cotangents, task)

    short = {ONE: pull_one, MINUS_ONE: pull_minus_one, ZERO: slow}
    node_type._pull = short[partial] if isinstance(partial, str) else _pull


# -------------------------------------------------------------------------------------------------------------- binary
def binary(
    name: str,
    partial_a: Any,
    partial_b: Any,
    forward: Callable[[Any, Any, Any], Any] | None = None,
    node_name: str = "",
    doc: str = "",
    numbers_count: bool = False,
) -> type[Primitive]:
    """An elementwise, broadcasting operator of two arguments, from its two partial derivatives.

    Parameters
    ----------
    partial_a, partial_b
        ``partial(...)`` with parameters among ``xp``, ``a``, ``b``, ``y``; or `ONE`, `MINUS_ONE`, `ZERO`; or ``None``
        where the operator does not depend on that argument differentiably.
    forward
        ``forward(xp, a, b)``, where the namespace has no function `name`.
    numbers_count
        A number or array beside a Tensor is shown in the graph as a Tensor without gradients, as torch does for ``+ - * /``.
    """
    partials = (partial_a, partial_b)
    uses = tuple(() if p is None or isinstance(p, str) else tuple(inspect.signature(p).parameters) for p in partials)
    run = forward if forward is not None else (lambda xp, a, b: getattr(xp, name)(a, b))

    def op_forward(ctx: Any, a: Any, b: Any) -> Any:
        y = run(ctx.xp, a, b)
        wanted: set[str] = set()
        for need, names in zip(ctx.needs_input_grad, uses, strict=True):
            if need:
                wanted.update(names)
        if "y" in wanted:
            y = arrays.asarray(y, ctx.xp)
        if wanted - {"xp"}:
            ctx.save_for_backward(
                a if "a" in wanted else None, b if "b" in wanted else None, y if "y" in wanted else None
            )
        return y

    def op_backward(ctx: Any, ct: Any) -> Any:
        saved = ctx.saved_tensors or (None, None, None)
        values = {"xp": ctx.xp, "a": saved[0], "b": saved[1], "y": saved[2]}
        grads: list[Any] = []
        for need, partial, names in zip(ctx.needs_input_grad, partials, uses, strict=True):
            if not need or partial is None:
                grads.append(None)
            elif partial is ONE:
                grads.append(ct)
            elif partial is MINUS_ONE:
                grads.append(-ct)
            elif partial is ZERO:
                grads.append(ctx.xp.zeros_like(ct))
            else:
                grads.append(_times(ct, partial(*[values[n] for n in names]), ctx.xp))
        return tuple(grads)

    space = {
        "forward": staticmethod(op_forward),
        "backward": staticmethod(op_backward),
        "mask_rule": staticmethod(carry if all(isinstance(p, str) for p in partials) else select),
        "node_name": node_name or f"{name.title().replace('_', '')}Backward0",
        "node_base": ElementwiseNode,
        "jvp": staticmethod(_directional(("a", "b"), partials, uses)),
        "__doc__": doc or f"Elementwise ``{name}``.",
        "__module__": __name__,
    }
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    ufunc = getattr(np, name, None) if forward is None else (lambda a, b: run(np, a, b))
    if ufunc is not None:
        _quicken_binary(name, operator, ufunc, partials, uses, None if numbers_count else NOT_A_TENSOR)
    return operator


def _entry(value: Any, edge: Any) -> Any:
    """How an operand is kept: a Tensor as it is, anything else as a constant."""
    if not isinstance(value, Tensor):
        return SavedConstant(value)
    return value if value._buffer is None else pack(value, (value,), (edge,))


def as_arrays(xp: Any, a: Any, b: Any) -> Any:
    """Both operands as arrays, where one of them may be a Python number."""
    if not hasattr(a, "dtype"):
        a = xp.full_like(b, a)
    elif not hasattr(b, "dtype"):
        b = xp.full_like(a, b)
    return a, b


def is_operand(value: Any) -> bool:
    """True for what may stand beside a Tensor: numbers and arrays."""
    if isinstance(value, (int, float, complex)):
        return True
    return hasattr(value, "dtype") and hasattr(value, "shape") and value.__class__ is not Masked


def _not_implemented(name: str, value: Any) -> Any:
    return NotImplemented


def _refuse_operand(name: str, value: Any) -> Any:
    raise lesson(
        TypeError,
        f"{name}() takes Tensors, arrays and numbers, but got {type(value).__name__}",
        instead="pullback.asarray(value), where the value is a list of numbers or another kind of array.",
    )


_NUMBERS = frozenset({float, int})
#: Operators whose result has the dtype of equal operands.
_KEEP_DTYPE = frozenset({"add", "subtract", "multiply", "divide"})
#: 0-d arrays for the Python numbers that programs keep multiplying with: half the cost of converting them every time.
_ZERO_D: dict[Any, Any] = {}


def _remember(number: Any) -> None:
    """Keep the 0-d array of a number; not of zeros (0.0 and -0.0 are one key), nor of what float64 does not hold."""
    if len(_ZERO_D) < 256 and number and number == number and abs(number) < 2**53:
        _ZERO_D[number] = np.array(number, dtype=np.float64)


def _quicken_binary(name: str, operator: Any, ufunc: Any, partials: Any, uses: Any, no_tensor: Any) -> None:
    """The short path of `apply` and `pull`; `no_tensor` is the edge of an operand that is none."""
    node_type = operator._node
    general = operator.apply
    names_a, names_b = uses
    a_uses_a, a_uses_b = "a" in names_a, "b" in names_a
    b_uses_a, b_uses_b = "a" in names_b, "b" in names_b
    any_y = "y" in names_a or "y" in names_b
    differentiable = partials[0] is not None and partials[1] is not None

    def build(unsupported: Any) -> Any:
        recycles = isinstance(ufunc, np.ufunc) and name in _KEEP_DTYPE

        def apply(a: Any, b: Any, /) -> Any:
            edge_a = edge_b = None
            kind = a.__class__
            if kind is b.__class__ and isinstance(a, Tensor):
                array_a = main = a._array
                edge_a = a._edge
                array_b = b._array
                edge_b = b._edge
            elif isinstance(a, Tensor):
                array_a = main = a._array
                edge_a = a._edge
                if b.__class__ in _NUMBERS:
                    array_b = _ZERO_D.get(b, b) if array_a.dtype is _F8 else b
                elif isinstance(b, Tensor):
                    return general(a, b)
                elif is_operand(b):
                    array_b = b
                else:
                    return unsupported(name, b)
            elif isinstance(b, Tensor):
                kind = b.__class__
                array_b = main = b._array
                edge_b = b._edge
                if a.__class__ in _NUMBERS:
                    array_a = _ZERO_D.get(a, a) if array_b.dtype is _F8 else a
                elif is_operand(a):
                    array_a = a
                else:
                    return unsupported(name, a)
            else:
                return general(a, b)
            if array_a.__class__ is not ndarray:
                if array_a.__class__ not in _NUMBERS or array_b.__class__ is not ndarray:
                    return general(a, b)
                _remember(array_a)
            elif array_b.__class__ is not ndarray:
                if array_b.__class__ not in _NUMBERS:
                    return general(a, b)
                _remember(array_b)
            if edge_a is not None or edge_b is not None:
                mode = _current()
                if mode is not _ON and not mode._recording:
                    if OPEN and (dual_at(edge_a) or dual_at(edge_b)):
                        return dual.push(operator, (a, b), {})
                    if mode is not _OFF:
                        first = mode._inputs[0] if mode._inputs else None
                        if (edge_a is not None and a is not first) or (edge_b is not None and b is not first):
                            _note_reads(mode, a, edge_a, b, edge_b)
                    edge_a = edge_b = None
                else:
                    if edge_a is not None and edge_a.__class__ is not tuple:
                        if OPEN and dual_at(edge_a) is not None:
                            return dual.push(operator, (a, b), {})
                        edge_a = edge_a.resolve(a)
                    if edge_b is not None and edge_b.__class__ is not tuple:
                        if OPEN and dual_at(edge_b) is not None:
                            return dual.push(operator, (a, b), {})
                        edge_b = edge_b.resolve(b)
            large = (
                edge_a is None
                and edge_b is None
                and recycles
                and main.size > LARGE
                and array_a.__class__ is array_b.__class__ is ndarray
            )
            if large:
                memory = temporary(ufunc, a, b, array_a, array_b)
                y = compute(ufunc, array_a, array_b) if memory is None else ufunc(array_a, array_b, out=memory)
            else:
                y = ufunc(array_a, array_b)
            if y.__class__ is not ndarray:
                y = np.asarray(y)
            if edge_a is not None or edge_b is not None:
                dtype = y.dtype
                if any_y or not differentiable or (dtype is not _F8 and dtype is not _F4):
                    return general(a, b)
                out = _new(kind)
                out._array = y
                out._buffer = out._grad = None
                keep_a = (edge_a is not None and a_uses_a) or (edge_b is not None and b_uses_a)
                keep_b = (edge_a is not None and a_uses_b) or (edge_b is not None and b_uses_b)
                node = _new(node_type)
                node._edges = (
                    edge_a if isinstance(a, Tensor) else no_tensor,
                    edge_b if isinstance(b, Tensor) else no_tensor,
                )
                node._number = next_number()
                frame = _getframe(1)
                code = frame.f_code
                if code is not familiar.code:
                    frame = outside(frame)
                    code = frame.f_code
                node._code = code
                node._instruction = frame.f_lasti
                node._hooks = None
                node._specs = ((y.shape, dtype),)
                node.xp = np
                node._kind = kind
                node.needs_input_grad = (edge_a is not None, edge_b is not None)
                if keep_a or keep_b:
                    entry_a = entry_b = None
                    if keep_a:
                        entry_a = a if a.__class__ is kind and a._buffer is None else _entry(a, edge_a)
                    if keep_b:
                        entry_b = b if b.__class__ is kind and b._buffer is None else _entry(b, edge_b)
                    node._saved = (entry_a, entry_b, None)
                else:
                    node._saved = None
                if mode is not _ON:
                    mode._created(node)
                out._edge = (node, 0)
                return out
            out = _new(kind)
            out._array = y
            out._edge = out._buffer = out._grad = None
            if large:
                watch(out, y)
                made(out)
            return out

        return apply

    apply = build(_refuse_operand)
    operator.operator_form = staticmethod(build(_not_implemented))
    introduce(apply, name, operator, "a", "b")
    operator.apply = staticmethod(apply)
    slow = ElementwiseNode._pull

    def _pull(self: Any, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        saved = self._saved
        if task.record or ct.__class__ is not ndarray or saved is FREED:
            return slow(self, cotangents, task)
        if saved is None:
            a = b = None
        elif saved.__class__ is tuple:
            a, b, y = saved
            if y is not None:
                return slow(self, cotangents, task)
            if a is not None:
                a = a._array if isinstance(a, Tensor) and a._buffer is None else bare(a, self)
            if b is not None:
                b = b._array if isinstance(b, Tensor) and b._buffer is None else bare(b, self)
        else:
            return slow(self, cotangents, task)
        edge_a, edge_b = self._edges
        grad_a = grad_b = None
        running = task.running
        if edge_a and (running is None or task.wants(edge_a)):
            grad_a = rule_a(ct, a, b)
            shape, dtype = edge_a[0]._specs[edge_a[1]]
            if grad_a.shape != shape or grad_a.dtype is not dtype:
                grad_a = fit(self, 0, grad_a, np)
        if edge_b and (running is None or task.wants(edge_b)):
            grad_b = rule_b(ct, a, b)
            shape, dtype = edge_b[0]._specs[edge_b[1]]
            if grad_b.shape != shape or grad_b.dtype is not dtype:
                grad_b = fit(self, 1, grad_b, np)
        return grad_a, grad_b

    if differentiable and not any_y:
        rule_a, rule_b = _raw_rule(partials[0], names_a), _raw_rule(partials[1], names_b)
        node_type._pull = _pull


def _note_reads(mode: Any, a: Any, edge_a: Any, b: Any, edge_b: Any) -> None:
    """Tell a running forward which of the operands are differentiable and not its arguments."""
    inputs = mode._inputs
    if edge_a is not None:
        for value in inputs:
            if value is a:
                break
        else:
            mode._reads(a)
    if edge_b is not None and b is not a:
        for value in inputs:
            if value is b:
                break
        else:
            mode._reads(b)


def _raw_rule(partial: Any, names: tuple[str, ...]) -> Callable[[Any, Any, Any], Any]:
    """``(ct, a, b) -> ct * partial`` on real NumPy arrays."""
    if partial is ONE:
        return lambda ct, a, b: ct
    if partial is MINUS_ONE:
        return lambda ct, a, b: -ct
    if partial is ZERO:
        return lambda ct, a, b: np.zeros_like(ct)
    table: dict[tuple[str, ...], Any] = {
        ("a",): lambda ct, a, b: ct * partial(a),
        ("b",): lambda ct, a, b: ct * partial(b),
        ("a", "b"): lambda ct, a, b: ct * partial(a, b),
        ("xp", "a", "b"): lambda ct, a, b: ct * partial(np, a, b),
    }
    return table[names]


# ------------------------------------------------------------------------------------------------------------ constant
def constant(
    name: str, forward: Callable[..., Any] | None = None, doc: str = "", arguments: tuple[str, ...] = ("a", "b")
) -> type[Primitive]:
    """An elementwise operator without derivative: its result never belongs to a graph, whatever it is applied to.

    Parameters
    ----------
    name
        Name of the operator, and of the function of the array namespace that computes it when `forward` is ``None``.
    forward
        ``forward(xp, *arrays)``, where the namespace has no such function.
    arguments
        The names of the arguments, where there is no `forward` to tell them.
    """
    run = forward if forward is not None else (lambda xp, *args: getattr(xp, name)(*args))
    ufunc = getattr(np, name) if forward is None else functools.partial(forward, np)
    if forward is not None:
        arguments = tuple(inspect.signature(forward).parameters)[1:]
    count = len(arguments)

    def op_forward(ctx: Any, *args: Any) -> Any:
        return run(ctx.xp, *args)

    def build(unsupported: Any) -> Any:
        def apply(*args: Any) -> Any:
            if len(args) != count:
                raise TypeError(f"{name}() takes {count} arguments, but {len(args)} were given")
            kind: Any = None
            first: Any = None
            bare_args = []
            for value in args:
                if isinstance(value, Tensor):
                    kind = value.__class__ if kind is None else _wider(kind, value.__class__)
                    value = first = value._array
                elif not is_operand(value):
                    return unsupported(name, value)
                elif first is None and hasattr(value, "dtype"):
                    first = value
                bare_args.append(value)
            if first is None or first.__class__ is ndarray:
                y = ufunc(*bare_args)
            else:
                y = run(arrays.namespace(first), *bare_args)
            return y if kind is None else wrap(kind, np.asarray(y) if isinstance(y, np.generic) else y)

        return apply

    space = {"forward": staticmethod(op_forward), "__doc__": doc or f"Elementwise ``{name}``.", "__module__": __name__}
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    apply = build(_refuse_operand)
    introduce(apply, name, operator, *arguments)
    operator.apply = staticmethod(apply)
    operator.operator_form = staticmethod(build(_not_implemented))
    return operator
