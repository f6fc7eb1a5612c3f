"""Results that carry no derivative, and do not say so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pullback.lint.analysis import Analysis
from pullback.lint.rule import Hit, rule
from pullback.lint.values import INDEX, MASK, Value


def _unmarked(analysis: Analysis) -> Iterator[tuple[int, Value, ast.AST]]:
    """The results that are masks or indices and are not marked: number, value, and the ``return``."""
    if analysis.forward is None or any(called.starred for called in analysis.ctx_calls("mark_non_differentiable")):
        return
    marked: frozenset[object] = frozenset().union(
        *(value.same for _, _, value in analysis.marked("mark_non_differentiable"))
    )
    for event, row in zip(analysis.forward.returned, analysis.outputs, strict=True):
        if len(row) < 2:
            continue  # rounding and its like are functions of their own
        for k, value in enumerate(row):
            if value.kind in {MASK, INDEX} and value.touched | value.same and not value.same & marked:
                yield k, value, event.node


@rule("PB406", "float-mask-unmarked", "error")
def float_mask_unmarked(analysis: Analysis) -> Iterator[Hit]:
    """A mask or an index that was made floating point is returned without a mark.

    What it does
        Looks for comparisons and indices that are cast to floating point and returned beside other results.

    Why it is bad
        An integer or boolean result never requires a gradient. As a floating-point number it does: it looks differentiable,
        takes part in later derivatives, and its own derivative is whatever backward happens to say.

    Example
        class Relu(Function):
            @staticmethod
            def forward(ctx, x):
                mask = (x > 0).float()
                ctx.save_for_backward(mask)
                return x * mask, mask  # PB406

            @staticmethod
            def backward(ctx, grad, _):
                (mask,) = ctx.saved_tensors
                return grad * mask

    Use instead
        class Relu(Function):
            @staticmethod
            def forward(ctx, x):
                mask = (x > 0).float()
                ctx.save_for_backward(mask)
                ctx.mark_non_differentiable(mask)
                return x * mask, mask

            @staticmethod
            def backward(ctx, grad, _):
                (mask,) = ctx.saved_tensors
                return grad * mask
    """
    for k, value, node in _unmarked(analysis):
        if value.cast:
            label = value.text or f"result {k}"
            yield Hit(
                node,
                f"{label} is a mask or an index in floating point, and looks differentiable",
                f"ctx.mark_non_differentiable({value.text or '…'})",
            )


@rule("PB407", "index-unmarked", "style")
def index_unmarked(analysis: Analysis) -> Iterator[Hit]:
    """An index or a mask is returned without a mark.

    What it does
        Looks for integer and boolean results that stand beside differentiable ones and are not marked.

    Why it is bad
        It works, because such results never require gradients. The mark says that it is meant, and backward is not handed
        an array of zeros for it.

    Example
        class Maximum(Function):
            @staticmethod
            def forward(ctx, x):
                y, index = x.max(dim=0)
                ctx.save_for_backward(index)
                ctx.shape = x.shape
                return y, index  # PB407

            @staticmethod
            def backward(ctx, grad, _):
                (index,) = ctx.saved_tensors
                return grad.new_zeros(ctx.shape).scatter(0, index[None], grad[None])

    Use instead
        class Maximum(Function):
            @staticmethod
            def forward(ctx, x):
                y, index = x.max(dim=0)
                ctx.mark_non_differentiable(index)
                ctx.save_for_backward(index)
                ctx.shape = x.shape
                return y, index

            @staticmethod
            def backward(ctx, grad, _):
                (index,) = ctx.saved_tensors
                return grad.new_zeros(ctx.shape).scatter(0, index[None], grad[None])
    """
    for k, value, node in _unmarked(analysis):
        if not value.cast and not analysis.operator.primitive:
            yield Hit(
                node,
                f"{value.text or f'result {k}'} is an index or a mask, and not marked",
                f"ctx.mark_non_differentiable({value.text or '…'})",
            )
