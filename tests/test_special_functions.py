"""Special functions: their derivatives against mpmath's, at the samples of the registry."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

import pullback as pb
from pullback.core.tensor import Tensor
from pullback.ops.registry import REGISTRY, samples_of
from special_in_mpmath import ELSEWHERE, MORE, MORE_INVERSES, SLOPES, SLOW

assert pb.special  # registers them
RECORDS = {name.removeprefix("special."): r for name, r in REGISTRY.items() if name.startswith("special.")}


def _lower_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def _student(v: Any, t: Any) -> Any:
    scale = mp.gamma((v + 1) / 2) / mp.sqrt(mp.pi * v) / mp.gamma(v / 2)
    return mpf(0.5) + t * scale * mp.hyp2f1(0.5, (v + 1) / 2, 1.5, -t * t / v)


def _fisher(a: Any, b: Any, x: Any) -> Any:
    return _beta(a / 2, b / 2, a * x / (a * x + b))


def _spherical(bessel: Any, factor: Any = 1) -> Any:
    return lambda n, z: mp.sqrt(factor * mp.pi / 2 / z) * bessel(n + mpf(0.5), z)


def _normal(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _owen(h: Any, a: Any) -> Any:
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def _huber(delta: Any, r: Any) -> Any:
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


def _shifted_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    return mp.factorial(n) * mp.gamma(n + p) / mp.gamma(2 * n + p) * mp.jacobi(n, p - q, q - 1, 2 * x - 1)


MPMATH = {
    "airy_ai": mp.airyai,
    "airy_aip": lambda z: mp.airyai(z, derivative=1),
    "airy_bi": mp.airybi,
    "airy_bip": lambda z: mp.airybi(z, derivative=1),
    "beta": mp.beta,
    "betainc": _beta,
    "betaincc": lambda a, b, x: 1 - _beta(a, b, x),
    "betaln": lambda a, b: mp.log(mp.beta(a, b)),
    "binom": mp.binomial,
    "boxcox": lambda x, k: (x**k - 1) / k,
    "boxcox1p": lambda x, k: ((1 + x) ** k - 1) / k,
    "chdtr": lambda v, x: _lower_gamma(v / 2, x / 2),
    "chdtrc": lambda v, x: _upper_gamma(v / 2, x / 2),
    "coshint": mp.chi,
    "cosint": mp.ci,
    "cosm1": lambda x: mp.cos(x) - 1,
    "dawsn": lambda z: mp.sqrt(mp.pi) / 2 * mp.exp(-z * z) * mp.erfi(z),
    "ellipe": mp.ellipe,
    "ellipeinc": mp.ellipe,
    "ellipk": mp.ellipk,
    "ellipkinc": mp.ellipf,
    "ellipkm1": lambda p: mp.ellipk(1 - p),
    "entr": lambda x: -x * mp.log(x),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": lambda z: mp.exp(z * z) * mp.erfc(z),
    "erfi": mp.erfi,
    "eval_chebyc": lambda n, x: 2 * mp.chebyt(n, x / 2),
    "eval_chebys": lambda n, x: mp.chebyu(n, x / 2),
    "eval_chebyt": mp.chebyt,
    "eval_chebyu": mp.chebyu,
    "eval_gegenbauer": mp.gegenbauer,
    "eval_genlaguerre": mp.laguerre,
    "eval_hermite": mp.hermite,
    "eval_hermitenorm": lambda n, x: mpf(2) ** (-n / 2) * mp.hermite(n, x / mp.sqrt(2)),
    "eval_jacobi": mp.jacobi,
    "eval_laguerre": lambda n, x: mp.laguerre(n, 0, x),
    "eval_legendre": mp.legendre,
    "eval_sh_chebyt": lambda n, x: mp.chebyt(n, 2 * x - 1),
    "eval_sh_chebyu": lambda n, x: mp.chebyu(n, 2 * x - 1),
    "eval_sh_jacobi": _shifted_jacobi,
    "eval_sh_legendre": lambda n, x: mp.legendre(n, 2 * x - 1),
    "exp1": mp.e1,
    "expi": mp.ei,
    "expn": mp.expint,
    "exprel": lambda x: mp.expm1(x) / x,
    "fdtr": _fisher,
    "fdtrc": lambda a, b, x: 1 - _fisher(a, b, x),
    "fresnel_c": mp.fresnelc,
    "fresnel_s": mp.fresnels,
    "gamma": mp.gamma,
    "gammainc": _lower_gamma,
    "gammaincc": _upper_gamma,
    "gammaln": mp.loggamma,
    "hankel1": mp.hankel1,
    "hankel1e": lambda v, z: mp.exp(-1j * z) * mp.hankel1(v, z),
    "hankel2": mp.hankel2,
    "hankel2e": lambda v, z: mp.exp(1j * z) * mp.hankel2(v, z),
    "huber": _huber,
    "hyp0f1": mp.hyp0f1,
    "hyp1f1": mp.hyp1f1,
    "hyp2f1": mp.hyp2f1,
    "hyperu": mp.hyperu,
    "i0": lambda x: mp.besseli(0, x),
    "i0e": lambda x: mp.exp(-abs(x)) * mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "i1e": lambda x: mp.exp(-abs(x)) * mp.besseli(1, x),
    "inv_boxcox": lambda y, k: (k * y + 1) ** (1 / k),
    "inv_boxcox1p": lambda y, k: (k * y + 1) ** (1 / k) - 1,
    "iv": mp.besseli,
    "ive": lambda v, z: mp.exp(-abs(z)) * mp.besseli(v, z),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "jv": mp.besselj,
    "k0": lambda x: mp.besselk(0, x),
    "k0e": lambda x: mp.exp(x) * mp.besselk(0, x),
    "k1": lambda x: mp.besselk(1, x),
    "k1e": lambda x: mp.exp(x) * mp.besselk(1, x),
    "kl_div": lambda x, y: x * mp.log(x / y) - x + y,
    "kv": mp.besselk,
    "kve": lambda v, z: mp.exp(z) * mp.besselk(v, z),
    "lambertw": lambda z, k: mp.lambertw(z, int(k)),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)),
    "log_ndtr": lambda x: mp.log(_normal(x)),
    "loggamma": mp.loggamma,
    "logit": lambda p: mp.log(p / (1 - p)),
    "modstruve": mp.struvel,
    "ndtr": _normal,
    "owens_t": _owen,
    "poch": mp.rf,
    "polygamma": lambda n, x: mp.psi(int(n), x),
    "pseudo_huber": lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
    "psi": lambda x: mp.psi(0, x),
    "rel_entr": lambda x, y: x * mp.log(x / y),
    "rgamma": mp.rgamma,
    "sinc": mp.sincpi,
    "sinhint": mp.shi,
    "sinint": mp.si,
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "spence": lambda z: mp.polylog(2, 1 - z),
    "spherical_in": _spherical(mp.besseli),
    "spherical_jn": _spherical(mp.besselj),
    "spherical_kn": _spherical(mp.besselk),
    "spherical_yn": _spherical(mp.bessely),
    "stdtr": _student,
    "struve": mp.struveh,
    "wofz": lambda z: mp.exp(-z * z) * mp.erfc(-1j * z),
    "xlog1py": lambda x, y: x * mp.log1p(y),
    "xlogy": lambda x, y: x * mp.log(y),
    "y0": lambda x: mp.bessely(0, x),
    "y1": lambda x: mp.bessely(1, x),
    "yv": mp.bessely,
    "zeta": mp.zeta,
} | MORE
#: Inverse functions: of what, in the last argument.
INVERSES = {
    "betainccinv": "betaincc",
    "betaincinv": "betainc",
    "erfcinv": "erfc",
    "erfinv": "erf",
    "gammainccinv": "gammaincc",
    "gammaincinv": "gammainc",
    "ndtri": "ndtr",
    "ndtri_exp": "log_ndtr",
    "stdtrit": "stdtr",
} | MORE_INVERSES
#: Constant between its jumps.
CONSTANT = {"gammasgn", "round"}


def exact(name: str, args: list[Any], place: int, value: Any, order: int) -> tuple[Any, ...]:
    """Value and derivatives up to `order` in the argument at `place`, by mpmath."""
    if name in INVERSES:
        f, x = MPMATH[INVERSES[name]], mpf(float(value))
        _, a, b, *rest = mp.diffs(lambda t: f(*args[:-1], t), x, order)
        return x, 1 / a, -b / a**3, *[(3 * b * b - a * c) / a**5 for c in rest]
    if name in SLOPES:
        return MPMATH[name](*args), *mp.diffs(SLOPES[name], args[place], order - 1)
    g = lambda t: MPMATH[name](*args[:place], t, *args[place + 1 :])  # noqa: E731
    return tuple(mp.diffs(g, args[place], order))


def found(record: Any, args: list[Any], place: int, highest: int) -> tuple[Any, ...]:
    """The same by pulling back again and again; the gradient of a holomorphic function is the conjugate of its derivative."""
    x = Tensor(np.asarray(args[place]), True)
    y = record.call(*args[:place], x, *args[place + 1 :])
    results = [y._array]
    for order in range(1, highest + 1):
        (g,) = pb.autograd.grad(
            y, x, Tensor(np.ones_like(y._array)), create_graph=order < highest, materialize_grads=True
        )
        y = pb.conj(g) if g.dtype.kind == "c" else g
        results.append(np.conj(g._array))
    return tuple(results)


def points(record: Any, dtype: Any) -> Any:
    """An entry of every sample, as lists of numbers."""
    for sample in samples_of(record, dtype):
        arrays = np.broadcast_arrays(*[np.asarray(a) for a in sample.args])
        for entry in list(zip(*[a.ravel() for a in arrays], strict=True))[:1]:
            differentiable = [isinstance(a, np.ndarray) and a.dtype.kind in "fc" for a in sample.args]
            yield [a.item() for a in entry], [k for k, yes in enumerate(differentiable) if yes]


def in_mpmath(value: Any) -> Any:
    return mpmath.mpc(value) if isinstance(value, complex) else mpf(value)


KINDS = {"real": np.float64, "complex": np.complex128}
CASES = [
    (name, kind) for name in sorted({*MPMATH, *INVERSES}) for kind in KINDS if kind == "real" or RECORDS[name].complex
]


def compare(name, kind, order, most=None):
    record = RECORDS[name]
    with mp.workdps(32):
        for args, places in list(points(record, KINDS[kind]))[:most]:
            for place in places:
                got = [complex(v) for v in found(record, args, place, order)]
                expected = [complex(e) for e in exact(name, [in_mpmath(a) for a in args], place, got[0].real, order)]
                if kind == "real":  # the gradient in a real argument is the real part
                    got[1:], expected[1:] = np.real(got[1:]), np.real(expected[1:])
                np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10, err_msg=f"{name}{tuple(args)}")


@pytest.mark.parametrize(
    ("name", "kind"), [pytest.param(*case, marks=[pytest.mark.slow] if case[0] in SLOW else []) for case in CASES]
)
def test_derivatives_are_those_of_mpmath(name, kind):
    compare(name, kind, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] not in SLOW])
def test_third_derivatives_are_those_of_mpmath(name, kind):
    compare(name, kind, 3, most=1)


def test_every_special_function_is_compared():
    differentiable = {name for name, record in RECORDS.items() if record.differentiable}
    assert differentiable - MPMATH.keys() - INVERSES.keys() == CONSTANT | ELSEWHERE.keys()
    assert all(ELSEWHERE.values())


# ------------------------------------------------------------------------------------------------------------- far out
def _turned(function: Any, sign: int, mirrored: int, turn: complex) -> Any:
    """The n-th derivative of a Bessel function times an exponential, by recurrences alone: exact to all digits."""

    @cache
    def at(v: Any, x: Any, n: int) -> Any:
        if n == 0:
            return mp.exp(turn * x) * function(v, x)
        return mirrored * (at(v - 1, x, n - 1) + sign * at(v + 1, x, n - 1)) / 2 + turn * at(v, x, n - 1)

    return at


SCALED = {
    "ive": _turned(mp.besseli, 1, 1, -1),
    "kve": _turned(mp.besselk, 1, -1, 1),
    "hankel1e": _turned(mp.hankel1, -1, 1, -1j),
    "hankel2e": _turned(mp.hankel2, -1, 1, 1j),
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("v", [0.0, 2.5])
def test_scaled_bessel_functions_keep_their_digits_far_out(name, v):
    for point in (5.0, 29.0, 40.0, 1e4):
        x = pb.tensor(point, requires_grad=True)
        y = pb.real(RECORDS[name].call(v, x))
        for order in range(1, 4):
            (y,) = pb.autograd.grad(y, x, create_graph=True)
            with mp.workdps(50):
                expected = float(mp.re(SCALED[name](mpf(v), mpf(point), order)))
            np.testing.assert_allclose(y.item(), expected, rtol=1e-10)


@pytest.mark.parametrize("pair", [("i0e", "ive", 0), ("i1e", "ive", 1), ("k0e", "kve", 0), ("k1e", "kve", 1)])
def test_those_of_orders_0_and_1_are_the_general_ones(pair):
    name, general, order = pair
    for point in (2.0, 50.0, 1e5, *((-2.0, -50.0, -1e5) if name[0] == "i" else ())):
        x = pb.tensor(point, requires_grad=True)
        y, z = RECORDS[name].call(x), RECORDS[general].call(float(order), x)
        for _ in range(3):
            (y,), (z,) = pb.autograd.grad(y, x, create_graph=True), pb.autograd.grad(z, x, create_graph=True)
            np.testing.assert_allclose(y.item(), z.item(), rtol=1e-12)


def test_struve_functions_keep_their_digits_far_out():
    for name, function in (("struve", mp.struveh), ("modstruve", mp.struvel)):
        for v, point in ((0.0, 3.0), (1.0, 1e4), (1.0, -40.0)):
            if name == "modstruve":
                point = np.clip(point, -40.0, 40.0)
            x = pb.tensor(point, requires_grad=True)
            (found,) = pb.autograd.grad(RECORDS[name].call(v, x), x)
            with mp.workdps(30):
                expected = float(mp.diff(lambda t, f=function, v=v: f(v, t), mpf(float(point))))
            np.testing.assert_allclose(found.item(), expected, rtol=1e-11)
