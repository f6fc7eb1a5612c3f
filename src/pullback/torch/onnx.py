"""``torch.onnx``: nothing is exported here."""

from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """``False``."""
    return False


def __getattr__(name: str) -> Any:
    _refuse("onnx", name)
