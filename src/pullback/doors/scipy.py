"""SciPy's ufuncs: ``scipy.special.jv(1, tensor)`` is ``pullback.special.jv(1, tensor)``.

They come to NumPy's door, which asks here for what it does not know.  Functions of SciPy that are no ufuncs ask the
namespace of Tensors where ``SCIPY_ARRAY_API=1`` was set before SciPy was imported, and refuse Tensors with gradients
where not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

#: Ufuncs behind functions of another name, whose arguments are not quite theirs.
_INNER = {
    "_lambertw": ("lambertw", 2),
    "_zeta": ("zeta", 2),
    "_riemann_zeta": ("zeta", 1),
}


def rule_of(ufunc: Any) -> Callable[..., Any] | None:
    """The function of `pullback.special` that computes a ufunc of SciPy; ``None`` for any other."""
    scipy = sys.modules.get("scipy.special")
    return _table(scipy).get(ufunc) if scipy is not None else None


def _table(scipy: Any) -> dict[Any, Callable[..., Any]]:
    if not _found:
        from pullback.namespaces import special

        inner = getattr(scipy, "_ufuncs", scipy)  # some names stand for functions that call the ufunc
        for name in special.__all__:
            for place in (scipy, inner):
                if isinstance(ufunc := getattr(place, name, None), np.ufunc):
                    _found[ufunc] = getattr(special, name)
        for name, (public, count) in _INNER.items():
            if isinstance(ufunc := getattr(inner, name, None), np.ufunc):
                _found[ufunc] = _first(getattr(special, public), count)
    return _found


def _first(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Without the arguments that say how exactly to compute."""
    return lambda *args: function(*args[:count])


_found: dict[Any, Callable[..., Any]] = {}
