"""A user's Primitive must not write into its arguments: in its first calls their arrays are read-only while forward runs.

Other users of the array, and whoever saved it, would compute with the new values.  Bare arrays log no writes, as Tensors do, and
locking them costs as much as a small operator; but a rule that writes into its arguments mostly does so from the first call on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.mistakes import explain_forward

#: Calls of each Primitive that are guarded.
GUARDED_CALLS = 100


def _can_be_unlocked(array: np.ndarray) -> bool:
    """NumPy makes a view writeable again only if it can see that the memory is: not behind ctypes or stride tricks."""
    base = array.base
    return base is None or (isinstance(base, np.ndarray) and base.flags.writeable)


def call_forward(operator: Any, ctx: Any, bare_args: Any, options: Any) -> Any:
    """``operator.forward`` on arrays that cannot be written meanwhile."""
    operator._guarded -= 1
    locked = [a for a in bare_args if a.__class__ is np.ndarray and a.flags.writeable and _can_be_unlocked(a)]
    for array in locked:
        array.setflags(write=False)
    try:
        return operator.forward(ctx, *bare_args, **options)
    except Exception as error:
        explain_forward(operator, error)
        raise
    finally:
        for array in locked:
            array.setflags(write=True)
