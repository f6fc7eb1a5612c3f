"""Less memory for more time: do not keep what a function saves, run it again when the backward pass asks.

Checkpoints nest: the arguments of an inner one are among what the outer one does not keep, so that a function which calls
itself in checkpoints needs memory for the logarithm of its length.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.autograd.fingerprints import Fingerprint, fingerprint
from pullback.core import modes, tangents
from pullback.core.contents import rebuild, tensors_in_tree
from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.core.packing import SavedTensorHooks, pack_tensor, saved_tensors_hooks
from pullback.core.places import stack
from pullback.core.tensor import Tensor, wrap

__all__ = ["CheckpointError", "checkpoint", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

#: So many calling lines are noted in debug mode.
_LINES = 3
_early_stop: ContextVar[bool] = ContextVar("pullback checkpoint early stop", default=True)
_debug: ContextVar[bool | None] = ContextVar("pullback checkpoint debug", default=None)


class CheckpointError(RuntimeError):
    """A checkpointed function did something else when it was called again."""


@contextlib.contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Any:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def set_checkpoint_early_stop(enable: bool) -> Any:
    """A context: whether a checkpoint made inside stops its second call as soon as nothing more is needed (the usual way)."""
    return _set(_early_stop, enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A context: whether checkpoints made inside note where everything was saved; ``None`` leaves it to their `debug`."""
    return _set(_debug, enabled)


def checkpoint(function: Callable[..., Any], *args: Any, again: Any = contextlib.nullcontext, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, of which only the arguments are kept for the backward pass.

    Every backward pass that needs a value runs the function once more, up to the last value that it needs.  Derivatives of any
    order are those of the function.  NumPy's global random numbers are the same in the second call.

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
        In the backward pass, when the second call saves other Tensors than the first: in number, shape, dtype or values.
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
    return run(function, args, kwargs, again=again)


def run(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    again: Any = contextlib.nullcontext,
    check: bool = True,
    replay_random: bool = True,
    debug: bool = False,
) -> Any:
    """`checkpoint` with all its options: `check` compares what both calls save, `debug` notes where they do."""
    frame = Frame(function, _Arguments(args, kwargs), again, check, replay_random, debug)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        result = function(*args, **kwargs)
    frame.complete = True
    return result


class _Arguments:
    """What the function is called with again.

    Inside other hooks on saved values, such as those of an outer checkpoint, the Tensors are saved through these.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tree: Any = (args, kwargs)
        self.packed: list[Any] | None = None
        tensors = tensors_in_tree(self.tree)
        hooks = modes.current()._settings.hooks
        if tensors and isinstance(hooks, SavedTensorHooks) and not any(map(tangents.carries, tensors)):
            self.packed = [pack_tensor(tensor, hooks) for tensor in tensors]
            self.tree = rebuild(self.tree, iter([wrap(type(t), np.zeros(0)) for t in tensors]))
        self.versions = [(t, t._version) for t in tensors or ()] if self.packed is None else []

    def __call__(self) -> Any:
        for tensor, version in self.versions:
            if tensor._version != version:
                raise lesson(
                    RuntimeError,
                    f"an argument of a checkpointed function, of shape {list(tensor.shape)}, has been modified by an inplace "
                    f"operation: it is at version {tensor._version}; expected version {version} instead.",
                    why="the function is called again in the backward pass, and would compute with the new values.",
                    instead="write into a clone(), or pass a clone to the checkpoint.",
                )
        if self.packed is None:
            return self.tree
        return rebuild(self.tree, iter([entry.unpack(None, "an argument") for entry in self.packed]))


class _Slot:
    """Stands for a saved Tensor in its node: it dies with what the node saved, and takes the recomputed value along."""

    __slots__ = ("__weakref__", "of_pass", "place", "value")

    def __init__(self, place: int) -> None:
        self.place = place
        self.value: Any = None
        self.of_pass = -1


class _Forget:
    """Lets a call forget its values at the end of a pass, unless nobody needs it any more by then."""

    def __init__(self, frame: Frame) -> None:
        self.frame = weakref.ref(frame)

    def __call__(self) -> None:
        frame = self.frame()
        if frame is not None:
            frame.forget()


class _Enough(BaseException):
    """Ends the second call: everything that is needed was computed.  No `Exception`, so that the function lets it through."""


class Frame:
    """One checkpointed call: what its saved Tensors looked like, and the slots that wait for their values."""

    def __init__(
        self, function: Callable[..., Any], arguments: _Arguments, again: Any, check: bool, replay: bool, debug: bool
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.again = again
        self.check = check
        self.random = _state_of_numpy() if replay else None
        self.early_stop = _early_stop.get()
        forced = _debug.get()
        self.debug = debug if forced is None else forced
        self.complete = False  # False during the first call, inside which a backward pass may ask for values, too
        self.looks: list[Fingerprint] = []
        self.lines: list[list[str]] = []
        self.slots: list[weakref.ref[_Slot]] = []

    # ---------------------------------------------------------------------------------------------------- the first call
    def pack(self, tensor: Tensor) -> _Slot:
        """Forget the Tensor, remember its place in the order and what it looked like."""
        slot = _Slot(len(self.looks))
        self.slots.append(weakref.ref(slot))
        self.looks.append(fingerprint(tensor, self.check))
        if self.debug:
            self.lines.append(stack(_LINES))
        return slot

    # ----------------------------------------------------------------------------------------------------- the next ones
    def unpack(self, slot: _Slot) -> Any:
        """The Tensor that the second call saves at the same place."""
        task = current_pass()
        if task is None:
            return self.run_again([slot])[slot.place]
        if slot.of_pass != task.number:
            waiting = [s for s in (reference() for reference in self.slots) if s is not None]
            found = self.run_again(waiting)
            for one in waiting:
                one.value, one.of_pass = found[one.place], task.number
            task.final.append(_Forget(self))
        return slot.value

    def forget(self) -> None:
        """Let go of the values at the end of a pass, where the graph is retained."""
        for slot in (reference() for reference in self.slots):
            if slot is not None:
                slot.value, slot.of_pass = None, -1

    def run_again(self, wanted: list[_Slot]) -> dict[int, Tensor]:
        """What the function saves at the `wanted` places; the graph it makes is thrown away."""
        places = {slot.place for slot in wanted}
        last = max(places)
        found: dict[int, Tensor] = {}
        looks: list[Fingerprint] = []
        lines: list[list[str]] = []

        def keep(tensor: Tensor) -> Tensor:
            place = len(looks)
            looks.append(fingerprint(tensor, self.check))
            if self.debug:
                lines.append(stack(_LINES))
            value = tensor if tensor._edge is None else wrap(type(tensor), tensor._array)
            if place in places:
                found[place] = value
            if self.early_stop and place == last:
                raise _Enough
            return value  # a backward pass inside the function reads it

        args, kwargs = self.arguments()
        stopped = False
        token = modes.enter(modes.ON)  # neither the running pass nor whoever watches a rule has to do with this call
        try:
            with self.again(), _random(self.random), saved_tensors_hooks(keep, lambda value: value):
                try:
                    self.function(*args, **kwargs)
                except _Enough:
                    stopped = True
        finally:
            modes.leave(token)
        self.compare(looks, lines, stopped)
        return found

    def compare(self, looks: list[Fingerprint], lines: list[list[str]], stopped: bool) -> None:
        """Refuse a second call that did something else, as far as it went."""
        for place, (before, now) in enumerate(zip(self.looks, looks, strict=False)):
            difference = before.difference(now) if self.check else ""
            if difference:
                raise self._error(f"{difference}: saved Tensor {place}", place, lines)
        if len(looks) != len(self.looks) and not stopped and (self.complete or len(looks) < len(self.looks)):
            what = "A different number of tensors was saved during the original forward and recomputation"
            counts = f": {len(self.looks)} during forward, {len(looks)} during recomputation"
            raise self._error(what + counts, min(len(looks), len(self.looks)), lines)

    def _error(self, what: str, place: int, lines: list[list[str]]) -> CheckpointError:
        error = lesson(
            CheckpointError,
            what,
            why="a checkpointed function did something else when it was called again; the gradient would be computed from "
            "values that do not belong to the forward pass.",
            instead="a function that depends on its arguments only (no counters, no global state), or no checkpoint."
            + ("" if self.debug else " debug=True shows where both calls saved it."),
            place=place,
        )
        for when, noted in (("The first call", self.lines), ("The second call", lines)):
            if place < len(noted):
                error.add_note(f"{when} saved it at {' from '.join(reversed(noted[place]))}")
        return error


def _state_of_numpy() -> Any:
    return np.random.get_state(legacy=False)  # noqa: NPY002 - the global generator that functions may use


@contextlib.contextmanager
def _random(state: Any) -> Any:
    """NumPy's global random numbers as they were at the first call; afterwards as they are now."""
    if state is None:
        yield
        return
    now = _state_of_numpy()
    np.random.set_state(state)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(now)  # noqa: NPY002
