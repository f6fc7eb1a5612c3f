"""Elementwise operators of one argument, from their partial derivative."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from sys import _getframe
from typing import Any

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.dual import OPEN, dual_at
from pullback.core.graph import next_number
from pullback.core.masked import Masked
from pullback.core.mistakes import explain_call
from pullback.core.places import familiar, outside
from pullback.core.primitive import Primitive
from pullback.core.saved import pack, saved_result
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
from pullback.ops.families.functions import function_of, introduce

ndarray = np.ndarray
_new = object.__new__
_current = modes.current
_ON, _OFF, _Special = modes.ON, modes.OFF, modes.Special
_F8, _F4 = np.dtype(np.float64), np.dtype(np.float32)


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
    doc
        The first line of the docstring, of the operator and of its function: the function, then the vjp.
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
        return times(ct, slope, ctx.xp)

    ufunc = getattr(np, name, None) if forward is None else None
    space = {
        "forward": staticmethod(op_forward),
        "backward": staticmethod(backward or op_backward),
        "mask_rule": staticmethod(carry if isinstance(partial, str) else select),
        "node_name": node_name or f"{name.title().replace('_', '')}Backward0",
        "node_base": ElementwiseNode,
        "jvp": None if backward else staticmethod(directional(("x",), (partial,), (uses,))),
        "__doc__": doc or f"Elementwise ``{name}``.",
        "__module__": __name__,
    }
    operator: Any = type(name.title().replace("_", ""), (Primitive,), space)
    if (ufunc is None and forward is None) or (saves_input and saves_output):
        operator.apply = staticmethod(function_of(operator, name, "x"))
    else:
        _quicken_unary(name, operator, ufunc if ufunc is not None else (lambda x: run(np, x)), partial, uses)
    return operator


def _quicken_unary(name: str, operator: Any, ufunc: Any, partial: Any, uses: tuple[str, ...]) -> None:
    """The short path of `apply` and `pull`: one Python call each, besides the partial derivative."""
    node_type: Any = type(operator._node.__name__, (operator._node,), {"__slots__": (), "__module__": __name__})
    node_type.xp, node_type.needs_input_grad = np, (True,)  # the same for every node made here
    general = operator.apply
    saves_input, saves_output = "x" in uses, "y" in uses

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
            if mode is not _ON and mode.__class__ is _Special and mode._settings.operators is not None:
                return general(x)
            if mode is not _ON and not mode._recording:
                if OPEN and dual_at(edge) is not None:
                    return dual.push(operator, (x,), {})
                if mode is not _OFF:
                    note_reads(mode, x, edge, x, edge)
                edge = None
        try:
            y = ufunc(array)
        except Exception as error:
            explain_call(error, name, ("x",), (array,), {})
            raise
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
        if task.record or ct.__class__ is not ndarray:
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
