"""Ways out of the graph: NumPy arrays, DLPack, Python numbers.

A Tensor that requires gradients refuses arrays while recording, because what is computed from them would have no gradient.
Inside a forward and a watched backward it gives them, and tells the mode.  Numbers leave freely, as in torch, except out of a
function that a transform (`pullback.grad` and its like) differentiates, and in the code of a library that computes with
Tensors: there nobody would see that the result is wrong.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any, ClassVar

import numpy as np

from pullback.core import arrays, modes, places
from pullback.core.cuts import note_cut
from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import lesson
from pullback.core.graph import reach
from pullback.core.placed import Placed
from pullback.core.places import called_by_library, is_numpys, is_ours, outside, passes_by_name, stores_item

#: The calls of transforms that are running, in all threads: usually none, and numbers leave without further questions.
running_transforms: set[int] = set()


def way_out(library: str, name: str) -> str:
    """What to write instead of a call of a library that leaves the graph; doors of libraries know more."""
    return "x.detach() for the values; or a pullback.Function around the call, with a backward of its own."


class Leaving(Placed):
    """The conversions of `Tensor`."""

    __slots__ = ()
    _numbers_may_be_stored: ClassVar[bool] = False  # ``array[i] = x`` of a Tensor that requires gradients

    def _leave(self, how: str, error: type[Exception], what: str, why: str, instead: str) -> None:
        """Refuse while recording, and tell the mode otherwise."""
        mode = modes.current()
        if OPEN:
            self._keep_tangent(how, error)
        connected = self._edge is not None and self.requires_grad
        if connected and mode._recording and mode._settings.watcher is None:
            call = called_by_library(sys._getframe(2))
            if call is not None:
                what, instead = f"{what} {call[0]}'s {call[1]}() does so.", way_out(*call)
            raise lesson(error, what, why=why, instead=instead)
        if connected or mode is not modes.ON:
            mode._leaves(self, how)
        if connected:
            note_cut(self._edge, how)

    def _keep_tangent(self, how: str, error: type[Exception]) -> None:
        """Refuse to leave a tangent behind, which nobody would miss."""
        if self._edge is not None and dual_at(self._edge) is not None:
            raise lesson(
                error,
                f"{how} takes a value out of forward mode: what is computed from it has no tangent",
                why="the derivative would be silently too small, as if the value were a constant.",
                instead="pullback's own functions to keep the tangent; x.detach() for the value alone.",
            )

    def _leave_as_value(self, how: str) -> None:
        """Refuse while something that is being differentiated depends on this Tensor, and tell the mode otherwise."""
        if OPEN:
            self._keep_tangent(how, RuntimeError)
        self._cut(how)
        mode = modes.current()
        if running_transforms and self._edge is not None and mode._recording and mode._settings.watcher is None:
            edge = self._resolved()
            if edge and any(getattr(node, "open", False) for node in reach([edge[0]])[0]):
                raise lesson(
                    RuntimeError,
                    f"{how} takes a value out of a function that is being differentiated (by grad, jacobian, hessian, ...)",
                    why="what is computed from the number counts as constant: the derivative would be silently wrong.",
                    instead="pullback's own functions: pullback.sin(x) for math.sin(x), pullback.stack([...]) to build an "
                    "array; a comparison (x > 0) to choose a branch; x.detach() first, for a number that is meant as a constant.",
                )
        if self._edge is not None:
            self._refuse_silence(how, sys._getframe(2))
            if places.of_library is not None:
                self._refuse_library(how)

    def _refuse_silence(self, how: str, frame: Any) -> None:
        """Refuse where nobody wrote ``float(x)``: an array that x is written into, or an option of a function, asks for it."""
        if how.startswith(("item", "tolist", "deepcopy", "pickle")) or is_ours(frame.f_code):
            return
        stored = stores_item(frame) and not self._numbers_may_be_stored
        if not (stored or passes_by_name(frame) or is_numpys(frame)):
            return
        mode = modes.current()
        if mode._recording and mode._settings.watcher is None and self.requires_grad:
            place = "array[...] = x" if stored else "an option of a function"
            raise lesson(
                RuntimeError,
                f"{place} takes a number out of a Tensor that requires grad",
                why="what is computed from the number, or from the array that it is written into, would have no gradient.",
                instead="float(x) for a number that is meant as a constant; pullback.asarray(array) to write into, or "
                "np.sum(a) + x in the place of np.sum(a, initial=x), to stay differentiable.",
            )

    def _refuse_library(self, how: str) -> None:
        """Refuse where a library computes on with a number, and its user does not see that it left the graph."""
        mode = modes.current()
        if not (mode._recording and mode._settings.watcher is None and self.requires_grad):
            return
        frame = outside(sys._getframe(2))
        if places.of_library(frame.f_code):  # type: ignore[misc]
            library, name = called_by_library(frame) or ("a library", frame.f_code.co_name)
            raise lesson(
                RuntimeError,
                f"{library}'s {name}() takes a number out of a Tensor that requires grad ({how})",
                why="what is computed from the number counts as constant: the derivative would be silently wrong.",
                instead=way_out(library, name),
            )

    def numpy(self) -> Any:
        """The array as NumPy's.

        A Tensor that requires gradients refuses while recording.  Where it does not, and where it was detached, the array is
        read-only: a write through it would go behind the graph's back.  ``x.data.numpy()`` can be written, at your own risk.
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
        connected = self._edge is not None and self.requires_grad
        return connected or (buffer is not None and (buffer.locked or buffer.borrowed))

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

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        self._leave(
            "DLPack",
            BufferError,
            "Can't export a Tensor that requires grad through DLPack.",
            "the other library would compute without gradients.",
            "x.detach().",
        )
        options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return self._array.__dlpack__(**{name: value for name, value in options.items() if value is not None})

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """The one element as a Python number."""
        self._leave_as_value("item()")
        return self._item()

    def _item(self) -> Any:
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
        self._leave_as_value("tolist()")
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
        self._leave_as_value("float()")
        return float(self._item())

    def __int__(self) -> int:
        modes.current()._leaves(self, "int()")  # a step function: that its derivative is zero is true
        return int(self._item())

    def __floor__(self) -> int:
        modes.current()._leaves(self, "math.floor()")  # a step function, as int()
        return math.floor(self._item())

    def __ceil__(self) -> int:
        modes.current()._leaves(self, "math.ceil()")
        return math.ceil(self._item())

    def __complex__(self) -> complex:
        self._leave_as_value("complex()")
        return complex(self._item())

    def __index__(self) -> int:
        if arrays.dtype_of(self._array).kind not in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return operator.index(self._array.item())

    def __format__(self, spec: str) -> str:
        return format(self._number(), spec) if spec and arrays.size(self._array) == 1 else str(self).__format__(spec)
