"""The strict mode of `pullback.autograd.functional`: a derivative that is zero for want of a connection is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core.errors import lesson
from pullback.core.refusal import Constant

_INSTEAD = "strict=False, which gives zeros."


def check_outputs(outputs: Sequence[Any]) -> None:
    """Refuse outputs without a graph."""
    for k, y in enumerate(outputs):
        if not y.requires_grad:
            raise lesson(
                RuntimeError,
                f"Output {k} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode.",
                why="it is constant, or the graph was cut (detach(), NumPy, integers).",
                instead=_INSTEAD,
            )


def check_inputs(gradients: Sequence[Any], what: str) -> None:
    """Refuse an input that what is differentiated does not depend on: `what` is ``"output"``, or ``"output 2"``."""
    for k, g in enumerate(gradients):
        if g is None:
            which = f"O{what[1:]}" if what[-1:].isdigit() else f"The {what}"
            raise lesson(
                RuntimeError,
                f"{which} of the user-provided function is independent of input {k}. This is not allowed in strict mode.",
                instead=_INSTEAD,
            )


def reaches(outputs: Sequence[Any], points: Sequence[Any]) -> list[bool]:
    """Whether the outputs depend on each of the points; a derivative that happens not to depend on one has no path to it."""
    pending = [y._resolved()[0] for y in outputs if y.requires_grad]
    seen = set(pending)
    while pending:
        node = pending.pop()
        if not isinstance(node, Constant):
            fresh = [edge[0] for edge in node._edges if edge and edge[0] not in seen]
            seen.update(fresh)
            pending.extend(fresh)
    return [x._resolved()[0] in seen for x in points]


def check_results(results: Sequence[Any], what: str) -> None:
    """Refuse derivatives that cannot be differentiated again, because they depend on nothing."""
    for k, g in enumerate(results):
        if g.requires_grad and not isinstance(g._resolved()[0], Constant):
            continue
        raise lesson(
            RuntimeError,
            {
                "jacobian": f"The jacobian of the user-provided function is independent of input {k}. "
                "This is not allowed in strict mode when create_graph=True.",
                "hessian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {k} is independent of the input. This is not allowed in strict mode.",
                "product": f"The hessian of the user-provided function with respect to input {k} is independent of the input. "
                "This is not allowed in strict mode when create_graph=True.",
            }[what],
            why="the function is linear, so the next derivative is zero.",
            instead=_INSTEAD,
        )
