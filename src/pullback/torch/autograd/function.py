"""``torch.autograd.function``: `pullback.autograd.function` under torch's import path."""

from pullback.autograd.function import *  # noqa: F403
from pullback.autograd.function import __all__  # noqa: F401
