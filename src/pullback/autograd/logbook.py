"""A log of backward passes: which nodes ran, in what order, on what, and for how long."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, Self

from pullback.core import arrays, modes
from pullback.core.masked import unmask
from pullback.core.places import recorded_at

#: The columns of the text are as wide as this, or as what stands in them.
WIDTHS = (24, 30)


@dataclass(frozen=True)
class Step:
    """One node of one backward pass.

    Attributes
    ----------
    number
        Counts the passes that were logged, from 0.
    depth
        0 for a pass that was started by the program, more for one that was started inside another.
    name, line
        The node, and the line that recorded it (empty where that is unknown, and for leaves).
    incoming, outgoing
        One ``[shape, dtype]`` for each cotangent that came in, and for each that was given to an argument; ``None`` for those
        that do not exist.  Nothing goes out of a leaf, nor where the rule raised an error.
    seconds
        How long it took, with its hooks and the passes inside of it.
    """

    number: int
    depth: int
    name: str
    line: str
    incoming: list[Any]
    outgoing: list[Any]
    seconds: float

    def __str__(self) -> str:
        flow = f"{_shown(self.incoming)} -> {_shown(self.outgoing)}" if self.outgoing else _shown(self.incoming)
        name = f"{'  ' * self.depth}{self.name}".ljust(WIDTHS[0])
        return f"{name} {flow.ljust(WIDTHS[1])} {self.seconds * 1e6:9.1f} µs  {self.line}".rstrip()


class log_backward(modes._Switch):  # noqa: N801 - used like a statement
    """Inside, every backward pass is logged, node by node.

    Parameters
    ----------
    file
        Where each step is printed when it is done, for example ``sys.stdout``; by default nothing is printed.

    Attributes
    ----------
    steps
        A list of `Step`.  ``print(log)`` shows it as a table, ``log.to_json()`` gives it to other programs.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.graph.log_backward() as log:
    ...     pb.sum(pb.sin(x)).backward()
    >>> [(step.name, step.outgoing) for step in log.steps[:2]]
    [('SumBackward0', [[[2], 'float64']]), ('SinBackward0', [[[2], 'float64']])]
    """

    def __new__(cls, file: Any = None) -> Any:
        return object.__new__(cls)

    def __init__(self, file: Any = None) -> None:
        super().__init__()
        self.file = file
        self.steps: list[Step] = []
        self._numbers: dict[int, int] = {}

    def mode(self) -> Any:
        old = modes.current()
        return modes.plain(old._recording, old._settings.replace(log=self))

    def _again(self) -> Any:
        return type(self)(self.file)

    def __enter__(self) -> Self:  # type: ignore[override]
        super().__enter__()
        return self

    def around(self, inner: Callable[..., Any] | None) -> Callable[..., Any]:
        """What looks on in a pass, around whoever else does."""

        def look(step: Any, node: Any, cotangents: list[Any], task: Any) -> Any:
            incoming = [_spec(cotangent) for cotangent in cotangents]
            number = self._numbers.setdefault(task.number, len(self._numbers))
            grads: Any = None
            began = perf_counter()
            try:
                grads = step(node, cotangents, task) if inner is None else inner(step, node, cotangents, task)
            finally:
                seconds = perf_counter() - began
                outgoing = [_spec(grad) for grad in grads or ()]
                line = recorded_at(node).partition(" was recorded at ")[2]
                done = Step(number, task.depth, node._name(), line, incoming, outgoing, seconds)
                self.steps.append(done)
                if self.file is not None:
                    print(done, file=self.file)
            return grads

        return look

    def __str__(self) -> str:
        lines: list[str] = []
        last = None
        for step in self.steps:
            if step.number != last:
                lines.append(f"pass {step.number}")
                last = step.number
            lines.append(f"  {step}")
        return "\n".join(lines)

    def to_json(self) -> str:
        """The steps as a JSON list of objects, with the attributes of `Step` as keys."""
        return json.dumps([asdict(step) for step in self.steps])


def _spec(cotangent: Any) -> Any:
    value = unmask(cotangent)
    if value is None:
        return None
    return [list(value.shape), str(arrays.dtype_of(getattr(value, "_array", value)))]


def _shown(specs: list[Any]) -> str:
    return ", ".join("-" if spec is None else str(spec[0]) for spec in specs)
