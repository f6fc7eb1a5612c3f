"""Cotangents that know which of their zeros are structural.

``where``, indexing and masked writes send *no* cotangent to the entries they did not take.  That zero is structural: it must
stop an infinite or NaN partial derivative further back (``where(x > 0, sqrt(x), x)`` at -1).  A computed zero must not: zero
times infinity stays NaN.  So those rules return a `Masked`, and elementwise rules select instead of multiplying.
"""

from __future__ import annotations

from typing import Any


class Masked:
    """A cotangent and a bare boolean array that is False where the cotangent is structurally zero.

    The mask may be a function without arguments that makes it, because it is only needed when an elementwise rule follows.
    """

    __slots__ = ("_mask", "value")
    __array_ufunc__ = None  # ndarray + Masked must come to __radd__

    def __init__(self, value: Any, mask: Any) -> None:
        self.value = value
        self._mask = mask

    @property
    def mask(self) -> Any:
        """The boolean array, made on first use."""
        if callable(self._mask):
            self._mask = self._mask()
        return self._mask

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Masked):
            return Masked(self.value + other.value, lambda: self.mask | other.mask)
        return self.value + other

    def __radd__(self, other: Any) -> Any:
        return other + self.value


def unmask(cotangent: Any) -> Any:
    """The cotangent itself, for those who do not care about structure."""
    return cotangent.value if cotangent.__class__ is Masked else cotangent
