"""The bases of losses that programs derive their own from."""

from __future__ import annotations

from typing import Any

from pullback.torch.nn.functional._common import reduction_of
from pullback.torch.nn.modules.module import Module


class _Loss(Module):
    """A module with ``reduction``."""

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(reduction, size_average, reduce) if old else reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    def __init__(
        self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
