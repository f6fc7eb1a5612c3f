"""Checks of derivatives against difference quotients.

`gradcheck` compares first derivatives, `gradgradcheck` second ones.  Both raise one error, `GradcheckError`, whose
``verdict`` tells a wrong derivative from a point without one, from too little precision, and from a function that is
not deterministic.
"""

from pullback.check.errors import CheckWarning, GradcheckError
from pullback.check.gradcheck import gradcheck as gradcheck
from pullback.check.gradgradcheck import gradgradcheck as gradgradcheck

__all__ = ["CheckWarning", "GradcheckError", "gradcheck", "gradgradcheck"]
