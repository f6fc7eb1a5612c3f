"""``torch.utils.checkpoint``: run a function again in the backward pass instead of keeping what it saved."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from typing import Any as _Any

from pullback.autograd.checkpoint import CheckpointError, set_checkpoint_debug_enabled, set_checkpoint_early_stop
from pullback.autograd.checkpoint import run as _run
from pullback.autograd.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from pullback.core.errors import lesson as _lesson
from pullback.core.tensor import Tensor as _Base
from pullback.torch._missing import refuse as _refuse
from pullback.torch.random import default_generator as _generator

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: Any = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which only the arguments are kept; see `pullback.autograd.checkpoint.checkpoint`.

    Parameters
    ----------
    use_reentrant
        Accepted, without effect: there is one kind of checkpoint, and it can be differentiated to any order.
    context_fn
        Makes two contexts: one for the first call, one for the calls in the backward pass.
    determinism_check
        ``"none"``: do not compare what the two calls save; ``"default"`` compares number, shapes, dtypes and values.
    debug
        Let an error about a difference show the lines that saved it in both calls.
    preserve_rng_state
        Let the function draw the same random numbers when it is called again.
    """
    if determinism_check not in ("default", "none"):
        raise _lesson(
            ValueError,
            f"determinism_check should be one of ['default', 'none'] but got {determinism_check!r}",
            instead="'default'.",
        )
    first, second = context_fn() if context_fn is not None else (contextlib.nullcontext(), contextlib.nullcontext())
    state = _generator.get_state() if preserve_rng_state else None

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        now = _generator.get_state()
        if state is not None:
            _generator.set_state(state)
        try:
            with second:
                yield
        finally:
            if state is not None:
                _generator.set_state(now)

    with first:
        return _run(
            function,
            args,
            kwargs,
            again=again,
            check=determinism_check == "default",
            replay_random=preserve_rng_state,
            debug=debug,
        )


def checkpoint_sequential(functions: Any, segments: int, input: Any, **options: Any) -> Any:
    """Functions one after the other, as `segments` checkpoints; the last one is called without a checkpoint."""
    steps = list(functions)
    length = max(1, len(steps) // segments)
    starts = [k * length for k in range(segments)]

    def run(start: int, stop: int) -> Callable[[Any], Any]:
        def segment(value: Any) -> Any:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return segment

    for start in starts[:-1]:
        input = checkpoint(run(start, start + length), input, **options)
    return run(starts[-1], len(steps))(input)


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """Arguments cut off from their graph, which ask for gradients where they did."""
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, _Base) else x for x in inputs])


def __getattr__(name: str) -> _Any:
    _refuse("utils.checkpoint", name)
