"""Checks of derivatives against difference quotients.

`gradcheck` compares first derivatives, `gradgradcheck` second ones.  Both raise one error, `GradcheckError`, whose
``verdict`` tells a wrong derivative from a point without one, from too little precision, and from a function that is
not deterministic.

`check` examines a whole custom Function, pullback's, torch's or JAX's, and returns a `Report`; `assert_ok` raises
`CheckFailed` if there is a fault.
"""

from typing import TYPE_CHECKING, Any

from pullback.check.errors import CheckWarning, GradcheckError
from pullback.check.gradcheck import gradcheck as gradcheck
from pullback.check.gradgradcheck import gradgradcheck as gradgradcheck

if TYPE_CHECKING:
    from pullback.check.verdicts import CheckFailed, Report
    from pullback.check.whole import assert_ok, check

__all__ = [
    "CheckFailed",
    "CheckWarning",
    "GradcheckError",
    "Report",
    "assert_ok",
    "check",
    "gradcheck",
    "gradgradcheck",
]

_WHOLE = {"assert_ok", "check", "CheckFailed", "Report"}


def __getattr__(name: str) -> Any:
    if name in _WHOLE:  # gradcheck does without all that
        from pullback.check import whole

        return getattr(whole, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
