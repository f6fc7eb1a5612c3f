"""The same derivatives on other routes: whatever is around a Function, it gives what it gives alone, or refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pullback.torch as torch
from pullback.torch import func
from pullback.torch.autograd import Function, grad
from pullback.torch.autograd.graph import saved_tensors_hooks
from pullback.torch.utils.checkpoint import checkpoint
from torch_functions import loading, measure

CASES = {name: case for name, case in loading.cases("pullback").items() if case.stands(1)}
IN_PLACE = {"leaky relu in place", "in-place abn", "in place with mark_dirty", "in place with a copy"}
#: Its backward writes into what numpy() gives of a Tensor that may require gradients, which is then read-only.
WRITES_INTO_NUMPY = {"soft-dtw in numpy"}

Call = Callable[..., Any]


# ---------------------------------------------------------------------------------------------------- what is around
def checkpointed(call: Call) -> Call:
    return lambda *xs: checkpoint(call, *xs, use_reentrant=False)


def packed(call: Call) -> Call:
    """Saved values go through NumPy arrays and back."""

    def packs(*xs: Any) -> Any:
        with saved_tensors_hooks(lambda t: t.detach().numpy().copy(), lambda a: torch.from_numpy(a.copy())):
            return call(*xs)

    return packs


def of_views(call: Call) -> Call:
    """Every input is a strided view of something larger."""

    def views(*xs: Any) -> Any:
        return call(*[torch.stack([x, x], 0)[1] if x.is_floating_point() else x for x in xs])

    return views


class Inside(Function):
    """A Function that calls another one, and differentiates it when it is differentiated itself."""

    @staticmethod
    def forward(ctx, call, *xs):
        ctx.call = call
        ctx.save_for_backward(*xs)
        return call(*xs)

    @staticmethod
    def backward(ctx, *gs):
        create, wanted = torch.is_grad_enabled(), ctx.needs_input_grad[1:]
        with torch.enable_grad():
            xs = [
                (x * 1 if create else x.detach().requires_grad_()) if w else x
                for x, w in zip(ctx.saved_tensors, wanted)
            ]
            ys = ctx.call(*xs)
        ys, gs = zip(*[(y, g) for y, g in zip(ys if isinstance(ys, tuple) else (ys,), gs) if y.requires_grad])
        found = iter(grad(ys, [x for x, w in zip(xs, wanted) if w], gs, create_graph=create, allow_unused=True))
        return (None, *[next(found) if w else None for w in wanted])


class KeepsGraph(Function):
    """The graph is recorded in forward, on detached inputs, and walked in backward."""

    @staticmethod
    def forward(ctx, call, *xs):
        with torch.enable_grad():
            ctx.xs = [x.detach().requires_grad_() if x.requires_grad else x for x in xs]
            ys = call(*[x * 1 if x.requires_grad else x for x in ctx.xs])
        ctx.ys = ys if isinstance(ys, tuple) else (ys,)
        results = tuple([y.detach() for y in ctx.ys])
        return results if isinstance(ys, tuple) else results[0]

    @staticmethod
    def backward(ctx, *gs):
        wanted = ctx.needs_input_grad[1:]
        ys, gs = zip(*[(y, g) for y, g in zip(ctx.ys, gs) if y.requires_grad])
        inputs = [x for x, w in zip(ctx.xs, wanted) if w]
        found = iter(grad(ys, inputs, gs, create_graph=torch.is_grad_enabled(), retain_graph=True, allow_unused=True))
        return (None, *[next(found) if w else None for w in wanted])


def inside(call: Call) -> Call:
    return lambda *xs: Inside.apply(call, *xs)


def keeps_graph(call: Call) -> Call:
    return lambda *xs: KeepsGraph.apply(call, *xs)


#: A result that is marked as not differentiable: the Function around it, which marks nothing, gives it a gradient.
MARKS_A_RESULT = {"binary active"}
ROUTES = {
    "checkpointed": (checkpointed, IN_PLACE),
    "packed": (packed, set()),
    "of views": (of_views, set()),
    "inside a function": (inside, IN_PLACE | MARKS_A_RESULT),
    "graph on ctx": (keeps_graph, IN_PLACE | WRITES_INTO_NUMPY | MARKS_A_RESULT),
}


# -------------------------------------------------------------------------------------------------------------- tests
@pytest.mark.slow
@pytest.mark.parametrize("route", list(ROUTES))
@pytest.mark.parametrize("name", sorted(CASES))
def test_other_routes_give_the_same(name: str, route: str) -> None:
    case = CASES[name]
    around, without = ROUTES[route]
    if name in without:
        return
    with case.warned():
        point = measure.start(torch, case)
        other = measure.Point(replace(case, call=around(case.call)), point.inputs, point.seeds)
        for order in (1, 2) if case.stands(2) else (1,):
            if route == "graph on ctx" and order > 1:  # it cannot tell how the inputs are connected
                with pytest.raises(RuntimeError, match="is refused"):
                    measure.derivatives(torch, other, order)
                break
            close(measure.derivatives(torch, other, order), measure.derivatives(torch, point, order))


def close(found: list[np.ndarray], right: list[np.ndarray]) -> None:
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


def of_inputs(point: measure.Point) -> tuple[Call, list[Any]]:
    """The loss as a function of the differentiated inputs, and these."""
    case = point.case
    wanted = case.differentiated()

    def value(*xs: Any) -> Any:
        given = iter(xs)
        outputs = case.call(
            *[next(given) * 1 if w else torch.tensor(a) for a, w in zip(point.inputs, wanted, strict=True)]
        )
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        total = 0.0
        for y, seed in zip(differentiable(outputs), point.seeds, strict=False):
            y = y.real + y.imag * 0.7 if y.is_complex() else y
            total = total + (torch.tensor(seed) * (y + 0.5 * y * y if case.exact else y)).sum()
        return total

    return value, [torch.tensor(a) for a, w in zip(point.inputs, wanted, strict=True) if w]


def differentiable(outputs: Any) -> list[Any]:
    return [y for y in outputs if torch.is_tensor(y) and (y.is_floating_point() or y.is_complex())]


#: Its jvp gives a new Tensor where forward gives a view, which torch refuses, too.
NO_FORWARD_MODE = {"scaled gradient with setup_context"}
#: Their gradients are not their cotangents times something, so that no tangent can be derived.
NOT_LINEAR = {"l1 of adders", "clipped gradient", "clipped norm", "normalised gradient", "center loss"}


@pytest.mark.parametrize("name", sorted(n for n, case in CASES.items() if case.stands(3) and n not in NO_FORWARD_MODE))
def test_forward_over_reverse(name: str) -> None:
    """The tangent of the gradient, against differences of the gradient."""
    case = CASES[name]
    if case.torch_second == "meant":
        return
    with case.warned():
        value, xs = of_inputs(measure.start(torch, case))
        rng = np.random.default_rng(0)
        along = [torch.tensor(measure.direction(rng, x.numpy())) for x in xs]

        def gradient(*points: Any) -> Any:
            return func.grad(value, argnums=tuple(range(len(xs))))(*points)

        if name in NOT_LINEAR:
            with pytest.raises(RuntimeError, match="not linear"):
                func.jvp(gradient, tuple(xs), tuple(along))
            return
        _, found = func.jvp(gradient, tuple(xs), tuple(along))
        step = measure.LONG_STEP if case.loose else measure.STEP

        def at(t: float) -> list[np.ndarray]:
            return [g.detach().numpy() for g in gradient(*[x + t * u for x, u in zip(xs, along, strict=True)])]

        values = [at(k * step) for k in (1, -1, 2, -2)]
        for tangent, a, b, c, d in zip(found, *values, strict=True):
            tolerance = 30 * case.loose or 1e-6
            slope = (8 * (a - b) - (c - d)) / (12 * step)
            atol = tolerance * (1 + np.abs(a).max())
            np.testing.assert_allclose(tangent.detach().numpy(), slope, rtol=10 * tolerance, atol=atol)
