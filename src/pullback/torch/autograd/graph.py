"""``torch.autograd.graph``: `pullback.autograd.graph` under torch's import path."""

from typing import Any as _Any

from pullback.autograd.graph import *  # noqa: F403
from pullback.autograd.graph import __all__  # noqa: F401
from pullback.torch._missing import refuse as _refuse


def __getattr__(name: str) -> _Any:
    _refuse("autograd.graph", name)
