"""The one helper that words an error, and the one exception that torch has no word for.

An error is a small lesson: *what* happened and *where* stand in ``str(error)``, on one line; *why* it matters and *what to
write instead* stand in the notes, which Python prints under it.  Facts that a program may want are attributes.  Where torch
raises an error, its type here is the very type that torch raises, so that code that was written for torch goes on to work.
"""

from __future__ import annotations

from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)


class DerivativeRefused(RuntimeError):
    """A derivative that would be silently wrong, so it is not given."""


def lesson(kind: type[E], what: str, *, why: str = "", instead: str = "", **facts: Any) -> E:
    """Build (not raise) an error: one line of *what and where*, notes with *why* and *what to write instead*.

    >>> error = lesson(RuntimeError, "F.backward returned 2 gradients, expected 1", instead="return one per argument")
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
