"""Shape and view operators, casts and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import arrays
from pullback.core.primitive import Primitive
from pullback.ops.registry import Make, Sample, register


class Clone(Primitive):
    """A copy in C order.  vjp: x̄ = ȳ"""

    node_name = "CloneBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return arrays.copy(x, ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct


def _samples(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(2, 3),))
    yield Sample((make(),))


clone = register("clone", Clone, _samples, methods=("clone",))


class Astype(Primitive):
    """A cast.  vjp: x̄ = ȳ cast back (done by the projection)"""

    node_name = "ToCopyBackward0"

    @staticmethod
    def forward(ctx: Any, x: Any, *, dtype: Any) -> Any:
        return arrays.cast(x, dtype, ctx.xp)

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        return ct


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`x` with another dtype; the very Tensor when it has it already and `copy` is false."""
    dtype = np.dtype(dtype)
    if not copy and x.dtype == dtype:
        return x
    return Astype.apply(x, dtype=dtype)


def _casts(make: Make):  # type: ignore[no-untyped-def]
    yield Sample((make(2, 3), np.dtype(np.float64)))


register("astype", Astype, _casts, call=astype, reference=None, complex=False)
