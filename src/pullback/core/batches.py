"""What the machine has to know of batched arrays: that there may be some, and that they cannot be read out.

`pullback.batching` makes them: arrays whose every entry stands for a whole batch.  It puts its functions in here, as forward
mode does in `pullback.core.dual`.  While no batch is alive, nobody looks for batched arrays.
"""

from __future__ import annotations

from typing import Any

#: One entry for every batch that is alive, in whatever thread.
LIVE: list[None] = []


class ReadOut(RuntimeError):
    """A batched value was to become a number, a truth value or a bare array, and stands for many of them."""


# What pullback.batching puts in here.
#: ``share(args, bare, edges, options)``: give captured arguments a place at which their cotangents are summed over the batch;
#: returns the namespace of the batch, ``None`` where no argument is batched.
share: Any = None
#: ``one_by_one(operator, args, options, error)``: apply an operator to each entry of the batch.
one_by_one: Any = None
#: ``widest(xp, *arrays)``: the namespace for a mixture of batched and other arrays.
widest: Any = None
#: ``call_one_by_one(function, name, args, kwargs, error)``: a function of Tensors that gives Tensors, entry by entry.
call_one_by_one: Any = None
#: ``rule_one_by_one(node, ctx, cotangents, recorded, error)``: the rule of a node for each entry of the batch.
rule_one_by_one: Any = None
#: ``function_rule_one_by_one(node, cotangents, error)``: the same for a user's Function.
function_rule_one_by_one: Any = None
#: ``check_room(target, *values)``: before a Tensor is written, give each entry of the batch memory of its own, or refuse.
check_room: Any = None
#: ``fresh(array)``: an array made within an open batch, which each entry may write into.
fresh: Any = None
#: ``made_room(target, value)``: the same; returns the value with its place within the batches of the target.
made_room: Any = None
#: ``shared_arguments(args, options)``: the arguments of an operator with their places within the batch.
shared_arguments: Any = None
#: ``share_one(x, options)``: the same as `share` for the only argument, where an option may be batched.
share_one: Any = None
#: ``for_function(cls, args)``: the arguments of a user's Function within a batch, and what computes its results.
for_function: Any = None


def to_fill(array: Any) -> Any:
    """A fresh array that its maker will fill; inside `vmap` each entry may write something else into it."""
    return fresh(array) if LIVE else array
