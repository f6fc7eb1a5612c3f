"""``torch.autograd.graph``: `pullback.autograd.graph` under torch's import path."""

from pullback.autograd.graph import *  # noqa: F403
from pullback.autograd.graph import __all__  # noqa: F401
