"""Functions of SciPy that have values here and no derivative, each with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.ops.families import Refused
from pullback.ops.registry import Make, Sample
from pullback.ops.special.family import NO_CLOSED_FORM, WHOLE, special
from pullback.ops.special.scipys import scipys

#: Inverses of distribution functions in a parameter: the slope in that parameter is what is missing.
_IN_A_PARAMETER = {
    "bdtrik(y, n, p)": "`bdtr` in k",
    "bdtrin(k, y, p)": "`bdtr` in n",
    "btdtria(p, b, x)": "`betainc` in a",
    "btdtrib(a, p, x)": "`betainc` in b",
    "chdtriv(p, x)": "`chdtr` in v",
    "chndtridf(x, p, nc)": "`chndtr` in df",
    "fdtridfd(dfn, p, x)": "`fdtr` in dfd",
    "gdtrib(a, p, x)": "`gdtr` in b",
    "nbdtrik(y, n, p)": "`nbdtr` in k",
    "nbdtrin(k, y, p)": "`nbdtr` in n",
    "ncfdtridfd(dfn, p, nc, f_)": "`ncfdtr` in dfd",
    "ncfdtridfn(p, dfd, nc, f_)": "`ncfdtr` in dfn",
    "nctdtridf(p, nc, t)": "`nctdtr` in df",
    "pdtrik(p, m)": "`pdtr` in k",
    "stdtridf(p, t)": "`stdtr` in df",
}
#: The equation that gives slopes holds for the characteristic value only.
_GIVEN_VALUE = Refused(
    why="the slope follows from an equation that holds only where cv is the characteristic value of m, n and c.",
    instead="the function without _cv, which computes it.",
)
_NO_SOLUTION = Refused(
    why="SciPy's values of the second kind do not fulfil the equation that gives their slopes.",
    instead="the function of the first kind, or a Function with a forward and backward of your own.",
)


def _nothing(count: int) -> Any:
    """Whole numbers: there is nothing to differentiate."""

    def samples(make: Make) -> Any:
        yield Sample(tuple([np.asarray([2, 3])] * count))

    return samples


def _value_only(signature: str, doc: str, reasons: dict[str, Any], scipy: Any = None) -> Any:
    return special(signature, doc, _nothing(len(reasons)), scipy=scipy, **reasons)


for _signature, _of in _IN_A_PARAMETER.items():
    _arguments = _signature.rstrip(")").partition("(")[2].split(", ")
    _value_only(_signature, f"The inverse of {_of}.", dict.fromkeys(_arguments, NO_CLOSED_FORM))


def _part(name: str, k: int) -> Any:
    return lambda *args: scipys(name)(*args)[k]


def _spheroidal(name: str, reason: Refused) -> tuple[Any, Any]:
    given = name.endswith("_cv")
    arguments = ["m", "n", "c", *(["cv"] if given else []), "x"]
    reasons = {a: WHOLE if a in "mn" else NO_CLOSED_FORM for a in arguments} | {"x": reason}
    rest = ", ".join(arguments)
    return (
        _value_only(f"{name}_f({rest})", f"The first result of `{name}`.", reasons, _part(name, 0)),
        _value_only(f"{name}_df({rest})", f"The second result of `{name}`.", reasons, _part(name, 1)),
    )


#: name -> the operators of both results.
PAIRS: dict[str, tuple[Any, Any]] = {
    f"{kind}_{family}": _spheroidal(f"{kind}_{family}", _GIVEN_VALUE if family.endswith("_cv") else _NO_SOLUTION)
    for kind in ("pro", "obl")
    for family in ("ang1_cv", "rad1_cv", "rad2_cv", "rad2")
}
