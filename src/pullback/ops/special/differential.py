"""Solutions of differential equations that SciPy gives together with their slopes: parabolic cylinder, Mathieu and
spheroidal wave functions.  The equation says what the slope of the slope is.  DLMF, chapters 12, 28 and 30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.ops.elementary import cos, cosh
from pullback.ops.registry import Make, Sample
from pullback.ops.samples import Samples
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, last, special
from pullback.ops.special.scipys import scipys

#: What an equation says: the second derivative, from the arguments, the value and the slope.
Bend = Callable[..., Any]


def _part(name: str, k: int) -> Callable[..., Any]:
    """Result number `k`, computed in double precision: some of SciPy's versions in single precision give NaN."""
    return lambda *args: scipys(name)(*[np.asarray(a, dtype=float) if hasattr(a, "dtype") else a for a in args])[k]


#: name -> the operators of both results.
PAIRS: dict[str, tuple[Any, Any]] = {}


def solution(signature: str, what: str, equation: str, bend: Bend, samples: Samples, scale: float = 1.0) -> Any:
    """Register ``NAME_f`` and ``NAME_df``, and return the function that gives both.

    `scale` is d(variable of the slope)/dx: Mathieu's angles are degrees, the slopes are per radian.
    """
    name, _, rest = signature.rstrip(")").partition("(")
    *parameters, x = rest.split(", ")
    refused: dict[str, Any] = {p: WHOLE if p in ("m", "n") else NO_CLOSED_FORM for p in parameters}
    per = "" if scale == 1 else " π/180"
    header = f"lambda {rest}: "
    f: Any = None
    df: Any = None
    slopes: dict[str, Any] = {
        "f": lambda *args: scale * df(*args) if scale != 1 else df(*args),
        "df": lambda *args: scale * bend(*args, f(*args), df(*args)),
    }
    scope = {"slopes": slopes}
    f = special(
        f"{name}_f({rest})",
        f"{what}, the first result of `{name}`.  df/d{x} ={per} {name}_df",
        samples,
        scipy=_part(name, 0),
        **refused,
        **{x: eval(f"{header}slopes['f']({rest})", scope)},
    )
    df = special(
        f"{name}_df({rest})",
        f"The slope of {what}, the second result of `{name}`.  df/d{x} ={per} {equation}",
        samples,
        scipy=_part(name, 1),
        **refused,
        **{x: eval(f"{header}slopes['df']({rest})", scope)},
    )
    PAIRS[name] = f, df
    return f, df


# --------------------------------------------------------------------------------------------------- parabolic cylinder
pbdv_f, pbdv_df = solution(
    "pbdv(v, x)",
    "``Dᵥ(x)``",
    "(x²/4 - v - 1/2) Dᵥ  (DLMF 12.2.2)",
    lambda v, x, f, df: (x * x / 4 - v - 0.5) * f,
    last([(1.5,), (2.0,), (0.5,)], 0.4, 2),
)
pbvv_f, pbvv_df = solution(
    "pbvv(v, x)",
    "``Vᵥ(x)``",
    "(x²/4 - v - 1/2) Vᵥ  (DLMF 12.2.2)",
    lambda v, x, f, df: (x * x / 4 - v - 0.5) * f,
    last([(1.5,), (2.0,), (0.5,)], 0.4, 2),
)
pbwa_f, pbwa_df = solution(
    "pbwa(a, x)",
    "``W(a, x)``",
    "(a - x²/4) W  (DLMF 12.14.2)",
    lambda a, x, f, df: (a - x * x / 4) * f,
    last([(1.5,), (2.0,), (0.5,)], 0.4, 2),
)

# ------------------------------------------------------------------------------------------------------------- Mathieu
_DEGREE = math.pi / 180
_waves = last([(1, 1.5), (2, 0.7), (3, 2.0)], 10, 80)
_radial_waves = last([(1, 1.5), (2, 0.7), (3, 2.0)], 0.3, 1.2)


def _orders_and(*numbers: Any) -> Samples:
    """Whole numbers, and other numbers that are only given: nothing is differentiated."""

    def samples(make: Make) -> Any:
        yield Sample((np.asarray([0, 1]), *numbers))

    return samples


mathieu_a: Any = special(
    "mathieu_a(m, q)", "The characteristic value of even solutions.", _orders_and(1.5), m=WHOLE, q=NO_CLOSED_FORM
)
mathieu_b: Any = special(
    "mathieu_b(m, q)", "The characteristic value of odd solutions.", _orders_and(1.5), m=WHOLE, q=NO_CLOSED_FORM
)
mathieu_cem_f, mathieu_cem_df = solution(
    "mathieu_cem(m, q, x)",
    "``ce_m(x, q)``, x in degrees",
    "(2q cos 2x - a) ce  (DLMF 28.2.1)",
    lambda m, q, x, f, df: (2 * q * cos(2 * _DEGREE * x) - mathieu_a(m, q)) * f,
    _waves,
    _DEGREE,
)
mathieu_sem_f, mathieu_sem_df = solution(
    "mathieu_sem(m, q, x)",
    "``se_m(x, q)``, x in degrees",
    "(2q cos 2x - b) se  (DLMF 28.2.1)",
    lambda m, q, x, f, df: (2 * q * cos(2 * _DEGREE * x) - mathieu_b(m, q)) * f,
    _waves,
    _DEGREE,
)


def _modified(name: str, what: str, value: Any, letter: str) -> Any:
    return solution(
        f"{name}(m, q, x)",
        what,
        f"({letter} - 2q cosh 2x) f  (DLMF 28.20.1)",
        lambda m, q, x, f, df: (value(m, q) - 2 * q * cosh(2 * x)) * f,
        _radial_waves,
    )


mathieu_modcem1_f, mathieu_modcem1_df = _modified("mathieu_modcem1", "``Mc⁽¹⁾(x, q)``", mathieu_a, "a")
mathieu_modcem2_f, mathieu_modcem2_df = _modified("mathieu_modcem2", "``Mc⁽²⁾(x, q)``", mathieu_a, "a")
mathieu_modsem1_f, mathieu_modsem1_df = _modified("mathieu_modsem1", "``Ms⁽¹⁾(x, q)``", mathieu_b, "b")
mathieu_modsem2_f, mathieu_modsem2_df = _modified("mathieu_modsem2", "``Ms⁽²⁾(x, q)``", mathieu_b, "b")

# ---------------------------------------------------------------------------------------------------------- spheroidal
pro_cv: Any = special(
    "pro_cv(m, n, c)",
    "The characteristic value of prolate spheroidal wave functions.",
    _orders_and(2, 1.5),
    m=WHOLE,
    n=WHOLE,
    c=NO_CLOSED_FORM,
)
obl_cv: Any = special(
    "obl_cv(m, n, c)",
    "The characteristic value of oblate spheroidal wave functions.",
    _orders_and(2, 1.5),
    m=WHOLE,
    n=WHOLE,
    c=NO_CLOSED_FORM,
)


def _angular(sign: int, value: Any) -> Bend:
    """``(1 - x²) S'' - 2x S' + (λ ∓ c²x² - m²/(1 - x²)) S = 0``."""

    def bend(m: Any, n: Any, c: Any, x: Any, f: Any, df: Any) -> Any:
        w = 1 - x * x
        return (2 * x * df - (value(m, n, c) - sign * c * c * x * x - m * m / w) * f) / w

    return bend


def _radial(sign: int, value: Any) -> Bend:
    """``(x² ∓ 1) R'' + 2x R' - (λ - c²x² ± m²/(x² ∓ 1)) R = 0``."""

    def bend(m: Any, n: Any, c: Any, x: Any, f: Any, df: Any) -> Any:
        w = x * x - sign
        return ((value(m, n, c) - c * c * x * x + sign * m * m / w) * f - 2 * x * df) / w

    return bend


_EQUATION = "by its equation  (DLMF 30.2.1)"
_orders = [(1, 2, 1.5), (0, 1, 0.7)]
pro_ang1_f, pro_ang1_df = solution(
    "pro_ang1(m, n, c, x)",
    "the angular prolate spheroidal wave function",
    _EQUATION,
    _angular(1, pro_cv),
    last(_orders, -0.7, 0.7),
)
pro_rad1_f, pro_rad1_df = solution(
    "pro_rad1(m, n, c, x)",
    "the radial prolate spheroidal wave function of the first kind",
    _EQUATION,
    _radial(1, pro_cv),
    last(_orders, 1.3, 2),
)
obl_ang1_f, obl_ang1_df = solution(
    "obl_ang1(m, n, c, x)",
    "the angular oblate spheroidal wave function",
    _EQUATION,
    _angular(-1, obl_cv),
    last(_orders, -0.7, 0.7),
)
obl_rad1_f, obl_rad1_df = solution(
    "obl_rad1(m, n, c, x)",
    "the radial oblate spheroidal wave function of the first kind",
    _EQUATION,
    _radial(-1, obl_cv),
    last(_orders, 0.4, 1.5),
)
