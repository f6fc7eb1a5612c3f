"""The way that always works: an operator, or its rule, for each entry of the batch in turn; the results are put together again.

Everything is done with recorded operators (`crossing.py`), so derivatives of every order come with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.batching import batched
from pullback.batching.batched import Batch, Batched, batches, namespace_for
from pullback.batching.crossing import Entry, Share, collect, entry, only_outside
from pullback.core import arrays, modes
from pullback.core import batches as machine
from pullback.core.batches import ReadOut
from pullback.core.contents import tensors_in
from pullback.core.ctx import Pull, pull_of, pulling
from pullback.core.masked import Masked
from pullback.core.primitive_node import SavedConstant
from pullback.core.pulling import find_rule
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, lent


def innermost(values: Any) -> Batch | None:
    """The innermost batch among the Tensors, arrays and indices in nested containers."""
    found: Batch | None = None
    pending = [values]
    while pending:
        value = pending.pop()
        if isinstance(value, Tensor):
            value = value._array
        if isinstance(value, (tuple, list)):
            pending.extend(value)
        elif isinstance(value, dict):
            pending.extend(value.values())
        elif isinstance(value, Masked):
            pending.append(value.value)
        for batch in batches(value) if value.__class__ is Batched else getattr(value, "batches", ()):
            if found is None or batch.level > found.level:
                found = batch
    return found


def part(value: Any, batch: Batch, k: int) -> Any:
    """Entry `k` of whatever is in nested containers."""
    if isinstance(value, Tensor) or value.__class__ is Batched:
        return entry(value, batch, k)
    if isinstance(value, (tuple, list)):
        items = [part(item, batch, k) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {name: part(item, batch, k) for name, item in value.items()}
    if isinstance(value, Masked):
        return Masked(part(value.value, batch, k), lambda: part(value.mask, batch, k))
    return value.part(batch, k) if hasattr(value, "batches") else value


def together(parts: Sequence[Any], batch: Batch) -> Any:
    """The results of all entries as one of the batch."""
    first = next((p for p in parts if p is not None), None)
    if isinstance(first, (tuple, list)):
        items = [together(column, batch) for column in zip(*parts, strict=True)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if first is None or isinstance(first, (str, bool)):
        return first
    if any(p is None for p in parts):
        parts = [_zeros(first) if p is None else p for p in parts]
    if all(isinstance(p, Masked) for p in parts):
        return Masked(together([p.value for p in parts], batch), lambda: together([p.mask for p in parts], batch))
    parts = [p.value if isinstance(p, Masked) else p for p in parts]
    if len({tuple(getattr(p, "shape", ())) for p in parts}) > 1:
        raise ReadOut("the results for the entries of the batch have different shapes")
    if any(isinstance(p, Tensor) for p in parts):
        return collect(Recorded.xp.stack(list(parts), axis=0), batch)
    parts = [p if hasattr(p, "shape") and not isinstance(p, np.generic) else np.asarray(p) for p in parts]
    return batched.enter(namespace_for(parts).stack(parts, axis=0), batch, 0)


def _zeros(value: Any) -> Any:
    value = value.value if isinstance(value, Masked) else value
    xp = Recorded.xp if isinstance(value, Tensor) else arrays.namespace(value)
    return xp.zeros_like(value)


def each(function: Callable[..., Any], values: Any, batch: Batch) -> Any:
    """``function(*values)`` for every entry, outside the batch."""
    if not batch.size:
        raise ReadOut("an operator without a batching rule was applied to a batch of no entries")
    token = batched.opened.set(tuple([b for b in batched.opened.get() if b is not batch]))
    try:
        found = [function(*part(values, batch, k)) for k in range(batch.size)]
    finally:
        batched.opened.reset(token)
    return together(found, batch)


def one_by_one(operator: Any, args: Any, options: dict[str, Any], error: ReadOut) -> Any:
    """``operator.apply(*args, **options)``, entry by entry."""
    batch = innermost([list(args), options])
    if batch is None or options.get("in_place"):
        raise error
    noticed(operator, error)
    return each(lambda given, named: _reading(operator.apply, error, *given, **named), (tuple(args), options), batch)


def _reading(function: Callable[..., Any], error: ReadOut, *args: Any, **kwargs: Any) -> Any:
    """What a function gives that does not write into its arguments: those of an entry are copies, and it would be in vain."""
    given = tensors_in([list(args), kwargs])
    before = [x._version for x in given]
    result = function(*args, **kwargs)
    if before != [x._version for x in given]:
        raise error
    return result


def call_one_by_one(function: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any], error: ReadOut) -> Any:
    """What a function of Tensors gives, entry by entry; refused where it writes, or gives anything but Tensors."""
    batch = innermost([list(args), kwargs])
    if batch is None or kwargs.get("out") is not None or (name.endswith("_") and not name.endswith("__")):
        raise error
    LOOPED.add(name)

    def one(*positional: Any, **named: Any) -> Any:
        result = _reading(function, error, *positional, **named)
        if not all(isinstance(r, Tensor) for r in (result if isinstance(result, tuple) else (result,))):
            raise error
        return result

    return apart(one, args, kwargs, batch)


def apart(function: Callable[..., Any], args: Any, kwargs: dict[str, Any], batch: Batch) -> Any:
    """``function(*args, **kwargs)`` for each entry of a batch, whatever it is made of.

    What it captures is not shared by the entries in a way that the graph knows.  So a derivative that each entry asks for
    itself is refused then; one taken outside is right.
    """
    captured = []

    def one(positional: Any, named: Any) -> Any:
        result = function(*positional, **named)
        captured.append(_captures(result, batch))
        return result

    found = each(one, _all_shared((tuple(args), dict(kwargs)), batch), batch)
    return only_outside(found, batch) if any(captured) else found


def _captures(result: Any, batch: Batch) -> bool:
    """Whether what was computed for an entry depends on Tensors beside its arguments: read by a function among these."""
    pending = [x._resolved()[0] for x in tensors_in(result) if x.requires_grad]
    seen = set(pending)
    while pending:
        node = pending.pop()
        if getattr(node, "_operator", None) is Entry and node.batch is batch:
            continue
        if not any(node._edges):
            return True
        fresh = {edge[0] for edge in node._edges if edge} - seen
        seen |= fresh
        pending.extend(fresh)
    return False


def _all_shared(value: Any, batch: Batch) -> Any:
    """Nested containers with the Tensors in them within the batch."""
    if isinstance(value, (tuple, list)):
        items = [_all_shared(item, batch) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {name: _all_shared(item, batch) for name, item in value.items()}
    return _shared(value, batch)


def rule_one_by_one(node: Any, ctx: Any, cotangents: list[Any], recorded: bool, error: ReadOut) -> Any:
    """What the rule of a node gives, entry by entry: `ctx` is split like the cotangents."""
    saved = ctx._saved if recorded else ctx.saved_tensors
    attributes = {name: value for name, value in ctx.__dict__.items() if not name.startswith("_")}
    batch = innermost([list(cotangents), list(saved or ()), attributes])
    if batch is None:
        raise error
    noticed(node._operator, error)
    if recorded:
        saved = tuple([_shared(value, batch) for value in saved or ()])
        attributes = {name: _shared(value, batch) for name, value in attributes.items()}

    def rule(values: Any, kept: Any, given: Any) -> Any:
        one = ctx._shadow()
        one.needs_input_grad = ctx.needs_input_grad
        one._saved = values if recorded else tuple([None if v is None else SavedConstant(v) for v in values])
        one.__dict__.update(kept)
        one.xp = Recorded.xp if recorded else namespace_for([v for v in (*given, *values) if v is not None])
        return node._operator.backward(one, *given)

    return each(rule, (tuple(saved or ()), attributes, tuple(cotangents)), batch)


def function_rule_one_by_one(node: Any, cotangents: list[Any], error: ReadOut) -> Any:
    """What the backward of a user's Function gives, entry by entry."""
    pull = pull_of(node)
    saved = node.saved_tensors
    attributes = {name: node._kept_attribute(name) for name in node._kept or ()}
    batch = innermost([list(cotangents), list(saved), attributes])
    if batch is None:
        raise error
    noticed(node._operator, error)
    rule = find_rule(node._operator)
    if modes.current()._recording:
        saved = tuple([_shared(value, batch) for value in saved])

    def one(values: Any, kept: Any, given: Any) -> Any:
        own = Pull(node, node._needs if pull is None else pull.needs)
        own.entries, own.attributes = values, kept
        if not node._operator.any_layout:
            given = [c if c is None else lent(c, arrays.contiguous(c._array)) for c in given]
        token = pulling.set(own)
        try:
            return rule(node, list(given)) if node._operator.boxed_grads_call else rule(node, *given)
        finally:
            pulling.reset(token)

    return each(one, (tuple(saved), attributes, tuple(cotangents)), batch)


def _shared(value: Any, batch: Batch) -> Any:
    """A saved Tensor within the batch, so that what depends on it is known for each entry."""
    if isinstance(value, Tensor) and value._edge is not None and batch not in batches(value._array):
        return Share.apply(value, batch=batch)
    return value


#: Operators that ran entry by entry in this process: what a list of slow operators is made from.
LOOPED: set[str] = set()


def noticed(operator: Any, error: ReadOut) -> None:
    """Remember that an operator had no batching rule."""
    LOOPED.add(operator.__name__)


machine.one_by_one = one_by_one
machine.call_one_by_one = call_one_by_one
machine.rule_one_by_one = rule_one_by_one
machine.function_rule_one_by_one = function_rule_one_by_one
