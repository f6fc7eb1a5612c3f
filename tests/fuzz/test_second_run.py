"""Random programs that write in place, run again and recorded: inside a forward that saves their result, and inside a backward.

Nothing is recorded when such a program first runs, so it may write over whatever its operators would have saved.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback.torch as torch
from pullback.torch.autograd import Function, grad

PROGRAMS = 60
STEP = 1e-5


def program(seed: int) -> Callable[[Any], Any]:
    """A function of four numbers, which computes, views and writes at random."""

    def run(x: Any) -> Any:
        draw = random.Random(seed)
        own = [torch.sin(x), torch.ones(4, dtype=x.dtype), x * 0.5 + 1]
        for _ in range(draw.randint(4, 14)):
            a, b = draw.choice([x, *own]), draw.choice([x, *own])
            if draw.random() < 0.45:
                own.append(draw.choice(COMPUTE)(a, b))
            else:
                target = draw.choice(VIEWS)(draw.choice(own))
                source = b.reshape(-1)[: target.numel()].reshape(target.shape)
                draw.choice(WRITE)(target, source.clone() if draw.random() < 0.5 else source)
        return sum(weight * t for weight, t in zip(np.linspace(0.3, 1.7, len(own)).tolist(), own, strict=True))

    return run


COMPUTE = [
    lambda a, b: a * b,
    lambda a, b: torch.exp(a * 0.3),
    lambda a, b: torch.sin(a) + b,
    lambda a, b: a / (1 + b * b),
    lambda a, b: torch.softmax(a, 0),
    lambda a, b: a.clone(),
    lambda a, b: torch.cumsum(a, 0),
]
VIEWS = [
    lambda t: t,
    lambda t: t[1:3],
    lambda t: t[::2],
    lambda t: t[-1:],
    lambda t: t.view(2, 2)[0],
    lambda t: t.view(2, 2).t()[1],
    lambda t: t.view(2, 2).diagonal(),
]


def _set_one(t: Any, s: Any) -> None:
    t[0] = s.sum()


def _set_by_index(t: Any, s: Any) -> None:
    t[torch.tensor([0, t.numel() - 1])] = s.sum() * 2 if t.dim() else s


WRITE = [
    lambda t, s: t.mul_(s),
    lambda t, s: t.add_(s),
    lambda t, s: t.copy_(torch.cos(s)),
    lambda t, s: t.mul_(0.7).add_(0.1),
    lambda t, s: t.zero_(),
    lambda t, s: t.sin_(),
    _set_one,
    _set_by_index,
]


def in_forward(run: Callable[[Any], Any]) -> type[Function]:
    """The program makes an intermediate, by which backward multiplies."""

    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            made = run(x)
            ctx.save_for_backward(made)
            return made.clone()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    return Saves


def in_backward(run: Callable[[Any], Any]) -> type[Function]:
    """The program runs in backward, on a saved input."""

    class Runs(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * run(ctx.saved_tensors[0])

    return Runs


@pytest.mark.parametrize("where", [in_forward, in_backward])
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_programs_that_write(seed: int, where: Callable[[Any], type[Function]]) -> None:
    run = program(seed)
    rng = np.random.default_rng(seed)
    point, weights, along = rng.uniform(0.3, 1.2, 4), rng.standard_normal(4), rng.standard_normal(4)

    def at(t: float) -> Any:
        return run(torch.tensor(point + t * along)).numpy()

    x = torch.tensor(point).requires_grad_()
    (first,) = grad(where(run).apply(x), x, torch.tensor(weights), create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), weights * at(0))
    (second,) = grad(first.sum(), x)
    slope = (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)
    np.testing.assert_allclose(second.numpy() @ along, weights @ slope, rtol=1e-6, atol=1e-6)
