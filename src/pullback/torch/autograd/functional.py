"""``torch.autograd.functional``: `pullback.autograd.functional` under torch's import path."""

from pullback.autograd.functional import *  # noqa: F403
from pullback.autograd.functional import __all__  # noqa: F401
