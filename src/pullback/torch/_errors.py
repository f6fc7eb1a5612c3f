"""torch's kinds of errors where NumPy raises another: shapes that do not fit are a RuntimeError there, not a ValueError."""

from __future__ import annotations

import functools
import os
from typing import Any

from pullback.core import batches
from pullback.core.batches import ReadOut
from pullback.core.errors import lesson

_HERE = os.path.dirname(__file__)


def torchs(error: ValueError, name: str) -> Exception:
    """What torch raises in the place of a ValueError: itself where this namespace meant it, else a RuntimeError."""
    if isinstance(error, (RuntimeError, IndexError)) or _meant(error):
        return error
    found = lesson(RuntimeError, f"{name}(): {error}")
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    found.__cause__ = error.__cause__
    found.__suppress_context__ = True
    return found.with_traceback(error.__traceback__)


def _meant(error: ValueError) -> bool:
    """True where this namespace raised it itself."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith(_HERE)


def with_torchs_errors(call: Any, name: str) -> Any:
    """`call`, raising what torch raises for shapes that do not fit."""

    @functools.wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except ValueError as error:
            raise torchs(error, name) from None
        except ReadOut as error:
            return batches.call_one_by_one(call, name, args, kwargs, error)

    return called
