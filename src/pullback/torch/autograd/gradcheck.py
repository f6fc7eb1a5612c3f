"""``torch.autograd.gradcheck``, the module; the function of the same name is `torch.autograd.gradcheck` too."""

from pullback.check import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
