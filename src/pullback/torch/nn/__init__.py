"""``torch.nn``: only `functional` is offered; modules and optimisers are no part of this library."""

from pullback.torch.nn import functional

__all__ = ["functional"]
