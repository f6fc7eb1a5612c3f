"""The backward walk.  Knows no arrays: a cotangent is anything that can be added.

`run` visits the reachable nodes from the latest to the earliest, hands each node the summed cotangents of its outputs, and
adds what the node returns to the sums of its producers.  A leaf is visited as soon as its last consumer ran.
"""

from __future__ import annotations

import contextvars
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import modes
from pullback.core.graph import FREED, Edge, Freed, Node, closing_leaves, leading_to, reach
from pullback.core.masked import Masked
from pullback.core.mistakes import explain_backward
from pullback.core.places import story

_task_numbers = itertools.count()
_current: contextvars.ContextVar[Pass | None] = contextvars.ContextVar("pullback backward pass", default=None)
#: A backward pass started inside a backward pass (checkpoints, implicit layers) moves to a fresh stack this often.
NESTING_PER_STACK = 40


class Pass:
    """One backward pass: what was asked for, and what was found.

    Attributes
    ----------
    record
        ``create_graph``: cotangents are Tensors and the walk itself is recorded.
    retain
        Keep the saved values for another pass.
    targets
        The edges asked for; ``None`` when every leaf is.
    running
        The nodes whose rule must run to reach the targets; ``None`` when every node's must.
    captured
        The summed cotangent found at each target.
    accumulate
        The leaves among the targets add to their ``.grad``, as in a pass without targets.
    freed
        What takes the place of saved values that this pass releases.
    around
        ``around(step, node, cotangents, task)`` calls ``step(node, cotangents, task)`` and returns what that returned: how
        somebody looks on.  ``None`` when nobody does.
    connect
        Under `record`: what makes a leaf's cotangent differentiable where it is a constant.
    settle
        What drops the graph of a result, where the pass is recorded only for the sake of tangents (`core/forward.py`).
    probing
        The cotangents stand for all cotangents (forward mode asks how a rule depends on them); their values mean nothing.
    linear
        Under `record`: only how results depend on the cotangents matters, and what was saved counts as constant.
    roots
        The edges at which the pass starts, for those who ask where it will go.
    kept
        What hooks on several Tensors keep for the length of the pass.
    """

    __slots__ = (
        "accumulate",
        "around",
        "captured",
        "connect",
        "depth",
        "final",
        "freed",
        "kept",
        "linear",
        "node",
        "number",
        "outer",
        "probing",
        "reached",
        "record",
        "retain",
        "roots",
        "running",
        "settle",
        "target_nodes",
        "targets",
    )

    def __init__(self, record: bool, retain: bool, targets: Sequence[Edge] | None) -> None:
        self.number = next(_task_numbers)
        self.record = record
        self.retain = retain
        self.targets = None if targets is None else set(targets)
        self.target_nodes = None if targets is None else {edge[0] for edge in targets}
        self.running: set[Node] | None = None
        self.captured: dict[Edge, Any] = {}
        self.final: list[Callable[[], object]] = []
        self.around: Callable[[Any, Node, list[Any], Pass], Any] | None = None
        self.connect: Any = None
        self.settle: Any = None
        self.probing = self.linear = False
        self.accumulate = False
        self.freed: Freed = FREED
        self.node: Node | None = None
        self.outer: Pass | None = None
        self.depth = 0
        self.roots: Sequence[Edge] = ()
        self.reached: set[Node] | None = None
        self.kept: dict[Any, Any] | None = None

    def wants(self, edge: Any) -> bool:
        """True when a cotangent along `edge` is of use to this pass."""
        if not edge:
            return False
        return self.running is None or edge[0] in self.running or edge in self.targets  # type: ignore[operator]

    def visits(self, node: Node) -> bool:
        """True when cotangents of `node` arrive in this pass, and the hooks of its Tensors run."""
        if self.reached is None:
            order, leaves = reach(edge[0] for edge in self.roots)
            self.reached = {*order, *leaves}
        if node not in self.reached:
            return False
        return self.running is None or node in self.running or node in self.target_nodes  # type: ignore[operator]

    def order(self) -> list[Node]:
        """The nodes whose rules this pass runs, in the order in which it runs them."""
        inner, leaves = reach(edge[0] for edge in self.roots)
        closing = closing_leaves(leaves)
        wanted = None if self.target_nodes is None else self.target_nodes if self.accumulate else set()
        found: list[Node] = []
        for node in (None, *inner):
            if node is not None and (self.running is None or node in self.running):
                found.append(node)
            found += [leaf for leaf in closing.get(node, ()) if wanted is None or leaf in wanted]
        return found


def current_pass() -> Pass | None:
    """The backward pass that is running in this context, if any."""
    return _current.get()


def run(roots: Sequence[tuple[Edge, Any]], task: Pass) -> Pass:
    """Pull the seeds of `roots` back through the graph.

    Parameters
    ----------
    roots
        Pairs of an edge and its seed (``None`` for an undefined one).
    task
        What is asked for; its ``captured`` holds the answer at the end.
    """
    task.outer = _current.get()
    if task.outer is not None:
        task.depth = task.outer.depth + 1
        if task.depth % NESTING_PER_STACK == 0:
            return _on_fresh_stack(lambda: _run_in_mode(roots, task))
    return _run_in_mode(roots, task)


def _run_in_mode(roots: Sequence[tuple[Edge, Any]], task: Pass) -> Pass:
    token = _current.set(task)
    settings = modes.current()._settings
    mode = modes.enter(modes.plain(task.record, settings.replace(function=None) if settings.function else settings))
    try:
        _walk(roots, task)
        for callback in task.final:
            callback()
    except BaseException as error:
        if task.node is not None and not getattr(error, "_pullback_located", False):
            _locate(error, task.node)
        raise
    finally:
        task.node = None
        modes.leave(mode)
        _current.reset(token)
    return task


def _locate(error: BaseException, node: Node) -> None:
    """Say once, in a note, which node was being pulled back through."""
    explain_backward(node, error)
    line, *more = story(node) or [""]
    error.add_note(f"Raised while pulling back through {node._name()}. {line}")
    for sentence in more:
        error.add_note(sentence)
    error._pullback_located = True  # type: ignore[attr-defined]


def _on_fresh_stack(function: Callable[[], Pass]) -> Pass:
    """Run in a new thread, so that passes nested hundreds deep do not use up one stack."""
    outcome: list[Any] = [None, None]
    context = contextvars.copy_context()

    def target() -> None:
        try:
            outcome[0] = context.run(function)
        except BaseException as error:
            outcome[1] = error

    from threading import Thread  # rarely needed, and slow to import

    thread = Thread(target=target, name="pullback nested backward")
    thread.start()
    thread.join()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


def _walk(roots: Sequence[tuple[Edge, Any]], task: Pass) -> None:
    table: dict[Node, list[Any]] = {}  # the sums, one list per node, one entry per output
    for (node, position), seed in roots:
        slot = table.setdefault(node, [None] * len(node._specs))
        old = slot[position]
        slot[position] = seed if old is None else old + seed
    if len(table) == 1 and task.targets is None and task.around is None:
        table = _follow_chain(*table.popitem(), task)
    if table:
        _walk_graph(table, task)


def _follow_chain(node: Node, cotangents: list[Any], task: Pass) -> dict[Node, list[Any]]:
    """Pull along while each node has one input: there is no order to find and there are no sums to keep.

    Returns the sums to go on with where the graph branches.  All of it lies behind that node, so nothing was missed.
    """
    retain, freed = task.retain, task.freed
    while node._number >= 0 and node._hooks is None:
        edges = node._edges
        if len(edges) == 1:
            place, edge = 0, edges[0]
        else:
            inputs = [k for k, edge in enumerate(edges) if edge]
            if len(inputs) != 1:
                break
            place = inputs[0]
            edge = edges[place]
        task.node = node
        grads = node._pull(cotangents, task)
        if not retain and node._saved is not None:
            node._saved = freed
        if not edge or grads is None:
            return {}
        node, position = edge
        outputs = len(node._specs)
        cotangents = (
            [grads[place]] if outputs == 1 else [grads[place] if k == position else None for k in range(outputs)]
        )
        grads = None  # the next node has the only reference, and may give the memory on
    return {node: cotangents}


def _walk_graph(table: dict[Node, list[Any]], task: Pass) -> None:
    """The walk in general, from the nodes in `table`."""
    add = operator.add
    add_into = operator.add if task.record else operator.iadd
    owned: set[Edge] = set()  # sums that the engine itself allocated, and so may add into
    order, leaves = reach(table)
    if task.targets is not None:
        task.running = leading_to(order, task.target_nodes)  # type: ignore[arg-type]
    closing = closing_leaves(leaves)
    for leaf in closing.get(None, ()):
        _visit_leaf(leaf, table, task)

    running, retain, plain = task.running, task.retain, task.targets is None and task.around is None
    take, freed = table.pop, task.freed
    for node in order:
        cotangents = take(node, None)
        if cotangents is not None:
            task.node = node
            if node._hooks is None and plain:
                grads = node._pull(cotangents, task)
            else:
                grads = _pull_with_care(node, cotangents, task, running)
            if not retain and node._saved is not None and (running is None or node in running):
                node._saved = freed
            if grads is not None:
                for edge, cotangent in zip(node._edges, grads):  # noqa: B905 - lengths were checked by the node
                    if edge:
                        producer, position = edge
                        slot = table.get(producer)
                        if slot is None:
                            specs = producer._specs
                            if len(specs) == 1:
                                table[producer] = [cotangent]
                            else:
                                table[producer] = slot = [None] * len(specs)
                                slot[position] = cotangent
                        elif cotangent is not None:
                            old = slot[position]
                            if old is None:
                                slot[position] = cotangent
                            elif cotangent.__class__ is Masked:
                                slot[position] = cotangent + old  # not every library asks the right operand
                            elif edge in owned:
                                slot[position] = add_into(old, cotangent)
                            else:
                                slot[position] = add(old, cotangent)
                                owned.add(edge)
        if node in closing:
            grads = cotangent = old = None  # a leaf takes over memory that nobody else holds
            for leaf in closing[node]:
                _visit_leaf(leaf, table, task)


def _pull_with_care(node: Node, cotangents: list[Any], task: Pass, running: set[Node] | None) -> Any:
    """The same step with hooks, captures and checks; ``None`` when the node's rule need not run."""
    if running is not None and node not in running and node not in task.target_nodes:  # type: ignore[operator]
        return None
    hooks = node._hooks
    if hooks is not None:
        cotangents = hooks.on_cotangents(cotangents, task)
    _capture(node, cotangents, task)
    if running is not None and node not in running:
        return None
    if hooks is not None:
        cotangents = hooks.before(cotangents, task)
    return _step(node, cotangents, task) if task.around is None else task.around(_step, node, cotangents, task)


def _step(node: Node, cotangents: list[Any], task: Pass) -> Any:
    """Call the rule, and the hooks after it."""
    if node._number < 0:
        grads: Any = ()
        node._pull(cotangents, task)  # the very list: a leaf takes over what only the list holds
    else:
        grads = node._pull(list(cotangents), task)
    return grads if node._hooks is None else node._hooks.after(node, grads, cotangents, task)


def _capture(node: Node, cotangents: list[Any], task: Pass) -> None:
    if task.target_nodes is not None and node in task.target_nodes:
        for position, cotangent in enumerate(cotangents):
            if (node, position) in task.targets:  # type: ignore[operator]
                task.captured[node, position] = cotangent


def _visit_leaf(leaf: Node, table: dict[Node, list[Any]], task: Pass) -> None:
    cotangents = table.pop(leaf, None)
    if cotangents is None or (task.target_nodes is not None and leaf not in task.target_nodes):
        return
    task.node = leaf
    hooks = leaf._hooks
    if hooks is not None:
        cotangents = hooks.on_cotangents(cotangents, task)
    if task.targets is not None:
        _capture(leaf, cotangents, task)
        if not task.accumulate:
            return
    if hooks is not None:
        cotangents = hooks.before(cotangents, task)
    if task.around is None:
        _step(leaf, cotangents, task)
    else:
        task.around(_step, leaf, cotangents, task)
