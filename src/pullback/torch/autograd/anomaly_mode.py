"""``torch.autograd.anomaly_mode``: anomaly detection by its old path."""

from typing import Any

from pullback.autograd import detect_anomaly, set_detect_anomaly
from pullback.torch._missing import refuse as _refuse

__all__ = ["detect_anomaly", "set_detect_anomaly"]


def __getattr__(name: str) -> Any:
    _refuse("autograd.anomaly_mode", name)
