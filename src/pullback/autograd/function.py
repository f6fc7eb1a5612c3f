"""``Function`` and what belongs to it, under torch's module name."""

from pullback.core.ctx import Ctx as FunctionCtx
from pullback.core.function import Function, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
