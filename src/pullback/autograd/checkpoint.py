"""Less memory for more time: do not keep what a function saves, run it again when the backward pass asks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.contents import tensors_in
from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.core.packing import saved_tensors_hooks
from pullback.core.tensor import wrap

__all__ = ["CheckpointError", "checkpoint"]


class CheckpointError(RuntimeError):
    """A checkpointed function did something else when it was called again."""


def checkpoint(function: Callable[..., Any], *args: Any, again: Any = contextlib.nullcontext, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, of which only the arguments are kept for the backward pass.

    Every backward pass that needs a value runs the function once more.  Derivatives of any order are those of the function.

    Parameters
    ----------
    function
        Any function that computes the same when it is called again with the same arguments.
    again
        Makes the context in which the function is called again, for example one that restores a random generator.

    Returns
    -------
    What `function` returns.

    Raises
    ------
    CheckpointError
        In the backward pass, when the second call saves other Tensors than the first, or returns other values.
    RuntimeError
        In the backward pass, when an argument was written since the first call.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.autograd.checkpoint import checkpoint
    >>> x = pb.tensor(0.5, requires_grad=True)
    >>> y = checkpoint(lambda t: pb.exp(pb.sin(t)), x)
    >>> pb.autograd.grad(y, x)[0].item() == (y * pb.cos(x)).item()
    True
    """
    frame = _Frame(lambda: function(*args, **kwargs), again, tensors_in((args, kwargs)))
    with saved_tensors_hooks(frame.pack, frame.unpack):
        result = function(*args, **kwargs)
    frame.results = _summary(result)
    return result


class _Frame:
    """One checkpointed call: what its saved Tensors looked like, and their values while a pass needs them."""

    def __init__(self, call: Callable[[], Any], again: Callable[[], Any], arguments: list[Any]) -> None:
        self.call = call
        self.again = again
        self.arguments = [(tensor, tensor._version) for tensor in arguments]
        self.results: list[Any] | None = None
        self.looks: list[tuple[Any, Any]] = []
        self.values: list[Any] = []
        self.of_pass = -1

    def pack(self, tensor: Any) -> int:
        """Forget the Tensor, remember its place in the order."""
        self.looks.append((tuple(tensor.shape), tensor.dtype))
        return len(self.looks) - 1

    def unpack(self, place: int) -> Any:
        """The Tensor that the second run saves at the same place."""
        task = current_pass()
        if task is None:
            return self.run_again()[place]
        if self.of_pass != task.number:
            self.values, self.of_pass = self.run_again(), task.number
            task.final.append(self.forget)
        return self.values[place]

    def forget(self) -> None:
        """Let go of the values at the end of a pass."""
        self.values.clear()
        self.of_pass = -1

    def run_again(self) -> list[Any]:
        """What the function saves, when it is called again; the graph it makes is thrown away."""
        self.check_arguments()
        found: list[Any] = []

        def keep(tensor: Any) -> int:
            found.append(wrap(type(tensor), tensor._array))
            return len(found) - 1

        token = modes.enter(modes.ON)  # neither the running pass nor whoever watches a rule has to do with this call
        try:
            with self.again(), saved_tensors_hooks(keep, found.__getitem__):
                results = _summary(self.call())
        finally:
            modes.leave(token)
        self.check(found, results)
        return found

    def check_arguments(self) -> None:
        """Refuse to call the function with arguments that are no longer what they were."""
        for tensor, version in self.arguments:
            if tensor._version != version:
                raise lesson(
                    RuntimeError,
                    f"an argument of a checkpointed function, of shape {list(tensor.shape)}, has been modified by an inplace "
                    f"operation: it is at version {tensor._version}; expected version {version} instead.",
                    why="the function is called again in the backward pass, and would compute with the new values.",
                    instead="write into a clone(), or pass a clone to the checkpoint.",
                )

    def check(self, found: list[Any], results: list[Any]) -> None:
        """Refuse a second run that did something else."""
        looks = [(tuple(tensor.shape), tensor.dtype) for tensor in found]
        if len(looks) != len(self.looks):
            what = f"{len(self.looks)} Tensors were saved during forward and {len(looks)} during recomputation"
        else:
            different = [k for k, (old, new) in enumerate(zip(self.looks, looks, strict=True)) if old != new]
            if different:
                what = f"saved Tensor {different[0]} had shape and dtype {self.looks[different[0]]}, now {looks[different[0]]}"
            elif self.results is None or _agree(self.results, results):
                return
            else:
                what = "its result has other values (it is random, or depends on something that changed)"
        raise lesson(
            CheckpointError,
            f"a checkpointed function did something else when it was called again: {what}",
            why="the gradient would be computed from values that do not belong to the forward pass.",
            instead="a function that depends on its arguments only (no counters, no global state), or no checkpoint.",
        )


def _summary(result: Any) -> list[tuple[Any, float, float]]:
    """Of every floating-point Tensor in a result: the sum of its elements, that of their sizes, and the precision."""
    summary = []
    for tensor in tensors_in(result):
        if arrays.is_inexact(tensor.dtype):
            array = np.asarray(tensor._array)
            precision = float(np.sqrt(np.finfo(array.dtype).eps)) if array.dtype.kind in "fc" else 1e-2
            with np.errstate(all="ignore"):
                wide = array.astype(complex if array.dtype.kind == "c" else float)
                summary.append((wide.sum(), float(np.abs(wide).sum()), precision))
    return summary


def _agree(before: list[Any], now: list[Any]) -> bool:
    """Whether two results are the same up to the order of floating-point sums."""
    if len(before) != len(now):
        return False
    return all(
        np.isnan(total) if np.isnan(new_total) else abs(total - new_total) <= precision * size or total == new_total
        for (total, size, precision), (new_total, _, _) in zip(before, now, strict=True)
    )
