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
    if name == "torch":
        return pytest.importorskip("torch")
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as xp
    else:
        import array_api_strict as xp
    return xp


LIBRARIES = [
    "array_api_strict",
    pytest.param("jax", marks=pytest.mark.jax),
    pytest.param("torch", marks=pytest.mark.torch),
]


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
    x = Tensor(xp.asarray([0.5, 1.0], dtype=xp.float64), requires_grad=True)
    if expected is None:
        expected = derivatives(f, pb.tensor([0.5, 1.0], requires_grad=True), 3)
    np.testing.assert_allclose(derivatives(f, x, 3), expected, rtol=1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_results_and_gradients_stay_in_their_library(name):
    xp = library(name)
    x = Tensor(xp.asarray([0.5, 1.0], dtype=xp.float64), requires_grad=True)
    y = Cube.apply(x)
    pb.sum(y).backward()
    assert type(y._array) is type(x._array)
    assert type(x.grad._array) is type(x._array)
    assert x.dtype == pb.float64


@pytest.mark.parametrize("name", LIBRARIES)
def test_item_assignment_holds_another_array_from_then_on(name):
    xp = library(name)
    x = Tensor(xp.asarray([0.5, 1.0], dtype=xp.float64), requires_grad=True)
    y = x * 2
    y[0] = 7.0
    (g,) = pb.autograd.grad(pb.sum(y * y), x)
    np.testing.assert_allclose(np.asarray(g._array), [0.0, 8.0])


# ------------------------------------------------------------------------------------------------ writes, views, indices
class Both(pb.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2, a * 3

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h


class BothAtOnce(pb.Primitive):
    @staticmethod
    def forward(ctx, a):
        return a * 2, a * 3

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h


def written(index, value=lambda x: x[0] * 2):
    def write(x):
        a = x * 1
        a[index] = value(x)
        return a * a

    return write


def through(view):
    """Write through a view."""

    def write(x):
        a = x * 1
        v = view(a)
        v.mul_(x[0])
        return pb.sum(a * a) + pb.sum(v)

    return write


def beneath(view):
    """Write what a view shows."""

    def write(x):
        a = x * 1
        v = view(a)
        a.mul_(2.0)
        return pb.sum(v * v) * x

    return write


def row_by_row(x):
    f = pb.zeros_like(x) * 1.0
    f[0] = x[0]
    for k in range(1, 3):
        f[k] = f[k - 1] * x[k]
    return f


def real_part_written(x):
    z = x * (1 + 2j)
    pb.real(z).mul_(x)
    return pb.real(z * pb.conj(z))


VIEWS = {
    "[0:2]": lambda a: a[0:2],
    "[::2]": lambda a: a[::2],
    "[1]": lambda a: a[1],
    "[None]": lambda a: a[None],
    "reshape": lambda a: pb.reshape(a, (3, 1)),
    "transposed": lambda a: pb.reshape(a, (3, 1)).T,
    "broadcast": lambda a: pb.broadcast_to(a, (2, 3)),
    "reshaped copy": lambda a: pb.reshape(pb.broadcast_to(a, (2, 3)).T, (6,)),
}
COPIED_BY_SOME = {
    "flip": pb.flip,
    "[::-1]": lambda a: a[::-1],
    "diagonal": lambda a: pb.diagonal(pb.reshape(a, (3, 1))),
}
PROGRAMS = {
    "an unused result": lambda x: Both.apply(x * 1)[0],
    "an unused result of a leaf": lambda x: Both.apply(x)[1],
    "an unused result of a Primitive": lambda x: BothAtOnce.apply(x * 1)[1],
    "an unused part": lambda x: pb.unstack(pb.stack([x * 1, x]))[0] * x,
    "a[0]": written(0),
    "a[0:2]": written(slice(0, 2), lambda x: x[1:3]),
    "a[::-1]": written(slice(None, None, -1), lambda x: x * 2),
    "a[None, ::-1]": written((None, slice(None, None, -1)), lambda x: x * 2),
    "a[[0, 2]]": written([0, 2], lambda x: x[0:2]),
    "a[[0, 0]]": written([0, 0], lambda x: x[0:2]),
    "a[mask]": written(np.array([True, False, True])),
    "a[mask], a number": written(np.array([True, False, True]), lambda x: 3.0),
    "copy_": lambda x: (x * 1).copy_(x * 3) * x,
    "masked_fill_": lambda x: (x * 1).masked_fill_(x.detach() > 1.5, 2.0),
    "index_add_": lambda x: (x * 1).index_add_(0, np.array([0, 0]), x[0:2]),
    "scatter_": lambda x: (x * 1).scatter_(0, np.array([0, 1]), x[1:3] * 2),
    "row by row": row_by_row,
    "the real part": real_part_written,
    "take": lambda x: pb.take(x, np.array([0, 2, 0])) * x,
    "take of its own kind": lambda x: pb.take(x, pb.astype(x.detach() - x.detach(), pb.int64)) * x,
    "take_along_axis": lambda x: pb.take_along_axis(x, np.array([2, 0, 0])) * x,
    "[::-1][0]": lambda x: x[::-1][0] * x,
    **{f"through {name}": through(view) for name, view in VIEWS.items() if "cop" not in name and "broad" not in name},
    **{f"beneath {name}": beneath(view) for name, view in VIEWS.items()},
}
UNLIKE = {f"beneath {name}": beneath(view) for name, view in COPIED_BY_SOME.items()} | {
    f"through {name}": through(view) for name, view in COPIED_BY_SOME.items()
}
POINT = [1.1, 2.2, 3.3]


def value(program, xp, point):
    return float(pb.sum(program(Tensor(xp.asarray(point, dtype=xp.float64)))).item())


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("program", PROGRAMS | UNLIKE)
def test_gradients_are_those_of_what_the_library_computes(name, program):
    """Where a view is a copy, the gradient knows that it is."""
    xp, f = library(name), (PROGRAMS | UNLIKE)[program]
    step = 1e-6 * np.eye(3)
    slopes = [(value(f, xp, POINT + h) - value(f, xp, POINT - h)) / 2e-6 for h in step]
    for create_graph in (False, True):
        x = Tensor(xp.asarray(POINT, dtype=xp.float64), requires_grad=True)
        (g,) = pb.autograd.grad(pb.sum(f(x)), x, create_graph=create_graph)
        assert type(g._array) is type(x._array)
        np.testing.assert_allclose(g.tolist(), slopes, rtol=1e-6)


@pytest.mark.parametrize("name", [library for library in LIBRARIES if "jax" not in str(library)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_views_and_writes_are_those_of_numpy(name, program):
    """Where memory can be written: a view of the one is a view of the other.  In JAX a view is a copy."""
    f = PROGRAMS[program]
    assert value(f, library(name), POINT) == pytest.approx(value(f, np, POINT))


OVERWRITES = {
    "zero_": lambda a, x: a.zero_(),
    "a[0:1] = 0": lambda a, x: a.__setitem__(slice(0, 1), 0.0),
    "copy_": lambda a, x: a.copy_(x * 2),
}


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_what_was_overwritten_has_no_infinite_slope(name, overwrite):
    xp = library(name)
    x = Tensor(xp.asarray([0.0, 4.0], dtype=xp.float64), requires_grad=True)
    a = pb.sqrt(x) * 1
    OVERWRITES[overwrite](a, x)
    (g,) = pb.autograd.grad(pb.sum(a), x)
    assert g.tolist() == {"zero_": [0, 0], "a[0:1] = 0": [0, 0.25], "copy_": [2, 2]}[overwrite]
