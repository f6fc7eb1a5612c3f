"""``torch.utils``: only `checkpoint`."""

from pullback.torch.utils import checkpoint

__all__ = ["checkpoint"]
