"""What ``forward`` returned, given its place in the graph.

Per output: marked dirty → the same object with a new history; an input returned as it is → a view of it that belongs to this
node; not differentiable → no history; anything else → this node becomes its ``grad_fn``.
"""

from __future__ import annotations

import warnings
from typing import Any

from pullback.core import arrays, modes, views
from pullback.core.contents import tensors_in
from pullback.core.errors import lesson
from pullback.core.mistakes import explain_forward, not_a_result, warn_of_no_result
from pullback.core.outside import note_write
from pullback.core.tensor import Leaf, Tensor, wrap
from pullback.core.views import View


def plain_outputs(ctx: Any, args: tuple[Any, ...], result: Any) -> Any:
    """The outputs of a call that is not recorded: without history, and never the very input object."""
    if isinstance(result, Tensor):
        if result._edge is None and all(value is not result for value in args):
            return result
        return _plain(ctx, args, result)
    if result.__class__ is tuple or isinstance(result, tuple):
        return tuple([_plain(ctx, args, r) if isinstance(r, Tensor) else r for r in result])
    return result


def _plain(ctx: Any, args: tuple[Any, ...], output: Tensor) -> Tensor:
    if ctx._marks is not None and any(output is dirty for dirty in ctx._marks.dirty):
        return output
    if any(value is output for value in args):
        return _alias(output, None, f"Output of {ctx._operator.__name__} is a view")
    view = output._view
    if view is not None and any(view.base is value or view.base is _base(value) for value in args):
        view.forbidden = view.forbidden or f"Output of {ctx._operator.__name__} is a view"
    if output._edge is not None and output.requires_grad:
        return wrap(type(output), output._array, output._shared_buffer())
    return output


def _base(value: Any) -> Any:
    view = value._view if isinstance(value, Tensor) else None
    return None if view is None else view.base


def attach(ctx: Any, args: tuple[Any, ...], result: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Make `ctx` the node of the outputs.

    Returns what apply returns, what forward made (``None`` for an input handed back), and the outputs.  Outputs are new
    Tensors over the same memory, so that a Tensor which forward did not make itself keeps its own place; only dirty inputs
    are themselves.
    """
    try:
        return _attach(ctx, args, result)
    except Exception as error:
        explain_forward(ctx._operator, error)
        raise


def _attach(ctx: Any, args: tuple[Any, ...], result: Any) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    single = not isinstance(result, tuple)
    raw = (result,) if single else tuple(result)
    for output in raw:
        if not isinstance(output, Tensor) and any(arrays.is_inexact(t.dtype) for t in tensors_in(output)):
            raise lesson(
                RuntimeError,
                f"{ctx._operator.__name__}.forward returned a {type(output).__name__} of Tensors",
                why="only a Tensor or a flat tuple of them is connected to the graph; the Tensors in a container would "
                "silently lose their gradients.",
                instead="return a tuple, return a, b; and let a small function around apply() build the container.",
            )
    if result is None:
        warn_of_no_result(ctx._operator)
    if not any(isinstance(output, Tensor) for output in raw) and any(map(_is_number_like, raw)):
        raise not_a_result(ctx._operator, result, "Tensor", "return pullback.asarray(result).")
    marks = ctx._marks
    dirty = marks.dirty if marks is not None else ()
    _check_dirty(ctx, args, raw, dirty)
    inexact = [isinstance(r, Tensor) and arrays.is_inexact(r.dtype) for r in raw]
    skip = marks.non_differentiable if marks is not None else ()
    ctx._specs = tuple([(r._array.shape, r.dtype) if isinstance(r, Tensor) else None for r in raw])
    outputs: list[Any] = []
    for position, output in enumerate(raw):
        earlier = next((k for k in range(position) if raw[k] is output), None)
        if not isinstance(output, Tensor):
            outputs.append(output)
        elif earlier is not None and outputs[earlier] is not output and all(output is not value for value in args):
            outputs.append(outputs[earlier])  # one new Tensor returned twice is one output, at the last place
            _move_to(outputs[earlier], ctx, position)
        elif not inexact[position] or any(output is t for t in skip):
            outputs.append(_without_history(ctx, args, output, dirty))
            if not ctx._materialize_non_diff_grads:
                marks = ctx._marked()
                marks.non_differentiable = (*marks.non_differentiable, position)
        else:
            outputs.append(_with_history(ctx, args, output, position, dirty, len(raw)))
    made = [None if any(r is value for value in args) and all(r is not d for d in dirty) else r for r in raw]
    return (outputs[0] if single else tuple(outputs)), tuple(made), tuple(outputs)


def _is_number_like(output: Any) -> bool:
    """True for what ought to have been a Tensor: floating-point arrays and numbers."""
    return isinstance(output, (float, complex)) or (
        arrays.is_array(output) and arrays.is_inexact(arrays.dtype_of(output))
    )


def _move_to(output: Tensor, ctx: Any, position: int) -> None:
    edge = output._edge
    if edge.__class__ is tuple:
        output._edge = (ctx, position)
    elif edge is not None:
        edge.edge = (ctx, position)


def _without_history(ctx: Any, args: Any, output: Tensor, dirty: Any) -> Tensor:
    if any(output is d for d in dirty):
        output._edge = None
        return output
    if any(value is output for value in args):
        return _alias(output, None, _view_name(ctx, 0))
    if output._edge is not None and output.requires_grad:
        return wrap(type(output), output._array, output._shared_buffer())
    return output


def _with_history(ctx: Any, args: Any, output: Tensor, position: int, dirty: Any, count: int) -> Tensor:
    edge = (ctx, position)
    if any(output is d for d in dirty):
        output._shared_buffer().touch()
        modes.current()._wrote(output)
        views.rebase(output, edge)
        return output
    if any(value is output for value in args) or (output._edge is not None and output._born() < ctx._number):
        return _alias(output, edge, _view_name(ctx, position))
    fresh = wrap(type(output), output._array, output._buffer, edge)
    if output._view is not None:
        fresh._edge = View(output._view.base, output._view.steps, edge, _view_name(ctx, position))
    return fresh


def _view_name(ctx: Any, position: int) -> str:
    return f"Output {position} of {ctx._operator.__name__} is a view"


def _alias(source: Tensor, edge: Any, forbidden: str) -> Tensor:
    """A new Tensor over the same memory: the view of an input that was returned as it is."""
    alias = wrap(type(source), source._array, source._shared_buffer(), edge)
    base = source if source._view is None else source._view.base
    steps = () if source._view is None else source._view.steps
    alias._edge = View(base, steps, edge, forbidden)
    return alias


def _check_dirty(ctx: Any, args: Any, raw: tuple[Any, ...], dirty: tuple[Any, ...]) -> None:
    name = ctx._operator.__name__
    for tensor in dirty:
        if not isinstance(tensor, Tensor):
            raise lesson(
                RuntimeError,
                f"mark_dirty can only accept variables, but an argument is of type {type(tensor).__name__}",
                instead="the input Tensors that forward wrote into.",
            )
        if all(tensor is not value for value in args):
            warnings.warn(
                f"ctx.mark_dirty() in {name}.forward received a tensor that was not an input. Only input Tensors that have "
                "been mutated should be passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=4,
            )
            continue
        if tensor._edge.__class__ is Leaf:
            views._refuse_leaf("a leaf Variable that requires grad has been used in an in-place operation.")
        if tensor._view is not None and tensor._view.base._edge.__class__ is Leaf:
            views._refuse_leaf("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if all(tensor is not output for output in raw):
            raise lesson(
                RuntimeError,
                f"Some elements marked as dirty during the forward method were not returned as output: {name}. The inputs that "
                "are modified inplace must all be outputs of the Function.",
                why="the new value needs a place in the graph, and only outputs have one.",
                instead="return the changed input from forward.",
            )
        if tensor._view is not None and len(raw) > 1:
            raise lesson(
                RuntimeError,
                f"If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
                f"than one Tensor: {name}",
                why="the history of the base would have to go through one of several outputs.",
                instead="clone() the input first, or split the Function: one that writes, one that computes the rest.",
            )
    if ctx._marks is not None:
        _check_undeclared(ctx, args, raw, dirty)


def _check_undeclared(ctx: Any, args: Any, raw: tuple[Any, ...], dirty: tuple[Any, ...]) -> None:
    """An input that was written without mark_dirty: its graph would still describe the old value."""
    if ctx._marks.late is not None:
        raise lesson(
            RuntimeError,
            f"{ctx._operator.__name__}.forward wrote into a Tensor after giving it to ctx.save_for_backward",
            why="backward would get the new values where the old ones were meant.",
            instead="save x.clone() before the write; or call save_for_backward after it, when the new values are meant.",
        )
    for written in ctx._marks.written:
        note_write(ctx._operator, written)
        if any(written is d or (written._view is not None and written._view.base is d) for d in dirty):
            continue
        for position, (value, edge) in enumerate(zip(args, ctx._edges, strict=True)):
            if not isinstance(value, Tensor) or value._buffer is None or value._buffer is not written._buffer:
                continue
            if any(value is d or value._buffer is d._buffer for d in dirty):
                continue
            if edge or any(value is output for output in raw):
                from pullback.core.rules import argument

                raise lesson(
                    RuntimeError,
                    f"{ctx._operator.__name__}.forward wrote into its input {argument(ctx, position)} in place without "
                    "ctx.mark_dirty",
                    why="whoever uses that Tensor later would see the new values with the old gradient.",
                    instead="ctx.mark_dirty(x) and return x; or write into x.clone().",
                )
