"""``torch.autograd.forward_ad``: `pullback.autograd.forward_ad` under torch's import path."""

from typing import Any as _Any

from pullback.autograd.forward_ad import *  # noqa: F403
from pullback.autograd.forward_ad import __all__  # noqa: F401
from pullback.torch._missing import refuse as _refuse


def __getattr__(name: str) -> _Any:
    _refuse("autograd.forward_ad", name)
