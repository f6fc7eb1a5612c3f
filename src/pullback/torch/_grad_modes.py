"""What is switched on at the moment, by torch's names."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from pullback.core import modes
from pullback.core.errors import lesson
from pullback.core.modes import current
from pullback.core.tensor import Tensor

_multithreading: ContextVar[bool] = ContextVar("torch's multithreading", default=True)


def is_anomaly_enabled() -> bool:
    """True inside ``detect_anomaly()``."""
    return bool(current()._settings.detect_anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """True where anomaly detection looks for NaN."""
    return bool(current()._settings.check_nan)


def _is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` said last in this thread."""
    return _multithreading.get()


class set_multithreading_enabled(modes._Switch):  # noqa: N801 - used like a statement
    """Remembered at once, until the end of the block when used with ``with``.

    A backward pass runs on the thread that calls it, whatever is said here.
    """

    def __new__(cls, mode: bool) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        self.prev = _multithreading.get()
        self.enabled = bool(mode)
        _multithreading.set(self.enabled)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _multithreading.set(self.prev)

    def _again(self) -> Any:
        return type(self)(self.enabled)


class _unsafe_preserve_version_counter(modes._Switch):  # noqa: N801
    """Writes to these Tensors inside the block are forgotten at its end.

    Parameters
    ----------
    tensors
        A Tensor, or a tuple of Tensors.

    Notes
    -----
    Values that were saved before count as valid although they were overwritten, and gradients are silently wrong unless the old
    values were put back.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> x = torch.ones(2)
    >>> with torch.autograd._unsafe_preserve_version_counter(x):
    ...     x.add_(1)
    tensor([2., 2.])
    >>> x._version
    0
    """

    def __new__(cls, tensors: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise lesson(AssertionError, "Expected tensors to be a tuple", instead="one Tensor, or several in a tuple.")
        buffers = [tensor._shared_buffer() for tensor in self.tensors]
        self._states = [(buffer, buffer.state()) for buffer in buffers]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        for buffer, state in self._states:
            buffer.restore(state)

    def _again(self) -> Any:
        return type(self)(self.tensors)
