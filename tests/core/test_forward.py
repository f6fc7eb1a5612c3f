"""Forward mode: dual numbers, what Functions do with them, writes and views, and both orders of mixing with backward."""

import threading
import warnings

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad as fw
from pullback.autograd import grad
from pullback.core.dual import OPEN
from pullback.core.errors import DerivativeRefused


def leaf(value, requires_grad=False):
    return pb.tensor(value, requires_grad=requires_grad)


def dual(value, tangent, requires_grad=False):
    return fw.make_dual(leaf(value, requires_grad), pb.tensor(tangent))


def tangent(x):
    found = fw.unpack_dual(x).tangent
    return None if found is None else found.tolist()


class Cube(pb.Function):
    """Saves its input and an intermediate; no jvp."""

    @staticmethod
    def forward(ctx, x):
        ctx.square = x * x
        ctx.save_for_backward(x)
        return ctx.square * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (2 * ctx.square + x * x)


# ---------------------------------------------------------------------------------------------------------- the level
def test_no_level_is_open_between_tests():
    assert OPEN == []


def test_leaving_the_level_drops_the_tangents():
    with fw.dual_level():
        x = dual([1.0, 2.0], [3.0, 4.0])
        y, part = x * x, x[1:]
        assert (tangent(y), tangent(part)) == ([6.0, 16.0], [4.0])
    assert (tangent(x), tangent(y), tangent(part), tangent(x * x)) == (None,) * 4
    assert (x + 1.0).tolist() == [2.0, 3.0]


def test_there_is_one_level():
    with fw.dual_level(), pytest.raises(RuntimeError, match="Nested forward mode"):
        fw.enter_dual_level()
    with pytest.raises(RuntimeError, match="none is open"):
        fw.exit_dual_level()


def test_the_level_is_left_by_an_exception():
    with pytest.raises(ZeroDivisionError), fw.dual_level():
        raise ZeroDivisionError
    assert OPEN == []


def test_a_level_belongs_to_its_thread_and_a_dual_number_to_whoever_has_it():
    caught, found = [], []

    def run(x):
        try:
            fw.make_dual(leaf(1.0), leaf(1.0))
        except RuntimeError as error:
            caught.append(str(error))
        found.append(tangent(x * x))

    with fw.dual_level():
        thread = threading.Thread(target=run, args=(dual(3.0, 1.0),))
        thread.start()
        thread.join()
    assert "no level exists" in caught[0]
    assert found == [6.0]


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: fw.make_dual(leaf([1.0]), leaf([1.0, 2.0])), RuntimeError, "different size"),
        (lambda: fw.make_dual(pb.tensor([1]), leaf([1.0])), ValueError, "Expected primal to be floating"),
        (lambda: fw.make_dual(leaf([1.0]), pb.tensor([1])), ValueError, "Expected tangent to be floating"),
        (lambda: fw.make_dual(leaf(1.0), pb.tensor(1j)), RuntimeError, "complex128"),
        (lambda: fw.make_dual(dual(1.0, 1.0), leaf(1.0)), RuntimeError, "already has"),
        (lambda: fw.make_dual(leaf(1.0), dual(1.0, 1.0)), RuntimeError, "itself has a tangent"),
        (lambda: fw.make_dual(1.0, leaf(1.0)), TypeError, "float"),
        (lambda: fw.unpack_dual(1.0), TypeError, "float"),
        (lambda: dual(1.0, 1.0).requires_grad_(), RuntimeError, "dual number"),
    ],
)
def test_what_is_refused(make, error, match):
    with fw.dual_level(), pytest.raises(error, match=match) as caught:
        make()
    assert any("Write instead" in note for note in caught.value.__notes__)


def test_tangents_may_have_another_precision():
    with fw.dual_level():
        x = fw.make_dual(pb.tensor(np.float32([1.0])), leaf([2.0]))
        y = x * x
        assert (y.dtype, fw.unpack_dual(y).tangent.dtype) == (np.float32, np.float32)


# ------------------------------------------------------------------------------------------- what stops a tangent, what not
def test_modes():
    with fw.dual_level():
        x = dual(2.0, 1.0)
        with pb.no_grad():
            assert tangent(x * x * x) == 12.0
            assert tangent(Cube.apply(x)) == 12.0
        with pb.inference_mode():
            assert tangent(x * x) is None
        assert tangent(x.detach() * x) == 2.0
        assert not (x * x).requires_grad


def test_what_does_not_move_has_no_tangent():
    with fw.dual_level():
        x = dual([2.0], [1.0])
        assert tangent(x > 1.0) is None
        assert tangent(pb.astype(x, np.int64)) is None
        assert tangent(pb.floor(x)) == [0.0]
        assert tangent(leaf([1.0]) * 2.0) is None


def test_repr_shows_the_tangent():
    with fw.dual_level():
        assert repr(dual(2.0, 1.0)) == "tensor(2., tangent=1.0)"


def test_a_number_given_twice():
    with fw.dual_level():
        x = dual(3.0, 2.0)
        assert (tangent(x * x), tangent(x + x), tangent(pb.stack([x, x]))) == (12.0, 4.0, [2.0, 2.0])


# ------------------------------------------------------------------------------------------------- memory, views, writes
def test_a_dual_number_shares_memory_unless_it_is_in_a_graph():
    x, w = leaf([1.0, 2.0]), leaf([1.0, 2.0], True)
    with fw.dual_level():
        fw.make_dual(x, leaf([0.0, 0.0]))[0] = 5.0
        fw.make_dual(w, leaf([0.0, 0.0]))[0] = 5.0
    assert (x.tolist(), w.tolist()) == ([5.0, 2.0], [1.0, 2.0])


def test_writes_reach_base_and_views():
    with fw.dual_level():
        x = dual([1.0, 1.0, 1.0], [0.0, 1.0, 2.0])
        before, tail = x[:2], x[1:]
        tail.mul_(3.0)
        assert (tangent(x), tangent(before)) == ([0.0, 3.0, 6.0], [0.0, 3.0])
        z = pb.zeros(3)
        seen = pb.reshape(z, (3, 1))
        z[1:] = tail
        assert (tangent(z), tangent(seen)) == ([0.0, 3.0, 6.0], [[0.0], [3.0], [6.0]])
        z[[0, 2]] = 7.0
        assert tangent(seen) == [[0.0], [3.0], [0.0]]
        z[1] = 1.0
        assert tangent(z) == [0.0, 0.0, 0.0]
        z.copy_(x)
        z += x
        assert tangent(z) == [0.0, 6.0, 12.0]
        z.zero_()
        assert tangent(z) in (None, [0.0, 0.0, 0.0])


def test_a_write_does_not_change_a_shared_tangent():
    with fw.dual_level():
        given = leaf([1.0, 2.0])
        x = fw.make_dual(leaf([0.0, 0.0]), given)
        y = x + 0.0
        y[0] = 5.0
        assert (tangent(x), tangent(y), given.tolist()) == ([1.0, 2.0], [0.0, 2.0], [1.0, 2.0])


def test_writes_of_dual_numbers_into_a_graph_and_back():
    """A recurrence in place: tangent, gradient, and the gradient of the tangent."""

    def f(x):
        y = pb.zeros(3)
        y[0] = x * 1.0
        for k in (1, 2):
            y[k] = y[k - 1] * x
        return y[2] * y[1]  # x**5

    x = leaf(1.5, True)
    with fw.dual_level():
        y = f(fw.make_dual(x, leaf(2.0)))
        moved = fw.unpack_dual(y).tangent
        (g,) = grad(y, x, retain_graph=True)
        assert moved.item() == pytest.approx(2 * 5 * 1.5**4)
        assert g.detach().item() == pytest.approx(5 * 1.5**4)
        assert tangent(g) == pytest.approx(2 * 20 * 1.5**3)
        assert grad(moved, x)[0].detach().item() == pytest.approx(2 * 20 * 1.5**3)


def test_in_place_methods_keep_what_was_saved():
    x = leaf([1.0, 2.0], True)
    with fw.dual_level():
        y = fw.make_dual(x, leaf([1.0, 1.0])) * 1.0
        y.mul_(y).exp_()
        (g,) = grad(y.sum(), x)
        e = np.exp([1.0, 4.0])
        np.testing.assert_allclose(g._array, 2 * np.array([1.0, 2.0]) * e)
        np.testing.assert_allclose(tangent(y), 2 * np.array([1.0, 2.0]) * e)
        np.testing.assert_allclose(tangent(g), (2 + 4 * np.array([1.0, 4.0])) * e)


def test_a_dual_number_in_a_leaf_is_refused():
    w = leaf([1.0], True)
    with fw.dual_level(), pb.no_grad(), pytest.raises(RuntimeError, match="leaf"):
        w.copy_(dual([1.0], [1.0]))


def test_real_and_imaginary_parts():
    with fw.dual_level():
        z = fw.make_dual(pb.tensor([1 + 2j]), pb.tensor([3 + 4j]))
        assert (tangent(pb.real(z)), tangent(pb.imag(z)), tangent(abs(z))) == (
            [3.0],
            [4.0],
            [pytest.approx(11 / 5**0.5)],
        )
        pb.real(z)[0] = 0.0
        assert tangent(z) == [4j]


# ------------------------------------------------------------------------------------------------------------- Functions
def test_derived_from_backward_to_every_order():
    x = leaf(1.5, True)
    with fw.dual_level():
        y = Cube.apply(fw.make_dual(x, leaf(2.0)))
        moved = fw.unpack_dual(y).tangent
        (g,) = grad(y, x, create_graph=True)
        (of_tangent,) = grad(moved, x, create_graph=True)
        assert (moved.item(), tangent(g), of_tangent.item()) == (13.5, 18.0, 18.0)
        assert grad(of_tangent, x)[0].item() == 12.0
        (second,) = grad(g, x)
        assert (second.detach().item(), tangent(second)) == (9.0, 12.0)


def test_forward_runs_once():
    runs = []

    class Noisy(pb.Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(fw.unpack_dual(x).tangent)
            ctx.factor = np.random.default_rng().uniform()
            return x * ctx.factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor

    with fw.dual_level():
        y = Noisy.apply(dual(1.0, 1.0))
        assert tangent(y) == y.detach().item()
    assert runs == [None]


class Product(pb.Function):
    """With a jvp, which says what it got."""

    seen: list = []  # noqa: RUF012

    @staticmethod
    def forward(ctx, x, y, power):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.first = x
        return x * y, x > 0

    @staticmethod
    def backward(ctx, g, _):
        x, y = ctx.saved_tensors
        return g * y, g * x, None

    @staticmethod
    def jvp(ctx, s, t, power):
        x, y = ctx.saved_tensors
        Product.seen = [s, t, power, fw.unpack_dual(x).tangent, ctx.first.requires_grad, pb.is_grad_enabled()]
        return s * y + x * t, None


def test_jvp_is_called_and_materialised():
    with fw.dual_level():
        y, positive = Product.apply(dual(2.0, 1.0), leaf(5.0), 3)
        s, t, power, inner, requires_grad, enabled = Product.seen
        assert (s.item(), t.item(), power, inner, requires_grad, enabled) == (1.0, 0.0, None, None, False, True)
        assert (tangent(y), tangent(positive), y.requires_grad) == (5.0, None, False)
        with pb.no_grad():
            assert tangent(Product.apply(dual(2.0, 1.0), leaf(5.0), 3)[0]) == 5.0
        assert Product.seen[-1] is False


def test_jvp_mixes_with_backward():
    x, w = leaf(2.0, True), leaf(5.0, True)
    with fw.dual_level():
        y, _ = Product.apply(fw.make_dual(x, leaf(3.0)), w, 1)
        (g,) = grad(y, w, retain_graph=True)
        assert (g.detach().item(), tangent(g)) == (2.0, 3.0)
        moved = fw.unpack_dual(y).tangent
        assert [d.item() for d in grad(moved, [w, x], materialize_grads=True)] == [3.0, 0.0]


def function(forward, backward=None, jvp=None):
    """A Function of its parts."""
    space = {"forward": staticmethod(forward)}
    if backward:
        space["backward"] = staticmethod(backward)
    if jvp:
        space["jvp"] = staticmethod(jvp)
    return type("F", (pb.Function,), space)


@pytest.mark.parametrize(
    ("returned", "match"),
    [
        (lambda t: (t, t), "invalid number"),
        (lambda t: 3.0, "float"),
        (lambda t: pb.ones(3), "different size"),
        (lambda t: pb.tensor([1, 1]), "dtype int64"),
    ],
)
def test_a_wrong_jvp_is_named(returned, match):
    F = function(lambda ctx, x: x * 2, jvp=lambda ctx, t: returned(t))
    with fw.dual_level(), pytest.raises(RuntimeError, match=match):
        F.apply(dual([1.0, 2.0], [1.0, 1.0]))


def test_no_rule_at_all():
    F = function(lambda ctx, x: x * 2)
    with fw.dual_level(), pytest.raises(NotImplementedError, match="jvp"):
        F.apply(dual(1.0, 1.0))


def numpy_backward(ctx, g):
    return pb.asarray(2 * g.numpy())


@pytest.mark.parametrize(
    "rule", [numpy_backward, pb.once_differentiable(numpy_backward), lambda ctx, g: g.detach() * 2]
)
def test_a_backward_that_cannot_be_differentiated_in_its_cotangent_is_refused(rule):
    F = function(lambda ctx, x: x * 2, rule)
    with fw.dual_level():
        for x in (dual(1.0, 1.0), dual(1.0, 1.0, True)):
            with pytest.raises(RuntimeError, match="no forward mode") as caught:
                F.apply(x)
            assert "jvp" in "".join(caught.value.__notes__)


def cosine_in_numpy(ctx, g):
    (x,) = ctx.saved_tensors
    return g * pb.asarray(np.cos(x.detach().numpy()))


def saves_input(ctx, x):
    ctx.save_for_backward(x)
    return pb.sin(x)


def test_numpy_on_what_was_saved_leaves_a_first_tangent():
    """The rule is linear in its cotangent and says so; only what goes further is refused."""
    F = function(saves_input, cosine_in_numpy)
    x = leaf(0.5, True)
    with fw.dual_level():
        assert tangent(F.apply(dual(0.5, 1.0))) == np.cos(0.5)
        y = F.apply(fw.make_dual(x, leaf(1.0)))
        assert tangent(y) == np.cos(0.5)
        with pytest.raises(pb.core.errors.DerivativeRefused):
            grad(fw.unpack_dual(y).tangent, x)
        with pytest.raises(pb.core.errors.DerivativeRefused, match="tangent"):
            grad(y, x)


def test_a_view_from_a_function_keeps_its_own_tangent():
    reverse = function(lambda ctx, x: pb.reshape(x, (-1,)), lambda ctx, g: pb.reshape(-g, (2, 1)))
    for requires_grad in (False, True):
        with fw.dual_level():
            x = dual([[1.0], [2.0]], [[1.0], [5.0]], requires_grad) * 1.0
            y = reverse.apply(x)
            assert tangent(y) == [-1.0, -5.0]
            assert tangent(x) == [[1.0], [5.0]]
            x[0] = 7.0
            with pytest.raises(RuntimeError, match="modified inplace"):
                tangent(y)


def test_a_view_needs_a_jvp_that_returns_a_view():
    viewing = function(lambda ctx, x: x[1:], jvp=lambda ctx, t: t[1:])
    copying = function(lambda ctx, x: x[1:], jvp=lambda ctx, t: t[1:] * 1.0)
    with fw.dual_level():
        assert tangent(viewing.apply(dual([1.0, 2.0], [3.0, 4.0]))) == [4.0]
        with pytest.raises(RuntimeError, match="returning a view"):
            copying.apply(dual([1.0, 2.0], [3.0, 4.0]))


def test_a_dirty_input_is_the_same_tensor_with_a_new_tangent():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2.0)

    for rule in ({"jvp": lambda ctx, t: t.mul_(2.0)}, {"backward": lambda ctx, g: g * 2}):
        F = function(forward, **rule)
        for requires_grad in (False, True) if "backward" in rule else (False,):
            w = leaf([1.0, 2.0, 3.0], requires_grad)
            with fw.dual_level():
                given = leaf([1.0, 1.0, 1.0])
                x = fw.make_dual(w, given) * 1.0
                assert F.apply(x) is x
                assert (x.detach().tolist(), tangent(x)) == ([2.0, 4.0, 6.0], [2.0, 2.0, 2.0])
                part = x[:2]
                assert F.apply(part) is part
                assert (tangent(x), given.tolist()) == ([4.0, 4.0, 2.0], [1.0, 1.0, 1.0])
                if requires_grad:
                    assert grad(x.sum(), w)[0].tolist() == [4.0, 4.0, 2.0]


def test_an_intermediate_saved_for_jvp_is_no_constant():
    def forward(ctx, x):
        square = x * x
        ctx.save_for_forward(square)
        return square * x

    F = function(forward, lambda ctx, g: g, jvp=lambda ctx, t: 3 * ctx.saved_tensors[0] * t)
    x = leaf(2.0, True)
    with fw.dual_level():
        y = F.apply(fw.make_dual(x, leaf(1.0)))
        assert tangent(y) == 12.0
        with pytest.raises(pb.core.errors.DerivativeRefused, match="jvp"):
            grad(fw.unpack_dual(y).tangent, x)


def test_an_output_saved_for_jvp_is_connected():
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_forward(y)
        ctx.save_for_backward(y)
        return y

    F = function(forward, lambda ctx, g: g * ctx.saved_tensors[0], lambda ctx, t: t * ctx.saved_tensors[0])
    x = leaf(0.5, True)
    with fw.dual_level():
        y = F.apply(fw.make_dual(x, leaf(1.0)))
        assert grad(fw.unpack_dual(y).tangent, x, retain_graph=True)[0].detach().item() == np.exp(0.5)
        assert tangent(grad(y, x)[0]) == np.exp(0.5)


# ------------------------------------------------------------------------------------------------------- with backward
def test_dot_grad_has_its_tangent():
    x = leaf(2.0, True)
    with fw.dual_level():
        (fw.make_dual(x, leaf(1.0)) ** 3).backward()
        assert (x.grad.detach().item(), tangent(x.grad), x.grad.requires_grad) == (12.0, 12.0, False)
        x.grad = None
        d = fw.make_dual(x, leaf(1.0))
        pb.where(d > 0, d, 0.0).backward(d)  # a cotangent that knows its structural zeros, and has a tangent
        assert (x.grad.detach().item(), tangent(x.grad)) == (2.0, 1.0)


def test_a_tangent_in_the_seed():
    x = leaf([1.0, 2.0], True)
    with fw.dual_level():
        (g,) = grad(x * x, x, dual([1.0, 1.0], [1.0, 0.5]))
        assert (g.detach().tolist(), tangent(g)) == ([2.0, 4.0], [2.0, 2.0])


def test_a_pass_without_tangents_is_not_recorded():
    recorded = []

    def backward(ctx, g):
        recorded.append(pb.is_grad_enabled())
        return g * 2

    F = function(lambda ctx, x: x * 2, backward)
    with fw.dual_level():
        dual(1.0, 1.0)
        F.apply(leaf(1.0, True)).backward()
    assert recorded == [False]


def test_a_rule_that_drops_a_tangent_is_refused():
    F = function(saves_input, lambda ctx, g: g * pb.cos(ctx.saved_tensors[0].detach()), lambda ctx, t: t)
    x = leaf(0.5, True)
    with fw.dual_level():
        y = F.apply(fw.make_dual(x, leaf(1.0)))
        with pytest.raises(pb.core.errors.DerivativeRefused, match="tangent"):
            grad(y, x)


def test_the_tip_of_a_cone():
    x = leaf([0.0, 0.0], True)
    with fw.dual_level():
        y = pb.hypot(*fw.make_dual(x, leaf([1.0, 0.0])))
        assert tangent(y) == 0.0
        with pytest.raises(pb.core.errors.DerivativeRefused, match="hypot"):
            grad(y, x)


def test_the_branch_not_taken():
    with warnings.catch_warnings(), fw.dual_level():
        warnings.simplefilter("ignore")
        x = dual([-1.0, 0.0, 4.0], [1.0, 1.0, 1.0])
        assert tangent(pb.where(x > 0, pb.sqrt(x), 0.0)) == [0.0, 0.0, 0.25]


def test_third_order_three_ways():
    """Tangent of a second derivative, second derivative of a tangent, mixed: of x**5 / 60 it is x**2."""
    x = leaf(3.0, True)
    with fw.dual_level():
        y = fw.make_dual(x, leaf(1.0)) ** 5 / 60
        (g,) = grad(y, x, create_graph=True)
        (second,) = grad(g, x, create_graph=True)
        moved = fw.unpack_dual(y).tangent
        (a,) = grad(moved, x, create_graph=True)
        (b,) = grad(a, x)
        (c,) = grad(fw.unpack_dual(g).tangent, x)
        np.testing.assert_allclose([tangent(second), b.item(), c.item()], 9.0)


def test_memory_is_freed_without_the_collector():
    import gc
    import weakref

    gc.disable()
    try:
        x = leaf([1.0, 2.0], True)
        with fw.dual_level():
            y = pb.exp(fw.make_dual(x, leaf([1.0, 1.0])) * 2.0)
            gone = weakref.ref(y)
            del y
            assert gone() is None
            z = Cube.apply(dual([1.0], [1.0]))
            gone = weakref.ref(z)
            del z
            assert gone() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------- with transformations
def quintic(x):
    return x**5 / 60


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    ("derivative", "expected"),
    [
        (lambda x: pb.grad(quintic)(x), 9.0),
        (lambda x: pb.no_grad()(pb.grad(quintic))(x), 9.0),
        (lambda x: pb.vjp(quintic, x)[1](leaf(1.0))[0], 9.0),
        (lambda x: pb.jvp(quintic, (x,), (leaf(1.0),))[1], 9.0),
        (lambda x: pb.jacobian(quintic)(x), 9.0),
        (lambda x: pb.hessian(quintic)(x), 9.0),
        (lambda x: pb.hvp(quintic)(x, leaf(1.0)), 9.0),
        (lambda x: pb.autograd.functional.jacobian(quintic, x), 9.0),
        (lambda x: pb.autograd.functional.hvp(quintic, x, leaf(1.0))[1], 9.0),
        (lambda x: pb.autograd.functional.jvp(quintic, x, leaf(1.0))[1], 9.0),
    ],
)
def test_transformations_carry_tangents(derivative, expected, requires_grad):
    """Of the first derivative, x**4 / 12, the tangent is x**3 / 3; of the second, x**3 / 3, it is x**2."""
    with fw.dual_level():
        found = derivative(dual(3.0, 1.0, requires_grad))
        assert tangent(found) == pytest.approx(expected)
        assert requires_grad or not found.requires_grad


def test_a_captured_dual_number_in_a_transformation():
    with fw.dual_level():
        w = dual(2.0, 3.0)
        assert tangent(pb.grad(lambda x: x * x * w)(5.0)) == 30.0
        assert tangent(pb.value_and_grad(lambda x: x * x * w)(5.0)[0]) == 75.0


def test_checkpoint():
    x = leaf(3.0, True)
    with fw.dual_level():
        y = pb.autograd.checkpoint.checkpoint(quintic, fw.make_dual(x, leaf(1.0)))
        assert tangent(y) == pytest.approx(81 / 12)
        assert tangent(grad(y, x)[0]) == pytest.approx(9.0)


def test_a_primitive_of_the_user():
    class Square(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            return 2 * x * ct

    x = leaf([3.0], True)
    with fw.dual_level():
        y = Square.apply(fw.make_dual(x, leaf([2.0])))
        assert tangent(y) == [12.0]
        assert tangent(grad(y.sum(), x)[0]) == [4.0]


def test_saved_tensor_hooks():
    x = leaf(3.0, True)
    kept = []
    with (
        fw.dual_level(),
        pb.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or len(kept) - 1, kept.__getitem__),
    ):
        y = pb.exp(fw.make_dual(x, leaf(1.0))) * 2.0
        assert tangent(y) == pytest.approx(2 * np.exp(3.0))
        assert tangent(grad(y, x)[0]) == pytest.approx(2 * np.exp(3.0))


# ---------------------------------------------------------------------------------------------------------------- hooks
def test_hooks_see_tangents():
    x, seen = leaf(3.0, True), []
    with fw.dual_level():
        y = fw.make_dual(x, leaf(1.0)) * 1.0
        y.register_hook(lambda g: seen.append(tangent(g)) or g * 2)
        (g,) = grad(y**3, x)
        assert (seen, tangent(g)) == ([18.0], 36.0)


def test_complex_numbers():
    """A holomorphic function has the complex derivative times the tangent; others are real-linear in it."""
    with fw.dual_level():
        z = fw.make_dual(pb.tensor(1 + 2j), pb.tensor(0.5 - 1j))
        np.testing.assert_allclose(tangent(pb.exp(z)), np.exp(1 + 2j) * (0.5 - 1j))
        np.testing.assert_allclose(tangent(pb.conj(z)), 0.5 + 1j)
        np.testing.assert_allclose(tangent(abs(z)), (0.5 - 2) / 5**0.5)
        x = dual(2.0, 3.0)
        np.testing.assert_allclose(tangent(x * z), 3 * (1 + 2j) + 2 * (0.5 - 1j))


def test_eigenvectors_of_a_complex_matrix_do_not_turn_in_their_own_direction():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in range(2))
    with fw.dual_level():
        x = fw.make_dual(pb.tensor(a + a.conj().T), pb.tensor(b + b.conj().T))
        w, v = pb.linalg.eigh(x)
        vectors, moved = v._array, fw.unpack_dual(v).tangent._array
        np.testing.assert_allclose(np.diag(vectors.conj().T @ moved), 0, atol=1e-12)
        projector = v[:, :1] @ pb.conj(v[:, :1]).mT
        found = fw.unpack_dual(projector).tangent._array

    def at(t):
        u = np.linalg.eigh(a + a.conj().T + t * (b + b.conj().T))[1][:, :1]
        return u @ u.conj().T

    np.testing.assert_allclose(found, (at(1e-5) - at(-1e-5)) / 2e-5, atol=1e-8)
    assert w.shape == (3,)


# ------------------------------------------------------------------------------------------------------- what would slip
def test_a_new_level_does_not_bring_old_tangents_back():
    with fw.dual_level():
        x = dual([1.0, 2.0], [3.0, 4.0])
        y = x * x
    with fw.dual_level():
        assert (tangent(x), tangent(y), tangent(x[:1] * y[:1])) == (None, None, None)


def test_a_saved_result_that_is_written_is_noticed():
    x = leaf([1.0, 2.0], True)
    with fw.dual_level():
        y = pb.exp(fw.make_dual(x, leaf([1.0, 1.0])))
        y[0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            grad(y.sum(), x)


def test_a_saved_argument_that_is_written_is_noticed():
    x = leaf([1.0, 2.0], True)
    with fw.dual_level():
        d = fw.make_dual(x, leaf([1.0, 1.0]))
        y = pb.sin(d)
        d[0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            grad(y.sum(), x)


def test_the_tip_of_a_norm():
    for requires_grad in (False, True):
        with fw.dual_level():
            x = dual([0.0, 0.0], [3.0, 4.0], requires_grad)
            for y in (pb.linalg.vector_norm(x), pb.sum(pb.linalg.svdvals(x[None]))):
                assert tangent(y) == 0.0
                if requires_grad:
                    with pytest.raises(pb.core.errors.DerivativeRefused):
                        grad(fw.unpack_dual(y).tangent, x)


def test_a_tangent_of_what_is_in_no_graph_is_in_no_graph():
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_forward(y)
        return y

    F = function(forward, jvp=lambda ctx, t: t * ctx.saved_tensors[0])
    with fw.dual_level():
        assert not fw.unpack_dual(F.apply(dual(1.0, 1.0))).tangent.requires_grad


def test_values_that_can_be_read_once_are_still_there_for_backward():
    class Once(pb.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(3.0, True)
    with fw.dual_level():
        y = Once.apply(fw.make_dual(x, leaf(1.0)))
        (g,) = grad(y, x)
        assert (tangent(y), g.detach().item(), tangent(g)) == (6.0, 6.0, 2.0)


def test_a_rule_that_drops_the_tangent_of_what_is_in_no_graph_is_refused():
    def forward(ctx, x, w):
        ctx.save_for_backward(x)
        return x * w

    F = function(forward, lambda ctx, g: (None, g * ctx.saved_tensors[0].detach()), lambda ctx, s, t: s)
    w = leaf(2.0, True)
    with fw.dual_level():
        y = F.apply(dual(3.0, 1.0), w)
        with pytest.raises(pb.core.errors.DerivativeRefused, match="tangent"):
            grad(y, w)


def test_a_rule_that_drops_the_tangent_of_its_cotangent_is_refused():
    F = function(lambda ctx, x: x * 2, lambda ctx, g: g.detach() * 2)
    x = leaf([1.0], True)
    with fw.dual_level(), pytest.raises(pb.core.errors.DerivativeRefused, match="tangent"):
        grad(F.apply(x), x, dual([1.0], [1.0]))


def test_another_array_library():
    import array_api_strict as strict

    found = []
    for xp in (np, strict):
        x = pb.Tensor(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), True)
        with fw.dual_level():
            d = fw.make_dual(x, pb.Tensor(xp.asarray([[1.0, 0.0], [0.5, 1.0]])))
            z = pb.exp(d) @ pb.linalg.inv(d) * 1.0
            z[0] = z[1] * 2.0
            z *= pb.where(d > 2, d, 1.0)
            (g,) = grad(pb.sum(z * z), x)
            found.append([np.asarray(fw.unpack_dual(t).tangent._array) for t in (z, g)])
            assert isinstance(fw.unpack_dual(g).tangent._array, type(x._array))
    np.testing.assert_allclose(found[0], found[1])


# ------------------------------------------------------------------------------------- with the rest of the machine
def test_gradients_with_tangents_have_places_of_their_own():
    x = leaf([1.0, 2.0], True)
    with fw.dual_level():
        seed = dual([1.0, 1.0], [5.0, 5.0])
        y = fw.make_dual(x, leaf([1.0, 1.0])) * 1.0
        (g,) = grad(y, y, seed)
        g *= 3.0
        assert (seed.detach().tolist(), tangent(seed)) == ([1.0, 1.0], [5.0, 5.0])
        assert (g.detach().tolist(), tangent(g)) == ([3.0, 3.0], [15.0, 15.0])


def test_a_hook_of_an_intermediate_sees_its_tangent():
    seen = []
    x = leaf(2.0, True)
    with fw.dual_level():
        y = fw.make_dual(x, leaf(1.0)) ** 2
        y.register_hook(lambda g: seen.append(tangent(g)))
        y.register_hook(lambda g: g * 2.0)
        (g,) = grad(y * y, x)
        assert (seen, g.detach().item(), tangent(g)) == ([8.0], 64.0, 96.0)


def test_state_outside_ctx_that_jvp_uses_is_no_constant():
    class Outside(pb.Function):
        kept = None

        @staticmethod
        def forward(ctx, x):
            Outside.kept = x * x
            return x * Outside.kept

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def jvp(ctx, t):
            return t * 3.0 * Outside.kept

    x = leaf(2.0, True)
    with fw.dual_level():
        found = fw.unpack_dual(Outside.apply(fw.make_dual(x, leaf(1.0)))).tangent
    assert found.item() == 12.0
    with pytest.raises(pb.core.errors.DerivativeRefused, match=r"Outside\.kept"):
        grad(found, x)


def test_jvp_may_read_what_can_be_read_once():
    class Once(pb.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return 2 * t * ctx.saved_tensors[0]

    x = leaf(3.0, True)
    with fw.dual_level():
        y = Once.apply(fw.make_dual(x, leaf(1.0)))
        assert (tangent(y), grad(y, x)[0].detach().item()) == (6.0, 6.0)


def test_an_attribute_set_by_a_backward_does_not_hinder_a_tangent():
    class Counted(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            ctx.last = 3 * x * x
            return g * ctx.last

    with fw.dual_level():
        assert tangent(Counted.apply(dual(2.0, 1.0))) == 12.0


def test_a_cut_of_a_dual_number_is_told_of():
    x = leaf(2.0, True)
    with fw.dual_level():
        y = fw.make_dual(x, leaf(1.0)) * 3.0
        z = leaf(1.0, True) * y.detach()
        with pytest.raises(RuntimeError) as caught:
            grad(z, x)
    assert "detach()" in "".join(caught.value.__notes__)
    assert "test_forward.py" in "".join(caught.value.__notes__)


def test_a_function_of_numpy_without_a_rule_does_not_lose_a_tangent():
    x = leaf(0.5)
    with fw.dual_level(), pytest.raises(NotImplementedError, match="has a tangent"):
        np.i0(fw.make_dual(x, leaf(1.0)))
    with fw.dual_level():
        assert np.i0(fw.make_dual(x, leaf(1.0)).detach()).item() == np.i0(0.5)
        assert tangent(np.fft.fft(dual([1.0, 0.0], [0.0, 1.0]))) == [1.0, -1.0]
        assert tangent(np.multiply(np.asarray([2.0]), dual([1.0], [1.0]))) == [2.0]


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: x.numpy(),
        np.asarray,
        float,
        complex,
        lambda x: x.item(),
        lambda x: x.tolist(),
        lambda x: np.from_dlpack(x),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_tangent_is_not_left_behind(leave, requires_grad):
    with fw.dual_level():
        x = fw.make_dual(leaf(2.0, requires_grad), leaf(1.0))
        for one in (x, x * x, x.reshape(1)):
            with pytest.raises((RuntimeError, BufferError), match="takes a value out of forward mode"):
                leave(one)
            leave(one.detach())
            leave(fw.unpack_dual(one).primal.detach())
            leave(fw.unpack_dual(one).tangent.detach())
        assert (int(x), bool(x), f"{x:.1f}", x > 1) == (2, True, "2.0", True)
    leave(x.detach())


def test_a_function_may_compute_on_numpy_in_forward_mode():
    class Square(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            ctx.save_for_backward(x)
            return pb.asarray(x.numpy() ** 2)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return pb.asarray(2 * ctx.saved_tensors[0].numpy() * t.numpy())

    with fw.dual_level():
        assert tangent(Square.apply(dual(3.0, 1.0))) == 6.0


def test_containers_on_ctx_keep_the_tangents_of_inputs_beside_recomputed_values():
    class Cubic(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.kept = {"square": x * x, "inputs": [x, (y,)]}
            return ctx.kept["square"] * y

        @staticmethod
        def backward(ctx, g):
            x, (y,) = ctx.kept["inputs"]
            return 2 * g * x * y, g * ctx.kept["square"]

    with fw.dual_level():
        x, y = dual(3.0, 1.0, requires_grad=True), dual(5.0, 10.0, requires_grad=True)
        gx, gy = grad(Cubic.apply(x, y), (x, y), create_graph=True)
        assert (tangent(gx), tangent(gy)) == (2 * 5.0 + 2 * 3.0 * 10.0, 2 * 3.0)


@pytest.mark.parametrize("level", ["plain", "recorded"])
@pytest.mark.parametrize(
    "rule",
    [lambda g: pb.clip(g, -0.8, 0.8), lambda g: g / pb.sum(abs(g)), lambda g: g * 0 + 1, lambda g: g * g],
    ids=["clipped", "normalised", "constant", "squared"],
)
def test_a_backward_that_is_not_linear_in_its_cotangent_tells_of_no_tangent(rule, level):
    F = function(lambda ctx, x: x * 1, lambda ctx, g: rule(g))
    with fw.dual_level():
        x = dual([3.0, 4.0], [1.0, 10.0], requires_grad=level == "recorded")
        with pytest.raises(DerivativeRefused, match="not linear in its cotangent"):
            F.apply(x)


def test_a_backward_that_is_linear_in_its_cotangent_tells_of_a_tangent_whatever_its_slope():
    F = function(lambda ctx, x: pb.sqrt(x) * 1, lambda ctx, g: g * pb.asarray([np.inf, 1e-12, -3.0, 0.0]))
    with fw.dual_level():
        y = F.apply(dual([0.0, 4.0, 1.0, 2.0], [1.0, 10.0, 2.0, 3.0]))
        np.testing.assert_allclose(fw.unpack_dual(y).tangent.numpy(), [np.inf, 1e-11, -6.0, 0.0])
