"""``torch.utils.checkpoint``: not offered yet; it says so instead of keeping everything in memory silently."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import lesson as _lesson

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differs from the first."""


def checkpoint(function: Any, *args: Any, use_reentrant: Any = None, **kwargs: Any) -> Any:
    """Refused: recomputation in the backward pass is not offered yet."""
    raise _lesson(
        NotImplementedError,
        "torch.utils.checkpoint.checkpoint is not offered yet",
        why="calling the function directly gives the same numbers, but keeps every intermediate value.",
        instead="function(*args); or a Function whose forward saves its inputs and whose backward recomputes.",
    )


def checkpoint_sequential(functions: Any, segments: int, input: Any, **kwargs: Any) -> Any:
    """Refused, see `checkpoint`."""
    return checkpoint(functions, input)
