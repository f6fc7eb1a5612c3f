"""gradgradcheck: second derivatives that are right pass, wrong ones are caught, refused ones say why."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.check import CheckWarning, GradcheckError, gradcheck, gradgradcheck
from pullback.core.tensor import Tensor


def leaf(values, dtype=float):
    return pb.Tensor(np.array(values, dtype), requires_grad=True)


def caught(func, inputs, verdict, *args, **options):
    """The error of a check that fails with this verdict; with raise_exception=False it must return False."""
    with pytest.raises(GradcheckError) as caught:
        gradgradcheck(func, inputs, *args, **options)
    assert caught.value.verdict == verdict, (str(caught.value), caught.value.__notes__)
    assert gradgradcheck(func, inputs, *args, raise_exception=False, **options) is False
    return caught.value


class Square(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Cube(pb.Primitive):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return 3 * x * x * ct


class Intermediate(pb.Function):
    """Saves a value that is neither input nor output; the engine finds its derivative by running forward again."""

    @staticmethod
    def forward(ctx, x):
        e = pb.exp(x)
        ctx.save_for_backward(e, x)
        return e * x

    @staticmethod
    def backward(ctx, g):
        e, x = ctx.saved_tensors
        return g * e * (1 + x)


FUNCTIONS = {
    "Function": Square.apply,
    "Primitive": Cube.apply,
    "operators": lambda x: pb.sin(x) * pb.exp(x) / (x + 3),
    "saved intermediate": Intermediate.apply,
    "linear": lambda x: x * 2,
    "identity": lambda x: x,
    "two outputs": lambda x: (x * x, pb.sin(x)),
    "an output without gradients": lambda x: (x * x, x.detach()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_second_derivatives_pass(name, fast_mode, rng):
    assert gradgradcheck(FUNCTIONS[name], leaf(rng.normal(size=3)), fast_mode=fast_mode) is True


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_every_shape_passes(shape, rng):
    assert gradgradcheck(Square.apply, leaf(rng.normal(size=shape)))


def test_several_inputs_with_and_without_gradients(rng):
    x, y = leaf(rng.normal(size=2)), leaf(rng.normal(size=(2, 1)))
    assert gradgradcheck(lambda x, c, y, n: x * y * y * c * n, (x, Tensor(np.array([1.0, 2.0])), y, 3))


def test_complex(rng):
    z = leaf(rng.normal(size=2) + 1j * rng.normal(size=2), complex)
    assert gradgradcheck(lambda z: z * z * pb.conj(z), z)
    assert gradgradcheck(lambda z: pb.real(z * pb.conj(z)), z)

    class Rule(pb.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * pb.conj(2 * z)

    assert gradgradcheck(Rule.apply, z)


def test_number_of_runs():
    calls = []
    gradgradcheck(lambda x: calls.append(1) or x * x, leaf([1.0, 2.0]))
    assert len(calls) == 11  # one for the shapes of the cotangents, and 2 N + 2 with N = 2 inputs + 2 cotangents


def test_given_cotangents(rng):
    x = leaf(rng.normal(size=2))
    assert gradgradcheck(Square.apply, x, Tensor(np.ones(2)))
    assert gradgradcheck(Square.apply, x, (leaf([1.0, -2.0]),))
    assert gradgradcheck(Square.apply, x, gen_non_contig_grad_outputs=True)


def test_nothing_of_the_caller_changes():
    x = leaf([1.0, 2.0])
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    with pb.no_grad():
        gradgradcheck(Square.apply, x)
    assert x.grad is None
    assert x._version == 0
    assert x._array.tolist() == [1.0, 2.0]
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_flags():
    x = leaf([1.0])
    with pytest.raises(AssertionError, match="check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(Square.apply, x, check_rev_over_rev=False)
    with pytest.raises(ValueError, match="an output that requires gradients"):
        gradgradcheck(lambda x: x.detach(), x)


# ---------------------------------------------------------------------------------- wrong second derivatives


class SquareSlope(pb.Function):
    """The backward of a square as a Function of its own; `factor` spoils the gradient of its first argument."""

    factor = 1.0

    @staticmethod
    def forward(ctx, x, g):
        ctx.save_for_backward(x, g)
        return 2 * x * g

    @staticmethod
    def backward(ctx, gg):
        x, g = ctx.saved_tensors
        return ctx._forward_cls.factor * 2 * g * gg, 2 * x * gg


def square_with(slope):
    class SquareBy(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return slope(ctx.saved_tensors[0], g)

    return SquareBy.apply


class Hidden:
    """A value that an engine cannot see."""

    def __init__(self, value):
        self.value = value


class LosesIntermediate(pb.Function):
    """The second derivative takes ``e`` for a constant."""

    @staticmethod
    def forward(ctx, x):
        e = pb.exp(x)
        ctx.hidden = Hidden(e)
        ctx.save_for_backward(x)
        return e * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Tensor(ctx.hidden.value._array) * (1 + x)


def test_a_backward_that_is_a_function_of_its_own():
    assert gradgradcheck(square_with(SquareSlope.apply), leaf([1.0, 2.0]))


@pytest.mark.parametrize(("factor", "pattern"), [(2.0, "factor"), (-1.0, "sign"), (0.0, "zero"), (1.01, "factor")])
def test_a_wrong_rule_of_the_backward_is_caught(factor, pattern):
    wrong = type("Wrong", (SquareSlope,), {"factor": factor})
    func = square_with(wrong.apply)
    assert gradcheck(func, leaf([1.0, 2.0]))
    error = caught(func, leaf([1.0, 2.0]), "mismatch")
    assert error.pattern == pattern
    assert error.input == 0


def test_a_lost_intermediate_is_caught():
    assert gradcheck(LosesIntermediate.apply, leaf([0.5, 1.0]))
    error = caught(LosesIntermediate.apply, leaf([0.5, 1.0]), "mismatch")
    assert str(error).startswith("Jacobian mismatch for output 0 with respect to input 0,")


def test_wrong_first_derivatives_that_are_consistent_are_for_gradcheck_to_find():
    """backward is differentiated rightly here; that it is not the derivative of forward is another question."""
    tripled = square_with(lambda x, g: 3 * x * g)
    assert gradgradcheck(tripled, leaf([1.0, 2.0]))
    assert not gradcheck(tripled, leaf([1.0, 2.0]), raise_exception=False)


# ---------------------------------------------------------------------------------- refused second derivatives


class Once(Square):
    @staticmethod
    @pb.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class ThroughNumPy(Square):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Tensor(2 * x.detach().numpy())


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_refused_second_derivative_says_why(fast_mode):
    error = caught(Once.apply, leaf([1.0, 2.0]), "refused", fast_mode=fast_mode)
    assert "once_differentiable" in str(error)
    assert "mismatch" not in str(error)
    assert "Write instead" in "\n".join(error.__notes__)
    error = caught(ThroughNumPy.apply, leaf([1.0, 2.0]), "refused", fast_mode=fast_mode)
    assert "out of the graph" in str(error)


# ---------------------------------------------------------------------------------- points and precisions


def test_the_slope_of_a_kink_jumps_and_zero_is_accepted():
    class Step(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return Tensor((x.numpy() > 0) * 1.0)

        @staticmethod
        def backward(ctx, g):
            return g * 0

    class Relu(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Tensor(np.maximum(x.numpy(), 0))

        @staticmethod
        def backward(ctx, g):
            return g * Step.apply(ctx.saved_tensors[0])

    with pytest.warns(CheckWarning, match="a jump at input 0.1."):
        assert gradgradcheck(Relu.apply, leaf([1.0, 0.0, -1.0]))


def test_single_precision():
    with pytest.warns(CheckWarning, match="not a double precision"):
        assert gradgradcheck(lambda x: pb.sin(x) * x * x, leaf([1.5, 20.0, -3.0], "f4"))
    wrong = type("Wrong", (SquareSlope,), {"factor": 2.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        caught(square_with(wrong.apply), leaf([1.0, 2.0], "f4"), "mismatch")


def test_a_random_backward_is_called_not_reentrant(rng):
    noisy = square_with(lambda x, g: 2 * x * g * Tensor(rng.random(2)))
    caught(noisy, leaf([1.0, 2.0]), "not reentrant")
