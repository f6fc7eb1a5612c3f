"""root, fixed_point, solution: values, three orders of derivatives, what is captured, what is refused."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
import pullback.autograd.forward_ad as fw
from implicit_orders import check_orders
from pullback import implicit
from pullback.implicit import NotConverged


def cubic(y, a):
    return y**3 + y - a


def test_root_of_a_cubic_has_the_derivatives_of_the_closed_form():
    def y(a):
        return implicit.root(cubic, 1.0, a)

    # y³ + y = a at y = 1: y' = 1/(3y² + 1), y'' = -6y y'³, y''' = -6 y'⁴ + 108 y² y'⁵
    assert y(2.0) == pytest.approx(1.0, abs=1e-15)
    assert pb.grad(y)(2.0) == pytest.approx(1 / 4, rel=1e-14)
    assert pb.grad(pb.grad(y))(2.0) == pytest.approx(-6 / 64, rel=1e-13)
    assert pb.grad(pb.grad(pb.grad(y)))(2.0) == pytest.approx(-6 / 256 + 108 / 1024, rel=1e-12)


@pytest.mark.parametrize("linear", ["dense", "gmres", "bicgstab"])
def test_root_to_third_order(linear):
    a = np.array([[3.0, 1.0], [0.5, 2.0]])
    check_orders(
        lambda a, b: implicit.root(lambda y, a, b: a @ y + 0.1 * y**3 - b, np.zeros(2), a, b, linear=linear),
        a,
        np.array([1.0, 2.0]),
    )


def test_unknowns_and_parameters_may_be_structures():
    def f(y, p):
        return {"u": p["a"] * y["u"] + pb.sin(y["v"][0]) - 1.0, "v": [y["v"][0] - p["b"].sum()]}

    def solve(a, b):
        return implicit.root(f, {"u": np.zeros(2), "v": [0.5]}, {"a": a, "b": b, "name": "text"})

    found = solve(2.0, np.array([0.25, 0.5]))
    assert type(found["v"]) is list
    np.testing.assert_allclose(found["u"], (1 - np.sin(0.75)) / 2)
    check_orders(solve, 2.0, np.array([0.25, 0.5]))


def test_complex_roots_that_are_not_holomorphic():
    check_orders(lambda z: implicit.root(lambda y, z: y**3 + 0.3 * pb.conj(y) - z, 1 + 1j, z), np.asarray(1 + 2j))


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1", "anderson", "df-sane"])
def test_methods(method):
    a = pb.tensor([2.0, 3.0], requires_grad=True)
    y = implicit.root(cubic, np.array([1.2, 1.0]), a, method=method)
    np.testing.assert_allclose(cubic(y, a).detach().numpy(), 0, atol=1e-14)
    np.testing.assert_allclose(pb.autograd.grad(y.sum(), a)[0].numpy(), 1 / (3 * y.detach().numpy() ** 2 + 1))


@pytest.mark.parametrize("method", ["iteration", "anderson", "hybr"])
def test_fixed_point_to_third_order(method):
    m = np.array([[0.2, -0.3], [0.4, 0.1]])
    check_orders(
        lambda m, c: implicit.fixed_point(lambda y, m, c: pb.tanh(m @ y + c), np.zeros(2), m, c, method=method),
        m,
        np.array([0.3, -0.7]),
    )


def test_fixed_point_at_zero():
    assert implicit.fixed_point(lambda y: 0.5 * y, 1.0) == pytest.approx(0.0, abs=1e-14)


def test_memory_of_a_fixed_point_does_not_grow_with_the_iterations():
    a = pb.tensor(0.99, requires_grad=True)
    y = implicit.fixed_point(lambda y, a: a * pb.cos(y), 0.5, a)
    assert [node.name() for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]


# ------------------------------------------------------------------------------------------------------------- captured
def test_captured_tensors_get_their_gradients_at_every_order():
    def y(a, b):
        scale = a * 2  # neither a leaf nor a parameter
        return implicit.root(lambda y: y**3 + scale * y - b, 1.0)

    check_orders(y, 1.5, 2.0)
    check_orders(lambda a, b: implicit.root(lambda y, b: y**3 + a * y - b, 1.0, b), 1.5, 2.0)


def test_captured_leaf_and_attribute():
    class Model:
        weight = pb.tensor(3.0, requires_grad=True)

    y = implicit.root(lambda y: y * Model.weight - 6.0, 1.0)
    y.backward()
    assert Model.weight.grad.item() == pytest.approx(-2 / 3)


def test_an_unknown_that_is_the_captured_tensor_itself():
    a = pb.tensor(3.0, requires_grad=True)
    assert pb.autograd.grad(implicit.fixed_point(lambda y: a, 0.0), a)[0].item() == 1.0


def test_captured_in_forward_mode_is_refused_by_name():
    with fw.dual_level():
        a = fw.make_dual(pb.tensor(2.0), pb.tensor(1.0))
        for mode in (pb.enable_grad, pb.no_grad):
            with mode(), pytest.raises(RuntimeError, match="root uses a Tensor with a tangent that is not an argument"):
                implicit.root(lambda y: y * y - a, 1.0)
        y = implicit.root(lambda y, a: y * y - a, 1.0, a)
        assert fw.unpack_dual(y).tangent.item() == pytest.approx(1 / (2 * np.sqrt(2)))


def test_forward_over_reverse():
    a = pb.tensor(2.0, requires_grad=True)
    with fw.dual_level():
        y = implicit.root(cubic, 1.0, fw.make_dual(a, pb.tensor(1.0)))
        (g,) = pb.autograd.grad(y, a)
        assert fw.unpack_dual(g).tangent.item() == pytest.approx(-6 / 64)


def test_transforms():
    value, tangent = pb.jvp(
        lambda a: implicit.root(cubic, np.ones(2), a), (np.array([2.0, 10.0]),), (np.array([1.0, 1.0]),)
    )
    np.testing.assert_allclose(value, [1.0, 2.0])
    np.testing.assert_allclose(tangent, [1 / 4, 1 / 13])
    hessian = pb.hessian(lambda a: implicit.root(cubic, np.ones(2), a).sum())(np.array([2.0, 10.0]))
    np.testing.assert_allclose(hessian, np.diag([-6 / 64, -12 / 13**3]), atol=1e-14)
    assert pb.gradcheck(lambda a: implicit.root(cubic, 1.0, a), (pb.tensor(2.0, requires_grad=True),))
    assert pb.gradgradcheck(lambda a: implicit.root(cubic, 1.0, a), (pb.tensor(2.0, requires_grad=True),))


def test_within_a_function_the_parameter_is_an_argument():
    class Cube(pb.Function):
        @staticmethod
        def forward(ctx, a):
            y = implicit.root(lambda y, a: y**3 - a, 1.0, a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g / (3 * y**2)

    check_orders(Cube.apply, 8.0)


def test_within_a_recorded_backward():
    class Solve(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * implicit.root(lambda y: y**3 - x, 1.0)  # x is captured

    x = pb.tensor(8.0, requires_grad=True)
    (g,) = pb.autograd.grad(Solve.apply(x), x, create_graph=True)
    assert g.item() == pytest.approx(2.0)
    assert pb.autograd.grad(g, x)[0].item() == pytest.approx(1 / 12)


# --------------------------------------------------------------------------------------------------- kinds and precision
def test_what_comes_in_goes_out():
    assert type(implicit.root(cubic, 1.0, 2.0)) is np.float64
    assert type(implicit.root(cubic, np.ones(2), 2.0)) is np.ndarray
    assert type(implicit.root(cubic, 1.0, pb.tensor(2.0))) is pb.Tensor
    assert type(implicit.root(cubic, pb.tensor(1.0), 2.0)) is pb.Tensor
    assert not implicit.root(cubic, 1.0, pb.tensor(2.0)).requires_grad


def test_single_precision_and_torch():
    import pullback.torch as torch

    t = torch.tensor([2.0, 10.0], requires_grad=True)
    y = implicit.root(cubic, torch.ones(2), t)
    assert type(y) is torch.Tensor
    assert y.dtype == torch.float32
    y.sum().backward()
    assert type(t.grad) is torch.Tensor
    np.testing.assert_allclose(t.grad.numpy(), [1 / 4, 1 / 13], rtol=1e-6)
    f4 = pb.tensor([2.0, 10.0], dtype=pb.float32, requires_grad=True)
    z = implicit.fixed_point(lambda y, a: pb.cos(y) / a, np.zeros(2, np.float32), f4)
    assert z.dtype == pb.float32
    assert pb.autograd.grad(z.sum(), f4)[0].dtype == pb.float32


def test_no_grad_and_empty():
    with pb.no_grad():
        assert not implicit.root(cubic, 1.0, pb.tensor(2.0, requires_grad=True)).requires_grad
    a = pb.tensor(np.zeros(0), requires_grad=True)
    y = implicit.root(cubic, np.zeros(0), a)
    assert pb.autograd.grad(y.sum(), a)[0].shape == (0,)


@pytest.mark.parametrize("linear", ["dense", "gmres"])
def test_nothing_is_kept_alive(linear):
    a = pb.tensor(2.0, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        y = implicit.root(cubic, 1.0, a, linear=linear)
        (g,) = pb.autograd.grad(y, a, create_graph=True)
        (h,) = pb.autograd.grad(g, a, create_graph=True)
        ends = [weakref.ref(y.grad_fn), weakref.ref(g.grad_fn), weakref.ref(h.grad_fn)]
        del y, g, h
        assert [end() for end in ends] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: implicit.root(cubic, 1.0, a),
        lambda a: implicit.solve_ivp(lambda t, y, a: -a * y, (0.0, 1.0), 1.0, a).y,
        lambda a: implicit.minimize(lambda y, a: (y - a) ** 2, 1.0, a).x,
    ],
)
def test_cycles_within_scipy_hold_no_parameters(solve):
    a = pb.tensor(2.0, requires_grad=True)
    solve(a)
    gc.collect()
    gc.disable()
    try:
        y = solve(a)
        pb.autograd.grad(y.sum(), a)
        alive = weakref.ref(a)
        del a, y
        assert alive() is None
    finally:
        gc.enable()


# --------------------------------------------------------------------------------------------------------------- refused
def test_no_solution_says_what_was_reached():
    with pytest.raises(NotConverged, match="root did not converge: the residual is") as caught:
        implicit.root(lambda y: y * y + 2.0, 1.0)
    assert caught.value.residual == pytest.approx(2.0, abs=0.1)
    assert isinstance(caught.value.reached, np.floating)
    with pytest.raises(NotConverged, match="runs away"):
        implicit.fixed_point(lambda y: 3 * y + 1, 1.0)
    with pytest.raises(NotConverged, match="20 iterations at most"):
        implicit.fixed_point(lambda y: 0.99 * y + 1, 1.0, maxiter=20)


def test_multiple_root_has_no_derivative():
    a = pb.tensor(2.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = implicit.root(lambda y, a: (y - a) ** 2, 2.0, a)
    assert y.item() == 2.0
    with pytest.raises(pb.DerivativeRefused, match="Jacobian of its equation is singular"):
        y.backward()


def test_a_function_that_changed_is_noticed():
    w = pb.tensor(3.0, requires_grad=True)
    a = pb.tensor(6.0, requires_grad=True)
    y = implicit.root(lambda y, a: y * w - a, 1.0, a)
    with pb.no_grad():
        w *= 2
    with pytest.raises(pb.DerivativeRefused, match="gives other values than when it was solved"):
        y.backward()


def test_a_parameter_that_was_written_is_noticed():
    a = pb.tensor(6.0, requires_grad=True)
    y = implicit.root(lambda y, a: y * 3 - a, 1.0, a)
    with pb.no_grad():
        a *= 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_number_taken_out_of_the_graph_is_refused():
    with pytest.raises(RuntimeError, match=r"float\(\) takes a value out of a function that is being differentiated"):
        pb.grad(lambda a: implicit.root(lambda y, a: y * y - float(a), 1.0, a))(4.0)


def test_wrong_functions():
    with pytest.raises(ValueError, match=r"returned shape \(2,\), expected \(\)"):
        implicit.root(lambda y: pb.stack([y, y]), 1.0)
    with pytest.raises(ValueError, match="returned 2 arrays, expected 1"):
        implicit.root(lambda y: (y, y), 1.0)
    with pytest.raises(ValueError, match="a complex starting point asks for complex solutions"):
        implicit.root(lambda y: y + 1j, 1.0)
    with pytest.raises(ValueError, match="knows no method 'newton'"):
        implicit.root(cubic, 1.0, 2.0, method="newton")
    with pytest.raises(ValueError, match="knows no linear solver 'jacobi'"):
        implicit.root(cubic, 1.0, 2.0, linear="jacobi")
    with pytest.raises(TypeError, match="holds str"):
        implicit.root(cubic, "one", 2.0)


# -------------------------------------------------------------------------------------------------------------- solution
def test_solution_declares_what_another_solver_found():
    check_orders(_declared, np.array([4.0, 9.0]), 0.5)


def _declared(a, b):
    def bare(x):
        return x.detach().numpy() if isinstance(x, pb.Tensor) else x

    found = {"u": np.sqrt(bare(a)), "v": np.exp(bare(b))}
    return implicit.solution(lambda y, a, b: {"u": y["u"] ** 2 - a, "v": pb.log(y["v"]) - b}, found, a, b)


def test_solution_refuses_what_is_none():
    with pytest.raises(ValueError, match="y does not satisfy the condition"):
        implicit.solution(lambda y, a: y * y - a, 3.1, 9.0)


# -------------------------------------------------------------------------------------------------------------- together
def test_solvers_within_solvers():
    """A minimum over a root, an integral of a root, a root of an integral; parameters handed over or captured."""

    def bilevel(a):
        return implicit.minimize(lambda y: (implicit.root(cubic, 1.0, y * a) - 0.8) ** 2 + 0.1 * y**2, 1.0).x

    def mean_root(a):
        return implicit.quad(lambda x, a: implicit.root(cubic, 1.0, a + x), 0.0, 1.0, a, epsrel=1e-12)

    def level(a):
        return implicit.root(lambda b, a: implicit.quad(lambda x: pb.exp(a * x), 0.0, b) - 1.0, 0.7, a)

    check_orders(bilevel, 1.5, orders=2)
    check_orders(mean_root, 1.5, orders=1)
    assert level(0.5) == pytest.approx(2 * np.log(1.5))  # (exp(a b) - 1) / a = 1
    check_orders(level, 0.5, orders=2)


def test_torch_func():
    import pullback.torch as torch

    a = torch.tensor(2.0, dtype=torch.float64)

    def y(a):
        return implicit.root(cubic, 1.0, a)

    for transform in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacfwd(f))):
        assert transform(y)(a).item() == pytest.approx(-6 / 64)
    np.testing.assert_allclose(
        torch.vmap(torch.func.grad(y))(torch.tensor([2.0, 10.0]).double()).numpy(), [1 / 4, 1 / 13]
    )
