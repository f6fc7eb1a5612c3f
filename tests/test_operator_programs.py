"""Small programs of the kinds in tests/conformance/cases that are about operators, ten of each, with answers known by hand.

A program computes the number ``y`` from the vector ``x``.  Its gradient and its Hessian are written out as NumPy arrays of the
entries a, b, c of x.
"""

import numpy as np
import pytest

import pullback as pb

POINT = (0.7, -1.3, 2.1)

#: kind -> [(program, point, gradient, Hessian)]
PROGRAMS = {
    # ------------------------------------------------------------------ case25: arrays built from differentiable numbers
    "built from numbers": [
        ("y = pb.sum(pb.stack([x[0] * x[1], x[2]]) ** 2)", POINT,
         "[2*a*b*b, 2*a*a*b, 2*c]", "[[2*b*b, 4*a*b, 0], [4*a*b, 2*a*a, 0], [0, 0, 2]]"),
        ("y = pb.sum(pb.asarray([x[0] ** 2, 3.0, x[1]]) * np.array([1.0, 5.0, 2.0]))", POINT,
         "[2*a, 2, 0]", "[[2, 0, 0], [0, 0, 0], [0, 0, 0]]"),
        ("m = pb.asarray([[x[0], x[1]], [x[1], x[2]]])\ny = pb.linalg.det(m)", POINT,
         "[c, -2*b, a]", "[[0, 0, 1], [0, -2, 0], [1, 0, 0]]"),
        ("y = pb.prod(pb.concat([pb.reshape(v, (1,)) for v in (x[0], x[1], x[2])]))", POINT,
         "[b*c, a*c, a*b]", "[[0, c, b], [c, 0, a], [b, a, 0]]"),
        ("m = pb.zeros((2, 2))\nfor i in range(2):\n    for j in range(2):\n        m[i, j] = x[i] * x[j + 1]"
         "\ny = pb.sum(m)", POINT,
         "[b + c, a + 2*b + c, a + b]", "[[0, 1, 1], [1, 2, 1], [1, 1, 0]]"),
        ("y = pb.sum(pb.full((2, 3), x[0] * x[1]) * x)", POINT,
         "[2*b*(a+b+c) + 2*a*b, 2*a*(a+b+c) + 2*a*b, 2*a*b]",
         "[[4*b, 4*a + 4*b + 2*c, 2*b], [4*a + 4*b + 2*c, 4*a, 2*a], [2*b, 2*a, 0]]"),
        ("y = pb.sum(pb.linspace(x[0], x[1], 5) ** 2)", POINT,
         "[2*(a*1.875 + b*0.625), 2*(b*1.875 + a*0.625), 0]", "[[3.75, 1.25, 0], [1.25, 3.75, 0], [0, 0, 0]]"),
        ("y = pb.sum(pb.arange(x[0], 10.0, 3.0) ** 2)", (0.5, 0.0, 0.0),
         "[2*(4*a + 18), 0, 0]", "[[8, 0, 0], [0, 0, 0], [0, 0, 0]]"),
        ("p, q = pb.meshgrid(pb.stack([x[0], x[1]]), pb.stack([x[2], x[2] ** 2]))\ny = pb.sum(p * q)", POINT,
         "[c + c*c, c + c*c, (a + b)*(1 + 2*c)]", "[[0, 0, 1+2*c], [0, 0, 1+2*c], [1+2*c, 1+2*c, 2*(a+b)]]"),
        ("rows = [pb.stack([v, v * v]) for v in pb.unstack(x)]"
         "\ny = pb.sum(pb.stack(rows)[:, 1] * np.array([1.0, 2.0, 3.0]))", POINT,
         "[2*a, 4*b, 6*c]", "[[2, 0, 0], [0, 4, 0], [0, 0, 6]]"),
    ],
    # -------------------------------------------------------------- case26: second derivatives of linear functions are zero
    "linear": [
        ("y = pb.sum(3.0 * x)", POINT, "[3, 3, 3]", "np.zeros((3, 3))"),
        ("y = pb.sum(-x + 1.0)", POINT, "[-1, -1, -1]", "np.zeros((3, 3))"),
        ("y = pb.sum(pb.reshape(pb.broadcast_to(x, (2, 3)), (6,)))", POINT, "[2, 2, 2]", "np.zeros((3, 3))"),
        ("y = pb.mean(pb.flip(x))", POINT, "[1/3, 1/3, 1/3]", "np.zeros((3, 3))"),
        ("y = pb.cumulative_sum(x)[1]", POINT, "[1, 1, 0]", "np.zeros((3, 3))"),
        ("y = pb.sum(pb.roll(x, 1) * np.array([1.0, 2.0, 3.0]))", POINT, "[2, 3, 1]", "np.zeros((3, 3))"),
        ("y = pb.real(pb.fft.fft(x))[1]", POINT, "[1, -0.5, -0.5]", "np.zeros((3, 3))"),
        ("y = np.array([[1.0, 2.0, 3.0]]) @ x\ny = y[0]", POINT, "[1, 2, 3]", "np.zeros((3, 3))"),
        ("y = pb.linalg.solve(np.array([[2.0, 0, 0], [0, 4.0, 0], [0, 0, 1.0]]), x)[1]", POINT,
         "[0, .25, 0]", "np.zeros((3, 3))"),
        ("z = x * 1.0\nz[1] = z[0]\ny = pb.sum(pb.diff(z, append=0.0)) + pb.sum(z)", POINT, "[1, 0, 1]", "np.zeros((3, 3))"),
    ],
    # -------------------------------------------------------------------- case27: NaN and infinity of branches not taken
    "not taken": [
        ("y = pb.sum(pb.where(x > 0, pb.log(x), x * x))", POINT,
         "[1/a, 2*b, 1/c]", "[[-1/a**2, 0, 0], [0, 2, 0], [0, 0, -1/c**2]]"),
        ("y = pb.sum(pb.where(x != 0, pb.sin(x) / x, 1.0))", (0.0, 0.5, 0.0),
         "[0, np.cos(b)/b - np.sin(b)/b**2, 0]",
         "[[0, 0, 0], [0, -np.sin(b)/b - 2*np.cos(b)/b**2 + 2*np.sin(b)/b**3, 0], [0, 0, 0]]"),
        ("z = pb.sqrt(x) * 1.0\nz[x < 0] = 0.0\ny = pb.sum(z)", (4.0, -1.0, 1.0),
         "[.25, 0, .5]", "[[-.03125, 0, 0], [0, 0, 0], [0, 0, -.25]]"),
        ("y = pb.sum(pb.sqrt(x)[x > 0])", (4.0, 0.0, 1.0), "[.25, 0, .5]", "[[-.03125, 0, 0], [0, 0, 0], [0, 0, -.25]]"),
        ("y = pb.sum(pb.clip(pb.log(x), -2.0, None))", (0.0, 1.0, 2.0), "[0, 1, .5]", "[[0, 0, 0], [0, -1, 0], [0, 0, -.25]]"),
        ("y = pb.max(pb.concat([1 / x[:1], x[1:] ** 2]))", (-0.0, 1.0, 3.0), "[0, 0, 6]", "[[0, 0, 0], [0, 0, 0], [0, 0, 2]]"),
        ("y = pb.sum(pb.maximum(pb.log(x), -1.0))", (0.0, 1.0, 2.0), "[0, 1, .5]", "[[0, 0, 0], [0, -1, 0], [0, 0, -.25]]"),
        ("y = pb.sum(pb.take(x ** -0.5, np.array([0, 2])))", (4.0, 0.0, 1.0),
         "[-.0625, 0, -.5]", "[[.0234375, 0, 0], [0, 0, 0], [0, 0, .75]]"),
        ("y = pb.sum(pb.where(x > 0, pb.where(x > 1, pb.log(x - 1), x), pb.exp(x)))", (2.0, 0.5, 0.0),
         "[1, 1, 1]", "[[-1, 0, 0], [0, 0, 0], [0, 0, 1]]"),
        ("y = pb.sum(pb.tril(pb.log(pb.stack([x, x, x]))) [2:, :2])", (1.0, 2.0, 0.0),
         "[1, .5, 0]", "[[-1, 0, 0], [0, -.25, 0], [0, 0, 0]]"),
    ],
    # ------------------------------------------------------------------------------- case28: kinks that cancel in a square
    "kinks that cancel": [
        ("y = pb.vector_norm(x) ** 2", (0.0, 0.0, 0.0), "[0, 0, 0]", "2 * np.eye(3)"),
        ("y = pb.square(pb.vector_norm(x))", (0.0, 0.0, 0.0), "[0, 0, 0]", "2 * np.eye(3)"),
        ("n = pb.vector_norm(x)\ny = n * n / 2", (0.0, 0.0, 0.0), "[0, 0, 0]", "np.eye(3)"),
        ("y = abs(x[0]) ** 2 + abs(x[1]) ** 2", (0.0, 3.0, 0.0), "[0, 6, 0]", "[[2, 0, 0], [0, 2, 0], [0, 0, 0]]"),
        ("y = pb.hypot(x[0], x[1]) ** 2", (0.0, 0.0, 1.0), "[0, 0, 0]", "[[2, 0, 0], [0, 2, 0], [0, 0, 0]]"),
        ("y = pb.sum(pb.vector_norm(pb.stack([x, 2 * x]), axis=1) ** 2)", (0.0, 0.0, 0.0), "[0, 0, 0]", "10 * np.eye(3)"),
        ("y = pb.linalg.matrix_norm(pb.reshape(x, (1, 3))) ** 2", (0.0, 0.0, 0.0), "[0, 0, 0]", "2 * np.eye(3)"),
        ("y = pb.std(x) ** 2", (1.0, 1.0, 1.0), "[0, 0, 0]", "2 * (np.eye(3) / 3 - np.ones((3, 3)) / 9)"),
        ("n = pb.vector_norm(x)\ny = -n * -n", (0.0, 0.0, 0.0), "[0, 0, 0]", "2 * np.eye(3)"),
        ("y = pb.abs(x[0] + 1j * x[1]) ** 2 + x[2] ** 2", (0.0, 0.0, 2.0), "[0, 0, 4]", "2 * np.eye(3)"),
    ],
    # --------------------------------------------------------------------- case32: repeated indices when reading and writing
    "repeated indices": [
        ("z = pb.zeros(2)\nz[[0, 0]] = x[:2] ** 2\ny = pb.sum(z)", POINT, "[0, 2*b, 0]", "[[0, 0, 0], [0, 2, 0], [0, 0, 0]]"),
        ("z = x * 1.0\nz[[1, 1, 1]] = pb.stack([x[0], x[0], x[2] * x[2]])\ny = pb.sum(z)", POINT,
         "[1, 0, 1 + 2*c]", "[[0, 0, 0], [0, 0, 0], [0, 0, 2]]"),
        ("y = pb.sum(x[[0, 0, 1]] ** 2)", POINT, "[4*a, 2*b, 0]", "[[4, 0, 0], [0, 2, 0], [0, 0, 0]]"),
        ("y = pb.sum(pb.take(x, np.array([[2, 2], [2, 0]])) ** 3)", POINT,
         "[3*a*a, 0, 9*c*c]", "[[6*a, 0, 0], [0, 0, 0], [0, 0, 18*c]]"),
        ("y = pb.sum(pb.take_along_axis(x, np.array([1, 1]), axis=0) ** 2)", POINT,
         "[0, 4*b, 0]", "[[0, 0, 0], [0, 4, 0], [0, 0, 0]]"),
        ("z = pb.zeros((2, 2))\nz[[0, 0], [1, 1]] = x[1:] ** 2\ny = pb.sum(z)", POINT,
         "[0, 0, 2*c]", "[[0, 0, 0], [0, 0, 0], [0, 0, 2]]"),
        ("z = x * x\nz[[0, 0]] += 1.0\ny = pb.sum(z)", POINT, "[2*a, 2*b, 2*c]", "2 * np.eye(3)"),
        ("z = x * x\nz[[0, 0]] *= x[1:]\ny = pb.sum(z)", POINT,
         "[2*a*c, 2*b, 2*c + a*a]", "[[2*c, 0, 2*a], [0, 2, 0], [2*a, 0, 2]]"),
        ("y = pb.sum(pb.repeat(x, np.array([2, 0, 1])) ** 2)", POINT, "[4*a, 0, 2*c]", "[[4, 0, 0], [0, 0, 0], [0, 0, 2]]"),
        ("y = pb.sum(pb.tile(x, (2,))[np.array([0, 3, 3])] ** 2)", POINT, "[6*a, 0, 0]", "[[6, 0, 0], [0, 0, 0], [0, 0, 0]]"),
    ],
    # ---------------------------------------------------------------------- case34: recurrences written into arrays of one's own
    "recurrences": [
        ("f = pb.ones(4)\nfor i in range(1, 4):\n    f[i] = f[i - 1] * x[0]\ny = f[3]", POINT,
         "[3*a*a, 0, 0]", "[[6*a, 0, 0], [0, 0, 0], [0, 0, 0]]"),
        ("f = pb.zeros(4)\nf[0] = x[0]\nfor i in range(1, 4):\n    f[i] = f[i - 1] * x[1] + x[2]\ny = f[3]", POINT,
         "[b**3, 3*a*b*b + 2*b*c + c, b*b + b + 1]",
         "[[0, 3*b*b, 0], [3*b*b, 6*a*b + 2*c, 2*b + 1], [0, 2*b + 1, 0]]"),
        ("f = pb.zeros((3, 2))\nf[0] = x[:2]\nfor i in range(1, 3):\n    f[i] = f[i - 1] * f[i - 1]\ny = pb.sum(f[2])", POINT,
         "[4*a**3, 4*b**3, 0]", "[[12*a*a, 0, 0], [0, 12*b*b, 0], [0, 0, 0]]"),
        ("f = pb.zeros(5)\nf[:2] = x[:2]\nfor i in range(2, 5):\n    f[i] = f[i - 1] + f[i - 2]\ny = f[4] ** 2", POINT,
         "[4*(2*a + 3*b), 6*(2*a + 3*b), 0]", "[[8, 12, 0], [12, 18, 0], [0, 0, 0]]"),
        ("s = pb.zeros(())\nfor i in range(3):\n    s += x[i] * x[i]\ny = s", POINT, "[2*a, 2*b, 2*c]", "2 * np.eye(3)"),
        ("p = pb.ones(())\nfor i in range(3):\n    p *= x[i]\ny = p", POINT,
         "[b*c, a*c, a*b]", "[[0, c, b], [c, 0, a], [b, a, 0]]"),
        ("z = x * 1.0\nfor i in range(2):\n    z[i + 1] += z[i]\ny = z[2] ** 2", POINT,
         "[2*(a+b+c), 2*(a+b+c), 2*(a+b+c)]", "2 * np.ones((3, 3))"),
        ("z = x * 1.0\nv = z[1:]\nv *= x[0]\ny = pb.sum(z)", POINT, "[1 + b + c, a, a]", "[[0, 1, 1], [1, 0, 0], [1, 0, 0]]"),
        ("f = pb.zeros((2, 3))\nf[0, :] = x\nf[1, ::-1] = f[0] * f[0]\ny = f[1, 0] + f[1, 2]", POINT,
         "[2*a, 0, 2*c]", "[[2, 0, 0], [0, 0, 0], [0, 0, 2]]"),
        ("t = x[0] * 1.0\nfor _ in range(3):\n    t = t - (t * t - x[1] ** 2) / (2 * t)\ny = t", (2.0, 2.0, 0.0),
         "[0, 1, 0]", "np.zeros((3, 3))"),
    ],
}  # fmt: skip
CASES = [pytest.param(*case, id=f"{kind} {n}") for kind, cases in PROGRAMS.items() for n, case in enumerate(cases, 1)]


def number(text, x):
    names = {"pb": pb, "np": np, "x": x}
    exec(text, names)
    return names["y"]


@pytest.mark.parametrize(("text", "point", "gradient", "hessian"), CASES)
def test_gradient_and_hessian_are_those_worked_out_by_hand(text, point, gradient, hessian):
    names = {"np": np, **dict(zip("abc", point, strict=True))}
    x = pb.tensor(point, requires_grad=True)
    with np.errstate(all="ignore"):
        (first,) = pb.autograd.grad(number(text, x), x, create_graph=True, materialize_grads=True)
        rows = [pb.autograd.grad(g, x, retain_graph=True, materialize_grads=True)[0].tolist() for g in first]
    np.testing.assert_allclose(first.tolist(), np.array(eval(gradient, names), dtype=float), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rows, np.array(eval(hessian, names), dtype=float), rtol=1e-12, atol=1e-12)


def test_there_are_ten_of_each_kind():
    assert {kind: len(cases) for kind, cases in PROGRAMS.items()} == dict.fromkeys(PROGRAMS, 10)
