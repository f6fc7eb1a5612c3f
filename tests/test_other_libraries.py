"""The machine on arrays of other libraries: mutable or not, orders one to three."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.core.tensor import Tensor


class Cube(pb.Primitive):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return ct * 3 * x * x


class Exp(pb.Function):
    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


def library(name):
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as xp
    else:
        import array_api_strict as xp
    return xp


LIBRARIES = ["array_api_strict", pytest.param("jax", marks=pytest.mark.jax)]


def derivatives(f, x, order):
    found = []
    y = f(x)
    for _ in range(order):
        (y,) = pb.autograd.grad(pb.sum(y), x, create_graph=True)
        found.append(float(y[0]))
    return found


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (pb.sin, [math.cos(0.5), -math.sin(0.5), -math.cos(0.5)]),
        (Cube.apply, [0.75, 3.0, 6.0]),
        (Exp.apply, [math.exp(0.5)] * 3),
        (lambda x: pb.exp(pb.sin(x)) * x, None),
    ],
    ids=["sin", "Primitive", "Function", "composed"],
)
def test_three_orders(name, f, expected):
    xp = library(name)
    x = Tensor(xp.asarray([0.5, 1.0]), requires_grad=True)
    if expected is None:
        expected = derivatives(f, pb.tensor([0.5, 1.0], requires_grad=True), 3)
    np.testing.assert_allclose(derivatives(f, x, 3), expected, rtol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_results_and_gradients_stay_in_their_library(name):
    xp = library(name)
    x = Tensor(xp.asarray([0.5, 1.0]), requires_grad=True)
    y = Cube.apply(x)
    pb.sum(y).backward()
    assert type(y._array) is type(x._array)
    assert type(x.grad._array) is type(x._array)
    assert x.dtype == pb.float64


@pytest.mark.parametrize("name", LIBRARIES)
def test_item_assignment_holds_another_array_from_then_on(name):
    xp = library(name)
    x = Tensor(xp.asarray([0.5, 1.0]), requires_grad=True)
    y = x * 2
    y[0] = 7.0
    (g,) = pb.autograd.grad(pb.sum(y * y), x)
    np.testing.assert_allclose(np.asarray(g._array), [0.0, 8.0])
