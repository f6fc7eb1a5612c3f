"""`torch.func.vmap` and what is made of it, beside torch itself: the same programs give the same numbers and kinds of errors."""

from __future__ import annotations

import numpy as np
import pytest

import pullback.torch

RNG = np.random.default_rng(3)
A, B, C = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4, 2))
INDEX = np.array([2, 0, 1])


def losses(torch, w, x):
    return torch.tanh((w * x).sum()) ** 2


PROGRAMS = {
    "dims": lambda t, a, b, c, i: t.vmap(lambda x, y: x @ y, in_dims=(0, 1), out_dims=0)(a, b),
    "out_dims": lambda t, a, b, c, i: t.vmap(lambda x: (x, x.sum(0)), out_dims=(1, 0))(c),
    "negative dims": lambda t, a, b, c, i: t.vmap(lambda x: x.cumsum(0), in_dims=-1, out_dims=-1)(c),
    "shared": lambda t, a, b, c, i: t.vmap(lambda x, y: x * y, in_dims=(0, None))(a, b[:, 0]),
    "dictionaries": lambda t, a, b, c, i: t.vmap(lambda d: {"s": d["x"] + d["y"][0]}, in_dims=({"x": 0, "y": None},))(
        {"x": a, "y": [a[0]]}
    )["s"],
    "constant result": lambda t, a, b, c, i: t.vmap(lambda x: t.ones(2, dtype=t.float64))(a),
    "nested": lambda t, a, b, c, i: t.vmap(lambda x: t.vmap(lambda y: (x * y).sum())(a))(a),
    "nested, crossed": lambda t, a, b, c, i: t.vmap(t.vmap(lambda x, y: x * y, in_dims=(0, None)), in_dims=(1, 0))(
        c, c[0]
    ),
    "chunks": lambda t, a, b, c, i: t.vmap(lambda x: x.sort().values, chunk_size=2)(a),
    "matmul": lambda t, a, b, c, i: t.vmap(t.matmul, in_dims=(0, None))(c.transpose(1, 2), b),
    "linear": lambda t, a, b, c, i: t.vmap(t.nn.functional.linear, in_dims=(0, None))(a, b.T),
    "einsum": lambda t, a, b, c, i: t.vmap(lambda x, y: t.einsum("ij,i->j", x, y))(c, a),
    "softmax": lambda t, a, b, c, i: t.vmap(lambda x: t.softmax(x, 0))(c),
    "solve": lambda t, a, b, c, i: t.vmap(lambda x, y: t.linalg.solve(x.outer(x) + t.eye(4, dtype=t.float64), y))(a, a),
    "index": lambda t, a, b, c, i: t.vmap(lambda x, k: x.index_select(0, k.reshape(1)))(a, i),
    "gather": lambda t, a, b, c, i: t.vmap(lambda x, k: t.gather(x, 0, k.expand(2)))(a, i),
    "where": lambda t, a, b, c, i: t.vmap(lambda x: t.where(x > 0, x, x.abs().sqrt()))(a),
    "writes": lambda t, a, b, c, i: t.vmap(lambda x: x.clone().mul_(2).index_fill_(0, t.tensor([1]), 5.0))(a),
    "per-sample gradients": lambda t, a, b, c, i: t.vmap(t.func.grad(lambda w, x: losses(t, w, x)), (None, 0))(
        b[:, 0], a
    ),
    "gradient through": lambda t, a, b, c, i: t.func.grad(lambda w: t.vmap(lambda x: losses(t, w, x))(a).sum())(
        b[:, 0]
    ),
    "jvp through": lambda t, a, b, c, i: t.func.jvp(t.vmap(lambda x: losses(t, b[:, 0], x)), (a,), (a.cos(),)),
    "vmap of jvp": lambda t, a, b, c, i: t.vmap(lambda v: t.func.jvp(t.sin, (a[0],), (v,))[1])(a),
    "vmap of vjp": lambda t, a, b, c, i: t.vmap(lambda v: t.func.vjp(t.sin, a[0])[1](v)[0])(a),
    "jacrev": lambda t, a, b, c, i: t.func.jacrev(lambda x: t.tanh(x @ b))(a),
    "jacrev in chunks": lambda t, a, b, c, i: t.func.jacrev(lambda x: t.tanh(x @ b), chunk_size=2)(a),
    "jacfwd": lambda t, a, b, c, i: t.func.jacfwd(lambda x, y: t.tanh(x @ y), argnums=(0, 1))(a, b),
    "hessian": lambda t, a, b, c, i: t.func.hessian(lambda x: losses(t, x, a[1]))(a[0]),
    "jacfwd of jacfwd": lambda t, a, b, c, i: t.func.jacfwd(t.func.jacfwd(lambda x: losses(t, x, a[1])))(a[0]),
    "jacrev of jacfwd": lambda t, a, b, c, i: t.func.jacrev(t.func.jacfwd(lambda x: losses(t, x, a[1])))(a[0]),
    "vmap of hessian": lambda t, a, b, c, i: t.vmap(t.func.hessian(lambda x: losses(t, x, a[1])))(a),
    "has_aux": lambda t, a, b, c, i: t.func.jacrev(lambda x: (x**2, x.sum()), has_aux=True)(a[0]),
    "batched cotangents": lambda t, a, b, c, i: t.autograd.grad(
        (z := a.clone().requires_grad_()) @ b, z, t.ones(5, 3, 3, dtype=t.float64).cumsum(0), is_grads_batched=True
    )[0],
    "functional": lambda t, a, b, c, i: t.autograd.functional.jacobian(lambda x: t.sin(x @ b), a, vectorize=True),
    "functional, forward": lambda t, a, b, c, i: t.autograd.functional.jacobian(
        lambda x: t.sin(x @ b), a, vectorize=True, strategy="forward-mode"
    ),
    "functional hessian": lambda t, a, b, c, i: t.autograd.functional.hessian(
        lambda x: losses(t, x, a[1]), a[0], vectorize=True
    ),
}


def numbers(result):
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in numbers(part)]
    return [np.asarray(result.detach().numpy())]


def run(torch, program):
    tensors = [torch.tensor(v) for v in (A, B, C, INDEX)]
    return numbers(program(torch, *tensors))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_are_torchs(name):
    import torch

    expected, found = run(torch, PROGRAMS[name]), run(pullback.torch, PROGRAMS[name])
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == e.dtype
        np.testing.assert_allclose(f, e, rtol=1e-10, atol=1e-12, strict=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_run(name):
    assert all(np.isfinite(x).all() for x in run(pullback.torch, PROGRAMS[name]))


MISTAKES = {
    "sizes": lambda t, x: t.vmap(t.add)(x, x[:1]),
    "no batch": lambda t, x: t.vmap(t.sin, in_dims=None)(x),
    "none": lambda t, x: t.vmap(t.add, in_dims=(None, None))(x, x),
    "too many dims": lambda t, x: t.vmap(t.sin, in_dims=(0, 0))(x),
    "out of range": lambda t, x: t.vmap(t.sin, in_dims=3)(x),
    "not a Tensor": lambda t, x: t.vmap(t.mul)(x, 2.0),
    "no argument": lambda t, x: t.vmap(lambda: x)(),
    "number returned": lambda t, x: t.vmap(lambda y: 2.0)(x),
    "out_dims": lambda t, x: t.vmap(lambda y: (y, y), out_dims=(0, 0, 0))(x),
    "out of range, out": lambda t, x: t.vmap(lambda y: y, out_dims=5)(x),
    "if": lambda t, x: t.vmap(lambda y: y if y.sum() > 0 else -y)(x),
    "item": lambda t, x: t.vmap(lambda y: y * y.sum().item())(x),
    "random": lambda t, x: t.vmap(lambda y: y + t.randn(2))(x),
    "randomness": lambda t, x: t.vmap(t.sin, randomness="often")(x),
    "chunk_size": lambda t, x: t.vmap(t.sin, chunk_size=0)(x),
    "backward": lambda t, x: t.vmap(t.func.grad(lambda y: (y.sum().backward(), y.sum())[1]))(x),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_of_torchs_kinds(name):
    import torch

    kinds = []
    for library in (torch, pullback.torch):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the kinds are compared
            MISTAKES[name](library, library.ones(3, 2))
        kinds.append(caught.value)
    assert isinstance(kinds[1], type(kinds[0]).__mro__[0]) or type(kinds[1]).__mro__[1] is type(kinds[0]), kinds
