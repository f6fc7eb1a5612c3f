"""``torch.autograd.function``: `pullback.autograd.function` under torch's import path."""

from typing import Any as _Any

from pullback.autograd.function import *  # noqa: F403
from pullback.autograd.function import __all__  # noqa: F401
from pullback.torch._missing import refuse as _refuse


def __getattr__(name: str) -> _Any:
    _refuse("autograd.function", name)
