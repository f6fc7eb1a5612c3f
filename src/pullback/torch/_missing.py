"""What a name that is not offered says: that it is not, and what to use."""

from __future__ import annotations

from typing import NoReturn

from pullback.core.errors import lesson

_INSTEAD = {
    "sparse_coo_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    "sparse_csr_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    "optim": "scipy.optimize with pullback's gradients; or x.data -= lr * x.grad inside no_grad().",
    "distributions": "scipy.stats, or the density written out.",
    "jit": "plain Python: nothing is compiled here.",
    "compile": "plain Python: nothing is compiled here.",
    "load": "numpy.load.",
    "save": "numpy.save, or pickle: Tensors can be pickled.",
    "get_deterministic_debug_mode": "nothing: operators are deterministic.",
    "as_strided": "indexing with slices, or x.unfold-like indexing with integer arrays.",
}


def refuse(place: str, name: str) -> NoReturn:
    """Raise the error for a name that `place` (a module or class of the namespace) does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise lesson(
        AttributeError,
        f"pullback.torch{place and '.'}{place} has no attribute {name!r}",
        why="only what custom Functions use most is offered under torch's names.",
        instead=_INSTEAD.get(
            name, f"pullback.{name} if it exists under that name; otherwise Tensor operators, or a Function."
        ),
        name=name,
    )
