"""Ways out of the graph: NumPy arrays, DLPack, Python numbers.

A Tensor that requires gradients refuses arrays while recording, because what is computed from them would have no gradient.
Inside a forward and a watched backward it gives them, and tells the mode.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.cuts import note_cut
from pullback.core.errors import lesson
from pullback.core.placed import Placed


class Leaving(Placed):
    """The conversions of `Tensor`."""

    __slots__ = ()

    def _leave(self, how: str, error: type[Exception], what: str, why: str, instead: str) -> None:
        """Refuse while recording, and tell the mode otherwise."""
        mode = modes.current()
        connected = self._edge is not None and self.requires_grad
        if connected and mode._recording and mode._settings.watcher is None:
            raise lesson(error, what, why=why, instead=instead)
        if connected or mode is not modes.ON:
            mode._leaves(self, how)
        if connected:
            note_cut(self._edge, how)

    def numpy(self) -> Any:
        """The array as NumPy's.

        A Tensor that requires gradients refuses while recording.  What was recorded is handed out read-only, so that no write
        goes behind the graph's back.
        """
        self._leave(
            "numpy()",
            RuntimeError,
            "Can't call numpy() on Tensor that requires grad.",
            "what NumPy computes from it would have no gradient.",
            "x.detach().numpy() for the values; pullback's own functions to stay differentiable.",
        )
        array = self._array
        if not isinstance(array, np.ndarray):
            return np.asarray(array)
        return arrays.readonly(array) if self._is_locked() else array

    def _is_locked(self) -> bool:
        buffer = self._buffer
        return self._edge.__class__ is tuple or (buffer is not None and (buffer.locked or buffer.borrowed))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._leave(
            "np.asarray",
            RuntimeError,
            "Can't convert a Tensor that requires grad to a NumPy array (np.asarray, np.array, ...).",
            "what NumPy computes from it would have no gradient.",
            "pullback.stack([...]) or pullback.as_tensor([...]) to build an array of Tensors; x.detach().numpy() for the values.",
        )
        array = np.asarray(self._array)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        return arrays.readonly(array) if self._is_locked() else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._leave(
            "DLPack",
            BufferError,
            "Can't export a Tensor that requires grad through DLPack.",
            "the other library would compute without gradients.",
            "x.detach().",
        )
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """The one element as a Python number."""
        mode = modes.current()
        if mode is not modes.ON:
            mode._leaves(self, "item()")
        if self._edge is not None:
            note_cut(self._edge, "item()")
        if arrays.size(self._array) != 1:
            raise lesson(
                RuntimeError,
                f"a Tensor with {arrays.size(self._array)} elements cannot be converted to Scalar",
                instead="x.tolist() for all of them, x[i].item() for one.",
            )
        return self._number()

    def _number(self) -> Any:
        return self._array.item() if hasattr(self._array, "item") else np.asarray(self._array).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        mode = modes.current()
        if mode is not modes.ON:
            mode._leaves(self, "tolist()")
        if self._edge is not None:
            note_cut(self._edge, "tolist()")
        return np.asarray(self._array).tolist()

    def __bool__(self) -> bool:
        if arrays.size(self._array) != 1:
            raise lesson(
                RuntimeError,
                "Boolean value of Tensor with "
                f"{'more than one value' if arrays.size(self._array) else 'no values'} is ambiguous",
                instead="x.any() or x.all().",
            )
        return bool(self._array)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if arrays.dtype_of(self._array).kind not in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return operator.index(self._array.item())

    def __format__(self, spec: str) -> str:
        return format(self._number(), spec) if spec and arrays.size(self._array) == 1 else str(self).__format__(spec)
