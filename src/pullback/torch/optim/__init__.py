"""``torch.optim``: the optimisers that programs use most."""

from typing import Any

from pullback.torch._missing import refuse as _refuse
from pullback.torch.optim._first_order import SGD, Adagrad, Adam, AdamW, RMSprop
from pullback.torch.optim._lbfgs import LBFGS
from pullback.torch.optim._optimizer import Optimizer

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop"]


def __getattr__(name: str) -> Any:
    _refuse("optim", name)
