"""Dual numbers under torch's names: the tangents are torch's, also at ties and kinks, through views, writes and casts."""

import numpy as np
import pytest

import pullback.torch as own
import pullback.torch.autograd.forward_ad as own_forward

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")]

V, M = np.array([1.0, -2.0, 3.0]), np.arange(1.0, 7.0).reshape(2, 3) / 3
S = np.array([[2.0, 1.0], [1.0, 3.0]])


def write(target, index, value):
    target[index] = value
    return target


def after(_, result):
    return result


def filled(m, a):
    z = m.zeros(3, dtype=m.float64)
    z[1:].add_(a[0])
    return z


def over_reverse(m, x):
    return m.autograd.grad((m.exp(x) * x).sum(), x)


#: name -> (function of the library and the dual numbers, values)
PROGRAMS = {
    "relu at 0": (lambda m, x: m.relu(x), np.array([-1.0, 0.0, 2.0])),
    "abs at 0": (lambda m, x: m.abs(x), np.array([-1.0, 0.0, 2.0])),
    "sqrt at 0": (lambda m, x: m.sqrt(x), np.array([0.0, 1.0])),
    "max of a tie": (lambda m, x: m.max(x), np.array([2.0, 2.0, 1.0])),
    "amax of a tie": (lambda m, x: m.amax(x), np.array([2.0, 2.0, 1.0])),
    "maximum of a tie": (lambda m, x, y: m.maximum(x, y), np.array([2.0, 2.0]), np.array([2.0, 1.0])),
    "clamp": (lambda m, x: m.clamp(x, -1, 1), np.array([-1.0, 0.0, 1.0, 2.0])),
    "norm at 0": (lambda m, x: m.linalg.norm(x), np.array([0.0, 0.0])),
    "x**2 at 0": (lambda m, x: x**2, np.array([0.0, 1.0])),
    "powers": (lambda m, x, y: x**y, np.array([0.0, 2.0]), np.array([2.0, 0.0])),
    "prod with a 0": (lambda m, x: m.prod(x), np.array([0.0, 2.0, 3.0])),
    "sort": (lambda m, x: m.sort(x)[0], V),
    "solve": (lambda m, a, b: m.linalg.solve(a, b), S, np.array([1.0, 2.0])),
    "det": (lambda m, a: m.linalg.det(a), S),
    "inv": (lambda m, a: m.linalg.inv(a), S),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh((a + a.T) / 2), S),
    "cholesky": (lambda m, a: m.linalg.cholesky((a + a.T) / 2), S),
    "svdvals": (lambda m, a: m.linalg.svdvals(a), M),
    "einsum": (lambda m, a, b: m.einsum("ij,jk->ik", a, b), M, M.T.copy()),
    "logsumexp": (lambda m, a: m.logsumexp(a, dim=-1), M),
    "cumprod": (lambda m, a: m.cumprod(a, dim=0), M),
    "gather": (lambda m, a: m.gather(a, 1, m.tensor([[0, 2], [1, 1]])), M),
    "index": (lambda m, a: a[:, [0, 0, 1]], M),
    "where": (lambda m, a: m.where(a > 1, a, a * a), M),
    "split": (lambda m, a: m.split(a, 1, dim=0), M),
    "unbind": (lambda m, a: m.unbind(a), M),
    "cat": (lambda m, a, b: m.cat([a, b]), V, V),
    "std": (lambda m, a: m.std(a), V),
    "a write through a view": (lambda m, a: after(a.view(-1).mul_(2), a), M),
    "an assignment": (lambda m, a, b: write(a, 0, b), M, V),
    "a constant assigned": (lambda m, a: write(a, [1, 0], 5.0), M),
    "masked_fill_": (lambda m, a: a.masked_fill_(a > 1, 0.0), M),
    "a write into a column": (lambda m, a: after(a.T[0].mul_(a[1, 1]), a), M),
    "a write into zeros": (filled, V),
    "detach": (lambda m, a: a.detach() + 1, V),
    "data": (lambda m, a: a.data, V),
    "floor": (lambda m, a: m.floor(a), V),
    "argmax": (lambda m, a: m.argmax(a), V),
    "float32": (lambda m, a: a.to(m.float32), V),
    "integers": (lambda m, a: a.long(), V),
    "clone": (lambda m, a: a.clone(), V),
    "contiguous": (lambda m, a: a.T.contiguous(), M),
    "real": (lambda m, a: (a * (1 + 2j)).real, V),
    "abs of complex": (lambda m, a: m.abs(a * (1 + 2j)), V),
    "forward over reverse": (over_reverse, V),
}


def tangents(m, forward, function, values, requires_grad):
    rng = np.random.default_rng(0)
    with forward.dual_level():
        moving = [
            forward.make_dual(
                m.tensor(v, dtype=m.float64, requires_grad=requires_grad),
                m.tensor(rng.normal(size=np.shape(v)), dtype=m.float64),
            )
            for v in values
        ]
        results = function(m, *moving)
        found = [forward.unpack_dual(y).tangent for y in (results if isinstance(results, tuple | list) else (results,))]
        return [None if t is None else np.array(t.detach().numpy()) for t in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_are_those_of_torch(name):
    import torch

    function, *values = PROGRAMS[name]
    requires_grad = name == "forward over reverse"
    expected = tangents(torch, torch.autograd.forward_ad, function, values, requires_grad)
    with np.errstate(all="ignore"):
        found = tangents(own, own_forward, function, values, requires_grad)
    assert len(found) == len(expected)
    for t, e in zip(found, expected, strict=True):
        assert (t is None) is (e is None)
        if t is not None:
            assert t.dtype == e.dtype
            np.testing.assert_allclose(t, e, rtol=1e-9 if t.dtype == np.float64 else 1e-5, strict=True)
