"""Special functions in mpmath's words, under the names of the registry: the second half, distributions and the rest."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

from doors.numpy_cases import words


def _lower_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper_gamma(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def _solved(f: Any, start: Any) -> Any:
    """Where f is 0, near `start`."""
    return mp.findroot(f, mpf(start))


def _normal_inverse(p: Any) -> Any:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


# ------------------------------------------------------------------------------------------------------- noncentral
def _chi_square(x: Any, df: Any, nc: Any) -> Any:
    half = nc / 2
    return mp.fsum([mp.exp(-half) * half**j / mp.factorial(j) * _lower_gamma(df / 2 + j, x / 2) for j in range(26)])


def _f(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    w = dfn * f / (dfd + dfn * f)
    half = nc / 2
    return mp.fsum([mp.exp(-half) * half**j / mp.factorial(j) * _beta(dfn / 2 + j, dfd / 2, w) for j in range(26)])


def _student(df: Any, nc: Any, t: Any) -> Any:
    """The mean of the normal distribution function at ``t s - nc``, s of the χ distribution over √df."""
    level = 2 * (df / 2) ** (df / 2) / mp.gamma(df / 2)
    density = lambda s: level * s ** (df - 1) * mp.exp(-df * s * s / 2)  # noqa: E731
    return mp.quad(lambda s: density(s) * mp.erfc(-(t * s - nc) / mp.sqrt(2)) / 2, [0, 0.5, 1, 1.5, 2, 3, 6])


# --------------------------------------------------------------------------------------------------- theta functions
def _kolmogorov(y: Any) -> Any:
    return 2 * mp.fsum([(-1) ** (k - 1) * mp.exp(-2 * k * k * y * y) for k in range(1, 40)])


def _smirnov(n: Any, d: Any) -> Any:
    ks = [mpf(k) for k in range(int(n) + 1) if 1 - d - mpf(k) / n > 0]
    return mp.fsum([mp.binomial(n, k) * d * (d + k / n) ** (k - 1) * (1 - d - k / n) ** (n - k) for k in ks])


def _amplitude(u: Any, m: Any) -> Any:
    return mp.findroot(lambda phi: mp.ellipf(phi, m) - u, u)


def _wright(a: Any, b: Any, x: Any) -> Any:
    return mp.fsum([x**k / mp.factorial(k) * mp.rgamma(a * k + b) for k in range(60)])


def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    if sigma == 0:
        return gamma / mp.pi / (x * x + gamma * gamma)
    z = (x + 1j * gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / sigma / mp.sqrt(2 * mp.pi)


def _tukey(x: Any, k: Any) -> Any:
    return _solved(lambda p: (p**k - (1 - p) ** k) / k - x, 0.5 + x / 5)


def _prime(x: Any) -> Any:
    """``ker' + i kei'``."""
    w = mp.exp(1j * mp.pi / 4)
    return -w * mp.besselk(1, w * x)


def _integral(f: Any) -> Any:
    return lambda x: mp.quad(f, [0, x / 2, x])


def _integral_on(f: Any) -> Any:
    return lambda x: mp.quad(f, [x, x + 1, x + 3, x + 8, x + 20, x + 80])


def _modified_fresnel(sign: int, x: Any) -> Any:
    w = mp.exp(-sign * 1j * mp.pi / 4)
    return mp.sqrt(mp.pi) / 2 / w * mp.erfc(w * x)


MORE = {
    "agm": mp.agm,
    "airye_ai": lambda z: mp.exp(2 * z * mp.sqrt(z) / 3) * mp.airyai(z),
    "airye_aip": lambda z: mp.exp(2 * z * mp.sqrt(z) / 3) * mp.airyai(z, derivative=1),
    "airye_bi": lambda z: mp.exp(-abs(mp.re(2 * z * mp.sqrt(z) / 3))) * mp.airybi(z),
    "airye_bip": lambda z: mp.exp(-abs(mp.re(2 * z * mp.sqrt(z) / 3))) * mp.airybi(z, derivative=1),
    "bdtr": lambda k, n, p: _beta(n - k, k + 1, 1 - p),
    "bdtrc": lambda k, n, p: _beta(k + 1, n - k, p),
    "bei": lambda x: mp.bei(0, x),
    "beip": lambda x: mp.diff(lambda t: mp.bei(0, t), x),
    "ber": lambda x: mp.ber(0, x),
    "berp": lambda x: mp.diff(lambda t: mp.ber(0, t), x),
    "besselpoly": lambda a, lmb, nu: mp.quad(lambda t: t**lmb * mp.besselj(nu, 2 * a * t), [0, 1]),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "chndtr": _chi_square,
    "cosdg": lambda x: mp.cos(mp.radians(x)),
    "cotdg": lambda x: mp.cot(mp.radians(x)),
    "ellipj_cn": lambda u, m: mp.ellipfun("cn", u, m=m),
    "ellipj_dn": lambda u, m: mp.ellipfun("dn", u, m=m),
    "ellipj_ph": _amplitude,
    "ellipj_sn": lambda u, m: mp.ellipfun("sn", u, m=m),
    "elliprc": mp.elliprc,
    "elliprd": mp.elliprd,
    "elliprf": mp.elliprf,
    "elliprg": mp.elliprg,
    "elliprj": mp.elliprj,
    "exp10": lambda x: mpf(10) ** x,
    "exp2": lambda x: mpf(2) ** x,
    "gdtr": lambda a, b, x: _lower_gamma(b, a * x),
    "gdtrc": lambda a, b, x: _upper_gamma(b, a * x),
    "gdtria": lambda p, b, x: _solved(lambda a: _lower_gamma(b, a * x) - p, 2.0),
    "gdtrix": lambda a, b, p: _solved(lambda x: _lower_gamma(b, a * x) - p, 2.0),
    "it2i0k0_i": _integral(lambda t: (mp.besseli(0, t) - 1) / t if t else mpf(0)),
    "it2i0k0_k": _integral_on(lambda t: mp.besselk(0, t) / t),
    "it2j0y0_j": _integral(lambda t: (1 - mp.besselj(0, t)) / t if t else mpf(0)),
    "itairy_ai": lambda x: mp.airyai(x, derivative=-1),
    "itairy_bi": lambda x: mp.airybi(x, derivative=-1),
    "itairy_nai": lambda x: -mp.airyai(-x, derivative=-1),
    "itairy_nbi": lambda x: -mp.airybi(-x, derivative=-1),
    "iti0k0_i": _integral(lambda t: mp.besseli(0, t)),
    "iti0k0_k": _integral(lambda t: mp.besselk(0, t)),
    "itj0y0_j": _integral(lambda t: mp.besselj(0, t)),
    "itj0y0_y": _integral(lambda t: mp.bessely(0, t)),
    "itmodstruve0": _integral(lambda t: mp.struvel(0, t)),
    "itstruve0": _integral(lambda t: mp.struveh(0, t)),
    "jve": lambda v, z: mp.besselj(v, z) * mp.exp(-abs(mp.im(z))),
    "kei": lambda x: mp.kei(0, x),
    "keip": lambda x: _prime(x).imag,
    "ker": lambda x: mp.ker(0, x),
    "kerp": lambda x: _prime(x).real,
    "kolmogorov": _kolmogorov,
    "log_wright_bessel": lambda a, b, x: mp.log(_wright(a, b, x)),
    "lpmv": lambda m, v, x: mp.legenp(v, m, x),
    "modfresnelm_f": lambda x: _modified_fresnel(-1, x),
    "modfresnelm_k": lambda x: _modified_fresnel(-1, x) * mp.exp(1j * (x * x + mp.pi / 4)) / mp.sqrt(mp.pi),
    "modfresnelp_f": lambda x: _modified_fresnel(1, x),
    "modfresnelp_k": lambda x: _modified_fresnel(1, x) * mp.exp(-1j * (x * x + mp.pi / 4)) / mp.sqrt(mp.pi),
    "nbdtr": lambda k, n, p: _beta(n, k + 1, p),
    "nbdtrc": lambda k, n, p: _beta(k + 1, n, 1 - p),
    "ncfdtr": _f,
    "nctdtr": _student,
    "nrdtrimn": lambda p, std, x: x - std * _normal_inverse(p),
    "nrdtrisd": lambda mn, p, x: (x - mn) / _normal_inverse(p),
    "pbdv_df": lambda v, x: mp.diff(lambda t: mp.pcfd(v, t), x),
    "pbdv_f": mp.pcfd,
    "pbvv_df": lambda v, x: mp.diff(lambda t: mp.pcfv(-v - mpf(0.5), t), x),
    "pbvv_f": lambda v, x: mp.pcfv(-v - mpf(0.5), x),
    "pbwa_df": lambda a, x: mp.diff(lambda t: mp.re(mp.pcfw(a, t)), x),
    "pbwa_f": lambda a, x: mp.re(mp.pcfw(a, x)),
    "pdtr": lambda k, m: _upper_gamma(k + 1, m),
    "pdtrc": lambda k, m: _lower_gamma(k + 1, m),
    "powm1": lambda x, y: x**y - 1,
    "radian": lambda d, m, s: mp.radians(d + m / 60 + s / 3600),
    "sindg": lambda x: mp.sin(mp.radians(x)),
    "smirnov": _smirnov,
    "tandg": lambda x: mp.tan(mp.radians(x)),
    "tklmbda": _tukey,
    "voigt_profile": _voigt,
    "wright_bessel": _wright,
    "wrightomega": lambda z: mp.lambertw(mp.exp(z)),
    "yve": lambda v, z: mp.bessely(v, z) * mp.exp(-abs(mp.im(z))),
}
#: Inverse functions: of what, in the last argument.
MORE_INVERSES = {
    "bdtri": "bdtr",
    "chdtri": "chdtrc",
    "fdtri": "fdtr",
    "kolmogi": "kolmogorov",
    "nbdtri": "nbdtr",
    "pdtri": "pdtr",
    "smirnovi": "smirnov",
}
#: Not in mpmath; test_every_op.py compares their derivatives with differences of SciPy's values.
ELSEWHERE = {
    "it2j0y0_y": "an integral over an oscillation that does not end",
    "it2struve0": "an integral over an oscillation that does not end",
    "chndtrinc": "an inverse of `chndtr`, made of its slopes",
    "chndtrix": "an inverse of `chndtr`, made of its slopes",
    "ncfdtri": "an inverse of `ncfdtr`, made of its slopes",
    "ncfdtrinc": "an inverse of `ncfdtr`, made of its slopes",
    "nctdtrinc": "an inverse of `nctdtr`, made of its slopes",
    "nctdtrit": "an inverse of `nctdtr`, made of its slopes",
}
#: Derivatives of what mpmath integrates numerically: those of the integrand.
SLOPES = {
    "it2i0k0_i": lambda t: (mp.besseli(0, t) - 1) / t,
    "it2i0k0_k": lambda t: -mp.besselk(0, t) / t,
    "it2j0y0_j": lambda t: (1 - mp.besselj(0, t)) / t,
    "iti0k0_i": lambda t: mp.besseli(0, t),
    "iti0k0_k": lambda t: mp.besselk(0, t),
    "itj0y0_j": lambda t: mp.besselj(0, t),
    "itj0y0_y": lambda t: mp.bessely(0, t),
    "itmodstruve0": lambda t: mp.struvel(0, t),
    "itstruve0": lambda t: mp.struveh(0, t),
}
#: Seconds each: Bessel functions of whole order as limits, integrals, sums.
SLOW = frozenset(
    words("""besselpoly chndtr ellipeinc ellipj_ph elliprd elliprf elliprg elliprj hankel1 hankel1e hankel2 hankel2e it2i0k0_k
    iti0k0_k itj0y0_y k1 k1e keip kerp kv kve lpmv ncfdtr nctdtr owens_t pbdv_df pbvv_df pbwa_df pbwa_f""")
)
for _family in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    ELSEWHERE |= {f"mathieu_{_family}_{part}": "no Mathieu functions" for part in ("f", "df")}
for _kind in ("pro", "obl"):
    for _family in ("ang1", "rad1"):
        ELSEWHERE |= {f"{_kind}_{_family}_{part}": "no spheroidal wave functions" for part in ("f", "df")}
