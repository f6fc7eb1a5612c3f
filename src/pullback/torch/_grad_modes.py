"""What is switched on at the moment, by torch's names."""

from __future__ import annotations

from pullback.core.modes import current


def is_anomaly_enabled() -> bool:
    """True inside ``detect_anomaly()``."""
    return bool(current()._settings.detect_anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """True where anomaly detection looks for NaN."""
    return bool(current()._settings.check_nan)
