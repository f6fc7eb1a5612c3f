"""Libraries that compute with arrays of any namespace: what they record may be overwritten by them.

SciPy and scikit-learn write into arrays of their own, as ``x_max[~isfinite(x_max)] = 0``, also where an operator has saved
what stood there.  Between arrays nothing comes of it, and between Tensors nothing does either: a Tensor that was computed
in the code of such a library moves to new memory when it is written into.  Those of users do not, see ``versions.py``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pullback.core import versions

NAMES = ("scipy", "sklearn", "array_api_extra", "einops", "opt_einsum")
_found: dict[Any, bool] = {}


def expect_them() -> None:
    """From now on, results that these libraries compute move when they are written into."""
    versions.of_library = is_theirs


def way_out(library: str, name: str) -> str:
    """What to write instead of a function of a library that converts its arguments."""
    parts = []
    if library == "scipy":
        from pullback.namespaces import special

        if name in special.__all__:
            parts.append(f"pullback.special.{name}")
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
    if code not in _found:
        _found[code] = code is not None and library_of(code.co_filename) is not None
    return _found[code]


def library_of(file: str) -> str | None:
    """The library that a file of code belongs to."""
    for name in NAMES:
        module = sys.modules.get(name)
        if module is not None and any(file.startswith(place) for place in getattr(module, "__path__", ())):
            return name
    return None
