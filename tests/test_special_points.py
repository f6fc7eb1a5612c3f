"""Kinks, poles, ties, and branches that were not taken: each follows its documented rule, to every order that exists.

Warnings are errors in these tests, so each also says that the backward pass is silent about what it handles by rule.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from numeric import pull
from pullback.core.tensor import Tensor
from pullback.ops.registry import REGISTRY

INF, NAN = math.inf, math.nan
#: Differentiable operators of two arguments, either of which may be a number.
BINARY = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "floor_divide",
    "pow",
    "atan2",
    "hypot",
    "logaddexp",
} | {
    "maximum",
    "minimum",
    "copysign",
}


def quiet() -> Any:
    """No warnings from NumPy, for what is infinite or NaN by right."""
    return np.errstate(all="ignore")


def derivatives(f: Any, point: Any, orders: int) -> list[Any]:
    """f', f'', ... of an elementwise function of one array, each as a list of numbers."""
    x = pb.tensor(np.asarray(point), requires_grad=True)
    with quiet():  # a forward may warn: that is the caller's own business
        found = f(x)
    result = []
    for k in range(orders):
        (found,) = pull([found], [x], [np.ones(found.shape, found.dtype)], create_graph=k < orders - 1)
        result.append(found.tolist())
    return result


def hessian(f: Any, *point: float) -> Any:
    """All second derivatives of a function of numbers, from the rows of its gradient."""
    xs = [pb.tensor(float(p), requires_grad=True) for p in point]
    with quiet():
        gradient = pull([f(*xs)], xs, [np.ones(())], create_graph=True)
        return [[h.item() for h in pull([g], xs, [np.ones(())])] for g in gradient]


# -------------------------------------------------------------------------------------------------------------- kinks
def test_abs_and_sign_are_flat_at_zero():
    assert derivatives(abs, [-2.0, 0.0, 3.0], 2) == [[-1, 0, 1], [0, 0, 0]]
    assert derivatives(pb.sign, [-2.0, 0.0, 3.0], 2) == [[0, 0, 0], [0, 0, 0]]
    assert derivatives(abs, [0j, 3 + 4j], 1)[0] == [0, 0.6 + 0.8j]
    assert derivatives(pb.sign, [0j], 1) == [[0]]
    assert derivatives(pb.angle, [0j], 1) == [[0]]


def test_relu_is_flat_at_zero():
    assert derivatives(pb.relu, [-2.0, 0.0, 3.0, NAN], 2) == [[0, 0, 1, 1], [0, 0, 0, 0]]


def test_rounding_has_derivative_zero_everywhere():
    for f in (pb.floor, pb.ceil, pb.trunc, pb.round, lambda x: x // 2):
        assert derivatives(f, [-1.0, 0.0, 0.5, 2.0], 2) == [[0] * 4, [0] * 4]


def test_clip_gives_the_border_to_x():
    assert derivatives(lambda x: pb.clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], 2) == [[0, 1, 1, 1, 0], [0] * 5]


def test_clip_splits_every_cotangent_between_x_and_the_bounds():
    x, low, high = (
        pb.tensor(np.asarray(v), requires_grad=True)
        for v in ([-2.0, 0.0, 0.5, 2.0, 0.5, 1.0], [-1.0, 0.0, 0.0, 0.0, 3.0, 1.0], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    )
    grads = pull([pb.clip(x, low, high)], [x, low, high], [np.arange(1.0, 7.0)])
    assert [g.tolist() for g in grads] == [[0, 2, 3, 0, 0, 6], [1, 0, 0, 0, 0, 0], [0, 0, 0, 4, 5, 0]]


@pytest.mark.parametrize("extremum", [pb.maximum, pb.minimum])
def test_ties_share_the_cotangent_equally(extremum):
    a = pb.tensor([1.0, 2.0, 3.0, INF], requires_grad=True)
    b = pb.tensor([1.0, 1.0, 4.0, INF], requires_grad=True)
    of_a, of_b = (g.tolist() for g in pull([extremum(a, b)], [a, b], [np.full(4, 4.0)]))
    winner, loser = (4, 0) if extremum is pb.maximum else (0, 4)
    assert of_a == [2, winner, loser, 2]
    assert of_b == [2, loser, winner, 2]


@pytest.mark.parametrize("f", [pb.hypot, pb.atan2])
def test_length_and_angle_have_gradient_zero_at_the_origin(f):
    for create_graph in (False, True):
        a, b = pb.tensor([0.0, 1.0], requires_grad=True), pb.tensor([0.0, 0.0], requires_grad=True)
        grads = pull([f(a, b)], [a, b], [np.ones(2)], create_graph)
        assert [g.tolist()[0] for g in grads] == [0, 0]
    with pytest.raises(pb.core.errors.DerivativeRefused, match=rf"{f.__name__} at zero is refused \(entries \(0,\)\)"):
        pull(grads, [a, b], [np.ones(2)] * 2)
    shielded = [pb.where(np.asarray([False, True]), g, 0.0) for g in grads]
    assert all(np.isfinite(g._array).all() for g in pull(shielded, [a, b], [np.ones(2)] * 2))


@pytest.mark.parametrize(
    "power", [lambda y: y**2, pb.square, lambda y: y * y, lambda y: (3 * y) * y / 3, lambda y: -y * -y]
)
def test_where_a_kink_cancels_derivatives_are_right_to_any_order(power):
    assert hessian(lambda a, b: power(pb.hypot(a, b)), 0.0, 0.0) == [[2, 0], [0, 2]]
    assert derivatives(lambda x: power(abs(x)), [0.0, -3.0], 3) == [[0, -6], [2, 2], [0, 0]]
    z = pb.tensor(0j, requires_grad=True)
    (g,) = pull([power(abs(z))], [z], [np.ones(())], create_graph=True)
    assert pull([g], [z], [np.asarray(1 + 2j)])[0].item() == 2 + 4j


def test_a_kink_cancels_only_where_the_factor_is_there():
    """``y where(m, y, c)`` is smooth at 0 where m holds for c = 0, and nothing is known of it for another c."""
    a, b = pb.tensor([0.0, 3.0], requires_grad=True), pb.tensor([0.0, 0.0], requires_grad=True)
    y = pb.hypot(a, b)
    (g,) = pull([y * pb.where(np.asarray([True, False]), y, 0.0)], [a], [np.ones(2)], create_graph=True)
    assert pull([g], [a], [np.ones(2)])[0].tolist() == [2, 0]
    (g,) = pull([y * pb.where(np.asarray([False, False]), y, 1.0)], [a], [np.ones(2)], create_graph=True)
    assert g.tolist() == [0, 1]
    with pytest.raises(pb.core.errors.DerivativeRefused):
        pull([g], [a], [np.ones(2)])


def test_the_second_derivative_of_a_complex_kink_is_refused():
    z = pb.tensor([0j, 3 + 4j], requires_grad=True)
    for f, slope in ((abs, 0.6 + 0.8j), (pb.angle, (-4 + 3j) / 25)):
        (g,) = pull([f(z)], [z], [np.ones(2)], create_graph=True)
        assert g.tolist()[0] == 0
        assert abs(g.tolist()[1] - slope) < 1e-15
        with pytest.raises(pb.core.errors.DerivativeRefused):
            pull([g], [z], [np.ones(2, complex)])


def test_poles_and_branch_points_are_infinite():
    with quiet():
        assert derivatives(pb.sqrt, [0.0], 2) == [[INF], [-INF]]
        assert derivatives(pb.log, [0.0], 2) == [[INF], [-INF]]
        assert derivatives(pb.asin, [-1.0, 1.0], 2) == [[INF, INF], [-INF, INF]]
        assert derivatives(pb.atanh, [-1.0, 1.0], 2) == [[INF, INF], [-INF, INF]]
        assert derivatives(lambda x: x**0.5, [0.0], 2) == [[INF], [-INF]]


def test_logaddexp_of_infinities():
    a = pb.tensor([-INF, -INF, 0.0, INF, INF], requires_grad=True)
    b = pb.tensor([-INF, 0.0, -INF, INF, 0.0], requires_grad=True)
    grads = pull([pb.logaddexp(a, b)], [a, b], [np.ones(5)])
    assert [g.tolist() for g in grads] == [[0.5, 0, 1, 0.5, 1], [0.5, 1, 0, 0.5, 0]]


def test_logaddexp_of_equal_numbers_is_curved():
    np.testing.assert_allclose(hessian(pb.logaddexp, 2.0, 2.0), [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-15)


def test_sigmoid_neither_overflows_nor_loses_small_values():
    (slope,) = derivatives(pb.sigmoid, [-800.0, -40.0, 0.0, 800.0], 1)
    np.testing.assert_allclose(slope, [0, math.exp(-40), 0.25, 0], rtol=1e-15)


# ------------------------------------------------------------------------------------------------------------- powers
def test_powers_with_whole_exponents_at_zero():
    assert derivatives(lambda x: x**0, [0.0, 2.0], 2) == [[0, 0], [0, 0]]
    assert derivatives(lambda x: x**1, [0.0, 2.0], 3) == [[1, 1], [0, 0], [0, 0]]
    assert derivatives(lambda x: x**2, [0.0, 2.0], 4) == [[0, 4], [2, 2], [0, 0], [0, 0]]
    assert derivatives(lambda x: x**3, [0.0, 2.0], 4) == [[0, 12], [0, 12], [6, 6], [0, 0]]


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.uint8])
def test_powers_with_an_array_of_exponents_at_zero(kind):
    exponents = np.asarray([0, 1, 2, 3], dtype=kind)
    assert derivatives(lambda x: x**exponents, [0.0] * 4, 3) == [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 6]]
    assert derivatives(lambda x: x ** Tensor(exponents), [-1.0] * 4, 2) == [[0, 1, -2, 3], [0, 0, 2, -6]]
    assert derivatives(lambda x: x ** exponents[:2], [1e10] * 2, 2) == [[0, 1], [0, 0]]


def test_negative_bases_with_whole_exponents():
    assert derivatives(lambda x: x**3, [-2.0], 3) == [[12], [-12], [6]]
    assert derivatives(lambda x: x**-1, [-2.0], 2) == [[-0.25], [-0.25]]
    assert derivatives(lambda x: x**-2.0, [-2.0], 1) == [[0.25]]


def test_the_hessian_of_a_power_in_base_and_exponent():
    assert hessian(operator.pow, 0.0, 2.0) == [[2, 0], [0, 0]]
    assert hessian(operator.pow, 0.0, 3.0) == [[0, 0], [0, 0]]
    np.testing.assert_allclose(hessian(operator.pow, 3.0, 0.0), [[0, 1 / 3], [1 / 3, math.log(3) ** 2]], rtol=1e-15)
    np.testing.assert_allclose(
        hessian(operator.pow, 2.0, 3.0),
        [[12, 4 + 12 * math.log(2)], [4 + 12 * math.log(2), 8 * math.log(2) ** 2]],
        rtol=1e-15,
    )


def test_derivatives_of_a_power_that_are_infinite_are_so_by_either_route():
    assert hessian(operator.pow, 0.0, 1.0) == [[0, -INF], [-INF, 0]]


def test_third_derivatives_of_a_power_at_zero_that_exist():
    a, b = pb.tensor(0.0, requires_grad=True), pb.tensor(3.0, requires_grad=True)
    (first,) = pull([a**b], [a], [np.ones(())], create_graph=True)
    (second,) = pull([first], [a], [np.ones(())], create_graph=True)
    assert [g.item() for g in pull([second], [a, b], [np.ones(())])] == [6, 0]


def test_a_zero_base_with_a_differentiable_exponent():
    x = pb.tensor([0.0, 0.5, 2.0], requires_grad=True)
    assert pull([0.0**x], [x], [np.ones(3)])[0].tolist() == [0, 0, 0]
    assert pull([Tensor(np.asarray(0)) ** x], [x], [np.ones(3)])[0].tolist() == [0, 0, 0]
    assert pull([2**x], [x], [np.ones(3)])[0].tolist() == (2 ** np.asarray([0, 0.5, 2]) * math.log(2)).tolist()


def test_zeros_in_a_base_leave_the_exponent_of_the_others_alone():
    a = pb.tensor([0.0, 2.0], requires_grad=True)
    b = pb.tensor(2.0, requires_grad=True)
    grads = pull([a**b], [a, b], [np.ones(2)], create_graph=True)
    assert grads[0].tolist() == [0, 4]
    assert grads[1].item() == 4 * math.log(2)


def test_a_negative_base_with_a_complex_exponent():
    b = pb.tensor(0.5 + 1j, requires_grad=True)
    (g,) = pull([pb.pow(-2.0, b)], [b], [np.ones((), complex)])
    assert abs(g.item() - np.conj((-2 + 0j) ** (0.5 + 1j) * np.log(-2 + 0j))) < 1e-15


# --------------------------------------------------------------------------------------------- branches not taken
def test_where_shields_from_the_branch_not_taken_to_every_order():
    def f(x):
        return pb.where(x > 0, pb.sqrt(x), x)

    first, second, third = derivatives(f, [-1.0, -4.0, 9.0], 3)
    assert first == [1, 1, 1 / 6]
    np.testing.assert_allclose(second, [0, 0, -1 / 108], rtol=1e-15)
    np.testing.assert_allclose(third, [0, 0, 3 / 8 / 243], rtol=1e-15)


def test_where_shields_through_several_operators():
    def sinc(x):
        return pb.where(x == 0, 1.0, pb.sin(x) / x)

    def entropy(x):
        return pb.where(x > 0, -x * pb.log(x), 0.0)

    first, second = derivatives(sinc, [0.0, 2.0], 2)
    assert first[0] == second[0] == 0
    assert first[1] == pytest.approx(math.cos(2) / 2 - math.sin(2) / 4)
    first, second = derivatives(entropy, [0.0, 2.0], 2)
    assert first[0] == second[0] == 0
    assert second[1] == pytest.approx(-0.5)


def test_where_shields_an_operand_that_was_broadcast():
    s = pb.tensor(-1.0, requires_grad=True)
    with quiet():
        root = pb.sqrt(s)
    taken = np.asarray([False, False])
    (g,) = pull([pb.where(taken, root, np.ones(2))], [s], [np.ones(2)], create_graph=True)
    assert g.item() == 0


def test_where_does_not_shield_what_it_takes():
    assert derivatives(lambda x: pb.where(x >= 0, pb.sqrt(x), 0.0), [-1.0], 1) == [[0]]
    with quiet():
        assert derivatives(lambda x: pb.where(x >= 0, pb.sqrt(x), 0.0), [0.0], 1) == [[INF]]


def test_nested_choices_shield_together():
    def f(x):
        inner = pb.where(x > 1, pb.log(x - 1), x)
        return pb.where(x > 0, inner, pb.sqrt(x))

    with quiet():
        (first,) = derivatives(f, [0.5, 3.0], 1)
    assert first == [1, 0.5]


def test_clip_and_extrema_shield_from_what_they_replaced():
    assert derivatives(lambda x: pb.clip(pb.log(x), -10.0, None), [0.0, 1.0], 2) == [[0, 1], [0, -1]]
    assert derivatives(lambda x: pb.maximum(pb.log(x), -10.0), [0.0, 1.0], 2) == [[0, 1], [0, -1]]
    assert derivatives(lambda x: pb.relu(pb.log(x)), [0.0, 2.0], 2) == [[0, 0.5], [0, -0.25]]


def test_a_choice_keeps_nan_cotangents_out_of_the_other_branch():
    a, b = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    grads = pull([pb.where(np.asarray([True, False]), a, b)], [a, b], [np.asarray([NAN, 1.0])])
    assert [str(g.tolist()) for g in grads] == ["[nan, 0.0]", "[0.0, 1.0]"]


def test_a_computed_zero_times_infinity_stays_nan():
    with quiet():
        for f in (pb.square, lambda y: y**2, lambda y: y * 0, abs, pb.relu):
            assert math.isnan(derivatives(lambda x, f=f: f(pb.sqrt(x)), [0.0], 1)[0][0])


# ------------------------------------------------------------------------------------------------------------ complex
def test_holomorphic_functions_have_the_conjugate_derivative():
    z = 1 + 2j
    for f, slope in (
        (lambda x: x * x, 2 * z),
        (pb.exp, np.exp(z)),
        (lambda x: 1j * x, 1j),
        (lambda x: x**3, 3 * z**2),
        (lambda x: 1 / x, -1 / z**2),
        (pb.log, 1 / z),
    ):
        assert abs(derivatives(f, z, 1)[0] - np.conj(slope)) < 1e-14


def test_real_functions_of_complex_numbers_have_the_gradient_of_steepest_ascent():
    z = pb.tensor(3 + 4j, requires_grad=True)
    for f, expected in ((abs, 0.6 + 0.8j), (pb.real, 1), (pb.imag, 1j), (pb.angle, (-4 + 3j) / 25)):
        assert abs(pull([f(z)], [z], [np.ones(())])[0].item() - expected) < 1e-15
    (g,) = pull([pb.conj(z)], [z], [np.asarray(1 + 2j)])
    assert g.item() == 1 - 2j


def test_a_real_argument_of_a_complex_function_has_a_real_gradient():
    x = pb.tensor(2.0, requires_grad=True)
    (g,) = pull([pb.exp(1j * x)], [x], [np.asarray(1j)])
    assert g.dtype == np.float64
    assert g.item() == pytest.approx(math.cos(2))


def test_writing_to_the_parts_of_a_complex_tensor():
    z = pb.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    y = z * 1
    y.real *= 10
    assert y.tolist() == [10 + 2j, 30 + 4j]
    (g,) = pull([y], [z], [np.asarray([1 + 1j, 1 + 1j])])
    assert g.tolist() == [10 + 1j, 10 + 1j]


# ------------------------------------------------------------------------------------------------- without derivative
def test_comparisons_do_not_belong_to_a_graph():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    for y in (x > 1, x == x, x != 2, pb.isnan(x), pb.signbit(x), pb.logical_not(x)):
        assert not y.requires_grad
    assert (x == "text") is False
    with pytest.raises(TypeError, match="less"):
        pb.less(x, "text")


def test_operator_forms():
    """Each Python operator, its reflected form and its in-place form compute what NumPy's do."""
    a, b = np.asarray([5, 6, 7]), np.asarray([2, 3, 2])
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
        f = getattr(operator, name)
        for x, y in ((Tensor(a), Tensor(b)), (Tensor(a), 2), (5, Tensor(b))):
            expected = f(x._array if isinstance(x, Tensor) else x, y._array if isinstance(y, Tensor) else y)
            assert f(x, y).tolist() == expected.tolist()
        if name != "truediv":
            t = Tensor(a.copy())
            same = getattr(operator, "i" + name.rstrip("_"))(t, Tensor(b))
            assert same is t
            assert t.tolist() == f(a, b).tolist()
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        f = getattr(operator, name)
        assert f(Tensor(a), 6).tolist() == f(a, 6).tolist()
        assert f(6, Tensor(a)).tolist() == f(6, a).tolist()
    assert (~Tensor(a)).tolist() == (~a).tolist()
    assert (~Tensor(a > 5)).tolist() == [True, False, False]
    assert (+Tensor(a)).tolist() == a.tolist()
    assert abs(-Tensor(a)).tolist() == a.tolist()


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, False])
@pytest.mark.parametrize("name", [n for n, r in REGISTRY.items() if r.elementwise and n in BINARY])
def test_a_python_zero_is_a_zero_like_any_other(name, zero):
    """The gradient beside Python's number is the one beside an array of it, and no error of Python's own."""
    function = REGISTRY[name].call
    for arguments in (lambda x, z: (x, z), lambda x, z: (z, x)):
        found = []
        for z in (zero, np.asarray(zero, dtype=float)):
            x = pb.tensor([-1.5, 0.75, 2.0], requires_grad=True)
            with quiet():
                y = function(*arguments(x, z))
                for _ in range(2):
                    (y,) = pull([y], [x], [np.ones(3)], create_graph=True) if y.requires_grad else (pb.zeros(3),)
                    found.append(y.tolist())
        np.testing.assert_array_equal(found[:2], found[2:])
