"""grad, value_and_grad, vjp, jvp, jacobian, hessian, hvp: what they return, how they nest, what they refuse."""

import gc
import math
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import pullback as pb
from pullback.transforms import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp


def rosenbrock(x):
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def wave(x, a=2.0):
    """A function of a vector with a full Hessian."""
    return pb.sin(a * x).sum() * pb.exp(x[0] * x[1]) + (x**3).sum()


POINT = np.array([0.3, -0.4, 0.7])


def slopes(f, x, step=1e-4):
    """Finite differences of an array function, of fourth order: shape ``f(x).shape + x.shape``."""
    columns = []
    for index in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[index] = step
        columns.append((8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * step))
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)


# ----------------------------------------------------------------------------------------- what comes in, what goes out
def cube(x):
    return x**3


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (2.0, float),
        (2, float),
        (2 + 0j, complex),
        (np.float64(2.0), np.float64),
        (np.float32(2.0), np.float32),
        (np.array(2.0), np.ndarray),
        (np.array([2.0]), np.ndarray),
        (pb.tensor(2.0), pb.Tensor),
    ],
)
def test_a_gradient_is_of_the_kind_of_its_argument(x, kind):
    f = lambda t: pb.real(cube(t).sum())  # noqa: E731
    g = grad(f)(x)
    assert type(g) is kind
    assert np.shape(g) == np.shape(x)
    assert np.asarray(g).item() == 12
    value, again = value_and_grad(f)(x)
    assert type(value) is {np.ndarray: np.float64, complex: float}.get(kind, kind)
    assert float(value) == 8
    assert type(again) is kind


def test_tensors_that_come_out_are_not_connected_to_anything():
    value, g = value_and_grad(cube)(pb.tensor(2.0))
    assert not value.requires_grad
    assert not g.requires_grad


def test_arrays_that_come_out_belong_to_the_caller():
    """The gradient of a sum is a read-only view inside; outside it can be written, and writes reach nobody else."""
    x, seed = np.ones(3), np.ones(3)
    g = grad(pb.sum)(x)
    g += 1
    a, b = vjp(lambda p, q: p + q, x, x)[1](seed)
    a += 1
    assert b.tolist() == seed.tolist() == x.tolist() == [1, 1, 1]


def test_precision_is_kept():
    x = np.ones(2, np.float32)
    assert grad(lambda t: (t * t).sum())(x).dtype == np.float32
    assert hessian(lambda t: (t * t).sum())(x).dtype == np.float32
    assert jvp(lambda t: t * t, (x,), (np.ones(2),))[1].dtype == np.float32


@pytest.mark.parametrize("x", [np.array([1, 2]), True, "text", None, pb.tensor([1, 2])])
def test_what_has_no_derivative_is_refused_by_name(x):
    def f(first):
        return first

    with pytest.raises(TypeError, match="argument 0 of f cannot be differentiated"):
        grad(f)(x)


# -------------------------------------------------------------------------------------------------------------- values
def test_gradients_and_hessians_agree_with_finite_differences():
    np.testing.assert_allclose(grad(wave)(POINT), slopes(lambda x: wave(x), POINT), rtol=1e-8)
    np.testing.assert_allclose(hessian(wave)(POINT), slopes(grad(wave), POINT), rtol=1e-7)
    np.testing.assert_allclose(jacobian(hessian(wave))(POINT), slopes(hessian(wave), POINT), rtol=1e-6, atol=1e-9)


def test_a_jacobian_has_the_axes_of_the_result_and_then_those_of_the_argument():
    x = np.linspace(0.1, 1, 6).reshape(2, 3)
    f = lambda t: pb.sin(t) @ t.T @ t  # noqa: E731
    found = jacobian(f)(x)
    assert found.shape == (2, 3, 2, 3)
    np.testing.assert_allclose(found, slopes(lambda t: np.asarray(f(pb.tensor(t))._array), x), rtol=1e-8, atol=1e-10)


def test_a_jacobian_is_exactly_zero_where_a_result_does_not_depend_on_an_entry():
    """Also beside an infinite slope."""
    found = jacobian(pb.sqrt)(np.array([0.0, 4.0]))
    assert found[0, 0] == math.inf
    assert found[0, 1] == found[1, 0] == 0
    assert found[1, 1] == 0.25


def test_jacobians_of_nothing_and_of_constants():
    assert jacobian(lambda x: x[:0])(np.ones(3)).shape == (0, 3)
    assert jacobian(lambda x: np.ones(2))(np.ones(3)).tolist() == [[0] * 3] * 2
    assert grad(lambda x: 3.0)(np.ones(2)).tolist() == [0, 0]
    assert value_and_grad(lambda x: 3.0)(1.0) == (3.0, 0.0)
    assert hessian(lambda x: x.sum())(np.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda x: 3.0)(np.ones(2)).tolist() == [[0, 0], [0, 0]]


def test_a_hessian_is_symmetric_and_zero_where_independent():
    found = hessian(lambda x: rosenbrock(x) + pb.prod(x[:2]))(np.array([0.3, -0.4, 0.7, 1.5, -1.2]))
    np.testing.assert_allclose(found, found.T, rtol=1e-14)
    assert not found[np.abs(np.subtract.outer(range(5), range(5))) > 1].any()


def test_products_with_the_hessian():
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(hvp(wave)(POINT, v), hessian(wave)(POINT) @ v)
    np.testing.assert_allclose(hvp(wave)(POINT, v, 3.0), hessian(wave)(POINT, 3.0) @ v)


def test_a_jvp_is_the_jacobian_times_the_tangent():
    f = lambda x: pb.sin(x) * x[0]  # noqa: E731
    v = np.array([1.0, -2.0, 0.5])
    value, tangent = jvp(f, (POINT,), (v,))
    np.testing.assert_allclose(value, np.sin(POINT) * POINT[0])
    np.testing.assert_allclose(tangent, jacobian(f)(POINT) @ v)


def test_a_vjp_is_the_transposed_jacobian_and_can_be_used_again():
    f = lambda x: pb.sin(x) * x[0]  # noqa: E731
    _, pull = vjp(f, POINT)
    for w in np.eye(3):
        np.testing.assert_allclose(pull(w)[0], jacobian(f)(POINT).T @ w)


def test_complex_arguments_follow_the_convention_of_the_conjugate():
    """grad is ∂f/∂x + i ∂f/∂y, the direction of steepest ascent."""
    z = np.array([1 + 2j, -0.5 + 1j])
    f = lambda t: pb.real(t[0] ** 2 * pb.conj(t[1]))  # noqa: E731
    h = 1e-6
    for k in range(2):
        e = np.eye(2)[k] * h
        dx = (f(z + e) - f(z - e)) / (2 * h)
        dy = (f(z + 1j * e) - f(z - 1j * e)) / (2 * h)
        np.testing.assert_allclose(grad(f)(z)[k], dx + 1j * dy, rtol=1e-8)
    _, tangent = jvp(lambda t: t * t, (z,), (np.array([1j, 2.0]),))
    np.testing.assert_allclose(tangent, 2 * z * np.array([1j, 2.0]))


# ------------------------------------------------------------------------------------------------------------- nesting
def test_gradients_nest_to_any_order():
    f = pb.sin
    expected = [math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x), math.sin]
    for order in range(6):
        f = grad(f)
        assert f(0.7) == pytest.approx(expected[order % 4](0.7), rel=1e-14)
        assert type(f(0.7)) is float


def test_an_inner_derivative_is_not_confused_with_an_outer_one():
    """d/dx [x · d/dy (x + y)] is 1; one variable for both levels would give 2."""
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1
    assert grad(lambda x: x * grad(lambda y: x + y)(x))(1.0) == 1
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6
    assert grad(lambda x: grad(lambda y: x * y)(x) * grad(lambda z: x * z * z)(x))(2.0) == 24


def test_an_inner_derivative_reaches_captured_variables_also_from_plain_arguments():
    """d/dx of d/dy (x y²) at y = 3 is 6: the inner gradient is a number only where it depends on nothing else."""
    assert grad(lambda x: grad(lambda y: x * y * y)(3.0))(5.0) == 6
    assert grad(lambda x: jacobian(lambda y: x * y * y)(np.array([1.0, 2.0])).sum())(5.0) == 6
    assert grad(lambda x: jvp(lambda y: x * y * y, (3.0,), (1.0,))[1])(5.0) == 6
    assert grad(lambda x: vjp(lambda y: x * y * y, 3.0)[1](1.0)[0])(5.0) == 6
    assert grad(lambda x: value_and_grad(lambda y: x * y * y)(3.0)[0])(5.0) == 9
    assert grad(lambda x: hvp(lambda y: x * y**3)(2.0, 1.0))(5.0) == 12


def test_derivatives_of_jvps_and_vjps():
    assert grad(lambda x: jvp(cube, (x,), (1.0,))[1])(2.0) == 12
    assert grad(lambda v: jvp(cube, (2.0,), (v,))[1])(1.0) == 12
    assert grad(lambda x: vjp(cube, x)[1](1.0)[0])(2.0) == 12
    assert grad(lambda w: vjp(cube, 2.0)[1](w)[0])(1.0) == 12
    assert jvp(lambda x: jvp(cube, (x,), (1.0,))[1], (2.0,), (1.0,)) == (12, 12)


def test_a_mixed_derivative():
    f = lambda x, y: (x**2 * y**3).sum()  # noqa: E731
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_allclose(jacobian(grad(f, 0), 1)(x, y), np.diag(2 * x * 3 * y**2))


# ------------------------------------------------------------------------------------------ beside backward() and .grad
def test_grad_of_nobody_is_touched():
    x, w = pb.tensor(3.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    f = lambda t: w * t**3  # noqa: E731
    for derivative in (grad(f), jacobian(f), hessian(f), value_and_grad(f)):
        derivative(x)
    jvp(f, (x,), (pb.tensor(1.0),))
    assert x.grad is None
    assert w.grad is None


def test_a_gradient_is_connected_to_captured_tensors_and_to_its_argument():
    x, w = pb.tensor(3.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    g = grad(lambda t: w * t**3)(x)
    g.backward()
    assert x.grad.item() == 36
    assert w.grad.item() == 27


def test_a_result_that_depends_on_a_captured_tensor_stays_connected_to_it():
    w = pb.tensor(2.0, requires_grad=True)
    g = grad(lambda t: w * t**3)(3.0)
    assert isinstance(g, pb.Tensor)
    assert pb.autograd.grad(g, w)[0].item() == 27


def test_inside_no_grad_derivatives_are_right_and_not_connected():
    x, w = pb.tensor(3.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    with pb.no_grad():
        g, number = grad(lambda t: w * t**3)(x), grad(lambda t: w * t**3)(3.0)
        curvature = hessian(lambda t: w * t**3)(3.0)
    assert not g.requires_grad
    assert (g.item(), number, curvature) == (54, 54, 36)
    assert type(number) is float


def test_no_grad_inside_means_a_constant():
    def f(x):
        with pb.no_grad():
            y = x * x
        return x * y

    assert grad(f)(3.0) == 9


def test_transforms_inside_a_function_of_the_users():
    class Newton(pb.Function):
        """One step of Newton's method for a minimum of x⁴, by derivatives of derivatives."""

        @staticmethod
        def forward(ctx, x):
            f = lambda t: t**4  # noqa: E731
            return x - grad(f)(x.detach()) / hessian(f)(x.detach())

        @staticmethod
        def backward(ctx, g):
            return g * (2 / 3)

    x = pb.tensor(3.0, requires_grad=True)
    y = Newton.apply(x)
    assert y.item() == pytest.approx(2)
    y.backward()
    assert x.grad.item() == pytest.approx(2 / 3)


def test_transforms_inside_a_backward_are_differentiated_again():
    class Fourth(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**4

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * grad(lambda t: t**4)(x)

    f = Fourth.apply
    assert [grad(f)(2.0), grad(grad(f))(2.0), grad(grad(grad(f)))(2.0)] == [32, 48, 48]
    assert jvp(f, (2.0,), (1.0,)) == (16, 32)


def test_nothing_is_kept_alive():
    """Graphs are freed by reference counting alone."""

    class Array(np.ndarray):
        pass

    gc.collect()
    gc.disable()
    try:
        for transform in (grad, value_and_grad, hessian, jacobian):
            x = np.ones(3).view(Array)
            kept = weakref.ref(x)
            transform(lambda t: (t * pb.exp(t)).sum())(x)
            del x
            assert kept() is None
    finally:
        gc.enable()


# ----------------------------------------------------------------------------------------------------------- structures
def test_argnums_choose_arguments():
    f = lambda x, y, z=1.0: x * y**2 * z  # noqa: E731
    assert grad(f, 1)(3.0, 2.0) == 12
    assert grad(f, -1)(3.0, 2.0) == 12
    assert grad(f, (1, 0))(3.0, 2.0) == (12, 4)
    assert grad(f, (0,))(3.0, 2.0, z=5.0) == (20,)
    (a, b), (c, d) = hessian(f, (0, 1))(3.0, 2.0)
    assert (a, b, c, d) == (0, 4, 4, 6)
    assert grad(f, (0, 0, 1))(3.0, 2.0) == (4, 4, 12)
    with pytest.raises(TypeError, match="2 positional arguments"):
        grad(f, 2)(3.0, 2.0)


def test_other_arguments_are_handed_on_as_they_are():
    seen = []

    def f(x, data, *, flag):
        seen.append((type(data), flag))
        return (x * data).sum()

    assert grad(f)(np.ones(2), np.array([1, 2]), flag="yes").tolist() == [1, 2]
    assert seen == [(np.ndarray, "yes")]


class Pair(NamedTuple):
    left: object
    right: object


def test_arguments_and_results_may_be_structures():
    f = lambda p: p["w"] @ p["x"][0] * p["x"][1]  # noqa: E731
    p = {"w": np.array([1.0, 2.0]), "x": [np.array([3.0, 4.0]), 5.0]}
    g = grad(f)(p)
    assert g["w"].tolist() == [15, 20]
    assert g["x"][0].tolist() == [5, 10]
    assert g["x"][1] == 11
    assert type(g["x"][1]) is float
    assert repr(grad(lambda t: t["a"] * t["b"][0])({"a": 2.0, "b": [3.0]})) == "{'a': 3.0, 'b': [2.0]}"
    found = jacobian(lambda x: Pair(x * x, {"sum": x.sum()}))(np.array([1.0, 2.0]))
    assert type(found) is Pair
    assert found.left.tolist() == [[2, 0], [0, 4]]
    assert found.right["sum"].tolist() == [1, 1]
    value, tangent = jvp(lambda q: Pair(q[0] * q[1], 7.0), ((2.0, 3.0),), ((1.0, 0.0),))
    assert value == Pair(6, 7)
    assert tangent == Pair(3, 0)
    _, pull = vjp(lambda x: [x * 2, x * x], 3.0)
    assert pull([1.0, 10.0]) == (62,)


def test_auxiliary_results():
    f = lambda x: (x**2, {"root": x})  # noqa: E731
    assert grad(f, has_aux=True)(3.0) == (6, {"root": 3})
    assert value_and_grad(f, has_aux=True)(3.0) == ((9, {"root": 3}), 6)
    assert jacobian(f, has_aux=True)(3.0) == (6, {"root": 3})
    assert hessian(f, has_aux=True)(3.0) == (2, {"root": 3})
    value, pull, aux = vjp(f, 3.0, has_aux=True)
    assert (value, pull(1.0), aux) == (9, (6,), {"root": 3})
    assert jvp(f, (3.0,), (1.0,), has_aux=True) == (9, 6, {"root": 3})
    assert not value_and_grad(f, has_aux=True)(pb.tensor(3.0))[0][1]["root"].requires_grad
    w = pb.tensor(2.0, requires_grad=True)
    _, aux = grad(lambda x: (x**2, w * 3), has_aux=True)(3.0)
    assert pb.autograd.grad(aux, w)[0].item() == 3
    with pytest.raises(TypeError, match="pair"):
        grad(cube, has_aux=True)(3.0)


# -------------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("result", [lambda x: x * 2, lambda x: (x.sum(), x), lambda x: [x.sum()], lambda x: x[:0]])
def test_a_gradient_needs_one_number_and_says_what_else_there_is(result):
    with pytest.raises(RuntimeError, match="one real number") as caught:
        grad(result)(np.ones(3))
    notes = "".join(caught.value.__notes__)
    assert "jacobian" in notes
    assert "vjp" in notes


def test_complex_results_are_refused():
    with pytest.raises(RuntimeError, match="complex"):
        grad(lambda z: z * z)(1j)
    with pytest.raises(RuntimeError, match="real"):
        jacobian(lambda z: z * z)(np.array([1j]))


def test_a_result_that_is_no_array_is_refused():
    def f(x):
        return "text"

    for transform in (grad, jacobian):
        with pytest.raises(TypeError, match="f returned str"):
            transform(f)(1.0)


def test_cotangents_and_tangents_have_the_shape_of_what_they_belong_to():
    _, pull = vjp(lambda x: x * 2, np.ones(3))
    for wrong in (np.ones(2), 1.0, np.ones((3, 1))):
        with pytest.raises(ValueError, match="cotangent"):
            pull(wrong)
    with pytest.raises(TypeError, match="structure"):
        pull((np.ones(3),))
    with pytest.raises(ValueError, match="tangent"):
        jvp(cube, (np.ones(3),), (np.ones(2),))
    with pytest.raises(ValueError, match="complex"):
        pull(np.ones(3) * 1j)
    with pytest.raises(ValueError, match="cotangent"):
        hvp(lambda x: (x * x).sum())(np.ones(3), np.ones(2))


def test_a_function_cannot_write_into_its_argument():
    def f(x):
        x *= 2
        return x.sum()

    x = np.ones(3)
    for argument in (x, pb.tensor(x)):
        with pytest.raises((RuntimeError, ValueError)):
            grad(f)(argument)
    assert x.tolist() == [1, 1, 1]
    assert grad(lambda t: f(t.clone()))(x).tolist() == [2, 2, 2]


def test_a_vjp_notices_that_its_argument_was_written_meanwhile():
    x = pb.tensor([1.0, 2.0])
    _, pull = vjp(lambda t: (t * t).sum(), x)
    x += 1
    with pytest.raises(RuntimeError):
        pull(1.0)
    y = np.array([1.0, 2.0])
    _, pull = vjp(lambda t: (t * t).sum(), y)
    y += 1  # arrays are copied, because writes to them cannot be seen
    assert pull(1.0)[0].tolist() == [2, 4]


# --------------------------------------------------------------------------------------------------------------- SciPy
def test_scipys_optimisers_take_them():
    optimize = pytest.importorskip("scipy.optimize")
    x0 = np.array([-1.2, 1.0, 0.8])
    for options in (
        {"fun": value_and_grad(rosenbrock), "jac": True, "method": "BFGS"},
        {"fun": rosenbrock, "jac": grad(rosenbrock), "hessp": hvp(rosenbrock), "method": "Newton-CG"},
        {"fun": rosenbrock, "jac": grad(rosenbrock), "hess": hessian(rosenbrock), "method": "trust-exact"},
    ):
        found = optimize.minimize(x0=x0, **options)
        assert found.success
        np.testing.assert_allclose(found.x, 1, atol=1e-3)
    root = optimize.root(lambda x: x**2 - 2, np.ones(2), jac=jacobian(lambda x: x**2 - 2))
    np.testing.assert_allclose(root.x, math.sqrt(2))


def test_names_and_docs_are_those_of_the_function():
    def f(x):
        """The square."""
        return x * x

    for transform in (grad, value_and_grad, jacobian, hessian, hvp):
        assert transform(f).__name__ == "f"
        assert transform(f).__doc__ == "The square."
    assert grad(pb.sin)(0.0) == 1


def test_callables_without_a_name():
    class Square:
        def __call__(self, x):
            return x * x

    assert grad(Square())(3.0) == 6
    with pytest.raises(RuntimeError, match="Square"):
        grad(Square())(np.ones(2))


def test_arrays_of_another_library_stay_in_it():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray([0.3, -0.4, 0.7])
    for transform, expected in ((grad, grad(wave)(POINT)), (hessian, hessian(wave)(POINT))):
        found = transform(wave)(x)
        assert type(found) is type(x)
        np.testing.assert_allclose(np.asarray(found), expected)
    value, tangent = jvp(wave, (x,), (x,))
    assert type(value) is type(tangent) is type(x)


# -------------------------------------------------------------------------------------- values that leave the function
def filled(a):
    out = np.zeros(2)
    out[0], out[1] = a[0] * 2, a[1] ** 2
    return pb.asarray(out).sum()


@pytest.mark.parametrize(
    "f",
    [
        lambda a: math.sin(a.sum()),
        lambda a: a[0] * math.sin(a[1]),
        lambda a: float((a * a).sum()),
        lambda a: (a * a).sum().item(),
        lambda a: sum(math.exp(-v) for v in a),
        lambda a: abs(complex(a[0])),
        lambda a: sum(a.tolist()),
        lambda a: pb.tensor(a).sum(),
        filled,
    ],
)
@pytest.mark.parametrize("transform", [grad, hessian, value_and_grad, jacobian])
def test_a_number_that_leaves_the_function_is_refused(transform, f):
    with pytest.raises((RuntimeError, ValueError)) as caught:
        transform(f)(np.array([1.0, 2.0]))
    error = caught.value.__cause__ or caught.value  # NumPy says in words of its own that an entry could not be set
    assert "takes a value out of a function that is being differentiated" in str(error)
    assert "pullback.sin(x) for math.sin(x)" in "".join(error.__notes__)


def test_what_is_no_function_of_the_argument_may_leave():
    shown = []

    def f(a):
        shown.append(f"{a:.1f} {a}")
        scale = math.sin(a.detach())
        weight = pb.tensor(2.0, requires_grad=True)
        steps = int(a) if a > 1 else 0
        return a * a * scale + float(weight * 3) * a + steps

    assert grad(f)(1.5) == pytest.approx(3 * math.sin(1.5) + 6)
    assert shown


def test_numbers_leave_again_after_a_transform_or_an_error_in_it():
    x = pb.tensor(2.0, requires_grad=True)
    grad(lambda a: a * a)(1.0)
    with pytest.raises(ZeroDivisionError):
        grad(lambda a: 1 // 0)(1.0)
    assert float(x * 3) == (x * 3).item() == 6


def test_inside_a_custom_function_values_may_leave():
    class Sin(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.asarray(math.sin(x))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * math.cos(x)

    assert grad(Sin.apply)(1.0) == math.cos(1.0)
    with pytest.raises(RuntimeError, match="refused"):
        grad(grad(Sin.apply))(1.0)
