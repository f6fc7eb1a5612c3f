"""`pullback.special`: how it is called, what it refuses and how it says so, and what SciPy and torch see of it."""

from __future__ import annotations

import re
import subprocess
import sys

import array_api_strict
import numpy as np
import pytest
import scipy.special

import pullback as pb
import pullback.torch as torch
from pullback.core.errors import DerivativeRefused
from pullback.ops.special import scipys

S = pb.special


def leaf(*values):
    return pb.tensor(values if len(values) > 1 else values[0], requires_grad=True)


def notes(error):
    return " ".join(error.value.__notes__)


# ------------------------------------------------------------------------------------------------------------- refusing
@pytest.mark.parametrize("order", [0.5, 2.0])
def test_the_derivative_in_an_order_is_refused_with_a_reason_and_a_way_out(order):
    v, z = leaf(order), leaf(1.0)
    y = S.jv(v, z)
    with pytest.raises(DerivativeRefused, match="derivative of jv with respect to v is refused") as error:
        y.backward()
    assert "no closed form" in notes(error)
    assert "detach()" in notes(error)
    assert "recorded at" in notes(error)
    with pytest.raises(DerivativeRefused):
        pb.autograd.grad(S.jv(v, z), v)


def test_what_is_not_asked_for_is_not_refused():
    v, z = leaf(0.5), leaf(1.0)
    (first,) = pb.autograd.grad(S.jv(v, z), z, create_graph=True)
    (second,) = pb.autograd.grad(first, z, create_graph=True)
    np.testing.assert_allclose([first.item(), second.item()], [scipy.special.jvp(0.5, 1.0, n) for n in (1, 2)])
    with pytest.raises(DerivativeRefused):  # no way around it
        pb.autograd.grad(first, v)


def test_a_whole_argument_has_no_derivative():
    n, x = leaf(2.0), leaf(0.5)
    with pytest.raises(DerivativeRefused, match="eval_legendre with respect to n") as error:
        S.eval_legendre(n, x).backward()
    assert "whole numbers" in notes(error)


def test_the_derivative_of_a_density_in_its_parameter_is_there():
    """P(a, x) has none in a, but its derivative in x has."""
    a, x = leaf(1.5), leaf(2.0)
    (density,) = pb.autograd.grad(S.gammainc(a, x), x, create_graph=True)
    (found,) = pb.autograd.grad(density, a)
    expected = np.exp(0.5 * np.log(2) - 2 - scipy.special.gammaln(1.5)) * (np.log(2) - scipy.special.psi(1.5))
    np.testing.assert_allclose(found.item(), expected)


def test_a_function_that_is_not_holomorphic_refuses_a_complex_gradient():
    z = leaf(1 + 1j)
    y = S.ive(1, z)
    np.testing.assert_allclose(y.item(), scipy.special.ive(1, 1 + 1j))
    with pytest.raises(DerivativeRefused, match="ive with respect to a complex z"):
        y.real.backward()


def test_a_function_without_complex_values_says_so():
    with pytest.raises(TypeError, match=r"gammaln\(\) takes real numbers only"):
        S.gammaln(pb.tensor(1 + 1j))


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"jv\(\) takes 2 arguments, but 1"):
        S.jv(1)
    with pytest.raises(TypeError, match=r"erf\(\) takes Tensors, arrays and numbers, but got list"):
        S.erf([1.0])


def test_without_scipy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    scipys.scipys.cache_clear()
    with pytest.raises(ImportError, match=r"special\.erf needs SciPy") as error:
        S.erf(pb.tensor(1.0))
    assert "pip install" in notes(error)
    assert S.softplus(pb.tensor(0.0)).item() == pytest.approx(np.log(2))
    scipys.scipys.cache_clear()


def test_a_function_that_this_scipy_does_not_have(monkeypatch):
    scipys.scipys.cache_clear()
    monkeypatch.delattr(scipy.special, "erfcx")
    with pytest.raises(ImportError, match=r"SciPy .* has no special\.erfcx"):
        S.erfcx(pb.tensor(1.0))
    scipys.scipys.cache_clear()


# -------------------------------------------------------------------------------------------------- what is handed over
def test_numbers_give_numbers_and_arrays_arrays():
    assert isinstance(S.erf(0.5), float)
    assert type(S.erf(np.asarray([0.5]))) is np.ndarray
    assert isinstance(S.jv(1, pb.tensor([0.5])), pb.Tensor)
    assert S.zeta(2) == pytest.approx(np.pi**2 / 6)
    assert S.lambertw(1.0) == pytest.approx(0.5671432904)


@pytest.mark.parametrize("order", [2, 2.0, np.asarray([2, 2]), np.asarray([2.0, 2.0]), pb.tensor([2, 2])])
def test_orders_of_any_kind_keep_single_precision(order):
    x = pb.tensor(np.asarray([0.5, 1.5], np.float32), requires_grad=True)
    for f in (S.jv, S.spherical_jn, S.eval_legendre, S.polygamma):
        y = f(order.astype(np.float32) if getattr(order, "dtype", None) == np.float64 else order, x)
        (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = pb.autograd.grad(g.sum(), x)
        assert y.dtype == g.dtype == h.dtype == np.float32


def test_arrays_of_another_library_and_their_integers():
    x = pb.Tensor(array_api_strict.asarray([0.5, 1.5]), True)
    y = S.eval_hermite(array_api_strict.asarray([2, 3]), x)
    (g,) = pb.autograd.grad(pb.sum(y), x, create_graph=True)
    (h,) = pb.autograd.grad(pb.sum(g), x)
    assert type(h._array) is type(x._array)
    np.testing.assert_allclose(np.asarray(h._array), [8.0, 48 * 1.5])


def test_several_results():
    x = leaf(0.5)
    for f, expected in ((S.airy, scipy.special.airy), (S.fresnel, scipy.special.fresnel), (S.sici, scipy.special.sici)):
        np.testing.assert_allclose([y.item() for y in f(x)], expected(0.5))
    assert all(y.requires_grad for y in (*S.airy(x), *S.shichi(x)))


def test_airy_of_a_large_number_does_not_pull_its_infinite_sibling_in():
    x = leaf(200.0)
    ai, _, bi, _ = S.airy(x)
    assert not np.isfinite(bi.item())
    assert pb.autograd.grad(ai, x)[0].item() == 0


def test_a_branch_that_was_not_taken_is_silent():
    x = leaf(0.0, 2.0)
    y = pb.where(x > 0, S.k0(pb.where(x > 0, x, 1.0)) + S.gammaln(x), 0.0)
    (g,) = pb.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = pb.autograd.grad(g.sum(), x)
    assert g[0].item() == h[0].item() == 0
    assert np.isfinite(h[1].item())


def test_slopes_do_not_cancel_far_out():
    """``1 - 2 x D(x)`` and the like are differences of equal numbers there; these are the asymptotic series."""
    x = leaf(1e4)
    for f, series in (
        (S.dawsn, -(1 + 1.5e-8) / 2e8),
        (S.erfcx, -(1 - 1.5e-8) / (np.sqrt(np.pi) * 1e8)),
    ):
        np.testing.assert_allclose(pb.autograd.grad(f(x), x)[0].item(), series, rtol=1e-14)


# ------------------------------------------------------------------------------------------------ sums, softmax, mvlgamma
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp_with_factors_is_scipys(axis, keepdims):
    a, b = np.asarray([[1.0, 700.0, -1.0], [3.0, 702.0, 0.0]]), np.asarray([[1.0, 2.0, 0.0], [-0.5, 1.0, 3.0]])
    for options in ({}, {"return_sign": True}):
        with np.errstate(invalid="ignore"):  # one of the sums is negative
            found = S.logsumexp(pb.tensor(a), axis, pb.tensor(b), keepdims, **options)
        expected = scipy.special.logsumexp(a, axis, b, keepdims, **options)
        for f, e in zip(found if options else [found], expected if options else [expected], strict=True):
            np.testing.assert_allclose(f._array, e)


def test_logsumexp_with_factors_is_differentiable_in_both_to_second_order():
    a, b = leaf(0.5, 1.5, -1.0), leaf(1.0, 0.5, 2.0)
    for f in (lambda a, b: S.logsumexp(a, b=b), lambda a, b: S.logsumexp(a, b=-b, return_sign=True)[0]):
        assert pb.gradcheck(f, (a, b))
        assert pb.gradgradcheck(f, (a, b))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
def test_softmax_over_any_axes_is_scipys(name, axis):
    x = leaf([1.0, 2.0, 0.5], [0.0, -1.0, 3.0])
    np.testing.assert_allclose(getattr(S, name)(x, axis)._array, getattr(scipy.special, name)(x.detach().numpy(), axis))
    assert pb.gradgradcheck(lambda x: getattr(S, name)(x, axis), x)


def test_multigammaln_is_scipys():
    x = leaf(2.5, 4.0)
    np.testing.assert_allclose(S.multigammaln(x, 3)._array, scipy.special.multigammaln([2.5, 4.0], 3))
    assert pb.gradgradcheck(lambda x: S.multigammaln(x, 3), x)


# ----------------------------------------------------------------------------------------------------- SciPy's own names
HOOK = """
import numpy as np, pullback as pb, scipy.special, scipy.stats
x = pb.tensor([0.5, 1.5], requires_grad=True)
for name in ("erf", "gammaln", "ndtr", "expit", "i0e", "log_ndtr", "psi", "entr"):
    y = getattr(scipy.special, name)(x)
    assert isinstance(y, pb.Tensor) and y.requires_grad, name
(g,) = pb.autograd.grad(scipy.special.erf(x).sum(), x)
print(np.allclose(g.numpy(), 2 / np.sqrt(np.pi) * np.exp(-np.asarray([0.25, 2.25]))))
"""


def test_scipys_functions_of_tensors_are_differentiable():
    done = subprocess.run(
        [sys.executable, "-c", HOOK],
        capture_output=True,
        text=True,
        check=False,
        env={"SCIPY_ARRAY_API": "1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "True", done.stderr


#: Results of functions that have several, each an operator of its own.
PARTS = re.compile(
    r"(airye?)_(ai|aip|bi|bip)|fresnel_[cs]|(sin|cos)h?int|ellipj_(sn|cn|dn|ph)|itairy_n?[ab]i|it2?(i0k0|j0y0)_[ikjy]|"
    r"modfresnel[mp]_[fk]|(pbdv|pbvv|pbwa|mathieu_\w+|(pro|obl)_\w+)_d?f"
)


def test_names_are_scipys():
    assert [name for name in S.__all__ if not hasattr(scipy.special, name) and not PARTS.fullmatch(name)] == []
    assert pb.tensor(1.0).__array_namespace__().special is S


def test_every_ufunc_of_scipy_is_here():
    ufuncs = {name for name in dir(scipy.special) if isinstance(getattr(scipy.special, name), np.ufunc)}
    assert ufuncs - set(S.__all__) == set()


# ----------------------------------------------------------------------------------------------------------------- torch
def test_torchs_names():
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    y = torch.special.bessel_j0(x).sum() + torch.polygamma(1, x).sum() + x.erf().sum()
    (g,) = torch.autograd.grad(y, x)
    expected = -scipy.special.j1([0.5, 1.5]) + scipy.special.polygamma(2, [0.5, 1.5])
    np.testing.assert_allclose(g.numpy(), expected + 2 / np.sqrt(np.pi) * np.exp([-0.25, -2.25]), rtol=1e-5)
    a = torch.tensor(1.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="gammainc with respect to a is refused"):
        torch.igamma(a, torch.tensor(2.0)).backward()
    with pytest.raises(AttributeError, match="no_such_function"):
        torch.special.no_such_function  # noqa: B018


def test_out_takes_no_part_in_the_graph():
    out = torch.zeros(2)
    assert torch.special.ndtr(torch.tensor([0.0, 0.0]), out=out) is out
    torch.igamma(torch.tensor([1.0, 1.0]), torch.tensor([0.0, 0.0]), out=out)
    torch.special.legendre_polynomial_p(torch.tensor([1.0, -1.0]), torch.tensor([2, 3]), out=out)
    assert out.tolist() == [1, -1]
    for f in (torch.logit, torch.special.spherical_bessel_j0, lambda x, out: torch.polygamma(1, x, out=out)):
        assert f(torch.tensor([0.5, 0.5]), out=out) is out
    assert torch.mvlgamma(torch.tensor([2.0, 2.0]), 2, out=out) is out


def test_forward_mode_refuses_what_backward_refuses():
    """The tangent of an order is refused with the same words; that of the argument beside it is given."""
    from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual

    order, x, one = pb.tensor(1.0), pb.tensor(0.5), pb.tensor(1.0)
    with dual_level():
        found = unpack_dual(pb.special.jv(order, make_dual(x, one))).tangent
        assert abs(found.item() - (pb.special.j0(x) - pb.special.jv(2.0, x)).item() / 2) < 1e-15
        with pytest.raises(pb.DerivativeRefused, match="jv with respect to v is refused"):
            pb.special.jv(make_dual(order, one), x)
