"""``torch.autograd.forward_ad``: `pullback.autograd.forward_ad` under torch's import path."""

from pullback.autograd.forward_ad import *  # noqa: F403
from pullback.autograd.forward_ad import __all__  # noqa: F401
