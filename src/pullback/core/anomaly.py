"""Anomaly detection: stop at the first node whose rule turned finite cotangents into NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import modes
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.masked import unmask
from pullback.core.tensor import Tensor


class detect_anomaly(modes._Switch):  # noqa: N801 - used like a statement
    """Inside, a backward pass that produces NaN raises, and names the node."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan

    def __new__(cls, check_nan: bool = True) -> Any:
        return object.__new__(cls)

    def mode(self) -> Any:
        old = modes.current()
        return modes.plain(old._recording, old._settings.replace(detect_anomaly=True, check_nan=self.check_nan))

    def _again(self) -> Any:
        return type(self)(self.check_nan)


class set_detect_anomaly(detect_anomaly):  # noqa: N801
    """Switch anomaly detection at once; as a context manager, until the end of the block."""

    def __new__(cls, mode: bool, check_nan: bool = True) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self.on = mode
        self._before = [modes.current()]
        modes.enter(self.mode())

    def mode(self) -> Any:
        old = modes.current()
        return modes.plain(old._recording, old._settings.replace(detect_anomaly=self.on, check_nan=self.check_nan))

    def __enter__(self) -> None:
        modes.enter(self.mode())

    def __exit__(self, *exception: object) -> None:
        modes.enter(self._before[0])


def checker(settings: modes.Settings) -> Callable[[Node, Any], None] | None:
    """What a backward pass calls after every node, or ``None`` when NaN is not looked for."""
    return _check if settings.check_nan else None


def _check(node: Node, grads: Any) -> None:
    for position, grad in enumerate(grads or ()):
        value = unmask(grad)
        array = value._array if isinstance(value, Tensor) else value
        if array is not None and np.isnan(np.asarray(array)).any():
            raise lesson(
                RuntimeError,
                f"Function {node._name()!r} returned nan values in its {position}th output.",
                why="every gradient computed from it is NaN too.",
                instead="look at the point: a domain border (log or sqrt at 0), 0 * inf, or inf - inf in backward.",
                node=node,
            )
