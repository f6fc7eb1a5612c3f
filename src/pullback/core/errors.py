"""Every exception of the core, and the one helper that words an error.

An error is a small lesson: *what* happened and *where* stand in ``str(error)``, on one line; *why* it matters and *what to
write instead* stand in the notes, which Python prints under it.  Facts that a program may want are attributes.
"""

from __future__ import annotations

from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)


class PullbackError(Exception):
    """Base of every error class of this library; each also derives from the built-in type that fits."""


class GraphError(PullbackError, RuntimeError):
    """The graph cannot be walked as asked: no graph, no seed, an input that was never used."""


class FreedGraphError(GraphError):
    """A saved value is gone, because an earlier backward pass already released it."""


class UnusedInputError(GraphError):
    """An input does not take part in the outputs that are differentiated."""


class RuleError(PullbackError, RuntimeError):
    """A user-written ``forward``, ``backward`` or ``jvp`` broke the protocol."""


class StaleValueError(PullbackError, RuntimeError):
    """A value that was saved for backward has been written to since."""


class InplaceError(PullbackError, RuntimeError):
    """An in-place write that the graph cannot describe."""


class DerivativeRefused(PullbackError, RuntimeError):
    """A derivative that would be silently wrong, so it is not given."""


def lesson(kind: type[E], what: str, *, why: str = "", instead: str = "", **facts: Any) -> E:
    """Build (not raise) an error: one line of *what and where*, notes with *why* and *what to write instead*.

    >>> error = lesson(RuleError, "F.backward returned 2 gradients, expected 1", instead="return one per argument")
    >>> str(error)
    'F.backward returned 2 gradients, expected 1'
    """
    error = kind(" ".join(what.split()))
    if why:
        error.add_note("Why it matters: " + " ".join(why.split()))
    if instead:
        error.add_note("Write instead: " + instead)
    for name, value in facts.items():
        setattr(error, name, value)
    return error
