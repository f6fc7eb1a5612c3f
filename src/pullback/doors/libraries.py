"""Libraries that compute with arrays of any namespace: SciPy, scikit-learn and others.

They are users' programs to the machine, but for two things.  What they write over is remembered, so that values which were
saved before can still be read (``core/past.py``).  And a number that they take out of a Tensor is refused: what they compute
from it would count as constant, and nobody would see it.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pullback.core import places

NAMES = ("scipy", "sklearn", "array_api_extra", "einops", "opt_einsum")
#: Solvers of SciPy, and what `pullback.implicit` has for them.
SOLVERS: dict[str, str] = {
    **{name: name for name in ("cosm", "eigsh", "expm", "fixed_point", "fixed_quad", "fractional_matrix_power")},
    **{name: name for name in ("least_squares", "logm", "lstsq", "minimize", "quad", "root", "signm", "sinm", "sqrtm")},
    **{name: name for name in ("solve_continuous_are", "solve_discrete_are", "solve_ivp", "solve_sylvester")},
    **{name: name for name in ("solve_continuous_lyapunov", "solve_discrete_lyapunov")},
    **dict.fromkeys(("spsolve", "splu", "factorized"), "solve_sparse"),
    **dict.fromkeys(("cg", "gmres", "bicgstab", "minres", "lgmres"), "solve_linear"),
    **dict.fromkeys(("fsolve", "newton", "brentq", "root_scalar"), "root"),
    **dict.fromkeys(("fmin", "fmin_bfgs", "minimize_scalar"), "minimize"),
    **dict.fromkeys(("curve_fit", "leastsq"), "least_squares"),
    **dict.fromkeys(("quad_vec", "nquad"), "quad"),
    **dict.fromkeys(("odeint",), "solve_ivp"),
}
_found: dict[str, bool] = {}


def expect_them() -> None:
    """From now on, code of these libraries is known."""
    places.of_library = is_theirs


def way_out(library: str, name: str) -> str:
    """What to write instead of a function of a library that converts its arguments."""
    parts = []
    if library == "scipy":
        from pullback.namespaces import special

        if name in special.__all__:
            parts.append(f"pullback.special.{name}")
        if name in SOLVERS:
            parts.append(f"pullback.implicit.{SOLVERS[name]}, which is differentiable")
        if os.environ.get("SCIPY_ARRAY_API", "0") in ("", "0"):
            parts.append(
                "SCIPY_ARRAY_API=1 in the environment before SciPy is imported, where the function takes arrays of any library"
            )
    if library == "sklearn":
        parts.append("sklearn.config_context(array_api_dispatch=True) around it, where it takes arrays of any library")
    parts += ["x.detach() for the values", "a pullback.Function around the call, with a backward of its own"]
    return "; or ".join(parts) + "."


def is_theirs(code: Any) -> bool:
    """True for code of one of these libraries."""
    file = code.co_filename  # two codes may be equal, and stand in different files
    if file not in _found:
        _found[file] = library_of(file) is not None
    return _found[file]


def library_of(file: str) -> str | None:
    """The library that a file of code belongs to."""
    for name in NAMES:
        module = sys.modules.get(name)
        if module is not None and any(file.startswith(place) for place in getattr(module, "__path__", ())):
            return name
    return None
