"""`vmap`: what it means for functions, how it composes, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch
from pullback.autograd import forward_ad as fw
from pullback.batching import looping
from pullback.core.batches import LIVE

X = np.array([[0.3, -0.4, 0.7], [1.1, 0.2, -0.6]])
W = np.array([0.5, -1.0, 0.25])


def loss(w, x):
    return pb.tanh(pb.sum(w * x)) ** 2


def loop(f, *columns):
    return np.stack([np.asarray(pb.asarray(f(*row)).detach()) for row in zip(*columns, strict=True)])


def same(found, expected, tolerance=1e-12):
    found = found.detach() if isinstance(found, pb.Tensor) else found
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------------------------- what goes in
def test_axes_of_arguments_and_results():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    found = pb.vmap(lambda x, y: pb.matmul(y, pb.ones((4,))) * x[0] + x, in_dims=(1, 0), out_dims=1)(a, b)
    same(found, np.stack([b[k].sum() * a[0, k] + a[:, k] for k in range(3)], axis=1))
    same(pb.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(a), a * 2)


def test_structures():
    tree = {"a": X, "b": (X * 2, 3.0)}
    f = pb.vmap(
        lambda t: {"sum": t["a"] + t["b"][0] * t["b"][1], "first": [t["a"][0]]}, in_dims=({"a": 0, "b": (0, None)},)
    )
    found = f(tree)
    same(found["sum"], X * 7)
    same(found["first"][0], X[:, 0])


def test_what_does_not_depend_on_the_batch_is_repeated():
    same(pb.vmap(lambda x: pb.tensor([1.0, 2.0]))(X), [[1.0, 2.0]] * 2)
    same(pb.vmap(lambda x: 3.0)(X), [3.0, 3.0])
    w = pb.tensor(2.0, requires_grad=True)
    found = pb.vmap(lambda x: w * 1)(X)
    same(pb.autograd.grad(found.sum(), w)[0], 2.0)
    found = pb.vmap(lambda x: w * 1, out_dims=None)(X)
    assert found.shape == ()


def test_arrays_give_arrays_and_tensors_give_tensors():
    assert type(pb.vmap(pb.sin)(X)) is np.ndarray
    assert isinstance(pb.vmap(pb.sin)(pb.asarray(X)), pb.Tensor)
    w = pb.tensor(1.0, requires_grad=True)
    assert pb.vmap(lambda x: x * w)(X).requires_grad


def test_in_chunks():
    calls = []

    def f(x, y):
        calls.append(x.shape)
        return x.sum() * y, y

    xs, y = np.arange(14.0).reshape(7, 2), np.array(2.0)
    for size, count in ((None, 1), (3, 3), (7, 1), (100, 1)):
        calls.clear()
        found, shared = pb.vmap(f, in_dims=(0, None), chunk_size=size)(xs, y)
        same(found, xs.sum(1) * 2)
        assert shared.shape == (7,)
        assert calls == [(2,)] * count


def test_an_empty_batch():
    assert pb.vmap(lambda x: pb.sin(x).sum())(np.zeros((0, 3))).shape == (0,)


def test_mistakes():
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        pb.vmap(pb.add)(X, np.zeros(3))
    with pytest.raises(ValueError, match="at least one input"):
        pb.vmap(pb.sin, in_dims=None if False else (None,))(X)
    with pytest.raises(ValueError, match="in_dim=2 for some input"):
        pb.vmap(pb.sin, in_dims=2)(X)
    with pytest.raises(ValueError, match="not compatible"):
        pb.vmap(pb.sin, in_dims=(0, 0))(X)
    with pytest.raises(ValueError, match="non-Tensor"):
        pb.vmap(pb.add)(X, 1.0)
    with pytest.raises(ValueError, match="only return Tensors"):
        pb.vmap(lambda x: "text")(X)
    with pytest.raises(ValueError, match="only return Tensors"):
        torch.vmap(lambda x: 3.0)(torch.ones(2))
    with pytest.raises(ValueError, match="depends on the batch"):
        pb.vmap(pb.sin, out_dims=None)(X)
    with pytest.raises(RuntimeError, match="Only allowed values"):
        pb.vmap(pb.sin, randomness="often")
    with pytest.raises(ValueError, match="chunk_size"):
        pb.vmap(pb.sin, chunk_size=0)


# ---------------------------------------------------------------------------------------------------------- composition
def test_a_gradient_for_each_example():
    expected = loop(lambda x: pb.grad(loss)(W, x), X)
    same(pb.vmap(pb.grad(loss), in_dims=(None, 0))(W, X), expected)
    captured = pb.tensor(W, requires_grad=True)
    same(pb.vmap(lambda x: pb.autograd.grad(loss(captured, x), captured)[0])(X), expected)


def test_gradients_through_it_are_sums_over_what_is_shared():
    w = pb.tensor(W, requires_grad=True)
    x = pb.tensor(X, requires_grad=True)
    found = pb.autograd.grad(pb.vmap(lambda row: loss(w, row))(x).sum(), (w, x))
    total = sum(loss(w, row) for row in pb.unstack(x))
    for f, e in zip(found, pb.autograd.grad(total, (w, x)), strict=True):
        same(f, e)


def test_three_orders_in_every_mixture():
    """Each order taken inside or outside of vmap."""
    w, x = pb.tensor(W), pb.tensor(X)
    inside = pb.vmap(lambda w, x: pb.hessian(loss)(w, x), in_dims=(None, 0))(w, x)
    same(inside, loop(lambda row: pb.hessian(loss)(w, row), x), 1e-10)
    outside = pb.hessian(lambda w: pb.sum(pb.vmap(loss, in_dims=(None, 0))(w, x)))(w)
    same(outside, inside.sum(axis=0), 1e-10)
    mixed = pb.jacobian(lambda w: pb.vmap(pb.grad(loss), in_dims=(None, 0))(w, x))(w)
    same(mixed, inside, 1e-10)
    third = pb.jacobian(lambda w: pb.vmap(pb.hessian(loss), in_dims=(None, 0))(w, x))(w)
    same(third, loop(lambda row: pb.jacobian(pb.hessian(loss))(w, row), x), 1e-9)


def test_vmap_of_vmap():
    a, b = X, np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [0.0, 1.0, -2.0], [3.0, 1.0, 1.0]])
    table = pb.vmap(
        lambda x: pb.vmap(lambda y: pb.dot(x, pb.sin(y)) if hasattr(pb, "dot") else pb.sum(x * pb.sin(y)))(b)
    )(a)
    same(table, a @ np.sin(b).T)
    x, y = pb.tensor(a, requires_grad=True), pb.tensor(b, requires_grad=True)
    w = pb.tensor(0.7, requires_grad=True)
    table = pb.vmap(lambda x: pb.vmap(lambda y: pb.sum(x * pb.sin(w * y)))(y))(x)
    expected = pb.matmul(x, pb.sin(w * y).T)
    for f, e in zip(
        pb.autograd.grad((table**2).sum(), (x, y, w)), pb.autograd.grad((expected**2).sum(), (x, y, w)), strict=True
    ):
        same(f, e)
    inner = pb.vmap(lambda x: pb.grad(lambda w: pb.sum(pb.vmap(lambda y: pb.sum(x * pb.sin(w * y)))(b)))(0.7))(a)
    same(inner, loop(lambda x: pb.grad(lambda w: pb.sum(pb.sin(w * b) @ x))(0.7), a))


def test_an_outer_batch_in_an_inner_function():
    """The inner batch has lower levels beside it, and values of the outer one alone."""
    found = pb.vmap(lambda x: pb.vmap(lambda k: pb.sum(x) + k * pb.sum(x * x))(np.arange(4.0)))(X)
    same(found, X.sum(1)[:, None] + np.arange(4.0) * (X**2).sum(1)[:, None])


def test_forward_mode_through_and_within():
    v = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]])
    expected = loop(lambda x, t: pb.jvp(lambda x: loss(W, x), (x,), (t,))[1], X, v)
    same(pb.jvp(pb.vmap(lambda x: loss(W, x)), (X,), (v,))[1], expected)
    same(pb.vmap(lambda x, t: pb.jvp(lambda x: loss(W, x), (x,), (t,))[1])(X, v), expected)
    same(torch.func.jvp(torch.vmap(lambda x: loss(W, x)), (torch.tensor(X),), (torch.tensor(v),))[1], expected)
    within = torch.vmap(lambda x, t: torch.func.jvp(lambda x: loss(W, x), (x,), (t,))[1])
    same(within(torch.tensor(X), torch.tensor(v)), expected)
    with fw.dual_level():
        y = pb.vmap(lambda x: loss(W, x))(fw.make_dual(pb.tensor(X), pb.tensor(v)))
        same(fw.unpack_dual(y).tangent, expected)
        (over,) = pb.autograd.grad(
            pb.vmap(lambda x: loss(W, x))(z := fw.make_dual(pb.tensor(X, requires_grad=True), pb.tensor(v))).sum(), z
        )
        same(
            fw.unpack_dual(over).tangent,
            loop(lambda x, t: pb.hvp(lambda x: loss(W, x))(x, t), X, v),
        )


def test_a_batch_of_tangents_at_one_point():
    basis = np.eye(3)
    found = pb.vmap(lambda t: pb.jvp(lambda x: pb.sin(x) * x[0], (X[0],), (t,))[1])(basis)
    same(found.T, pb.jacobian(lambda x: pb.sin(x) * x[0])(X[0]))


def test_a_gradient_within_to_the_array_of_all():
    """Each example asks for its own derivative by the whole array."""
    x = pb.tensor(X, requires_grad=True)
    found = pb.vmap(lambda row: pb.autograd.grad(pb.sum(row**3), x)[0])(x)
    expected = np.zeros((2, 2, 3))
    for k in range(2):
        expected[k, k] = 3 * X[k] ** 2
    same(found, expected)


def test_structural_zeros_cross_the_border():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    with np.errstate(all="ignore"):
        roots = pb.sqrt(x)
        y = pb.vmap(lambda r, x: pb.where(x > 1, r, 1.0))(roots, x.detach())
        (found,) = pb.autograd.grad(y.sum(), x)
    same(found, [0.0, 0.25])


def test_no_grad_inside_and_outside():
    w = pb.tensor(W, requires_grad=True)
    with pb.no_grad():
        assert isinstance(pb.vmap(lambda x: loss(w, x))(X), np.ndarray)

    def constant(x):
        with pb.no_grad():
            return loss(w, x)

    assert isinstance(pb.vmap(constant)(X), np.ndarray)


def test_nothing_stays_alive():
    before = len(LIVE)
    w = pb.tensor(W, requires_grad=True)
    y = pb.vmap(lambda x: loss(w, x))(X)
    assert len(LIVE) == before + 1
    del y
    assert len(LIVE) == before
    with pytest.raises(RuntimeError):
        pb.vmap(lambda x: x if x.sum() > 0 else -x)(X)
    pb.hessian(lambda w: loss(w, X[0]))(W)
    assert len(LIVE) == before


# ------------------------------------------------------------------------------------------------------ looking at numbers
@pytest.mark.parametrize(
    "look",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * float(x[0]),
        lambda x: x * x[0].item(),
        lambda x: x * x.numpy().max(),
        lambda x: np.asarray(x),
        lambda x: x.tolist(),
        lambda x: x[: int(x[0])],
        lambda x: x[x > 0.25],
    ],
    ids=["if", "float", "item", "numpy", "asarray", "tolist", "int", "mask"],
)
def test_looking_at_a_number_is_refused(look):
    with pytest.raises(RuntimeError, match=r"inside vmap|different shapes") as caught:
        pb.vmap(look)(X)
    assert "where(" in "".join(getattr(caught.value, "__notes__", [])) or "shapes" in str(caught.value)


def test_what_all_entries_share_may_be_looked_at():
    w = pb.tensor(2.0)
    same(pb.vmap(lambda x: x * 2 if w > 1 else x)(X), X * 2)


def test_printing():
    shown = []
    pb.vmap(lambda x: shown.append(repr(x)) or x)(X)
    assert "0.3" in shown[0]
    assert "1.1" in shown[0]


# --------------------------------------------------------------------------------------------------- writes and views
def test_writing_into_what_the_function_made():
    def f(x):
        out = pb.zeros(4)
        out[0] = x[0]
        out[1:3] = x[:2] * x[1]
        out[[3]] += x[2] ** 2
        view = out[::2]
        view.mul_(x[1])
        return out

    def plain(x):
        return np.array([x[0] * x[1], x[0] * x[1], x[1] * x[1] * x[1], x[2] ** 2])

    same(pb.vmap(f)(X), np.stack([plain(x) for x in X]))
    x = pb.tensor(X, requires_grad=True)
    (found,) = pb.autograd.grad((pb.vmap(f)(x) ** 2).sum(), x)
    same(found, loop(lambda row: pb.grad(lambda r: pb.sum(f(r) ** 2))(row), X))
    found = pb.vmap(pb.grad(lambda r: pb.sum(f(r) ** 2)))(X)
    same(found, loop(lambda row: pb.grad(lambda r: pb.sum(f(r) ** 2))(row), X))


def test_writing_into_a_copy_of_an_argument():
    def f(x):
        y = x * 1
        y[1] = (y[0] * 1) * x[2]
        y[y < 0] = 0.5
        y.masked_fill_(x > 1, 2.0)
        y += x
        return y

    same(pb.vmap(f)(X), np.stack([np.asarray(f(pb.tensor(x))) for x in X]))
    same(
        pb.vmap(pb.grad(lambda x: pb.sum(f(x) ** 2)))(X), loop(lambda row: pb.grad(lambda r: pb.sum(f(r) ** 2))(row), X)
    )


def test_writing_into_an_argument_reaches_the_caller():
    x = pb.tensor(X.T.copy())
    pb.vmap(lambda row: row.mul_(2.0), in_dims=1)(x)
    same(x, X.T * 2)
    x = pb.tensor(X, requires_grad=True)
    y = x * 1
    z = pb.vmap(lambda row: row.mul_(row[0] * 1))(y)
    expected = x * x[:, :1]
    same(y, expected.detach())
    same(
        pb.autograd.grad((y**2).sum(), x, retain_graph=True)[0],
        pb.autograd.grad((expected**2).sum(), x, retain_graph=True)[0],
    )
    same(pb.autograd.grad((z**2).sum(), x)[0], pb.autograd.grad((expected**2).sum(), x)[0])


def test_what_was_saved_and_written_is_stale():
    def f(x):
        y = x * 1
        z = y * y
        y.mul_(2.0)
        return z

    x = pb.tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pb.autograd.grad(pb.vmap(f)(x).sum(), x)


def test_writing_different_values_into_a_shared_array_is_refused():
    out = pb.zeros(3)
    for write in (lambda x: out.copy_(x), lambda x: out.__setitem__(0, x[0]), lambda x: out.add_(x)):
        with pytest.raises(RuntimeError, match="share"):
            pb.vmap(lambda x, write=write: (write(x), x)[1])(X)
        same(out, np.zeros(3))


def test_indices_from_the_batch():
    table = np.arange(12.0).reshape(4, 3) ** 1.5
    rows, columns = np.array([3, 0, 3]), np.array([1, 2, 0])
    for f in (
        lambda t, i, j: t[i],
        lambda t, i, j: t[i, j],
        lambda t, i, j: t[:, j],
        lambda t, i, j: t[i, 1:],
        lambda t, i, j: t[[0, 1], j],
        lambda t, i, j: t[None, i, :, None],
        lambda t, i, j: t[pb.stack([i, j])],
        lambda t, i, j: t[:, pb.stack([j, j])],
        lambda t, i, j: pb.take(t, pb.stack([i, i, j]), axis=0),
        lambda t, i, j: pb.take_along_axis(t, pb.stack([pb.stack([j, i % 3])]), axis=1),
    ):
        w = pb.tensor(table, requires_grad=True)
        found = pb.vmap(f, in_dims=(None, 0, 0))(w, rows, columns)
        expected = pb.stack([f(w, pb.asarray(i), pb.asarray(j)) for i, j in zip(rows, columns, strict=True)])
        same(found, expected.detach())
        weights = pb.tensor(np.random.default_rng(0).normal(size=found.shape))
        same(
            pb.autograd.grad(found, w, weights, create_graph=True)[0],
            pb.autograd.grad(expected, w, weights)[0],
        )
        inside = pb.vmap(pb.grad(lambda t, i, j, f=f: pb.sum(f(t, i, j) ** 2)), in_dims=(None, 0, 0))(
            table, rows, columns
        )
        single = [
            pb.grad(lambda t, i=i, j=j, f=f: pb.sum(f(t, pb.asarray(i), pb.asarray(j)) ** 2))(table)
            for i, j in zip(rows, columns, strict=True)
        ]
        same(inside, np.stack(single))


def test_writing_at_indices_from_the_batch():
    columns = np.array([1, 2])

    def f(x, j):
        out = pb.zeros(3)
        out[j] = pb.sum(x * x)
        out[pb.stack([j, j])] += x[:2]
        y = x * 1
        y[j] *= x[0]
        y[y > 0.5] = 0.1
        return pb.sum(out * x + y**2)

    expected = loop(lambda x, j: f(pb.tensor(x), pb.asarray(j)), X, columns)
    same(pb.vmap(f)(X, columns), expected)
    found = pb.vmap(pb.grad(f))(X, columns)
    same(found, loop(lambda x, j: pb.grad(lambda x: f(x, pb.asarray(j)))(x), X, columns))
    x = pb.tensor(X, requires_grad=True)
    same(pb.autograd.grad(pb.vmap(f)(x, columns).sum(), x)[0], found)


# ---------------------------------------------------------------------------------------- operators that look, Functions
class Looks(pb.Primitive):
    """A product whose forward and backward need NumPy's numbers."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return np.asarray(a) * np.asarray(b)

    @staticmethod
    def backward(ctx, ct):
        a, b = ctx.saved_tensors
        return Looks.apply(ct, b), Looks.apply(a, ct)


class LooksInFunction(pb.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        ctx.largest = max(a.numpy().max(), 5.0)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        if not (g == g).all():
            raise ValueError
        return g * b, g * a


class Plain(pb.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        assert g.shape == a.shape  # of one entry
        return g * b, g * a


@pytest.mark.parametrize("operator", [Looks, Plain])
def test_an_operator_of_ones_own_in_every_mode(operator):
    def f(w, x):
        return pb.sum(operator.apply(pb.asarray(w), pb.sin(pb.asarray(x))) ** 3)

    def expected(w, x):
        return pb.sum((w * pb.sin(x)) ** 3)

    looping.LOOPED.clear()
    v = np.ones_like(X)
    same(pb.vmap(f, in_dims=(None, 0))(W, X), loop(lambda x: expected(W, x), X))
    same(pb.vmap(pb.grad(f), in_dims=(None, 0))(W, X), loop(lambda x: pb.grad(expected)(W, x), X))
    same(
        pb.jacobian(lambda w: pb.vmap(pb.grad(f), in_dims=(None, 0))(w, X))(W),
        loop(lambda x: pb.hessian(expected)(W, x), X),
    )
    same(pb.vmap(pb.hessian(f), in_dims=(None, 0))(W, X), loop(lambda x: pb.hessian(expected)(W, x), X))
    same(
        torch.func.jvp(lambda x: pb.vmap(f, in_dims=(None, 0))(W, x), (pb.tensor(X),), (pb.tensor(v),))[1],
        loop(lambda x, t: pb.jvp(lambda x: expected(W, x), (x,), (t,))[1], X, v),
    )
    same(pb.hessian(lambda w: f(w, X[0]))(W), pb.hessian(lambda w: expected(w, X[0]))(W))
    twice = np.stack([X, X[::-1]])
    same(
        pb.vmap(lambda xs: pb.vmap(pb.grad(f), in_dims=(None, 0))(W, xs))(twice),
        np.stack([loop(lambda x: pb.grad(expected)(W, x), xs) for xs in twice]),
    )
    assert bool(looping.LOOPED) is (operator is Looks)


def test_a_function_that_looks_runs_for_each_entry():
    def f(w, x):
        return pb.sum(LooksInFunction.apply(w, pb.asarray(x)) ** 2)

    w = pb.tensor(W, requires_grad=True)
    same(pb.vmap(f, in_dims=(None, 0))(w, X), loop(lambda x: f(w, x), X))
    same(
        pb.autograd.grad(pb.vmap(f, in_dims=(None, 0))(w, X).sum(), w)[0],
        pb.autograd.grad(sum(f(w, x) for x in pb.tensor(X)), w)[0],
    )
    found = pb.vmap(lambda x: pb.autograd.grad(f(w, x), w)[0])(X)
    same(found, loop(lambda x: pb.autograd.grad(f(w, x), w)[0], pb.tensor(X)))
    eye = pb.tensor(np.eye(3))
    y = LooksInFunction.apply(w, pb.tensor(X[0]))
    same(pb.autograd.grad(y, w, eye, is_grads_batched=True)[0], np.diag(X[0]))


class Squared(torch.autograd.Function):
    """With setup_context, and `vmap` where a subclass has one."""

    seen: list = []  # noqa: RUF012

    @staticmethod
    def forward(x, k):
        return x * x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g * ctx.k, None


class OwnRule(Squared):
    @staticmethod
    def vmap(info, in_dims, x, k):
        Squared.seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), k))
        return OwnRule.apply(x, k), in_dims[0]


class Generated(Squared):
    generate_vmap_rule = True


@pytest.mark.parametrize("function", [Squared, OwnRule, Generated])
def test_functions_with_setup_context(function):
    Squared.seen.clear()
    x = torch.tensor(X, requires_grad=True)
    y = torch.vmap(lambda x: function.apply(x, 3), in_dims=1, out_dims=1)(x)
    same(y, 3 * X**2)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    same(g, 6 * X)
    same(torch.autograd.grad(g.sum(), x)[0], 6 * np.ones_like(X))
    each = torch.vmap(torch.func.grad(lambda x: function.apply(x, 3).sum()))(torch.tensor(X))
    same(each, 6 * X)
    if function is OwnRule:
        assert Squared.seen == [(3, "error", (1, None), (2, 3), 3), (2, "error", (0, None), (2, 3), 3)]


def test_own_rules_that_are_wrong():
    class Both(OwnRule):
        generate_vmap_rule = True

    class OneResult(Squared):
        @staticmethod
        def vmap(info, in_dims, x, k):
            return x

    class Unseparated(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    for function, message in ((Both, "generate_vmap_rule"), (OneResult, "two returns"), (Unseparated, "setup_context")):
        with pytest.raises(RuntimeError, match=message):
            torch.vmap(lambda x, f=function: f.apply(x, 2) if issubclass(f, Squared) else f.apply(x))(torch.ones(2))


# -------------------------------------------------------------------------------------------------- batched cotangents
def test_one_pass_for_a_batch_of_cotangents():
    runs = []

    class Doubled(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            runs.append(g.shape)
            return g * 2

    x = pb.tensor(W, requires_grad=True)
    y = Doubled.apply(x)
    same(pb.autograd.grad(y, x, pb.tensor(np.eye(3)), is_grads_batched=True)[0], 2 * np.eye(3))
    assert runs == [(3,)]
    runs.clear()
    same(pb.jacobian(Doubled.apply)(W), 2 * np.eye(3))
    assert runs == [(3,)]
    runs.clear()
    pb.jacobian(Doubled.apply, chunk_size=2)(W)
    assert len(runs) == 2
    runs.clear()
    pb.autograd.functional.jacobian(Doubled.apply, x, vectorize=True)
    assert len(runs) == 1


def test_a_graph_of_batched_cotangents():
    x = pb.tensor(W, requires_grad=True)
    y = pb.sin(x) * x[0]
    seeds = pb.tensor(np.eye(3), requires_grad=True)
    (rows,) = pb.autograd.grad(y, x, seeds, is_grads_batched=True, create_graph=True)
    found = pb.autograd.grad((rows**2).sum(), (x, seeds))
    jac = pb.jacobian(lambda x: pb.sin(x) * x[0])
    same(found[0], pb.grad(lambda x: pb.sum(jac(x) ** 2))(W))
    same(found[1], pb.grad(lambda s: pb.sum((s @ jac(W)) ** 2))(np.eye(3)))


# ---------------------------------------------------------------------------------------------------------- randomness
def drawing():
    return {
        "randn": lambda x: torch.randn(2),
        "rand_like": torch.rand_like,
        "randint": lambda x: torch.randint(0, 1000, (3,)),
        "randperm": lambda x: torch.randperm(20),
        "normal": lambda x: torch.normal(torch.zeros(3), 1.0),
        "bernoulli": lambda x: torch.bernoulli(torch.full((30,), 0.5)),
        "multinomial": lambda x: torch.multinomial(torch.ones(40), 10),
        "poisson": lambda x: torch.poisson(torch.full((9,), 30.0)),
        "normal_": lambda x: torch.zeros(4).normal_(),
        "exponential_": lambda x: torch.zeros(4).exponential_(),
        "dropout": lambda x: torch.nn.functional.dropout(torch.ones(40)),
    }


@pytest.mark.parametrize("name", drawing())
def test_random_numbers(name):
    draw, x = drawing()[name], torch.ones(4, 3)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        torch.vmap(draw)(x)
    same = torch.vmap(draw, randomness="same")(x)
    assert (same == same[:1]).all()
    different = torch.vmap(draw, randomness="different")(x)
    assert different.shape == same.shape
    assert len({tuple(row.tolist()) for row in different}) == 4
    nested = torch.vmap(lambda y: torch.vmap(draw, randomness="different")(x), randomness="same")(torch.ones(2))
    assert nested.shape == (2, *different.shape)
    assert (nested[0] == nested[1]).all()
    nested = torch.vmap(lambda y: torch.vmap(draw, randomness="same")(x), randomness="different")(torch.ones(2))
    assert (nested[:, 0] == nested[:, 1]).all()
    assert not (nested[0] == nested[1]).all()


def test_random_numbers_that_depend_on_the_batch():
    means = torch.tensor([0.0, 1000.0, 2000.0])
    for draw in (lambda m: torch.normal(m, 1.0), torch.poisson):
        found = torch.vmap(draw, randomness="different")(means)
        assert (abs(found - means) < 200).all()
    chances = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert torch.vmap(torch.bernoulli, randomness="different")(chances).tolist() == chances.tolist()
    assert torch.vmap(lambda w: torch.multinomial(w, 1), randomness="different")(chances).tolist() == [[1], [0]]


def test_forward_mode_that_looks_runs_for_each_entry():
    class Product(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_forward(a, b)
            return a * b

        @staticmethod
        def jvp(ctx, ta, tb):
            a, b = ctx.saved_tensors
            return ta * b.detach().numpy() + a.detach().numpy() * tb

    v = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.5]])
    w = pb.tensor(W)
    with fw.dual_level():
        x = fw.make_dual(pb.tensor(X), pb.tensor(v))
        y = pb.vmap(lambda x: Product.apply(x, pb.sin(x) * w).sum())(x)
        found = fw.unpack_dual(y).tangent
    expected = loop(lambda x, t: pb.jvp(lambda x: pb.sum(x * pb.sin(x) * W), (x,), (t,))[1], X, v)
    same(found, expected)


def test_a_function_that_wrote_into_its_argument_does_not_run_again_for_each_entry():
    class ScalesAndClips(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            if x.sum() > 0:  # must not run on what is doubled already
                x -= 1
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with pytest.raises(RuntimeError) as caught:
        pb.vmap(lambda x: ScalesAndClips.apply(x * 1))(pb.tensor([[1.0, 2.0], [3.0, -4.0]]))
    assert any("wrote into its arguments" in note for note in caught.value.__notes__)


def test_callbacks_of_functions_that_look():
    """What a callback captures is not known to each entry apart: only a gradient within the batch is refused."""
    w = pb.tensor(2.0, requires_grad=True)
    x = pb.tensor(X, requires_grad=True)

    def f(x):
        return np.piecewise(x, [x < 0, x >= 0], [lambda v: v * w, lambda v: v * v])

    y = pb.vmap(f)(x)
    same(y.detach(), np.where(X < 0, 2 * X, X * X))
    found = pb.autograd.grad(y.sum(), (x, w))
    same(found[0], np.where(X < 0, 2, 2 * X))
    same(found[1], X[X < 0].sum())
    with pytest.raises(RuntimeError, match="captures a differentiable Tensor"):
        pb.vmap(lambda x: pb.autograd.grad(pb.sum(f(x)), w)[0])(x)
    w = pb.tensor(2.0)
    same(pb.vmap(pb.grad(lambda x: pb.sum(f(x))))(x).detach(), np.where(X < 0, 2, 2 * X))


def test_no_backward_inside():
    w = pb.tensor(W, requires_grad=True)
    with pytest.raises(RuntimeError, match="inside a functorch transform"):
        pb.vmap(lambda x: (pb.sum(w * x).backward(), x)[1])(X)
    assert w.grad is None


def test_a_checkpoint_inside():
    from pullback.autograd.checkpoint import checkpoint

    f = pb.vmap(pb.grad(lambda x: pb.sum(checkpoint(lambda v: pb.sin(v) * v, x))))
    same(f(X), np.cos(X) * X + np.sin(X))


def test_what_looks_and_writes_is_refused():
    def clear_largest(x):
        x[int(np.argmax(x.detach().numpy()))] = 0.0
        return x

    class Clears(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x[int(np.argmax(x.numpy()))] = 0.0
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    for f in (clear_largest, Clears.apply):
        with pytest.raises(RuntimeError, match="inside vmap"):
            pb.vmap(lambda x, f=f: f(x * 1))(pb.tensor(X))


@pytest.mark.parametrize("library", ["array_api_strict", pytest.param("jax.numpy", marks=pytest.mark.jax)])
def test_arrays_of_another_library(library):
    xp = pytest.importorskip(library)
    if library == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)

    def f(w, x):
        y = pb.sin(x[1:] * w[:-1]) + pb.sum(x * w)
        return pb.sum(pb.concat([y, pb.take(x, pb.asarray([0, 2]))]) ** 2) + pb.matmul(w, x)

    w, x = pb.asarray(xp.asarray(W)), pb.asarray(xp.asarray(X))
    expected = loop(lambda row: pb.grad(f)(pb.tensor(W), row), pb.tensor(X))
    found = pb.vmap(pb.grad(f), in_dims=(None, 0))(w, x)
    assert type(found._array) is type(w._array)
    same(np.asarray(found._array), expected)
    hessian = pb.vmap(pb.hessian(f), in_dims=(None, 0))(w, x)
    same(np.asarray(hessian._array), loop(lambda row: pb.hessian(f)(pb.tensor(W), row), pb.tensor(X)), 1e-10)


@pytest.mark.parametrize(
    "write",
    [lambda m: m.diagonal().fill_(2.0), lambda m: m.diagonal(1).mul_(3.0), lambda m: m.flip(0).fill_(2.0)],
    ids=["diagonal", "upper diagonal", "flip"],
)
def test_writes_into_a_diagonal_reach_the_matrix_and_into_a_flipped_copy_do_not(write):
    def written(x):
        m = x * x
        write(m)
        return m

    x = torch.tensor(np.arange(1.0, 13.0).reshape(3, 2, 2)).requires_grad_()
    expected = torch.stack([written(one) for one in x])
    found = torch.vmap(written)(x)
    assert (found == expected).all()
    weights = torch.tensor(np.arange(12.0).reshape(3, 2, 2))
    of_found, of_expected = (torch.autograd.grad((weights * y).sum(), x)[0] for y in (found, expected))
    assert (of_found == of_expected).all()


def test_memory_is_handed_on_only_by_what_nobody_holds():
    """Large values of a batch are used again; what somebody still sees keeps its numbers."""
    x = np.random.default_rng(0).normal(size=(300, 200))
    held = []

    def f(row):
        y = pb.sin(row)
        held.append(y)
        part = (row * 2)[3:7]
        held.append(part)
        z = y * 3 + row * 2 - y * y
        return z, part

    found, part = pb.vmap(f)(x)
    for _ in range(5):
        pb.vmap(lambda row: pb.cos(row) * 5 - row + 1)(x)
    same(found, np.sin(x) * 3 + x * 2 - np.sin(x) ** 2)
    same(part, (x * 2)[:, 3:7])
    same(held[0]._array.value, np.sin(x))
    same(held[1]._array.value, (x * 2)[:, 3:7])
