"""gradcheck: right rules pass, wrong ones are caught and named, and what is neither gets a verdict of its own."""

import warnings

import array_api_strict
import numpy as np
import pytest

import pullback as pb
from pullback.check import CheckWarning, GradcheckError, gradcheck, numeric
from pullback.core.tensor import Tensor


def leaf(values, dtype=float):
    return pb.Tensor(np.array(values, dtype), requires_grad=True)


def bare(value):
    return Tensor(np.asarray(value))


def rule(forward, backward, **attributes):
    """A Function from two functions of bare arrays: ``forward(*xs)`` and ``backward(g, *xs)``, one gradient per x."""

    class Rule(pb.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return bare(forward(*[x.numpy() for x in xs]))

        @staticmethod
        def backward(ctx, g):
            grads = backward(g.numpy(), *[x.numpy() for x in ctx.saved_tensors])
            return tuple(map(bare, grads)) if isinstance(grads, tuple) else bare(grads)

    for name, value in attributes.items():
        setattr(Rule, name, value)
    return Rule.apply


def caught(func, inputs, verdict, check=gradcheck, **options):
    """The error of a check that fails with this verdict; with raise_exception=False it must return False."""
    with pytest.raises(GradcheckError) as caught:
        check(func, inputs, **options)
    assert caught.value.verdict == verdict, (str(caught.value), caught.value.__notes__)
    assert check(func, inputs, raise_exception=False, **options) is False
    return caught.value


def notes(error):
    return "\n".join(error.__notes__)


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


class Counted:
    """Counts the calls of a function, and remembers what it saw."""

    def __init__(self, func):
        self.func, self.calls = func, 0

    def __call__(self, *args):
        self.calls += 1
        return self.func(*args)


# ---------------------------------------------------------------------------------- what passes


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("func", [Square.apply, Cube.apply, lambda x: pb.sin(x) * x, lambda x: x])
def test_right_rules_pass_in_every_shape(func, shape, rng):
    assert gradcheck(func, leaf(rng.normal(size=shape))) is True


def test_inputs_may_be_a_tensor_a_list_or_a_tuple_with_other_arguments():
    x, y = leaf([1.0, 2.0]), leaf([0.5])
    assert gradcheck(Square.apply, x)
    assert gradcheck(lambda x, y: x * y, [x, y])
    assert gradcheck(lambda x, power, mask, y: x**power * mask + y, (x, 3, bare([1.0, 0.0]), y))


def test_broadcast_operands_pass():
    assert gradcheck(lambda a, b: a * b / (b + 3), (leaf([[1.0], [2.0]]), leaf([0.5, 1.5, -1.0])))


COMPLEX = {
    "holomorphic": lambda z: z * z,
    "antiholomorphic": lambda z: pb.conj(z) * pb.conj(z),
    "complex to real": lambda z: pb.real(z * pb.conj(z)),
    "both": lambda z: (z * 1j, pb.imag(z)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_inputs_and_outputs_pass(name, rng):
    z = leaf(rng.normal(size=3) + 1j * rng.normal(size=3), complex)
    assert gradcheck(COMPLEX[name], z)
    assert gradcheck(COMPLEX[name], z, fast_mode=True)


def test_real_to_complex_and_mixed_inputs_pass(rng):
    x, z = leaf(rng.normal(size=2)), leaf(rng.normal(size=2) + 1j, complex)
    assert gradcheck(lambda x: x * (1 + 2j), x)
    assert gradcheck(lambda x, z: (x * z, x * x), (x, z))


def test_grad_mode_of_the_caller_does_not_matter():
    with pb.no_grad():
        assert gradcheck(Square.apply, leaf([1.0, 2.0]))
    caught_error = caught(rule(lambda x: x * x, lambda g, x: 3 * x * g), leaf([1.0]), "mismatch")
    assert caught_error.factor == 1.5


def test_a_subclass_with_other_methods_keeps_its_class():
    class Other(Tensor):
        size = shape_of = lambda self, dim=None: self._array.shape

    x = Other(np.array([[1.0, 2.0], [3.0, 4.0]]))
    x.requires_grad_(True)
    seen = set()

    def func(x):
        seen.add(type(x))
        return x * x

    assert gradcheck(func, x)
    assert gradcheck(func, x, fast_mode=True)
    assert seen == {Other}
    caught(lambda x: rule(lambda x: x * x, lambda g, x: x * g)(x), x, "mismatch")


# ---------------------------------------------------------------------------------- runs, and the inputs


def test_number_of_runs():
    cases = [
        (lambda x: x * 2, leaf([1.0, 1, 1]), {}, 8),
        (lambda x: x * 2, leaf([1.0, 1, 1]), {"fast_mode": True}, 4),
        (lambda x: x * 2, leaf([1.0, 1, 1]), {"check_undefined_grad": False}, 7),
        (lambda x: (x * 2, x * 3), leaf([1.0, 1, 1]), {}, 8),
        (lambda z: pb.real(z), leaf(np.ones(10), complex), {}, 42),
        (lambda z: pb.real(z), leaf(np.ones(10), complex), {"fast_mode": True}, 6),
    ]
    for func, x, options, runs in cases:
        counted = Counted(func)
        gradcheck(counted, x, **options)
        assert counted.calls == runs


def test_values_are_moved_in_place_on_the_same_tensor_without_a_new_version():
    memory = np.array([1.0, 5.0])
    x = pb.asarray(memory)
    x.requires_grad_(True)
    seen = []
    gradcheck(lambda a: seen.append((a is x, memory[0], a._version)) or a * 2, x)
    assert all(same and version == 0 for same, _, version in seen)
    assert [value for _, value, _ in seen] == pytest.approx([1, 1 - 1e-6, 1 + 1e-6, 1, 1, 1], abs=1e-12)


def test_values_come_back_bitwise_even_when_func_raises(rng):
    x = leaf(rng.normal(size=5) * 10.0 ** rng.integers(-9, 9, 5))
    before = x._array.tobytes()
    gradcheck(Square.apply, x, raise_exception=False)
    assert x._array.tobytes() == before

    def fails_later(a, count=[0]):  # noqa: B006
        count[0] += 1
        if count[0] == 4:
            raise KeyError("in the middle")
        return a * 2

    with pytest.raises(KeyError):
        gradcheck(fails_later, x)
    assert x._array.tobytes() == before


def test_closures_over_the_input_see_the_moved_values():
    x = leaf([1.0, 2.0])
    assert gradcheck(lambda a: x * x, x)
    caught(lambda a: rule(lambda x: x * x, lambda g, x: x * g)(x), x, "mismatch")


def test_nothing_of_the_caller_changes():
    x = leaf([1.0, 2.0])
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    gradcheck(Square.apply, x)
    gradcheck(Square.apply, x, fast_mode=True)
    assert x.grad is None
    assert x._version == 0
    assert x.requires_grad
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_inputs_that_are_views_or_results_of_other_operators():
    base = leaf(np.arange(6.0).reshape(2, 3))
    for x in (base * 2, base.T, (base * 1)[:, ::2]):
        assert gradcheck(lambda x: x * x, x)


def test_arrays_that_cannot_be_written_are_copied():
    locked = np.array([1.0, 2.0])
    locked.flags.writeable = False
    x = Tensor(locked, requires_grad=True)
    assert gradcheck(lambda a: x * x, x)
    assert x._array is locked
    strict = array_api_strict.asarray([1.0, 2.0])
    y = Tensor(strict, requires_grad=True)
    assert gradcheck(lambda a: y * y, y)
    assert gradcheck(lambda a: y * y, y, fast_mode=True)
    assert y._array is strict


def test_elements_or_inputs_that_share_memory_are_moved_one_by_one():
    window = np.lib.stride_tricks.sliding_window_view(np.arange(4.0), 2, writeable=True)
    assert gradcheck(lambda x: x * x, Tensor(window, requires_grad=True))
    memory = np.array([1.0, 2.0])
    a, b = Tensor(memory, requires_grad=True), Tensor(memory, requires_grad=True)
    assert gradcheck(lambda a, b: a * a * b, (a, b))
    assert gradcheck(lambda a, b: a * b, (a, a))


# ---------------------------------------------------------------------------------- what it refuses to check


def test_validation_ignores_raise_exception():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x * 2, bare([1.0]), raise_exception=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x[0] * 2, ([leaf([1.0])],), raise_exception=False)
    stretched = Tensor(np.broadcast_to(np.array([1.0]), (3,)), requires_grad=True)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, stretched, raise_exception=False)


def test_flags():
    x = leaf([1.0])
    with pytest.raises(AssertionError, match="check_forward_ad or check_backward_ad"):
        gradcheck(Square.apply, x, check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True"):
        gradcheck(Square.apply, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(AssertionError, match="check_batched_forward_grad=True"):
        gradcheck(Square.apply, x, check_batched_forward_grad=True)
    with pytest.raises(TypeError):
        gradcheck(Square.apply, x, 1e-6)
    assert gradcheck(Square.apply, leaf([1.0, 2.0]), check_batched_grad=True, check_grad_dtypes=True, masked=True)


def test_only_its_own_error_becomes_false():
    def raises(x):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        gradcheck(raises, leaf([1.0]), raise_exception=False)
    wrong_shape = rule(lambda x: x * 2, lambda g, x: np.ones(7))
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        gradcheck(wrong_shape, leaf([1.0, 2.0]), raise_exception=False)
    assert issubclass(GradcheckError, RuntimeError)


def test_outputs_that_left_the_graph_are_a_lesson():
    for func in (lambda x: x.detach().numpy(), lambda x: 3.0, lambda x: None, lambda x: {"y": x}, lambda x: (x, [x])):
        with pytest.raises(TypeError, match="a Tensor or a tuple of Tensors is expected"):
            gradcheck(func, leaf([1.0]))


def test_output_shapes_that_depend_on_values_are_refused():
    with pytest.raises(AssertionError, match="same shape and dtype"):
        gradcheck(lambda x: x * bare(np.ones(1 + int(x.detach().numpy()[0] > 1))), leaf([1.0]))


def test_func_that_changes_its_input():
    def writes(x):
        x.data.numpy()[0] += 1
        return x * 2

    assert "in place" in str(caught(writes, leaf([1.0]), "input changed"))


# ---------------------------------------------------------------------------------- outputs without gradients


def test_no_differentiable_output_must_not_change():
    assert "expected to be zero" in str(caught(lambda x: x.detach(), leaf([1.0]), "not zero"))
    assert gradcheck(lambda x: x.detach() * 0, leaf([1.0]))
    assert gradcheck(lambda x: pb.argsort(x), leaf([1.0, 2.0]))
    assert gradcheck(lambda x: (), leaf([1.0]))


class SortWithIndices(pb.Function):
    """Two outputs, of which the integer one is never differentiable; and a float one that is marked."""

    @staticmethod
    def forward(ctx, x):
        order = np.argsort(x.numpy())
        ctx.order = order
        copy = bare(x.numpy().copy())
        ctx.mark_non_differentiable(copy)
        return copy, bare(x.numpy()[order]), bare(order)

    @staticmethod
    def backward(ctx, _copy, g, _order):
        result = np.zeros(g.shape)
        result[ctx.order] = g.numpy()
        return bare(result)


def test_a_mix_of_outputs_with_and_without_gradients():
    assert gradcheck(SortWithIndices.apply, leaf([3.0, 1.0, 2.0]))
    assert gradcheck(lambda x: (x * x, x.detach(), 3, None), leaf([3.0]))
    wrong = rule(lambda x: x * x, lambda g, x: x * g)
    error = caught(lambda x: (x.detach(), wrong(x)), leaf([3.0]), "mismatch")
    assert error.output == 1


# ---------------------------------------------------------------------------------- wrong rules, named


def test_the_error_has_two_matrices_a_worst_entry_and_a_guess():
    error = caught(rule(lambda x: x * x, lambda g, x: 3 * x * g), leaf([1.0, 2.0]), "mismatch")
    lines = str(error).splitlines()
    assert lines[0] == "Jacobian mismatch for output 0 with respect to input 0,"
    assert lines[1].startswith("numerical:tensor([[2., 0.]")
    assert lines[3].startswith("analytical:tensor([[3., 0.]")
    assert (error.output, error.input, error.entry) == (0, 0, ((1,), (1,)))
    np.testing.assert_allclose(error.numerical, [[2, 0], [0, 4]], atol=1e-7)
    np.testing.assert_allclose(error.analytical, [[3, 0], [0, 6]])
    assert error.ratio == pytest.approx(1.5)
    assert error.factor == 1.5
    assert error.pattern == "factor"
    assert "input 0[1] to output 0[1]" in notes(error)
    assert "ratio 1.5" in notes(error)


def test_the_message_names_the_argument_where_the_function_does():
    class Scale(pb.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x)
            return x * weight

        @staticmethod
        def backward(ctx, g):
            return None, g

    error = caught(Scale.apply, (bare([2.0, 3.0]), leaf([1.0, 1.0])), "mismatch")
    assert error.input == 1
    assert "input 1 ('weight')" in notes(error)


A = np.arange(1.0, 7).reshape(2, 3)
SQUARE_MATRIX = np.array([[1.0, 2.0], [3.0, 5.0]])
PATTERNS = {
    "factor 2": (lambda x: x * x, lambda g, x: 4 * x * g, [1.0, 2.0], "factor", "2 times"),
    "factor 1/2": (lambda x: x * x, lambda g, x: x * g, [1.0, 2.0], "factor", "0.5 times"),
    "mean or sum": (np.sum, lambda g, x: g * np.ones(4) / 4, [1.0, 2, 3, 4], "factor", "a mean in place of a sum"),
    "sum or mean": (np.mean, lambda g, x: g * np.ones(4), [1.0, 2, 3, 4], "factor", "a sum in place of a mean"),
    "sign": (np.cos, lambda g, x: g * np.sin(x), [1.0, 2.0], "sign", "sign"),
    "transpose": (lambda x: SQUARE_MATRIX @ x, lambda g, x: SQUARE_MATRIX @ g, [1.0, 2.0], "transpose", "transpose"),
    "transposed input": (lambda x: x * A, lambda g, x: (g * A).T.reshape(2, 3), A, "transpose", "transposed input"),
    "transposed output": (lambda x: x.T, lambda g, x: g.reshape(2, 3), A, "transpose", "transposed"),
    "upstream": (lambda x: x * x, lambda g, x: 2 * x, [1.0, 2.0], "upstream", "not multiplied"),
    "zero": (lambda x: x * x, lambda g, x: 0 * g, [1.0, 2.0], "zero", "zero everywhere"),
    "chain": (lambda x: x**3, lambda g, x: 3 * x * g, [2.0, 3.0], "chain", "missing: the values of input 0"),
    "chain output": (np.exp, lambda g, x: g * np.exp(2 * x), [0.5, 1.0], "chain", "too much: the values of output 0"),
    "term": (lambda x: x * x, lambda g, x: 2 * x * g * [1, 0, 0], [1.0, 2, 3], "term", "left out"),
    "extra": (lambda x: x * x, lambda g, x: 2 * x * g + 2 * np.roll(g, 1), [1.0, 2, 3], "term", "should be zero"),
    "offset": (lambda x: x * x, lambda g, x: 2 * x * g + 0.5 * g, [1.0, 2, 3], "offset", "off by 0.5"),
    "single": (lambda x: x * x, lambda g, x: 2 * x * g * [1, 1.2, 1], [1.0, 2, 3], "single", "one entry of 9"),
    "not finite": (lambda x: x * x, lambda g, x: g * np.nan, [1.0, 2, 3], "not finite", "not finite"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_the_kind_of_mistake_is_recognised(name):
    forward, backward, x, pattern, text = PATTERNS[name]
    error = caught(rule(forward, backward), leaf(x), "mismatch")
    assert error.pattern == pattern
    assert text in notes(error)


def test_half_of_two_elements_is_not_taken_for_a_mean():
    error = caught(rule(lambda x: x * x, lambda g, x: x * g), leaf([1.0, 2.0]), "mismatch")
    assert error.pattern == "factor"
    assert "0.5 times" in notes(error)
    assert "mean" not in notes(error)


def test_a_forgotten_second_argument_is_recognised():
    forgets = rule(lambda x, y: x * y, lambda g, x, y: (g, g * x))
    error = caught(forgets, (leaf([2.0, 3.0]), leaf([5.0, 7.0])), "mismatch")
    assert error.pattern == "chain"
    assert "missing: the values of input 1" in notes(error)


def test_a_missing_conjugate_is_recognised():
    wrong = rule(lambda z: z * z, lambda g, z: g * 2 * z)
    error = caught(wrong, leaf([1 + 2j, 0.5 - 1j], complex), "mismatch")
    assert error.pattern == "conjugate"
    assert error.part == "imaginary"
    assert str(error).startswith("While considering the imaginary part of complex outputs only, Jacobian mismatch")
    assert gradcheck(rule(lambda z: z * z, lambda g, z: g * np.conj(2 * z)), leaf([1 + 2j, 0.5 - 1j], complex))


def test_one_wrong_entry_among_200_is_caught():
    slopes = np.ones(200)
    slopes[137] += 1e-2
    error = caught(rule(lambda x: 1 * x, lambda g, x: g * slopes), leaf(np.linspace(-1, 1, 200)), "mismatch")
    assert error.entry == ((137,), (137,))
    assert error.pattern == "single"
    assert error.ratio == pytest.approx(1.01)


def test_tolerances_are_relative_to_the_numerical_value():
    def off_by(relative):
        return rule(lambda x: x * 1, lambda g, x: g * (1 + relative))

    x = leaf([1.0])
    assert [gradcheck(off_by(e), x, raise_exception=False) for e in (1e-4, 9e-4, 1.2e-3)] == [True, True, False]
    assert gradcheck(off_by(0.1), x, rtol=0.2)
    assert gradcheck(off_by(0.1), x, atol=0.2)
    caught(off_by(1e-4), x, "mismatch", rtol=1e-6, atol=1e-9)


# Mutations of right rules: each changes the derivative, none may pass.
RIGHT = {
    "square": (lambda x: x * x, lambda g, x: 2 * x * g),
    "exp": (np.exp, lambda g, x: np.exp(x) * g),
    "matmul": (lambda x: SQUARE_MATRIX @ x, lambda g, x: SQUARE_MATRIX.T @ g),
    "softmax": (
        lambda x: np.exp(x) / np.exp(x).sum(),
        lambda g, x: (y := np.exp(x) / np.exp(x).sum()) * (g - (g * y).sum()),
    ),
    "norm": (lambda x: np.sqrt((x * x).sum()), lambda g, x: g * x / np.sqrt((x * x).sum())),
    "cumsum": (np.cumsum, lambda g, x: np.cumsum(g[::-1])[::-1]),
}
MUTATIONS = {
    "factor": lambda back: lambda g, x: 1.01 * back(g, x),
    "sign": lambda back: lambda g, x: -back(g, x),
    "no cotangent": lambda back: lambda g, x: back(np.ones_like(g), x),
    "constant added": lambda back: lambda g, x: back(g, x) + 1e-3,
    "cotangent added": lambda back: lambda g, x: back(g, x) + 0.01 * np.sum(g),
    "rolled": lambda back: lambda g, x: np.roll(back(g, x), 1),
    "one entry lost": lambda back: lambda g, x: back(g, x) * [1, 0],
    "elsewhere": lambda back: lambda g, x: back(g, 1.05 * x + 0.1),
    "squared cotangent": lambda back: lambda g, x: back(g * g, x),
    "clipped cotangent": lambda back: lambda g, x: back(np.clip(g, -0.5, 0.5), x),
    "absolute cotangent": lambda back: lambda g, x: back(np.abs(g), x),
    "none": lambda back: lambda g, x: 0 * x,
}


@pytest.mark.parametrize("right", RIGHT)
def test_every_mutation_of_a_right_rule_is_caught(right):
    forward, backward = RIGHT[right]
    x = leaf([0.7, 1.9])
    assert gradcheck(rule(forward, backward), x)
    for name, mutate in MUTATIONS.items():
        same = {("matmul", "elsewhere"), ("cumsum", "elsewhere")}  # linear: the point does not matter
        if (right, name) not in same:
            assert not gradcheck(rule(forward, mutate(backward)), x, raise_exception=False), (right, name)


# ---------------------------------------------------------------------------------- other cotangents


def test_a_rule_that_ignores_its_cotangent_is_caught_where_one_hots_cannot_show_it():
    error = caught(rule(np.sum, lambda g, x: np.ones(3)), leaf([1.0, 2, 3]), "not multiplied")
    assert str(error) == "backward not multiplied by grad_output"


def test_a_rule_that_is_not_linear_is_caught():
    error = caught(rule(lambda x: x * 1, lambda g, x: g * g), leaf([1.0, 2.0]), "not linear")
    assert "not linear in grad_output" in str(error)


class NeedsBoth(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        if g is None and h is None:
            raise RuntimeError("nothing came")
        return (0 if g is None else g * 2) + (0 if h is None else h * 3)


class InventsGradients(NeedsBoth):
    @staticmethod
    def backward(ctx, g, h):
        if g is None and h is None:
            return bare([1.0])
        return NeedsBoth.backward(ctx, g, h)


def test_missing_cotangents():
    for function in (NeedsBoth, InventsGradients):
        error = caught(function.apply, leaf([1.0]), "undefined")
        assert str(error).startswith("Expected backward function to handle undefined output grads")
        assert gradcheck(function.apply, leaf([1.0]), check_undefined_grad=False)


def test_an_error_of_another_type_for_a_missing_cotangent_is_not_translated():
    class Plain(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(TypeError):
        gradcheck(Plain.apply, leaf([1.0]), raise_exception=False)
    assert gradcheck(Plain.apply, leaf([1.0]), check_undefined_grad=False)


# ---------------------------------------------------------------------------------- memory layout


def memory_order(g, x):
    return 2 * g.ravel(order="K").reshape(g.shape)


class MemoryOrder(pb.Primitive):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, ct):
        return 2 * ct.ravel(order="K").reshape(ct.shape)


MATRIX = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "func",
    [
        rule(lambda x: x * 2, memory_order, any_layout=True),
        lambda x: rule(lambda x: x * 2, memory_order, any_layout=True)(x) * 3,
        MemoryOrder.apply,
    ],
    ids=["Function", "callable", "Primitive"],
)
def test_a_rule_that_reads_memory_order_is_caught(func):
    error = caught(func, leaf(MATRIX), "layout")
    assert error.layout == "transposed"
    assert "contiguous" in notes(error)


def test_a_function_that_gets_contiguous_cotangents_may_read_memory_order():
    assert gradcheck(rule(lambda x: x * 2, memory_order), leaf(MATRIX))


def test_a_rule_that_reads_past_the_gaps_of_a_strided_cotangent_is_caught():
    def raw(g, x):
        start = g.base.reshape(-1) if g.base is not None and g.base.size >= g.size else g.reshape(-1)
        return 2 * start[: g.size].reshape(g.shape)

    assert caught(rule(lambda x: x * 2, raw, any_layout=True), leaf([1.0, 2, 3]), "layout").layout == "strided"


def test_the_gaps_of_a_strided_cotangent_hold_nan():
    def sums_the_buffer(g, x):
        return (g if g.base is None else g.base).sum()

    spread = rule(lambda x: x * np.ones(3), sums_the_buffer, any_layout=True)
    assert caught(spread, leaf(2.0), "layout").layout == "strided"


def test_a_rule_that_mishandles_an_expanded_cotangent_is_caught():
    wrong = rule(lambda x: x * 2, lambda g, x: (2 if all(g.strides) else 3) * g, any_layout=True)
    assert caught(wrong, leaf([1.0, 2, 3]), "layout").layout == "expanded"


def test_a_rule_that_raises_for_a_layout_is_caught():
    def picky(g, x):
        if not g.flags.c_contiguous:
            raise ValueError("contiguous, please")
        return 2 * g

    error = caught(rule(lambda x: x * 2, picky, any_layout=True), leaf(MATRIX), "layout")
    assert "contiguous, please" in str(error)


# ---------------------------------------------------------------------------------- the same again


def test_a_random_function_is_called_not_deterministic(rng):
    error = caught(lambda x: x * bare(rng.random(3) > 0.5), leaf([1.0, 2, 3]), "not deterministic")
    assert "not deterministic" in str(error)
    assert "mismatch" not in str(error)


def test_a_function_with_state_is_called_not_deterministic():
    calls = []
    error = caught(lambda x: x * float(len(calls.append(1) or calls)), leaf([1.0]), "not deterministic")
    assert "called again" in str(error)


def test_rounding_that_varies_does_not_hide_a_mistake(rng):
    wrong = rule(lambda x: x * (1 + 1e-15 * rng.random(2)), lambda g, x: 2 * g)
    caught(wrong, leaf([1.0, 2.0]), "mismatch")


def test_warnings_point_at_the_line_that_asked():
    with pytest.warns(CheckWarning) as low:
        gradcheck(Square.apply, leaf([1.0], "f4"))
    with pytest.warns(CheckWarning) as kink:
        gradcheck(rule(relu, at_zero(1.0)), leaf([0.0]))
    assert low[0].filename == kink[0].filename == __file__


def test_a_backward_that_varies_needs_a_tolerance(rng):
    noisy = rule(lambda x: x * 1, lambda g, x: g * (1 + 1e-9 * rng.random(g.shape)))
    error = caught(noisy, leaf([1.0, 2.0]), "not reentrant")
    assert str(error).startswith("Backward is not reentrant")
    assert "two passes differ by" in notes(error)
    assert gradcheck(noisy, leaf([1.0, 2.0]), nondet_tol=1e-5)


def test_a_random_backward_is_not_called_a_mismatch(rng):
    error = caught(rule(lambda x: x * 1, lambda g, x: g * rng.random(g.shape)), leaf([1.0, 2.0]), "not reentrant")
    assert "neither of them matches" in str(error)


# ---------------------------------------------------------------------------------- precision


@pytest.fixture
def low():
    """Inputs of low precision give a warning, once per check."""
    with pytest.warns(CheckWarning, match="not a double precision"):
        yield


def slope(x):
    return np.sin(x) + x * np.cos(x)


def only(dtype):
    """x sin(x) as a kernel of one precision computes it."""
    return lambda x: x.astype(dtype) * np.sin(x.astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("kernel", ["follows", "insists"])
def test_right_rules_of_low_precision_pass_and_wrong_ones_do_not(low, dtype, kernel):
    forward = only(dtype) if kernel == "insists" else (lambda x: x * np.sin(x))
    x = leaf([0.3, 1.5, 20.0, -3.0], dtype)
    assert gradcheck(rule(forward, lambda g, x: g * slope(x)), x)
    caught(rule(forward, lambda g, x: 2 * g * slope(x)), x, "mismatch")


def test_one_percent_is_seen_in_single_precision(low):
    x = leaf([0.3, 1.5, -3.0], "f4")
    error = caught(rule(lambda x: x * np.sin(x), lambda g, x: 1.01 * g * slope(x)), x, "mismatch")
    assert error.pattern == "factor"


def test_a_small_slope_beside_large_values_is_seen_in_single_precision(low):
    def forward(x):
        return 1e4 + 0.01 * x

    assert gradcheck(rule(forward, lambda g, x: 0.01 * g), leaf([0.3, 1.5], "f4"))
    caught(rule(forward, lambda g, x: 0.015 * g), leaf([0.3, 1.5], "f4"), "mismatch")


def test_operators_in_single_precision_pass(low):
    assert gradcheck(lambda t: t * t * pb.sin(t), leaf([1.5, 20.0, -3.0], "f4"))


def test_low_precision_values_come_back(low):
    x = leaf([1.5, 20.0], "f4")
    array, before = x._array, x._array.tobytes()
    gradcheck(Square.apply, x)
    assert x._array is array
    assert array.tobytes() == before


def test_a_rule_that_is_right_but_inaccurate_is_inconclusive(low):
    cancels = rule(lambda x: x * x, lambda g, x: 2 * g * ((x + x.dtype.type(1e6)) - x.dtype.type(1e6)))
    error = caught(cancels, leaf([0.3, 1.1], "f4"), "inconclusive")
    assert "precision too low" in str(error)
    assert "mismatch" not in str(error)


def test_double_inputs_with_single_precision_inside():
    inside = lambda x: only("f4")(x).astype("f8")  # noqa: E731
    for forward in (inside, only("f4")):
        assert gradcheck(rule(forward, lambda g, x: g * slope(x)), leaf([0.3, 1.0, 5.0]))
        error = caught(rule(forward, lambda g, x: 3 * g * slope(x)), leaf([0.3, 1.0, 5.0]), "mismatch")
        assert error.pattern == "factor"
        assert error.factor == 3


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_large_values_are_compared_with_a_longer_step(offset):
    assert gradcheck(rule(lambda x: offset + x * x, lambda g, x: 2 * x * g), leaf([0.3, 1.0]))
    assert caught(rule(lambda x: offset + x * x, lambda g, x: 3 * x * g), leaf([0.3, 1.0]), "mismatch").factor == 1.5


def test_hopeless_precision_is_inconclusive():
    hidden = rule(lambda x: 1e15 + x * x, lambda g, x: 2 * x * g)
    assert "precision too low" in str(caught(hidden, leaf([0.3, 1.0]), "inconclusive"))


def test_large_inputs_are_moved_by_longer_steps():
    x = leaf([1e8, -1e10, 1e12])
    counted = Counted(rule(lambda x: x * x, lambda g, x: 2 * x * g))
    assert gradcheck(counted, x)
    assert counted.calls == 8  # nothing had to be looked into
    caught(rule(lambda x: x * x, lambda g, x: 2.01 * x * g), x, "mismatch")


def test_strong_curvature_is_not_taken_for_a_mistake():
    fast = rule(lambda x: np.sin(1e5 * x), lambda g, x: g * 1e5 * np.cos(1e5 * x))
    assert gradcheck(fast, leaf([0.3, 1.0]))
    assert gradcheck(rule(np.log, lambda g, x: g / x), leaf([1e-9, 1e-7, 1e-5, 1.0]))
    caught(rule(np.log, lambda g, x: 1.01 * g / x), leaf([1e-7]), "mismatch")


# ---------------------------------------------------------------------------------- points without a derivative


def relu(x):
    return np.maximum(x, 0)


def at_zero(value):
    return lambda g, x: g * np.where(x == 0, value, x > 0)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_every_slope_between_the_two_sides_of_a_kink_is_accepted(value):
    with pytest.warns(CheckWarning, match="a kink at input 0.1.: slope 0 from the left, 1 to the right"):
        assert gradcheck(rule(relu, at_zero(value)), leaf([1.0, 0.0, -1.0]))


@pytest.mark.parametrize("value", [-0.1, 1.1, 2.0])
def test_other_slopes_at_a_kink_are_reported_with_both_sides(value):
    error = caught(rule(relu, at_zero(value)), leaf([0.0]), "kink")
    assert "slope 0 from the left, 1 to the right" in notes(error)


def test_a_kink_in_the_imaginary_direction_only():
    def imaginary_relu(value):
        return rule(lambda z: relu(z.imag), lambda g, z: g * 1j * np.where(z.imag == 0, value, z.imag > 0))

    z = leaf([1.0 + 0j, 1.0 - 1j], complex)
    with pytest.warns(CheckWarning, match="kink"):
        assert gradcheck(imaginary_relu(1.0), z)
    caught(imaginary_relu(2.0), z, "kink")


def test_a_wrong_rule_beside_a_kink_is_a_mismatch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        error = caught(rule(relu, lambda g, x: g * np.where(x > 1, 2.0, x >= 0)), leaf([0.0, 1.5]), "mismatch")
        assert error.entry == ((1,), (1,))
        assert error.ratio == pytest.approx(2)
        assert gradcheck(rule(relu, lambda g, x: g * (x > 0)), leaf([1e-7, 3e-7, -1e-8]))
    caught(rule(relu, lambda g, x: g * (x > 1e-3)), leaf([3e-7]), "mismatch")


def test_ties_of_a_maximum():
    def one_hot(k):
        return rule(lambda x: np.max(x), lambda g, x: g * np.eye(3)[k])

    for k in (0, 1):
        with pytest.warns(CheckWarning, match="kink"):
            assert gradcheck(one_hot(k), leaf([2.0, 2.0, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckWarning)
        caught(one_hot(2), leaf([2.0, 2.0, 1.0]), "mismatch")


def test_jumps():
    with pytest.warns(CheckWarning, match="a jump at input 0.0."):
        assert gradcheck(rule(np.floor, lambda g, x: 0 * g), leaf([1.0, 2.5]))
    caught(rule(np.floor, lambda g, x: g), leaf([1.0]), "jump")
    caught(rule(np.round, lambda g, x: g), leaf([1.2, 2.2]), "mismatch")


@pytest.mark.parametrize("values", [0.3, [0.3], [0.3, 1.2], [[0.3, 1.2, -2.4]]])
def test_a_straight_through_rule_of_a_step_is_told_from_a_mixed_output(values):
    straight_through = rule(np.round, lambda g, x: g)
    error = caught(straight_through, leaf(values), "mismatch")
    assert error.pattern == "step"
    assert "func is constant around this point" in notes(error)
    assert "straight-through" in notes(error)


def test_a_tiny_slope_is_no_step():
    assert caught(rule(lambda x: 1e-7 * x, lambda g, x: g), leaf([0.3, 1.2]), "mismatch").pattern != "step"


def test_edges_of_the_domain():
    power = rule(lambda x: x**1.5, lambda g, x: 1.5 * x**0.5 * g)
    with pytest.warns(CheckWarning, match="the edge of its domain"):
        assert gradcheck(power, leaf([0.0, 1.0]))
    error = caught(rule(lambda x: x**1.5, lambda g, x: (1.5 * x**0.5 + 0.1) * g), leaf([0.0]), "edge")
    assert "one side only" in notes(error)


def test_infinite_slopes_and_values_are_called_not_finite():
    with np.errstate(all="ignore"):
        error = caught(rule(np.sqrt, lambda g, x: g * 0.5 / np.sqrt(x)), leaf([0.0, 1.0]), "not finite")
        assert "without end" in notes(error)
        caught(rule(np.log, lambda g, x: g / x), leaf([0.0, 1.0]), "not finite")


# ---------------------------------------------------------------------------------- fast mode


def test_fast_mode_catches_wrong_rules_and_shows_the_whole_jacobian():
    error = caught(rule(lambda x: x * x, lambda g, x: 3 * x * g), leaf([1.0, 2.0]), "mismatch", fast_mode=True)
    assert str(error).startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "fast mode" in str(error)
    assert "Numerical:\ntensor([[2., 0.]" in str(error)
    assert error.pattern == "factor"


@pytest.mark.parametrize("right", RIGHT)
def test_fast_mode_accepts_right_rules_and_catches_coarse_mutations(right):
    forward, backward = RIGHT[right]
    x = leaf([0.7, 1.9])
    assert gradcheck(rule(forward, backward), x, fast_mode=True)
    for name in ("factor", "sign", "no cotangent", "cotangent added", "none"):
        wrong = rule(forward, MUTATIONS[name](backward))
        assert not gradcheck(wrong, x, raise_exception=False, fast_mode=True), name


def test_fast_mode_sees_one_doubled_entry_among_50_wherever_it_is():
    for k in range(50):
        slopes = np.ones(50)
        slopes[k] = 2
        wrong = rule(lambda x: x * 1, lambda g, x, slopes=slopes: g * slopes)
        assert not gradcheck(wrong, leaf(np.ones(50)), raise_exception=False, fast_mode=True), k


def test_in_fast_mode_the_full_comparison_has_the_last_word():
    with pytest.warns(CheckWarning, match="kink"):
        assert gradcheck(rule(relu, at_zero(1.0)), leaf([0.0, 1.0]), fast_mode=True)


# ---------------------------------------------------------------------------------- the numbers underneath


def test_difference_quotients():
    def line(t):
        return np.array([np.exp(1 + t), (1 + t) ** 2])

    exact = np.array([np.e, 2.0])
    np.testing.assert_allclose(numeric.central(line, 1e-6), exact, rtol=1e-9)
    np.testing.assert_allclose(numeric.one_sided(line, 1e-7), exact, rtol=1e-6)
    np.testing.assert_allclose(numeric.one_sided(line, -1e-7), exact, rtol=1e-6)
    np.testing.assert_allclose(numeric.complex_step(line), exact, rtol=1e-15)
    value, error = numeric.richardson(line, 0.1)
    assert np.all(np.abs(value - exact) <= error + 1e-15)
    assert np.all(np.abs(value - exact) < 1e-11)


@pytest.mark.parametrize("unit", [numeric.DOUBLE, float(np.finfo("f4").eps)])
def test_the_error_that_a_ladder_reports_covers_the_true_one(unit, rng):
    dtype = "f8" if unit == numeric.DOUBLE else "f4"
    for x in rng.uniform(0.1, 3, 20):

        def line(t, x=x):
            moved = np.array([x]).astype(dtype) + np.array([t]).astype(dtype)
            return (np.sin(3 * moved) * moved).astype("f8")

        x = float(np.float64(np.array(x).astype(dtype)))
        exact = 3 * np.cos(3 * x) * x + np.sin(3 * x)
        ladder = numeric.Ladder(line, numeric.rungs(unit, x), unit)
        for found in (ladder.centre, ladder.left, ladder.right):
            assert abs(found.value[0] - exact) <= 3 * found.error[0]
        assert ladder.centre.error[0] < (1e-7 if dtype == "f8" else 2e-2)
