"""Random programs of views and in-place writes: the gradient is right, or an error says why there is none.

The oracle runs the same program on plain NumPy arrays, whose views share memory in the same way, with complex numbers:
the imaginary part of f(x + ih)/h is the derivative to the last bit.
"""

import numpy as np
import pytest

import pullback as pb
from core.helpers import AddOne, Item, PrimitiveSquare, Square, Transpose, leaf, values
from pullback.autograd import grad

SHAPE = (2, 3)
INDICES = [
    (slice(0, 1),), (slice(1, 2),), (slice(None), slice(0, 2)), (slice(None), slice(1, 3)), (slice(None), slice(None, None, 2)),
    (slice(None, None, -1),), (Ellipsis, slice(2, 3)), (slice(0, 1), slice(1, 3)),
]  # fmt: skip


#: What may be refused, and the words that say so.
REASONS = {
    "stale": "modified by an inplace operation",
    "leaf": "leaf Variable",
    "view of a Function": "is a view and is being modified",
    "base of a view of a Function": "and its base or another view of its base",
    "dirty view": "a view of another Tensor",
    "quiet view": "no_grad mode",
    "cast": "can't be cast",
}


class AddInto(pb.Function):
    """target += 2·value, by a Function that writes."""

    @staticmethod
    def forward(ctx, target, value):
        target += value * 2.0
        ctx.mark_dirty(target)
        return target

    @staticmethod
    def backward(ctx, g):
        return g, g * 2.0


class ScaleInto(pb.Function):
    """target *= value, by a Function that writes; it saves what it needs before."""

    @staticmethod
    def forward(ctx, target, value):
        ctx.save_for_backward(target.clone(), value.clone())
        target *= value
        ctx.mark_dirty(target)
        return target

    @staticmethod
    @pb.once_differentiable
    def backward(ctx, g):
        target, value = ctx.saved_tensors
        return g * value, g * target


class Same(pb.Function):
    """Three times the input, which is returned as it is in value: backward differs to be seen."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Numpy:
    """What a program may do, on arrays."""

    view = staticmethod(lambda a, index: a[index])
    transpose = staticmethod(lambda a: a.T)
    copy = staticmethod(lambda a: a.copy())
    square = staticmethod(lambda a: a * a)
    start = staticmethod(lambda a: a * 1.0)
    detach = staticmethod(lambda a: np.array(a.real, dtype=a.dtype))

    primitive_square = square
    same = staticmethod(lambda a: a[...])
    sin = staticmethod(np.sin)
    constant = staticmethod(lambda x: np.ones_like(x))
    fortran = staticmethod(lambda a: np.array(a, order="F"))

    @staticmethod
    def add_one(a):
        a += 1

    @staticmethod
    def add_into(a, b):
        a += b * 2.0

    @staticmethod
    def scale_into(a, b):
        a *= b


class Pullback:
    """The same, on Tensors."""

    view = staticmethod(lambda a, index: Item.apply(a, index=index))
    transpose = staticmethod(Transpose.apply)
    copy = staticmethod(lambda a: a.clone())
    square = staticmethod(Square.apply)
    start = staticmethod(lambda a: a * 1.0)
    detach = staticmethod(lambda a: a.detach().clone())
    add_one = staticmethod(AddOne.apply)
    add_into = staticmethod(AddInto.apply)
    scale_into = staticmethod(ScaleInto.apply)
    primitive_square = staticmethod(PrimitiveSquare.apply)
    same = staticmethod(Same.apply)
    sin = staticmethod(pb.sin)
    constant = staticmethod(lambda x: pb.tensor(np.ones(x.shape)))
    fortran = staticmethod(lambda a: Fortran.apply(a))


class Fortran(pb.Primitive):
    """A copy in Fortran order."""

    @staticmethod
    def forward(ctx, x):
        return np.array(x, order="F")

    @staticmethod
    def backward(ctx, ct):
        return ct


def make_program(rng, length):
    """A list of steps; each names tensors by number and works wherever shapes allow."""
    steps = []
    for _ in range(length):
        kind = rng.choice(
            [
                "view",
                "view",
                "view",
                "transpose",
                "copy",
                "add",
                "mul",
                "square",
                "primitive square",
                "sin",
                "iadd",
                "iadd",
                "imul",
            ]
            + ["isub", "iadd number", "imul number", "add one", "add into", "scale into", "same", "fortran", "detach"]
        )
        steps.append(
            (
                str(kind),
                int(rng.integers(100)),
                int(rng.integers(100)),
                INDICES[rng.integers(len(INDICES))],
                float(rng.integers(-2, 4)),
            )
        )
    return steps


def run(program, x, do):
    """Execute a program; all Tensors that it made are its result."""
    pool = [do.start(x), do.fortran(do.start(x) * 2.0), do.constant(x)]
    for kind, i, j, index, number in program:
        a = pool[i % len(pool)]
        same = [t for t in pool if t.shape == a.shape]
        b = same[j % len(same)]
        if kind == "view":
            if min(a.shape) > 0:
                pool.append(do.view(a, index))
        elif kind == "transpose":
            pool.append(do.transpose(a))
        elif kind == "copy":
            pool.append(do.copy(a))
        elif kind == "detach":
            pool.append(do.detach(a))
        elif kind == "add":
            pool.append(a + b)
        elif kind == "mul":
            pool.append(a * b)
        elif kind == "square":
            pool.append(do.square(a))
        elif kind == "iadd":
            a += b
        elif kind == "isub":
            a -= b
        elif kind == "imul":
            a *= b
        elif kind == "iadd number":
            a += number
        elif kind == "imul number":
            a *= number
        elif kind == "add one":
            do.add_one(a)
        elif kind == "add into":
            do.add_into(a, b)
        elif kind == "scale into":
            do.scale_into(a, b)
        elif kind == "same":
            pool.append(do.same(a))
        elif kind == "primitive square":
            pool.append(do.primitive_square(a))
        elif kind == "sin":
            pool.append(do.sin(a))
        elif kind == "fortran":
            pool.append(do.fortran(a))
    return pool


def weights_for(arrays):
    rng = np.random.default_rng(0)
    return [np.round(rng.normal(size=a.shape), 2) for a in arrays]


def truth(program, point):
    """Values, and the derivative of the weighted sum of all results."""
    plain = run(program, point.astype(complex), Numpy)
    weights = weights_for(plain)
    gradient = np.empty(point.shape)
    for k in np.ndindex(point.shape):
        shifted = point.astype(complex)
        shifted[k] += 1e-30j
        results = run(program, shifted, Numpy)
        gradient[k] = sum((w * r.imag).sum() for w, r in zip(weights, results, strict=True)) / 1e-30
    return [a.real for a in plain], weights, gradient


def ours(program, point, create_graph=False):
    x = leaf(point)
    results = run(program, x, Pullback)
    weights = weights_for(results)
    pairs = [(r, pb.tensor(w)) for r, w in zip(results, weights, strict=True) if r.requires_grad]
    found = grad([r for r, _ in pairs], x, [w for _, w in pairs], create_graph=create_graph, materialize_grads=True)
    return x, values(results), found[0]


def check(seed, orders):
    rng = np.random.default_rng(seed)
    program = make_program(rng, int(rng.integers(3, 14)))
    if orders > 1:  # a detached value is a constant for us, and a function of the point for finite differences
        program = [step for step in program if step[0] not in ("detach", "scale into")]
    return compare(rng, program, orders)


def compare(rng, program, orders):
    point = np.round(rng.normal(size=SHAPE), 1)
    expected, _, gradient = truth(program, point)
    if not all(np.abs(e).max(initial=0.0) < 1e6 for e in expected):
        return "large"
    try:
        x, found, g = ours(program, point, create_graph=orders > 1)
    except RuntimeError as error:
        reason = next((name for name, words in REASONS.items() if words in str(error)), None)
        if reason is None:
            raise
        return reason
    for ours_value, numpys in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours_value, numpys, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values([g])[0], gradient, rtol=1e-9, atol=1e-9)
    if orders > 1:
        direction = np.round(rng.normal(size=SHAPE), 1)
        (hvp,) = grad(g, x, pb.tensor(direction), materialize_grads=True)
        h = 1e-5
        plus, minus = (truth(program, point + s * h * direction)[2] for s in (1, -1))
        scale = max(1.0, np.abs(plus).max(initial=0.0))
        np.testing.assert_allclose(values([hvp])[0], (plus - minus) / (2 * h), rtol=1e-4, atol=1e-4 * scale)
    return "right"


def test_random_programs_have_the_right_gradient_or_a_reason():
    outcomes = [check(seed, 1) for seed in range(250)]
    assert outcomes.count("right") > 125, "most programs are legal"
    assert outcomes.count("stale") > 5, "and some overwrite what is needed"


def test_random_programs_have_the_right_second_derivative_or_a_reason():
    outcomes = [check(seed, 2) for seed in range(1000, 1080)]
    assert outcomes.count("right") > 40


@pytest.mark.slow
def test_many_more_random_programs():
    for seed in range(2000, 8000):
        check(seed, 1 + seed % 2)


def test_the_oracle_is_an_oracle():
    """A program whose derivative is known by hand."""
    program = [("view", 0, 0, (slice(0, 1),), 0.0), ("imul number", 3, 0, (), 3.0)]
    _, weights, gradient = truth(program, np.ones(SHAPE))
    expected = weights[0] + 2 * weights[1]
    expected[0] += 2 * weights[0][0] + 3 * weights[3][0]
    np.testing.assert_allclose(gradient, expected)
