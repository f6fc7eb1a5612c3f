"""Convolutions of neural networks: sums of products of a kernel with the windows of a signal, over channels and in groups.

``F(x, w, y) = Σ y[n, g, o, t] w[g, o, c, k] x[n, g, c, step t + gap k]`` is linear in the signal x, the kernel w and the output
y.  Its derivatives by y, w and x are the convolution, the gradient of a kernel and the transposed convolution.  So one
operator, which leaves one of the three out, is the rule of itself, at any order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.primitive import Primitive
from pullback.ops.axes import conj
from pullback.ops.registry import Make, Sample, register
from pullback.ops.windows import Grid, add_windows, check_fit, read_windows

#: Which two of the three are given, for the one that is sought.
_GIVEN = {"y": ("x", "w"), "w": ("x", "y"), "x": ("w", "y")}


class Correlate(Primitive):
    """The derivative of ``F(x, w, y)`` by one of the three.  vjp: the derivative by another, of ȳ and what is left, conjugated"""

    node_name = "ConvolutionBackward0"

    @staticmethod
    def forward(ctx: Any, first: Any, second: Any, *, sought: str, grid: Grid, shape: Any) -> Any:
        ctx.options = {"grid": grid, "shape": shape}
        ctx.sought = sought
        need_first, need_second = ctx.needs_input_grad
        ctx.save_for_backward(first if need_second else None, second if need_first else None)
        return _RUN[sought](ctx.xp, first, second, grid, shape)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        saved = dict(zip(_GIVEN[ctx.sought], ctx.saved_tensors, strict=True))
        grads: list[Any] = []
        for need, name in zip(ctx.needs_input_grad, _GIVEN[ctx.sought], strict=True):
            if not need:
                grads.append(None)
                continue
            (other,) = (value for key, value in saved.items() if key != name)
            pair = {ctx.sought: ct, **{key: conj(ctx.xp, other) for key in saved if key != name}}
            grads.append(Correlate.apply(*[pair[key] for key in _GIVEN[name]], sought=name, **ctx.options))
        return tuple(grads)


def _columns(xp: Any, x: Any, grid: Grid) -> Any:
    """The windows of a signal (N, G, C, *S) as rows: (G, N T, C K)."""
    ndim = len(grid.sizes)
    found = read_windows(x, grid)  # N, G, C, *T, *K
    places, entries = range(3, 3 + ndim), range(3 + ndim, 3 + 2 * ndim)
    found = xp.permute_dims(found, (1, 0, *places, 2, *entries))
    counts = found.shape[2 : 2 + ndim]
    rows, length = found.shape[1] * math.prod(counts), math.prod(found.shape[2 + ndim :])
    return xp.reshape(found, (found.shape[0], rows, length)), counts


def _kernel(xp: Any, w: Any) -> Any:
    """A kernel (G, O, C, *K) as matrices: (G, C K, O)."""
    rows = xp.reshape(w, (*w.shape[:2], math.prod(w.shape[2:])))
    return xp.permute_dims(rows, (0, 2, 1))


def _outputs(xp: Any, y: Any) -> Any:
    """Outputs (N, G, O, *T) as rows: (G, N T, O)."""
    found = xp.permute_dims(y, (1, 0, *range(3, len(y.shape)), 2))
    return xp.reshape(found, (found.shape[0], math.prod(found.shape[1:-1]), found.shape[-1]))


def _by_output(xp: Any, x: Any, w: Any, grid: Grid, shape: Any) -> Any:
    rows, counts = _columns(xp, x, grid)
    found = xp.matmul(rows, _kernel(xp, w))  # G, N T, O
    found = xp.reshape(found, (found.shape[0], x.shape[0], *counts, found.shape[-1]))
    return xp.permute_dims(found, (1, 0, len(found.shape) - 1, *range(2, len(found.shape) - 1)))


def _by_kernel(xp: Any, x: Any, y: Any, grid: Grid, shape: Any) -> Any:
    rows, _ = _columns(xp, x, grid)
    found = xp.matmul(xp.permute_dims(_outputs(xp, y), (0, 2, 1)), rows)  # G, O, C K
    return xp.reshape(found, (*found.shape[:2], x.shape[2], *grid.sizes))


def _by_signal(xp: Any, w: Any, y: Any, grid: Grid, shape: Any) -> Any:
    kernel = xp.permute_dims(_kernel(xp, w), (0, 2, 1))  # G, O, C K
    found = xp.matmul(_outputs(xp, y), kernel)
    found = xp.reshape(found, (found.shape[0], y.shape[0], *y.shape[3:], w.shape[2], *grid.sizes))
    ndim = len(grid.sizes)
    places, entries = range(2, 2 + ndim), range(3 + ndim, 3 + 2 * ndim)
    return add_windows(xp.permute_dims(found, (1, 0, 2 + ndim, *places, *entries)), shape, grid)


_RUN = {"y": _by_output, "w": _by_kernel, "x": _by_signal}


def _check_channels(signal: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    if signal != kernel:
        raise lesson(RuntimeError, f"the signal has {signal} groups and channels, the kernel is for {kernel}")


def correlate(x: Any, w: Any, /, *, steps: Any, gaps: Any) -> Any:
    """``y[n, g, o, t] = Σ w[g, o, c, k] x[n, g, c, step t + gap k]``: a convolution without padding, in groups g.

    Parameters
    ----------
    x
        The signal, (N, G, C, *S).
    w
        The kernel, (G, O, C, *K).
    steps, gaps
        The distance of neighbouring windows, and of the entries of one, along each of the last axes.

    Returns
    -------
    A Tensor (N, G, O, *T).
    """
    _check_channels(tuple(x.shape[1:3]), (w.shape[0], w.shape[2]))
    shape = tuple(x.shape[3:])
    grid = Grid(tuple(w.shape[3:]), tuple(steps), tuple(gaps))
    check_fit(shape, grid)
    return Correlate.apply(x, w, sought="y", grid=grid, shape=shape)


def correlate_transposed(w: Any, y: Any, /, *, steps: Any, gaps: Any, shape: Any) -> Any:
    """The adjoint of `correlate` in x: from y (N, G, O, *T) to (N, G, C, *S), where `shape` is S."""
    _check_channels(tuple(y.shape[1:3]), tuple(w.shape[:2]))
    grid = Grid(tuple(w.shape[3:]), tuple(steps), tuple(gaps))
    return Correlate.apply(w, y, sought="x", grid=grid, shape=tuple(shape))


def _signals(make: Make) -> Any:
    yield Sample((make(1, 1, 1, 4), make(1, 1, 1, 2)), {"steps": (1,), "gaps": (1,)})
    yield Sample((make(2, 2, 1, 6), make(2, 2, 1, 2)), {"steps": (2,), "gaps": (3,)})
    yield Sample((make(1, 1, 2, 3, 4), make(1, 2, 2, 2, 2)), {"steps": (1, 2), "gaps": (1, 1)})
    yield Sample((make(0, 1, 1, 4), make(1, 1, 1, 2)), {"steps": (1,), "gaps": (1,)})


def _transposed(make: Make) -> Any:
    yield Sample((make(1, 1, 1, 2), make(1, 1, 1, 3)), {"steps": (1,), "gaps": (1,), "shape": (4,)})
    yield Sample((make(2, 2, 1, 2), make(1, 2, 2, 2)), {"steps": (2,), "gaps": (1,), "shape": (5,)})


def _windows_of(x: Any, w: Any, steps: Any, gaps: Any) -> Any:
    return read_windows(x, Grid(tuple(w.shape[3:]), tuple(steps), tuple(gaps)))


def _reference(x: Any, w: Any, *, steps: Any, gaps: Any) -> Any:
    """By its definition, in an equation."""
    if x.shape[1:3] != (w.shape[0], w.shape[2]):
        raise ValueError("the groups or channels differ")
    k, t = "klm"[: len(steps)], "tuv"[: len(steps)]
    return np.einsum(f"ngc{t}{k},goc{k}->ngo{t}", _windows_of(x, w, steps, gaps), w)


def _transposed_reference(w: Any, y: Any, *, steps: Any, gaps: Any, shape: Any) -> Any:
    if y.shape[1:3] != w.shape[:2]:
        raise ValueError("the groups or channels differ")
    total = np.zeros((y.shape[0], y.shape[1], w.shape[2], *shape), dtype=np.result_type(w, y))
    for t in range(y.shape[3]):
        for k in range(w.shape[3]):
            total[..., steps[0] * t + gaps[0] * k] += np.einsum("goc,ngo->ngc", w[..., k], y[..., t])
    return total


register("correlate", Correlate, _signals, call=correlate, reference=_reference, public=False)
register(
    "correlate_transposed",
    Correlate,
    _transposed,
    call=correlate_transposed,
    reference=_transposed_reference,
    public=False,
)
