"""Random programs that write into what was saved, inside `allow_mutation_on_saved_tensors`: right to second order."""

import random

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import grad
from pullback.autograd.graph import allow_mutation_on_saved_tensors

POINT = np.array([[0.5, 1.0, -0.5], [0.7, -1.0, 0.3]])
VALUES = (
    lambda a, b: a * b if a.shape == b.shape else a * 2,
    lambda a, b: pb.exp(a) * 0.3,
    lambda a, b: pb.sin(a),
    lambda a, b: a * a,
    lambda a, b: pb.tanh(a),
)
VIEWS = (lambda a: a[0], lambda a: a[..., 1:], lambda a: a.T if a.ndim == 2 else a[...], lambda a: a[...])
WRITES = (
    lambda a, b: a.mul_(1.5),
    lambda a, b: a.sin_(),
    lambda a, b: a.add_(b) if a.shape == b.shape else a.add_(1),
    lambda a, b: a.__setitem__(0, 2.0),
    lambda a, b: a.tanh_(),
)


def total(seed, x):
    """Some function of `x` with two lines of the program that write for every three that compute."""
    chance, pool = random.Random(seed), [x * 1, x * 2]
    for _ in range(chance.randint(3, 9)):
        a, b = chance.choice(pool), chance.choice(pool)
        what = chance.random()
        if what < 0.45:
            pool.append(chance.choice(VALUES)(a, b))
        elif what < 0.6:
            pool.append(chance.choice(VIEWS)(a))
        else:
            chance.choice(WRITES)(a, b)
    result = 0.0
    for value in pool:
        result = result + pb.sum(value * value)
    return result


def value(seed, point):
    with pb.no_grad():
        return total(seed, pb.tensor(point)).item()


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_what_is_written_over_is_still_there_for_backward(start):
    for seed in range(start, start + 40):
        direction = np.random.default_rng(seed).normal(size=POINT.shape)
        step = 1e-4
        up, here, down = (value(seed, POINT + k * step * direction) for k in (1, 0, -1))
        x = pb.tensor(POINT, requires_grad=True)
        with allow_mutation_on_saved_tensors():
            (first,) = grad(total(seed, x), x, create_graph=True)
            slope = pb.sum(first * pb.asarray(direction))
            (second,) = grad(slope, x)
        curve = np.sum(second.numpy() * direction)
        scale = max(1.0, abs(here), abs(slope.item()), abs(curve))
        assert abs(slope.item() - (up - down) / (2 * step)) < 1e-5 * scale, seed
        assert abs(curve - (up - 2 * here + down) / step**2) < 1e-3 * scale, seed
