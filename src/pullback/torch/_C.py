"""The few names of ``torch._C`` that programs look at while a backward pass runs."""

from __future__ import annotations

from typing import Any

from pullback.core.engine import current_pass
from pullback.core.errors import lesson
from pullback.torch._grad_modes import _is_multithreading_enabled as _is_multithreading_enabled


def _current_graph_task_id() -> int:
    """The number of the running backward pass, -1 outside."""
    task = current_pass()
    return -1 if task is None else task.number


def _current_autograd_node() -> Any:
    """The node that is being pulled back through, ``None`` outside."""
    task = current_pass()
    return None if task is None else task.node


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running pass runs this node's rule."""
    task = _running("_will_engine_execute_node")
    if task.running is None:
        return task.visits(node)
    return node in task.running or (task.accumulate and node.number < 0 and node in task.target_nodes)


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes whose rules the running pass runs, in order."""
    return _running("_current_graph_task_execution_order").order()


def _running(name: str) -> Any:
    task = current_pass()
    if task is None:
        raise lesson(
            RuntimeError,
            f"{name} should only be called during the backward pass",
            instead="call it from a hook or from a Function's backward.",
        )
    return task
