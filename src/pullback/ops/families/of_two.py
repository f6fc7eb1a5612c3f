"""Elementwise, broadcasting operators of two arguments, from their partial derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.dual import OPEN, dual_at
from pullback.core.elision import made, temporary
from pullback.core.graph import NOT_A_TENSOR, next_number
from pullback.core.mistakes import explain_call
from pullback.core.places import familiar, outside
from pullback.core.primitive import Primitive
from pullback.core.primitive_node import SavedConstant, bare
from pullback.core.recycling import LARGE, compute, watch
from pullback.core.rules import fit
from pullback.core.saved import pack
from pullback.core.tensor import Tensor
from pullback.ops.families.elementwise import (
    MINUS_ONE,
    ONE,
    ZERO,
    ElementwiseNode,
    carry,
    directional,
    note_reads,
    select,
    times,
)
from pullback.ops.families.functions import function_of, introduce, is_operand, not_implemented, refuse_operand

ndarray = np.ndarray
_new = object.__new__
_current = modes.current
_ON, _OFF, _Special = modes.ON, modes.OFF, modes.Special
_F8, _F4 = np.dtype(np.float64), np.dtype(np.float32)


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
    doc
        The first line of the docstring, of the operator and of its function: the function, then the vjp.
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
                grads.append(times(ct, partial(*[values[n] for n in names]), ctx.xp))
        return tuple(grads)

    space = {
        "forward": staticmethod(op_forward),
        "backward": staticmethod(op_backward),
        "mask_rule": staticmethod(carry if all(isinstance(p, str) for p in partials) else select),
        "node_name": node_name or f"{name.title().replace('_', '')}Backward0",
        "node_base": ElementwiseNode,
        "jvp": staticmethod(directional(("a", "b"), partials, uses)),
        "__doc__": doc or f"Elementwise ``{name}``.",
        "__module__": __name__,
    }
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    ufunc = getattr(np, name, None) if forward is None else (lambda a, b: run(np, a, b))
    if ufunc is not None:
        _quicken_binary(name, operator, ufunc, partials, uses, None if numbers_count else NOT_A_TENSOR)
    else:
        operator.apply = staticmethod(function_of(operator, name, "a", "b"))
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
                if mode is not _ON and mode.__class__ is _Special and mode._settings.operators is not None:
                    return general(a, b)
                if mode is not _ON and not mode._recording:
                    if OPEN and (dual_at(edge_a) or dual_at(edge_b)):
                        return dual.push(operator, (a, b), {})
                    if mode is not _OFF:
                        first = mode._inputs[0] if mode._inputs else None
                        if (edge_a is not None and a is not first) or (edge_b is not None and b is not first):
                            note_reads(mode, a, edge_a, b, edge_b)
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
            try:
                if large:
                    memory = temporary(ufunc, a, b, array_a, array_b)
                    y = compute(ufunc, array_a, array_b) if memory is None else ufunc(array_a, array_b, out=memory)
                else:
                    y = ufunc(array_a, array_b)
            except Exception as error:
                explain_call(error, name, ("a", "b"), (array_a, array_b), {})
                raise
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
                try:
                    frame = _getframe(1)
                except ValueError:  # called by the interpreter itself, see `places.caller`
                    frame = _getframe()
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
                made(out, a, b, memory is not None)
            return out

        return apply

    apply = build(refuse_operand)
    operator.operator_form = staticmethod(build(not_implemented))
    introduce(apply, name, operator, "a", "b")
    operator.apply = staticmethod(apply)
    slow = ElementwiseNode._pull

    def _pull(self: Any, cotangents: list[Any], task: Any) -> Any:
        ct = cotangents[0]
        saved = self._saved
        if task.record or ct.__class__ is not ndarray:
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
