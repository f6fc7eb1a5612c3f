"""``torch.amp``: there is no autocast here, so the decorators of custom Functions leave them as they are."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast(ContextDecorator):  # noqa: N801 - torch's name
    """Accepted, without effect: dtypes stay as they are, so what is computed inside is only more precise."""

    def __init__(
        self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, cache_enabled: Any = None
    ) -> None:
        self.device, self.fast_dtype, self._enabled = device_type, dtype, False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def is_autocast_available(device_type: str) -> bool:
    """``False``."""
    return False


def custom_fwd(fwd: Any = None, *, device_type: Any = None, cast_inputs: Any = None) -> Any:
    """Decorate a ``forward``, which stays as it is: without autocast there is nothing to cast.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g
    """
    return (lambda function: function) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: Any = None) -> Any:
    """Decorate a ``backward``, which stays as it is, see `custom_fwd`."""
    return (lambda function: function) if bwd is None else bwd


def __getattr__(name: str) -> Any:
    _refuse("amp", name)
