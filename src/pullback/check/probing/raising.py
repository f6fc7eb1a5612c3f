"""An error of backward: which fault it is, and in which line of the user's file."""

from __future__ import annotations

from pullback.check.probing.outcome import Fault, Outcome
from pullback.check.probing.specimen import Specimen


def raised(specimen: Specimen, error: BaseException, outcome: Outcome) -> None:
    """An error of backward, told apart by what the engines say."""
    text = " ".join(str(error).split())
    if "returned an incorrect number of gradients" in text or "gradients than" in text:
        name = "gradient-count"
    elif "invalid gradient" in text and "shape" in text:
        name = "gradient-shape"
    else:
        name = "backward-raises"
    outcome.add(
        Fault(name, f"{type(error).__name__}: {text[:200]}", inputs=specimen.shown(), where=line_in(error, specimen))
    )


def line_in(error: BaseException, specimen: Specimen) -> str:
    """The innermost line of the user's file that an error went through."""
    file = specimen.line_of("backward").rpartition(":")[0]
    found = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found or specimen.line_of("backward")
