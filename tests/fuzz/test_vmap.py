"""Random programs under `vmap`: values and derivatives of two orders, taken inside and outside, are those of the loop.

The same programs as in `test_differential.py`: user rules, views, writes, transformations inside.
"""

import numpy as np
import pytest

import pullback as pb
from fuzz.programs import Program
from pullback.autograd import grad
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual

PROGRAMS = [pytest.param(number, marks=[] if number < 40 else pytest.mark.slow) for number in range(150)]
SIZE = 3


def points(program):
    """So many points, and one value that all of them share."""
    rng = np.random.default_rng(7)
    return program.point[0] + rng.normal(size=(SIZE, 3)).round(2), program.point[1]


def outside(value, leaves, direction, order):
    """The derivative along a direction, of one order after the other; a number."""
    for number in range(1, order + 1):
        found = grad(value, leaves, create_graph=number < order, materialize_grads=True)
        value = sum(pb.sum(g * pb.asarray(d)) for g, d in zip(found, direction, strict=True))
    return value.item()


def inside(program, x, y, direction):
    """The derivative of one point along a direction, and its own derivative along the same."""
    x, y = (v.clone() if v.requires_grad else v.detach().requires_grad_() for v in (x, y))
    value = program.value(x, y)
    found = []
    for last in (False, True):
        grads = grad(value, (x, y), create_graph=True, materialize_grads=True)
        value = sum(pb.sum(g * pb.asarray(d)) for g, d in zip(grads, direction, strict=True))
        found.append(value)
        if not last and not value.requires_grad:
            break
    return found


def attempt(run):
    """What a program gives, or the reason why it is refused: it writes into a leaf, or has no second derivative."""
    try:
        return run()
    except RuntimeError as error:
        return error


def forward(program, xs, shared, over):
    """The tangent through vmap; and that of each point, in a vmap within a vmap."""

    def tangent(way):
        with dual_level():
            y = way(*[make_dual(pb.tensor(v), pb.tensor(d)) for v, d in zip((xs, shared), over, strict=True)])
            found = unpack_dual(y).tangent
            return 0.0 if found is None else found.item()

    def value(x, y):
        return program.value(x * 1, y * 1)  # it may write into what it gets

    def by_loop(x, y):
        return sum(value(row, y) for row in pb.unstack(x))

    def by_vmap(x, y):
        return pb.vmap(value, in_dims=(0, None))(x, y).sum()

    def nested(x, y):
        return pb.vmap(lambda x: pb.vmap(value, in_dims=(None, 0))(x, pb.stack([y, y * 2])))(x).sum()

    def loops(x, y):
        return sum(value(row, z) for row in pb.unstack(x) for z in (y, y * 2))

    for first, second in ((by_loop, by_vmap), (loops, nested)):
        expected, found = [attempt(lambda way=way: tangent(way)) for way in (first, second)]
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), f"{expected!r}\n{program}"
        elif second is not nested or "into an array that they share" not in str(found):  # of x alone, with values of y
            assert not isinstance(found, Exception), f"{found!r}\n{program}"
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=str(program))


@pytest.mark.parametrize("number", PROGRAMS)
def test_vmap_agrees_with_the_loop(number):
    program = Program(number)
    xs, shared = points(program)
    direction = program.directions[0]
    over = np.stack([direction[0]] * SIZE) * np.arange(1, SIZE + 1)[:, None], direction[1]

    def by_loop(x, y):
        return sum(program.value(row, y) for row in pb.unstack(x))

    def by_vmap(x, y):
        return pb.vmap(program.value, in_dims=(0, None))(x, y).sum()

    for order in (0, 1, 2):
        if order and "requires_grad" in str(program):
            continue  # the program itself asks for its kind of leaf
        results = []
        for way in (by_loop, by_vmap):
            leaves = [pb.tensor(part, requires_grad=True) for part in (xs, shared)]
            results.append(attempt(lambda way=way, leaves=leaves: outside(way(*leaves), leaves, over, order)))  # noqa: B023
        expected, found = results
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), f"{expected!r}\n{program}"
        else:
            assert not isinstance(found, Exception), f"{found!r}\n{program}"
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=str(program))
    if "requires_grad" not in str(program):
        forward(program, xs, shared, over)
    rows, y = [pb.tensor(row) for row in xs], pb.tensor(shared)
    expected = attempt(lambda: [inside(program, row, y, direction) for row in rows])
    found = attempt(lambda: pb.vmap(lambda x, y: inside(program, x, y, direction), in_dims=(0, None))(pb.tensor(xs), y))
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), f"{expected!r}\n{program}"
        return
    assert not isinstance(found, Exception), f"{found!r}\n{program}"
    for f, *e in zip(found, *expected, strict=True):
        np.testing.assert_allclose(f.detach(), [v.item() for v in e], rtol=1e-9, atol=1e-9, err_msg=str(program))
