"""Settings that programs make at their start, and that change nothing here, or only how Tensors are shown."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pullback.autograd import set_detect_anomaly
from pullback.core.errors import lesson
from pullback.torch._dtypes import as_dtype, set_default_dtype
from pullback.torch._export import function
from pullback.torch._functions_creation import made
from pullback.torch._methods_kinds import device


@function("set_num_threads", "set_num_interop_threads", plain=True)
def _set_num_threads(n: int) -> None:
    """Accepted: NumPy's threads are those of its linear algebra."""
    if not isinstance(n, int) or n < 1:
        raise lesson(RuntimeError, f"expects a positive integer, not {n!r}")


@function("get_num_threads", "get_num_interop_threads", plain=True)
def _get_num_threads() -> int:
    """1."""
    return 1


@function("use_deterministic_algorithms", plain=True)
def _use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: operators are deterministic."""


@function("are_deterministic_algorithms_enabled", plain=True)
def _are_deterministic_algorithms_enabled() -> bool:
    """``True``: operators are deterministic."""
    return True


@function("set_float32_matmul_precision", plain=True)
def _set_float32_matmul_precision(precision: str) -> None:
    """Accepted: products are computed in the precision of their factors."""


@function("get_float32_matmul_precision", plain=True)
def _get_float32_matmul_precision() -> str:
    """``"highest"``."""
    return "highest"


@function("set_flush_denormal", plain=True)
def _set_flush_denormal(mode: bool) -> bool:
    """``False``: the smallest numbers stay as they are."""
    return False


@function("set_default_device", plain=True)
def _set_default_device(device_: Any) -> None:
    """Accepted for the CPU, which is the only device."""
    if device_ is not None and device(device_).type != "cpu":
        raise lesson(RuntimeError, f"there is no device {device_} here", instead='"cpu".')


@function("get_default_device", plain=True)
def _get_default_device() -> Any:
    """The CPU."""
    return device("cpu")


@function("set_default_tensor_type", plain=True)
def _set_default_tensor_type(t: Any) -> None:
    """Old form of `set_default_dtype`."""
    set_default_dtype(as_dtype(t))


@function("set_warn_always", plain=True)
def _set_warn_always(b: bool) -> None:
    """Show warnings every time, or once for each line."""
    warnings.simplefilter("always" if b else "default")


@function("set_printoptions", plain=True)
def _set_printoptions(
    precision: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    profile: Any = None,
    sci_mode: Any = None,
) -> None:
    """Accepted, without effect: Tensors are shown as torch shows them by default."""


@function("compiled_with_cxx11_abi", plain=True)
def _compiled_with_cxx11_abi() -> bool:
    """``True``."""
    return True


@function("typename", plain=True)
def _typename(obj: Any) -> str:
    """The old name of a Tensor's type; of anything else that of its class."""
    if hasattr(obj, "_array"):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__


@function("is_storage", plain=True)
def _is_storage(obj: Any) -> bool:
    """``False``: memory belongs to NumPy's arrays."""
    return False


@function("is_inference", plain=True)
def _is_inference(input: Any) -> bool:
    """``False``: what `inference_mode` makes are ordinary Tensors."""
    return False


@function("is_autocast_enabled", "is_autocast_cpu_enabled", "is_autocast_cache_enabled", plain=True)
def _is_autocast_enabled(device_type: Any = None) -> bool:
    """``False``: dtypes stay as they are."""
    return False


@function("compile", plain=True)
def _compile(model: Any = None, **options: Any) -> Any:
    """The function or module itself: nothing is compiled here."""
    return model if model is not None else lambda function: function


@function("set_anomaly_enabled", plain=True)
def _set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly detection on or off."""
    set_detect_anomaly(mode, check_nan)


@function("is_warn_always_enabled", "is_deterministic_algorithms_warn_only_enabled", plain=True)
def _no() -> bool:
    """``False``."""
    return False


@function("to_dlpack", plain=True)
def _to_dlpack(tensor: Any) -> Any:
    """A capsule over the memory, for `from_dlpack`."""
    return tensor.__dlpack__()


@function("get_device", plain=True)
def _get_device(input: Any) -> int:
    """-1: the CPU."""
    return -1


@function("range")
def _range(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> Any:
    """Old name: numbers from `start` to `end`, which is included."""
    start, end = (0, start) if end is None else (start, end)
    count = int(np.floor((end - start) / step)) + 1
    return made((start + step * np.arange(count)).astype(as_dtype(dtype) or np.float32), requires_grad)
