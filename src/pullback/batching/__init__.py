"""A batch of arrays as one array: what `vmap`, batched cotangents and vectorised Jacobians are made of.

A batched value is an array library of its own.  `Batched` holds a value with the batch axis in front and shows the shape of one
entry; its namespace computes on the values with one rule per function.  A Tensor inside `vmap` is an ordinary Tensor over a
`Batched`, so all that the machine does with arrays of any library it does with a batch: recording, rules, higher orders,
forward mode.  Batches nest: the value may be a `Batched` of an earlier batch.

* ``batched.py``      the array, its batch, and the way in and out
* ``elementwise.py``, ``reductions.py``, ``shapes.py``, ``products.py``, ``linear.py``, ``indexing.py``   the batching rules
* ``space.py``        the namespace, which holds the rules
* ``operators.py``    the same rules under the names of Python's operators and NumPy's functions
* ``crossing.py``     the operators at the border, with their derivatives
* ``looping.py``      the way that always works: entry by entry
* ``functions.py``    users' Functions with a ``vmap`` of their own
* ``randomness.py``   random numbers inside `vmap`
* ``mapping.py``      `vmap` itself
"""

from pullback.batching import functions, looping, operators, space
from pullback.batching.batched import Batch, Batched
from pullback.batching.mapping import mapped, pull_batch, pull_entries, push_entries
from pullback.batching.randomness import numbers_for

__all__ = [
    "Batch",
    "Batched",
    "functions",
    "looping",
    "mapped",
    "numbers_for",
    "operators",
    "pull_batch",
    "pull_entries",
    "push_entries",
    "space",
]
