"""Cotangents that know which of their zeros are structural.

``where``, indexing and masked writes send *no* cotangent to the entries they did not take.  That zero is structural: it must
stop an infinite or NaN partial derivative further back (``where(x > 0, sqrt(x), x)`` at -1).  A computed zero must not: zero
times infinity stays NaN.  So those rules return a `Masked`, and elementwise rules select instead of multiplying.
"""

from __future__ import annotations

from typing import Any


class Masked:
    """A cotangent and a bare boolean array that is False where the cotangent is structurally zero.

    The mask may be a function without arguments that makes it, because it is only needed when an elementwise rule follows;
    that of a sum is a tuple of two masks.
    """

    __slots__ = ("_mask", "value")

    def __init__(self, value: Any, mask: Any) -> None:
        self.value = value
        self._mask = mask

    @property
    def mask(self) -> Any:
        """The boolean array, made on first use."""
        if self._mask.__class__ is tuple:
            self._mask = self._union()
        elif callable(self._mask):
            self._mask = self._mask()
        return self._mask

    def _union(self) -> Any:
        """The mask of a sum: True where any term is.  Sums of thousands of terms nest deeply, so without recursion."""
        found: Any = None
        pending: list[Any] = [self._mask]
        while pending:
            part = pending.pop()
            if part.__class__ is tuple:
                pending.extend(part)
            else:
                mask = part() if callable(part) else part
                found = mask if found is None else found | mask
        return found

    @property
    def shape(self) -> Any:
        return self.value.shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Masked):
            return Masked(self.value + other.value, (self._mask, other._mask))
        return self.value + other

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """``ndarray + Masked`` and ``ndarray += Masked``: a sum with a plain cotangent is plain."""
        return getattr(ufunc, method)(*[unmask(value) for value in inputs], **options)

    def __radd__(self, other: Any) -> Any:
        return other + self.value

    def __iadd__(self, other: Any) -> Any:
        value = self.value
        value += unmask(other)
        return Masked(value, (self._mask, other._mask)) if isinstance(other, Masked) else value


def unmask(cotangent: Any) -> Any:
    """The cotangent itself, for those who do not care about structure."""
    return cotangent.value if cotangent.__class__ is Masked else cotangent
