"""Solvers within vmap: entry by entry, with the derivatives of each entry; matrix equations on the whole batch."""

import numpy as np
import pytest

import pullback as pb
from pullback import implicit
from pullback.batching import looping

A = np.array([2.0, 10.0, 30.0])


def cube(a):
    return implicit.root(lambda y, a: y**3 + y - a, 1.0, a)


SOLVERS = {
    "root": cube,
    "fixed_point": lambda a: implicit.fixed_point(lambda y, a: pb.cos(y) / a, 0.5, a),
    "solution": lambda a: implicit.solution(lambda y, a: y - 2 * a, 2 * a.detach(), a),
    "minimize": lambda a: implicit.minimize(lambda y, a: (y["u"] - a) ** 2 + y["u"] ** 4, {"u": 0.0}, a).x["u"],
    "least_squares": lambda a: implicit.least_squares(lambda y, a: pb.stack([y - a, y**2]), 1.0, a).value,
    "solve_linear": lambda a: implicit.solve_linear(lambda x, a: a * x, np.ones(2), a, solver="cg").sum(),
    "lstsq": lambda a: implicit.lstsq(np.array([[1.0], [2.0]]), pb.stack([a, a * a]))[0],
    "solve_sparse": lambda a: implicit.solve_sparse(pb.stack([a, a + 1]), ([0, 1], [0, 1]), np.ones(2)).sum(),
    "eigsh": lambda a: implicit.eigsh(pb.stack([a, a + 1, a + 3]), ([0, 1, 2], [0, 1, 2]), k=1, which="LA").eigenvalues[
        0
    ],
    "solve_ivp": lambda a: implicit.solve_ivp(lambda t, y, a: -y / a, (0.0, 1.0), 1.0, a).y[-1],
    "quad": lambda a: implicit.quad(lambda x, a: pb.exp(-x / a), 0.0, a, a),
    "CubicSpline": lambda a: implicit.CubicSpline([0.0, 1.0, 2.0], pb.stack([a, 0 * a, a * a]))(a / 20),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_vmap_agrees_with_the_loop(name):
    f = SOLVERS[name]
    each = [pb.tensor(a, requires_grad=True) for a in A]
    np.testing.assert_allclose(pb.vmap(f)(pb.tensor(A)).numpy(), [f(a).item() for a in each], rtol=1e-12)
    slopes = [pb.autograd.grad(f(a), a)[0].item() for a in each]
    np.testing.assert_allclose(pb.vmap(pb.grad(f))(pb.tensor(A)).numpy(), slopes, rtol=1e-9)
    np.testing.assert_allclose(pb.grad(lambda a: pb.vmap(f)(a).sum())(A), slopes, rtol=1e-9)


def test_structures_and_second_derivatives():
    found = pb.vmap(lambda a: implicit.minimize(lambda y, a: (y["u"] - a) ** 2, {"u": 0.0}, a))(A)
    np.testing.assert_allclose(found.x["u"], A)
    np.testing.assert_allclose(pb.vmap(pb.grad(pb.grad(cube)))(A), [pb.grad(pb.grad(cube))(a) for a in A])


def test_matrix_equations_have_batching_rules():
    stack = np.stack([np.eye(2) * k + 0.1 for k in (1.0, 2.0, 3.0)])
    looping.LOOPED.clear()
    for f in (implicit.expm, implicit.logm, implicit.sqrtm, lambda x: implicit.solve_sylvester(x, x, x @ x)):
        np.testing.assert_allclose(pb.vmap(f)(stack), [f(x) for x in stack])
        slopes = [pb.grad(lambda x, f=f: (f(x) ** 2).sum())(x) for x in stack]
        np.testing.assert_allclose(pb.vmap(pb.grad(lambda x, f=f: (f(x) ** 2).sum()))(stack), slopes)
    assert not looping.LOOPED


def test_batched_values_in_a_closure_are_refused():
    with pytest.raises(RuntimeError, match="inside vmap"):
        pb.vmap(lambda a: implicit.root(lambda y: y * y - a, 1.0))(A)
