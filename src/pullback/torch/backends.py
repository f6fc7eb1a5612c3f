"""``torch.backends``: switches of libraries that are not used here; they can be set, and change nothing."""

from __future__ import annotations

import sys as _sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pullback.torch._missing import refuse as _refuse

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


class _Switches:
    """One library: it is not there, and takes any setting."""

    enabled = benchmark = deterministic = allow_tf32 = False

    def is_available(self) -> bool:
        """``False``."""
        return False

    is_built = is_available

    def version(self) -> None:
        """``None``."""

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """Settings for a block."""
        yield


cudnn, mkl, mkldnn, openmp, mps, cuda = (_Switches() for _ in range(6))
cuda.matmul = _Switches()  # type: ignore[attr-defined]
for _name in __all__:  # `import torch.backends.cudnn as cudnn`
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]


def __getattr__(name: str) -> Any:
    _refuse("backends", name)
