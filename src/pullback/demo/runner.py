"""Running a program, and checking what it shows.

A program is a module with ``main(show=print)``.  Here `show` is a `Recorder`, which understands three sentences::

    show("a remark")                                        printed as it is, nothing is claimed
    show("a fact", fact)                                    right when the fact is True
    show("a name", value, "should be", truth)               right when the two are equal
    show("a name", value, "instead of", truth)              damage shown on purpose: right when they differ

``main`` may return Tensors by name, for a picture of their graph.
"""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from pullback.core.tensor import Tensor
from pullback.demo.course import Example

#: Relative to the larger of 1 and the truth: the derivatives are exact, only rounding is forgiven.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Row:
    """One line that a program showed: a ``remark`` has no ``right``, a ``fact`` has no ``value``."""

    what: str
    relation: str = ""
    value: Any = None
    truth: Any = None
    error: float | None = None
    right: bool | None = None


@dataclass
class Outcome:
    """What came of one program."""

    example: Example
    rows: list[Row] = field(default_factory=list)
    drawable: dict[str, Tensor] = field(default_factory=dict)
    crash: str = ""
    seconds: float = 0.0
    files: list[str] = field(default_factory=list)

    @property
    def checked(self) -> list[Row]:
        """The rows that claim something."""
        return [row for row in self.rows if row.right is not None]

    @property
    def wrong(self) -> list[Row]:
        """The claims that do not hold."""
        return [row for row in self.checked if not row.right]

    @property
    def ok(self) -> bool:
        """True when the program ran to its end and all that it claims is right."""
        return not self.crash and not self.wrong and bool(self.checked)


class Recorder:
    """Takes the place of ``print`` in a program, and checks what it is told."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def __call__(self, what: str, *said: Any) -> None:
        match said:
            case ():
                self.rows.append(Row(what))
            case (fact,):
                self.rows.append(Row(what, "fact", right=plain(fact) is True))
            case (value, "should be" | "instead of" as relation, truth):
                self._compare(what, plain(value), relation, plain(truth))
            case _:
                raise TypeError(
                    f"show({what!r}, ...) takes nothing, a fact, or: value, 'should be' | 'instead of', truth"
                )

    def _compare(self, what: str, value: Any, relation: str, truth: Any) -> None:
        error = distance(value, truth)
        if error is None:
            equal = type(value) is type(truth) and value == truth
        else:
            equal = error <= TOLERANCE * max(1.0, size(truth))
        self.rows.append(Row(what, relation, value, truth, error, equal == (relation == "should be")))


def plain(value: Any) -> Any:
    """Tensors and arrays as Python numbers and lists, for comparing, printing and JSON."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def is_numeric(value: Any) -> bool:
    """True for a number, and for nested lists of numbers."""
    if isinstance(value, list):
        return all(is_numeric(item) for item in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def distance(value: Any, truth: Any) -> float | None:
    """The largest difference between two numbers or two lists of them; ``None`` where that has no meaning."""
    if not (is_numeric(value) and is_numeric(truth)):
        return None
    a, b = np.asarray(value, dtype=float), np.asarray(truth, dtype=float)
    return float(np.max(np.abs(a - b), initial=0.0)) if a.shape == b.shape else float("inf")


def size(truth: Any) -> float:
    """The largest magnitude in a number or list."""
    return float(np.max(np.abs(np.asarray(truth, dtype=float)), initial=0.0))


def load(example: Example) -> ModuleType:
    """The program as a module, without running its ``main`` and without leaving compiled files behind."""
    module = ModuleType(f"pullback_example_{example.name}")
    module.__file__ = str(example.path)
    code = compile(example.path.read_text(encoding="utf-8"), str(example.path), "exec")
    exec(code, module.__dict__)
    return module


def run(example: Example) -> Outcome:
    """Run one program; never raises for what goes wrong inside it."""
    recorder, outcome = Recorder(), Outcome(example)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outcome.drawable = load(example).main(recorder) or {}
    except Exception:
        outcome.crash = traceback.format_exc()
    outcome.rows = recorder.rows
    outcome.seconds = time.perf_counter() - began
    return outcome
