"""Anomaly detection: stop at the first node whose rule gave NaN, and say at which element, and what was there.

Inside, every new node also notes from where it was recorded: the lines that called, and in whose backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.core.graph import Node
from pullback.core.masked import unmask
from pullback.core.places import recorded_at, stack, story
from pullback.core.rules import argument
from pullback.core.tensor import Tensor

#: So many lines of the call that recorded a node are noted.
LINES = 5


class detect_anomaly(modes._Switch):  # noqa: N801 - used like a statement
    """Inside, a backward pass that produces NaN raises, and says where it came from.

    The error names the operation, your line that recorded it (and the lines that called it, and the recorded backward that it
    belongs to, if the forward ran inside, too), the argument, the first element, and the saved values of that element.

    Parameters
    ----------
    check_nan
        Look for NaN.  Without it only the lines are noted.
    check_inf
        Look for infinite values too.

    Raises
    ------
    RuntimeError
        In a backward pass, after the first operation whose gradient contains NaN (or is infinite).

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor([1.0, 0.0], requires_grad=True)
    >>> with detect_anomaly():
    ...     y = pb.sum(pb.sqrt(x) * 0.0)
    ...     y.backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    ...
    """

    def __init__(self, check_nan: bool = True, *, check_inf: bool = False) -> None:
        super().__init__()
        self.check_nan, self.check_inf = check_nan, check_inf

    def __new__(cls, check_nan: bool = True, **options: Any) -> Any:
        return object.__new__(cls)

    def mode(self) -> Any:
        return self._mode(True)

    def _mode(self, on: bool) -> Any:
        old = modes.current()
        return modes.plain(
            old._recording,
            old._settings.replace(detect_anomaly=on, check_nan=self.check_nan, check_inf=self.check_inf),
        )

    def _again(self) -> Any:
        return type(self)(self.check_nan, check_inf=self.check_inf)


class set_detect_anomaly(detect_anomaly):  # noqa: N801
    """Switch anomaly detection at once; as a context manager, until the end of the block."""

    def __new__(cls, mode: bool, check_nan: bool = True, **options: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool, check_nan: bool = True, *, check_inf: bool = False) -> None:
        super().__init__(check_nan, check_inf=check_inf)
        self.on = mode
        self._before = [modes.current()]
        modes.enter(self.mode())

    def mode(self) -> Any:
        return self._mode(self.on)

    def __enter__(self) -> None:
        modes.enter(self.mode())

    def __exit__(self, *exception: object) -> None:
        modes.enter(self._before[0])

    def _again(self) -> Any:
        return detect_anomaly(self.check_nan, check_inf=self.check_inf) if self.on else _Nothing()


class _Nothing(detect_anomaly):
    def mode(self) -> Any:
        return self._mode(False)


def note_origin(node: Node) -> None:
    """Note who records a new node: in words, because a reference to the parent could close a circle."""
    node.metadata["traceback_"] = stack(LINES)
    task = current_pass()
    if task is not None and task.node is not None:
        parent = task.node
        here = f"That was in the backward of {parent._name()}. {recorded_at(parent)}"
        node.metadata["parents_"] = [here, *parent.metadata.get("parents_", ())]


modes.note_origin = note_origin


def checker(settings: modes.Settings) -> Callable[..., Any] | None:
    """What looks on in a backward pass, or ``None`` when nothing is looked for."""
    tests: list[tuple[str, Any]] = [("nan", np.isnan)] if settings.check_nan else []
    if settings.check_inf:
        tests.append(("infinite", np.isinf))
    if not tests:
        return None

    def around(step: Any, node: Node, cotangents: list[Any], task: Any) -> Any:
        came = list(cotangents)
        grads = step(node, cotangents, task)
        for position, grad in enumerate(grads or ()):
            array = _array(grad)
            if array is not None:
                for what, test in tests:
                    bad = test(array)
                    if bad.any():
                        raise _anomaly(node, position, array, bad, what, [_array(c) for c in came])
        return grads

    return around


def _array(value: Any) -> Any:
    """The NumPy array behind a cotangent; ``None`` where there is none, or no number that could be NaN."""
    value = unmask(value)
    array = value._array if isinstance(value, Tensor) else value
    array = None if array is None else arrays.everything(array)
    return array if array is not None and array.dtype.kind in "fc" else None


def _anomaly(node: Node, position: int, array: Any, bad: Any, what: str, came: list[Any]) -> RuntimeError:
    where = tuple(np.argwhere(bad)[0].tolist())
    count = int(bad.sum())
    name = argument(node, position) if hasattr(node, "_argument_names") else f"argument {position}"
    error = lesson(
        RuntimeError,
        f"Function {node._name()!r} returned {what} values in its {position}th output.",
        why=f"every gradient computed from it is {'NaN' if what == 'nan' else what} too.",
        instead="look at the point: a domain border (log or sqrt at 0), 0 * inf, or inf - inf in backward.",
        node=node,
        position=position,
        index=where,
        _pullback_located=True,
    )
    first = f"{count} of {array.size} elements, the first" if array.size > 1 else "it"
    error.add_note(f"In the gradient of {name}: {first} is {array[where]}{_at(where)}.")
    if _is_elementwise(node, array.shape):
        values = [f"the cotangent = {c[where]}" for c in came if c is not None]
        values += [f"{label} = {value}" for label, value in _saved_there(node, array.shape, where)]
        error.add_note(f"There {', '.join(values)}.")
    if any(c is not None and not np.isfinite(c).all() for c in came):
        error.add_note(
            "What came into this node was not finite already: look at hooks, and at the gradient given to backward()."
        )
    for sentence in story(node):
        error.add_note(sentence)
    return error


def _at(where: tuple[int, ...]) -> str:
    return f" at {list(where)}" if where else ""


def _is_elementwise(node: Any, shape: Any) -> bool:
    """True when results and gradient have one shape; operators of this library say themselves that they work elementwise."""
    if (
        type(node).__module__.startswith("pullback.")
        and getattr(getattr(node, "_operator", None), "mask_rule", None) is None
    ):
        return False
    return all(spec is not None and tuple(spec[0]) == shape for spec in node._specs)


def _saved_there(node: Any, shape: Any, where: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Names and values of what the node saved for this element."""
    for name, entry in _entries(node):
        array = getattr(entry, "array", getattr(entry, "_array", None))
        array = None if array is None else arrays.everything(array)
        if array is not None and array.shape in (shape, ()):
            yield name, array[where] if array.shape else array[()]


def _entries(node: Any) -> Iterator[tuple[str, Any]]:
    """What a node keeps, by name: an argument's, ``result``, or that of the attribute of ctx."""
    names, taken = node._argument_names(), set()
    entries = getattr(node._saved, "entries", node._saved) or ()
    for k, entry in enumerate(entries):
        origin = "input" if isinstance(entry, Tensor) else getattr(entry, "origin", "")
        name = "result" if origin == "output" else f"saved value {k}"
        edge = entry._resolved() if isinstance(entry, Tensor) else getattr(entry, "_edge", None)
        places = [p for p, other in enumerate(node._edges) if p not in taken and edge and other == edge]
        if origin != "output" and not places and k < len(names) and not node._edges[k] and len(entries) >= len(names):
            places = [k]  # a constant among the arguments
        if places:
            taken.add(places[0])
            name = names[places[0]] if places[0] < len(names) else f"argument {places[0]}"
        yield name, entry
    for name, (_, kept) in (getattr(node, "_kept", None) or {}).items():
        if len(kept) == 1:
            yield f"ctx.{name}", kept[0]
